"""Noise for dense layers, and samples, from the engine's own generator: AES under a secret key."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import torch
from opacus.utils.uniform_sampler import UniformWithReplacementSampler
from torch import Tensor
from torch.utils.data import DataLoader

from lazydp import _native
from lazydp._native import PrivacyError

NORMALS_PER_SAMPLE = (
    4  # as Opacus: a sum of four normals hides what the gaps of floating point give away
)
_ROW = 1024


_forks = 0  # between the first process and this one


def _forked() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_forked)


class HomeProcess:
    """The process that owns a secret. A fork of it would draw the same noise for other gradients,
    and noise that is drawn twice cancels out."""

    def __init__(self) -> None:
        """This one."""
        self._forks = _forks

    def require(self, what: str) -> None:
        """Raise PrivacyError in a process that was forked since."""
        if _forks != self._forks:
            raise PrivacyError(
                f"{what} in a process that was forked; it shares the secret of its parent, and "
                "both would draw the same noise: train, and read private tables, in the process "
                "that called make_private (workers of a DataLoader may go on)"
            )


class DenseNoise:
    """Noise for dense layers. Each step has its own cells, and every call further ones of them."""

    def __init__(self, seed: _native.Seed, normals_per_sample: int) -> None:
        """Draw from this seed; so many normals add up to one."""
        self._home = HomeProcess()
        self._source = _native.NoiseSource(seed, normals_per_sample)
        self._step = 0
        self._next_row = 0

    def open_step(self) -> None:
        """All noise from here on belongs to the next step."""
        self._home.require("noise is drawn")
        self._step += 1
        self._next_row = 0

    def like(self, reference: Tensor, std: float) -> Tensor:
        """Normals of this standard deviation, in the shape of `reference`."""
        if std == 0:
            return torch.zeros_like(reference)
        normals = torch.empty(reference.numel())
        self._source.dense_normals(normals, self._step, self._next_row)
        self._next_row += -(-len(normals) // _ROW)
        return normals.mul_(std).view(reference.shape).to(reference.device, reference.dtype)


class SecureSampler(UniformWithReplacementSampler):  # type: ignore[misc]
    """Poisson samples that nobody can predict."""

    def __init__(
        self, *, seed: _native.Seed, num_samples: int, sample_rate: float, part: range | None = None
    ) -> None:
        """Sample `part` of the examples, by default all."""
        super().__init__(num_samples=num_samples, sample_rate=sample_rate)
        self._part = range(num_samples) if part is None else part
        self._home = HomeProcess()
        self._sampler = _native.poisson_sampler(seed, len(self._part), sample_rate)
        self._step = 0

    def __iter__(self) -> Iterator[list[int]]:
        """One batch of indices a step."""
        for _ in range(self.steps):
            self._home.require("a batch is drawn")
            self._step += 1
            yield [self._part[i] for i in self._sampler.draw(self._step)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse, with the reason."""
        raise PrivacyError(
            "a private loader can't be copied or pickled: both would draw the same samples from "
            "one secret; iterate over it here, and give other processes the data set"
        )


def secure_loader(
    loader: DataLoader[object],
    *,
    seed: _native.Seed,
    rank: int,
    world_size: int,
) -> DataLoader[object]:
    """`loader` with secure Poisson samples in place of its batches."""
    size = len(loader.dataset)  # type: ignore[arg-type]
    return DataLoader(
        loader.dataset,
        batch_sampler=SecureSampler(
            seed=seed,
            num_samples=size,
            sample_rate=1 / len(loader),
            part=range(rank, size, world_size),
        ),
        collate_fn=loader.collate_fn,
        num_workers=loader.num_workers,
        pin_memory=loader.pin_memory,
        timeout=loader.timeout,
        worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=loader.multiprocessing_context,
        prefetch_factor=loader.prefetch_factor,
        persistent_workers=loader.persistent_workers,
    )
