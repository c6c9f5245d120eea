"""All tables of a model in one tensor, with the fastest look-ups and updates PyTorch has."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from shapes import Batch, Shape

BLOCK = 1 << 16  # rows worked on at a time where that keeps them in the cache


@dataclass
class Ready:
    """A batch whose ids are rows of the one tensor; this is made before the clock starts."""

    dense: Tensor
    ids: Tensor  # examples x tables x pooling
    labels: Tensor


class Fused:
    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        rows = torch.tensor(shape.rows)
        self.first = torch.cumsum(rows, 0) - rows  # row of each table
        self.weight = torch.empty(int(rows.sum()), shape.dim)
        for block in self.weight.split(1 << 22):
            block.uniform_(-0.001, 0.001)
        self._kept: dict[str, Tensor] = {}

    def slices(self) -> list[Tensor]:
        """The tables, one by one."""
        return list(self.weight.split(self.shape.rows))

    def arrange(self, batch: Batch) -> Ready:
        ids = (batch.ids + self.first[:, None, None]).movedim(0, 1).contiguous()
        return Ready(batch.dense, ids, batch.labels)

    def pool_into(self, ids: Tensor, out: Tensor) -> None:
        """out: examples x tables x dim."""
        examples, tables, pooling = ids.shape
        if pooling == 1:
            pooled = self.room("pooled", examples * tables)
            torch.index_select(self.weight, 0, ids.view(-1), out=pooled)
        else:
            pooled = functional.embedding_bag(ids.view(-1, pooling), self.weight, mode="sum")
        out.copy_(pooled.view(examples, tables, -1))

    def add_to_bags(self, ids: Tensor, gradient: Tensor, factors: Tensor | float) -> None:
        """Add to every row of a bag factors x the gradient of the bag (examples x tables x dim).

        scatter_add_ with an expanded index sorts the rows and adds in parallel: some times faster
        here than index_add_, index_put_ or adding a sparse tensor.
        """
        examples, tables, pooling = ids.shape
        if not isinstance(factors, float):
            factors = factors[:, None, None]
        scaled = self.room("scaled", examples * tables).view_as(gradient)
        scaled = torch.mul(gradient, factors, out=scaled).view(-1, self.shape.dim)
        if pooling == 1:
            self.add(ids.view(-1), scaled)
            return
        bags = max(1, BLOCK // pooling)
        for some, d in zip(ids.view(-1, pooling).split(bags), scaled.split(bags), strict=True):
            each = self.room("each", some.numel()).view(len(some), pooling, -1)
            self.add(some.reshape(-1), each.copy_(d[:, None]).view(-1, self.shape.dim))

    def add(self, rows: Tensor, values: Tensor) -> None:
        """Row by row; a row may occur twice."""
        self.weight.scatter_add_(0, rows[:, None].expand_as(values), values)

    def room(self, name: str, rows: int) -> Tensor:
        """Memory that is kept from step to step."""
        if name not in self._kept or len(self._kept[name]) < rows:
            self._kept[name] = torch.empty(rows, self.shape.dim)
        return self._kept[name][:rows]
