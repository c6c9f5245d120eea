"""LazyDP's plug-in beside plain PyTorch: steps interleaved, results as ratios.

build/venv/bin/python benchmarks/plugin.py --shape mlperf --gigabytes 4
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn import functional

MLPERF_ROWS = [
    39884406, 39043, 17289, 7420, 20263, 3, 7120, 1543, 63, 38532951, 2953546, 403346, 10,
    2208, 11938, 155, 4, 976, 14, 39979771, 25641295, 39664984, 585935, 12972, 108, 36,
]  # fmt: skip


@dataclass
class Shape:
    rows: list[int]
    dim: int
    bottom: list[int]
    top: list[int]
    pooling: int


SHAPES = {
    "mlperf": Shape(MLPERF_ROWS, 128, [13, 512, 256, 128], [1024, 1024, 512, 256, 1], 1),
    "rmc1": Shape([75_000_000] * 10, 32, [13, 256, 128, 32], [256, 64, 1], 80),
    "opacus": Shape([100] * 26, 128, [13, 512, 256, 128], [1024, 1024, 512, 256, 1], 1),
    "tiny": Shape([1000] * 4, 8, [13, 16, 8], [16, 1], 3),
}


def scaled(shape: Shape, gigabytes: float) -> list[int]:
    """Rows of tables of so many gigabytes; of 0 gigabytes: as the shape says."""
    if gigabytes == 0:
        return shape.rows
    factor = gigabytes * 1e9 / (sum(shape.rows) * shape.dim * 4)
    return [math.ceil(rows * factor) for rows in shape.rows]


def mlp(widths: list[int], last: bool) -> nn.Sequential:
    layers: list[nn.Module] = []
    for i, (a, b) in enumerate(zip(widths, widths[1:], strict=False)):
        layers.append(nn.Linear(a, b))
        if last or i + 2 < len(widths):
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


class Dlrm(nn.Module):
    def __init__(self, shape: Shape, rows: list[int], sparse: bool) -> None:
        super().__init__()
        self.tables = nn.ModuleList()
        for n in rows:
            weight = torch.empty(n, shape.dim).uniform_(-math.sqrt(1 / n), math.sqrt(1 / n))
            table = nn.EmbeddingBag(n, shape.dim, mode="sum", sparse=sparse, _weight=weight)
            self.tables.append(table)
        n = len(rows) + 1
        self.bottom = mlp(shape.bottom, last=True)
        self.top = mlp([n * (n - 1) // 2 + shape.dim, *shape.top], last=False)
        self.pairs = tuple(torch.tril_indices(n, n, -1))

    def forward(self, dense: torch.Tensor, ids: Any) -> torch.Tensor:
        """ids[k] is a [batch, pooling] tensor, or ids and offsets."""
        x = self.bottom(dense)
        asked = [i if isinstance(i, tuple) else (i,) for i in ids]
        vectors = torch.stack([x, *(t(*i) for t, i in zip(self.tables, asked, strict=True))], 1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        return self.top(torch.cat([x, products[:, self.pairs[0], self.pairs[1]]], 1)).squeeze(1)


class Batches:
    """Uniform accesses, as in the paper; the same batches for everyone."""

    def __init__(self, shape: Shape, rows: list[int], batch: int) -> None:
        self.shape, self.rows, self.batch = shape, rows, batch

    def __call__(self, step: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        g = torch.Generator().manual_seed(step)
        dense = torch.rand(self.batch, self.shape.bottom[0], generator=g)
        ids = torch.stack(
            [torch.randint(n, (self.batch, self.shape.pooling), generator=g) for n in self.rows]
        )
        return dense, ids, torch.rand(self.batch, generator=g).round()


class Fixed(torch.utils.data.Dataset):
    """A data set of some size, for make_private to read its length."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.zeros(1)


LR, BOUND, SIGMA = 0.01, 0.4, 1.0


class Sgd:
    name = "sgd (sparse gradients)"

    def __init__(self, shape: Shape, rows: list[int], batch: int) -> None:
        self.model = Dlrm(shape, rows, sparse=True)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=LR)

    def step(self, batch: Any) -> None:
        dense, ids, labels = batch
        self.optimizer.zero_grad()
        functional.binary_cross_entropy_with_logits(self.model(dense, ids), labels).backward()
        self.optimizer.step()


class EagerNoise(Sgd):
    """A floor of DP-SGD(F) in PyTorch: the step and dense noise as one writes it, no clipping."""

    name = "eager noise in PyTorch"

    def __init__(self, shape: Shape, rows: list[int], batch: int) -> None:
        super().__init__(shape, rows, batch)
        self.batch = batch

    def noise_like(self, p: torch.Tensor) -> torch.Tensor:
        return torch.normal(0.0, SIGMA * BOUND, p.shape)

    def step(self, batch: Any) -> None:
        super().step(batch)
        with torch.no_grad():
            for p in self.model.parameters():
                p.add_(self.noise_like(p), alpha=-LR / self.batch)


