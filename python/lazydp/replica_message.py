"""What one rank has to tell about one table, as a few vectors that any network can carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from lazydp import _native
from lazydp.lookup import Part

if TYPE_CHECKING:
    from lazydp.private_table import PrivateTable


@dataclass
class ReplicaMessage:
    """Rows that were read here, and the clipped gradients of bags."""

    read_all: bool
    read: Tensor  # rows
    ids: Tensor  # of all bags, one after the other
    lengths: Tensor  # of each bag
    weights: Tensor  # of each id
    gradient: Tensor  # bags x dim

    SIZES: ClassVar[int] = 4

    @classmethod
    def of(cls, *, read_all: bool, read: Tensor, parts: Sequence[Part], dim: int) -> ReplicaMessage:
        """All parts as one. A mean is a sum with weights."""
        ids, lengths, weights, gradients = [torch.empty(0, dtype=torch.int64)], [], [], []
        lengths.append(ids[0])
        for bags, gradient in parts:
            length = torch.from_numpy(bags.offsets.astype("int64")).diff()
            weight = (
                torch.from_numpy(bags.weights) if len(bags.weights) else torch.ones(len(bags.ids))
            )
            if bags.mean:
                weight = weight / length.repeat_interleave(length)
            ids.append(torch.from_numpy(bags.ids))
            lengths.append(length)
            weights.append(weight)
            gradients.append(gradient)
        return cls(
            read_all,
            read,
            torch.cat(ids),
            torch.cat(lengths),
            torch.cat([torch.empty(0), *weights]),
            torch.cat([torch.empty(0, dim), *gradients]),
        )

    @property
    def sizes(self) -> list[int]:
        """SIZES numbers that say how to take the vectors apart."""
        return [int(self.read_all), len(self.read), len(self.ids), len(self.lengths)]

    def whole_numbers(self) -> Tensor:
        """Rows and lengths in one vector."""
        return torch.cat([self.read, self.ids, self.lengths])

    def floats(self) -> Tensor:
        """Weights and gradients in one vector."""
        return torch.cat([self.weights, self.gradient.flatten()])

    def part(self, rows: int) -> Part:
        """The gradients, for a table of so many rows."""
        ends = torch.cat([torch.zeros(1, dtype=torch.int64), self.lengths.cumsum(0)])
        return _native.make_bags(self.ids, ends, self.weights, False, rows), self.gradient


def unpack(
    tables: Sequence[PrivateTable], sizes: Sequence[Sequence[int]], whole: Tensor, floats: Tensor
) -> list[ReplicaMessage]:
    """One rank's messages about all tables."""
    messages = []
    for table, (read_all, read, ids, bags) in zip(tables, sizes, strict=True):
        dim = table.weight.shape[1]
        rows, row_ids, lengths, whole = torch.split(  # type: ignore[no-untyped-call]
            whole, [read, ids, bags, len(whole) - read - ids - bags]
        )
        weights, gradient, floats = torch.split(  # type: ignore[no-untyped-call]
            floats, [ids, bags * dim, len(floats) - ids - bags * dim]
        )
        gradient = gradient.view(bags, dim)
        of_table = (rows, row_ids, lengths, weights, gradient)
        messages.append(ReplicaMessage(bool(read_all), *(t.contiguous() for t in of_table)))
    return messages
