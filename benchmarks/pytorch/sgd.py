"""Non-private SGD in PyTorch, from how it is usually written to how fast it can be."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from dlrm import Dlrm, Sgd
from pytorch.net import Net
from pytorch.tables import Fused, Ready
from shapes import Batch

RATE = 1e-6  # as `lazydp bench steps`: weights stay what they were


class SgdOfModules(Sgd):
    """An EmbeddingBag for each table, sparse gradients, torch.optim.SGD."""

    def __init__(self, fused: Fused, rate: float = RATE) -> None:
        super().__init__(Dlrm(fused.shape, sparse=True, weights=fused.slices()), rate)


class OneBag(nn.Module):
    """All tables in one EmbeddingBag."""

    def __init__(self, fused: Fused) -> None:
        super().__init__()
        self.tables = len(fused.shape.rows)
        self.bag = nn.EmbeddingBag(
            *fused.weight.shape, mode="sum", sparse=True, _weight=fused.weight
        )
        self.dense = Dlrm(fused.shape, sparse=False, weights=[fused.weight[:1]])
        del self.dense.tables
        n = self.tables + 1
        self.dense.pairs = tuple(torch.tril_indices(n, n, -1))

    def forward(self, dense: Tensor, ids: Tensor) -> Tensor:
        pooled = self.bag(ids.view(-1, ids.shape[-1])).view(len(ids), self.tables, -1)
        x = self.dense.bottom(dense)
        return self.dense.interact(x, torch.cat([x[:, None], pooled], 1))


class SgdOfOneBag(Sgd):
    """Tables fused: one look-up, one sparse gradient, torch.optim.SGD."""

    def __init__(self, fused: Fused, rate: float = RATE) -> None:
        super().__init__(OneBag(fused), rate)
        self.arrange = fused.arrange


class SgdCompiled:
    """Tables fused and updated by hand; the dense layers go through torch.compile."""

    def __init__(self, fused: Fused, rate: float = RATE) -> None:
        self.fused, self.rate = fused, rate
        self.model = OneBag(fused).dense
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate)
        self.arrange = fused.arrange
        self.loss = torch.compile(self._loss)

    def _loss(self, dense: Tensor, pooled: Tensor, labels: Tensor) -> Tensor:
        x = self.model.bottom(dense)
        logits = self.model.interact(x, torch.cat([x[:, None], pooled], 1))
        return functional.binary_cross_entropy_with_logits(logits, labels)

    def step(self, batch: Ready) -> None:
        shape = self.fused.shape
        pooled = torch.empty(len(batch.ids), len(shape.rows), shape.dim)
        self.fused.pool_into(batch.ids, pooled)
        pooled.requires_grad_()
        self.optimizer.zero_grad()
        self.loss(batch.dense, pooled, batch.labels).backward()
        self.optimizer.step()
        assert pooled.grad is not None
        self.fused.add_to_bags(batch.ids, pooled.grad, -self.rate)


class SgdByHand:
    """Everything by hand, in memory that is kept."""

    def __init__(self, fused: Fused, rate: float = RATE, divisor: float | None = None) -> None:
        self.fused, self.rate, self.divisor = fused, rate, divisor
        self.net = Net(fused.shape)

    def arrange(self, batch: Batch) -> Ready:
        return self.fused.arrange(batch)

    def step(self, batch: Ready) -> Tensor:
        """Returns the losses."""
        rate = self.rate / (self.divisor or len(batch.labels))
        losses = self.look_up(batch)
        d = self.net.backward()[:, 1:]
        self.net.descend(rate)
        self.fused.add_to_bags(batch.ids, d, -rate)
        return losses

    def look_up(self, batch: Ready) -> Tensor:
        """The forward pass."""
        self.fused.pool_into(batch.ids, self.net.features(len(batch.ids))[:, 1:])
        return self.net.forward(batch.dense, batch.labels)
