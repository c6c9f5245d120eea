"""DP-SGD(F), EANA and LazyDP in pure PyTorch, on the fastest non-private step."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from dlrm import BOUND, SIGMA
from pytorch.sgd import RATE, SgdByHand
from pytorch.tables import BLOCK, Fused, Ready

SMALL = 1 << 15  # elements that PyTorch works on without asking other threads


class Clipped(SgdByHand):
    """Ghost norms, one backward pass, clip factors, noise on the dense layers."""

    def __init__(
        self,
        fused: Fused,
        rate: float = RATE,
        divisor: float | None = None,
        *,
        bound: float = BOUND,
        sigma: float = SIGMA,
    ) -> None:
        super().__init__(fused, rate, divisor)
        self.bound, self.sigma = bound, sigma
        self.scratch = torch.empty(max(w.numel() for w in self.net.weights))

    def step(self, batch: Ready) -> Tensor:
        rate = self.rate / (self.divisor or len(batch.labels))
        std = rate * self.sigma * self.bound
        self.before_read(batch.ids)
        losses = self.look_up(batch)
        d = self.net.backward()[:, 1:]
        squared = self.net.squared_norms()
        of_bags = torch.linalg.vector_norm(d, dim=2).square_()
        squared += (of_bags * squared_counts(batch.ids)).sum(1)
        factors = (self.bound / squared.sqrt()).clamp_(max=1)
        self.net.descend(rate, factors)
        self.fused.add_to_bags(batch.ids, d, factors * -rate)
        if std > 0:
            for p in (*self.net.weights, *self.net.biases):
                noise = self.scratch[: p.numel()].view_as(p)
                p.add_(noise.normal_(0, std))
        self.after_step(batch.ids, std)
        return losses

    def before_read(self, ids: Tensor) -> None:
        """Rows are about to be read."""

    def after_step(self, ids: Tensor, std: float) -> None:
        """Gradients have been added; the noise of a step has this standard deviation."""


def squared_counts(ids: Tensor) -> Tensor:
    """For each bag, the sum of squares of how often each of its rows occurs in it."""
    if ids.shape[2] == 1:
        return torch.ones(ids.shape[:2])
    ordered = ids.to(torch.int32).sort(2).values
    total = torch.full(ids.shape[:2], float(ids.shape[2]))
    for apart in range(1, ids.shape[2]):
        same = (ordered[:, :, apart:] == ordered[:, :, :-apart]).sum(2)
        if not same.any():  # a run longer than this would show here
            break
        total += 2 * same
    return total


class Eager(Clipped):
    """DP-SGD(F) as one writes it: a tensor of noise for each table, at every step."""

    def after_step(self, ids: Tensor, std: float) -> None:
        for table in self.fused.slices():
            table += torch.normal(0.0, std, table.shape)


class EagerInBlocks(Clipped):
    """The same in blocks that stay in the cache."""

    def after_step(self, ids: Tensor, std: float) -> None:
        flat = self.fused.weight.view(-1)
        for block in flat.split(len(self.scratch)):
            block.add_(self.scratch[: len(block)].normal_(0, std))


class EagerOnThreads(Clipped):
    """normal_ runs on one core: two threads of ours, each with a generator and a half."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)  # type: ignore[arg-type]
        self.threads = torch.get_num_threads()
        self.pool = ThreadPoolExecutor(self.threads)
        self.generators = [torch.Generator().manual_seed(i) for i in range(self.threads)]

    def after_step(self, ids: Tensor, std: float) -> None:
        parts = self.fused.weight.view(-1).chunk(self.threads)
        list(self.pool.map(lambda part: _noise(*part, std), zip(parts, self.generators)))  # noqa: B905


def _noise(part: Tensor, generator: torch.Generator, std: float) -> None:
    scratch = torch.empty(SMALL)
    for block in part.split(SMALL):
        block.add_(scratch[: len(block)].normal_(0, std, generator=generator))


class Distinct:
    """Distinct rows of a batch without sorting: of the writers of a place the last one stays."""

    def __init__(self, rows: int) -> None:
        self.place = torch.zeros(rows, dtype=torch.int32)
        self.order = torch.empty(0, dtype=torch.int32)

    def __call__(self, ids: Tensor) -> Tensor:
        flat = ids.view(-1)
        if len(self.order) < len(flat):
            self.order = torch.arange(len(flat), dtype=torch.int32)
        order = self.order[: len(flat)]
        self.place.scatter_(0, flat, order)
        return flat[self.place.gather(0, flat) == order]


class Eana(Clipped):
    """Noise on the rows of the batch only: no epsilon can be claimed."""

    def __init__(self, fused: Fused, *arguments: object, **options: object) -> None:
        super().__init__(fused, *arguments, **options)  # type: ignore[arg-type]
        self.distinct = Distinct(len(fused.weight))

    def after_step(self, ids: Tensor, std: float) -> None:
        for rows in self.distinct(ids).split(BLOCK):
            self.fused.add(rows, self.fused.room("noise", len(rows)).normal_(0, std))


class Lazy(Eana):
    """LazyDP: rows receive all noise that they have missed, as one draw, when they are read."""

    def __init__(self, fused: Fused, *arguments: object, **options: object) -> None:
        super().__init__(fused, *arguments, **options)
        self.history = torch.zeros(len(fused.weight), dtype=torch.int32)
        self.variance = torch.zeros(1 << 20, dtype=torch.float64)  # of all steps until each
        self.now = 0

    def before_read(self, ids: Tensor) -> None:
        self.settle(self.distinct(ids))

    def settle(self, distinct: Tensor) -> None:
        for rows in distinct.split(BLOCK):
            late = self.history[rows]
            owed = (self.variance[self.now] - self.variance[late]).sqrt_().float()
            noise = self.fused.room("noise", len(rows)).normal_()
            self.fused.add(rows, noise.mul_(owed[:, None]))
            self.history[rows] = self.now

    def after_step(self, ids: Tensor, std: float) -> None:
        self.now += 1
        self.variance[self.now] = self.variance[self.now - 1] + std * std