class EagerNoiseScratch(EagerNoise):
    """The same in memory that is kept from step to step."""

    name = "eager noise, kept memory"

    def __init__(self, shape: Shape, rows: list[int], batch: int) -> None:
        super().__init__(shape, rows, batch)
        self.scratch = torch.empty(max(rows) * shape.dim)

    def noise_like(self, p: torch.Tensor) -> torch.Tensor:
        if p.numel() > len(self.scratch):
            self.scratch = torch.empty(p.numel())
        return self.scratch[: p.numel()].view_as(p).normal_(0, SIGMA * BOUND)


class LazyDp:
    name = "lazydp"
    mode = "hooks"

    def engine(self) -> Any:
        from lazydp import PrivacyEngine

        return PrivacyEngine(accountant="rdp")

    def __init__(self, shape: Shape, rows: list[int], batch: int) -> None:
        model = Dlrm(shape, rows, sparse=False)
        loader = torch.utils.data.DataLoader(Fixed(batch * 100), batch_size=batch)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = self.engine().make_private(
                module=model,
                optimizer=torch.optim.SGD(model.parameters(), lr=LR),
                data_loader=loader,
                noise_multiplier=SIGMA,
                max_grad_norm=BOUND,
                poisson_sampling=False,
                grad_sample_mode=self.mode,
                criterion=nn.BCEWithLogitsLoss(),
            )
        self.model, self.optimizer = made[:2]
        self.criterion = made[2] if self.mode == "ghost" else nn.BCEWithLogitsLoss()

    def step(self, batch: Any) -> None:
        dense, ids, labels = batch
        self.optimizer.zero_grad()
        self.criterion(self.model(dense, ids), labels).backward()
        self.optimizer.step()


class LazyDpGhost(LazyDp):
    name = "lazydp (ghost)"
    mode = "ghost"


class Opacus(LazyDp):
    """As its users have it: EmbeddingBag needs offsets there."""

    name = "opacus (hooks)"

    def engine(self) -> Any:
        from opacus import PrivacyEngine

        return PrivacyEngine(accountant="rdp")

    def step(self, batch: Any) -> None:
        dense, ids, labels = batch
        offsets = torch.arange(ids.shape[1]) * ids.shape[2]
        super().step((dense, [(ids[k].reshape(-1), offsets) for k in range(len(ids))], labels))


KINDS: dict[str, Any] = {
    "sgd": Sgd,
    "lazydp": LazyDp,
    "lazydp-ghost": LazyDpGhost,
    "eager": EagerNoise,
    "eager-scratch": EagerNoiseScratch,
    "opacus": Opacus,
}


@dataclass
class Times:
    name: str
    wall: list[float] = field(default_factory=list)  # milliseconds
    cpu: list[float] = field(default_factory=list)  # of all threads: steadier on a shared machine


def measure(
    kinds: list[str], shape: Shape, rows: list[int], batch: int, rounds: int
) -> list[Times]:
    """One step of each in turn, `rounds` times, after one that is not counted."""
    batches = Batches(shape, rows, batch)
    trainers = [KINDS[kind](shape, rows, batch) for kind in kinds]
    times = [Times(trainer.name) for trainer in trainers]
    for step in range(rounds + 1):
        this = batches(step)
        for trainer, time_of in zip(trainers, times, strict=True):
            start, cpu_start = time.perf_counter(), time.process_time()
            trainer.step(this)
            if step > 0:
                time_of.wall.append(1000 * (time.perf_counter() - start))
                time_of.cpu.append(1000 * (time.process_time() - cpu_start))
    return times


def ratios(of: list[float], to: list[float]) -> list[float]:
    """Round by round, in order of size."""
    return sorted(a / b for a, b in zip(of, to, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, default="mlperf")
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--kinds", default="sgd,lazydp")
    parser.add_argument("--json", help="write the numbers here (- for standard output)")
    options = parser.parse_args()

    shape = SHAPES[options.shape]
    rows = scaled(shape, options.gigabytes)
    kinds = options.kinds.split(",")
    times = measure(kinds, shape, rows, options.batch, options.rounds)
    base = times[0]
    results = []
    for t in times:
        wall = ratios(t.wall, base.wall)
        cpu = ratios(t.cpu, base.cpu)
        results.append(
            {
                "name": t.name,
                "step_ms": statistics.median(t.wall),
                "cpu_ms": statistics.median(t.cpu),
                "ratio": statistics.median(wall),
                "cpu_ratio": statistics.median(cpu),
            }
        )
        print(
            f"{t.name:25} {statistics.median(t.wall):8.1f} ms  x {statistics.median(wall):6.3f}"
            f" [{wall[0]:.3f}, {wall[-1]:.3f}]   cpu {statistics.median(t.cpu):8.1f} ms"
            f"  x {statistics.median(cpu):6.3f} [{cpu[0]:.3f}, {cpu[-1]:.3f}]",
            file=sys.stderr,
        )
    if options.json:
        what = {"shape": options.shape, "gigabytes": options.gigabytes}
        text = json.dumps(what | {"results": results})
        if options.json == "-":
            print(text)
        else:
            with open(options.json, "w") as file:
                file.write(text + "\n")


if __name__ == "__main__":
    main()
