"""One rank's message to the others about one table: a few vectors that any network can carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from lazydp import _native
from lazydp.tables.lookup import Part

if TYPE_CHECKING:
    from lazydp.tables.private_table import PrivateTable


@dataclass
class ReplicaMessage:
    """Holds the rows that were read on a rank, and its bags with their clipped gradients."""

    read_all: bool
    read: Tensor  # row numbers
    ids: Tensor  # all bags' row numbers, one bag after the other
    lengths: Tensor  # ids of each bag
    weights: Tensor  # one for each id
    gradient: Tensor  # bags x dim

    SIZES: ClassVar[int] = 4

    @classmethod
    def of(cls, *, read_all: bool, read: Tensor, parts: Sequence[Part], dim: int) -> ReplicaMessage:
        """Join all parts into one message. A mean becomes a sum with weights."""
        ids, lengths, weights, gradients = [torch.empty(0, dtype=torch.int64)], [], [], []
        lengths.append(ids[0])
        for bags, gradient in parts:
            length = torch.from_numpy(bags.offsets.astype("int64")).diff()
            weight = torch.from_numpy(bags.weights)
            if not len(weight):
                weight = torch.ones(len(bags.ids), dtype=torch.float32)
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
            torch.cat([torch.empty(0, dtype=torch.float32), *weights]),
            torch.cat([torch.empty(0, dim, dtype=torch.float32), *gradients]),
        )

    @property
    def sizes(self) -> list[int]:
        """The SIZES numbers by which the vectors are taken apart."""
        return [int(self.read_all), len(self.read), len(self.ids), len(self.lengths)]

    def whole_numbers(self) -> Tensor:
        """Return rows and lengths in one vector."""
        return torch.cat([self.read, self.ids, self.lengths])

    def floats(self) -> Tensor:
        """Return weights and gradients in one vector."""
        return torch.cat([self.weights, self.gradient.flatten()])

    def part(self, rows: int) -> Part:
        """Return the bags and their gradients, for a table of so many rows."""
        ends = torch.cat([torch.zeros(1, dtype=torch.int64), self.lengths.cumsum(0)])
        return _native.make_bags(self.ids, ends, self.weights, False, rows), self.gradient


def unpack(
    tables: Sequence[PrivateTable], sizes: Sequence[Sequence[int]], whole: Tensor, floats: Tensor
) -> list[ReplicaMessage]:
    """Return one rank's messages about all tables."""
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
