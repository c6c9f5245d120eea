"""Which examples of a backward pass are measured and clipped together."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class Bucket:
    """Units with about as many examples as each other."""

    units: Tensor  # their numbers
    examples: Tensor  # units x length; beyond the end of a unit its first example stands in
    present: Tensor | None  # units x length: False beyond the end of a unit; None: all are there


class Units:
    """Unit u has the next sizes[u] of the examples. Its gradient is the mean of theirs."""

    def __init__(self, sizes: Tensor) -> None:
        """Cut a pass into units of these sizes, each at least 1."""
        self.single = bool((sizes == 1).all())  # every example is a unit of its own
        self.starts = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        self._sizes = sizes
        self._buckets: list[Bucket] | None = None

    @staticmethod
    def of_examples(examples: int) -> Units:
        """Let every example be a unit of its own."""
        return Units(torch.ones(examples, dtype=torch.int64))

    def __len__(self) -> int:
        """Return the number of units."""
        return len(self._sizes)

    @property
    def shares(self) -> Tensor:
        """The weight of each unit's examples in its gradient."""
        return 1.0 / self._sizes.double()

    def spread(self, values: Tensor) -> Tensor:
        """Return the value of each example's unit."""
        return values if self.single else values.repeat_interleave(self._sizes)

    def buckets(self) -> list[Bucket]:
        """Return units of like size together, so that few products of matrices take all of them."""
        if self._buckets is None:
            lengths = torch.tensor([_rounded(n) for n in self._sizes.tolist()])
            self._buckets = [
                self._bucket(length, lengths) for length in sorted(set(lengths.tolist()))
            ]
        return self._buckets

    def _bucket(self, length: int, lengths: Tensor) -> Bucket:
        units = (lengths == length).nonzero().flatten()
        place = torch.arange(length)
        present = place < self._sizes[units][:, None]
        examples = self.starts[units][:, None] + torch.where(present, place, 0)
        return Bucket(units, examples, None if bool(present.all()) else present)


def _rounded(size: int) -> int:
    """Return the next of 1, 2, 3, 4, 6, 8, 12, 16, 24, 32 …: at most half as many again."""
    power = 1 << (size - 1).bit_length()
    return 3 * power // 4 if power > 2 and size <= 3 * power // 4 else power
