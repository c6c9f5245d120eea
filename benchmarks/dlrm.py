"""The recommendation model as a PyTorch user writes it, and plain training of it."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from shapes import Batch, Shape

LEARNING_RATE, BOUND, SIGMA = 0.01, 0.4, 1.0


def mlp(widths: list[int], last: bool) -> nn.Sequential:
    layers: list[nn.Module] = []
    for i, (a, b) in enumerate(zip(widths, widths[1:], strict=False)):
        layers.append(nn.Linear(a, b))
        if last or i + 2 < len(widths):
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def new_weight(rows: int, dim: int) -> Tensor:
    bound = math.sqrt(1 / rows)
    return torch.empty(rows, dim).uniform_(-bound, bound)


class Dlrm(nn.Module):
    def __init__(self, shape: Shape, sparse: bool, weights: list[Tensor] | None = None) -> None:
        super().__init__()
        weights = weights or [new_weight(n, shape.dim) for n in shape.rows]
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(*w.shape, mode="sum", sparse=sparse, _weight=w) for w in weights
        )
        n = len(weights) + 1
        self.bottom = mlp(shape.bottom, last=True) if shape.bottom else None
        self.top = mlp(shape.widths_of_top(), last=False)
        self.pairs = tuple(torch.tril_indices(n, n, -1))

    def interact(self, x: Tensor, vectors: Tensor) -> Tensor:
        """From the bottom layers' output, and it and the pooled rows side by side."""
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        return self.top(torch.cat([x, products[:, self.pairs[0], self.pairs[1]]], 1)).squeeze(1)

    def forward(self, dense: Tensor, ids: Any) -> Tensor:
        """ids[k] is a [batch, pooling] tensor, or ids and offsets."""
        asked = [i if isinstance(i, tuple) else (i,) for i in ids]
        pooled = [t(*i) for t, i in zip(self.tables, asked, strict=True)]
        if self.bottom is None:
            return self.top(torch.cat(pooled, 1)).squeeze(1)
        x = self.bottom(dense)
        return self.interact(x, torch.stack([x, *pooled], 1))


class Sgd:
    """Non-private training with sparse gradients."""

    def __init__(self, model: nn.Module, rate: float = LEARNING_RATE) -> None:
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=rate)

    def step(self, batch: Batch) -> None:
        self.optimizer.zero_grad()
        logits = self.model(batch.dense, batch.ids)
        functional.binary_cross_entropy_with_logits(logits, batch.labels).backward()
        self.optimizer.step()
