"""Poisson samples from the engine's own generator: AES under a secret key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from opacus.utils.uniform_sampler import UniformWithReplacementSampler
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, Sampler, SequentialSampler
from torch.utils.data.distributed import DistributedSampler

from lazydp import _native
from lazydp._native import PrivacyError, UserError
from lazydp.noise.fork_guard import HomeProcess


class SecureSampler(UniformWithReplacementSampler):  # type: ignore[misc]
    """Draws Poisson samples that can't be predicted without the secret."""

    def __init__(
        self, *, seed: _native.Seed, num_samples: int, sample_rate: float, part: range | None = None
    ) -> None:
        """Sample from `part` of the examples, by default from all."""
        super().__init__(num_samples=num_samples, sample_rate=sample_rate)
        self._part = range(num_samples) if part is None else part
        self._home = HomeProcess()
        self._sampler = _native.poisson_sampler(seed, len(self._part), sample_rate)
        self._step = 0

    def __iter__(self) -> Iterator[list[int]]:
        """Yield one batch of indices a step."""
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


def require_map_style(loader: DataLoader[Any]) -> None:
    """Raise UserError unless the loader's examples can be drawn by their numbers."""
    dataset = loader.dataset
    if hasattr(dataset, "__len__") and not isinstance(dataset, IterableDataset):
        return
    raise UserError(
        f"the data set is a {type(dataset).__name__}, whose examples come one after the other; "
        "Poisson samples need __getitem__ and __len__: use a map-style Dataset, or "
        "poisson_sampling=False, which claims no epsilon"
    )


def require_all_examples(loader: DataLoader[Any]) -> None:
    """Raise UserError for a sampler of the user's, which Poisson samples of all would replace."""
    if len(loader) == 0:
        raise UserError(
            f"the loader has no batch: {len(loader.dataset)} examples, batch_size "  # type: ignore[arg-type]
            f"{loader.batch_size} and drop_last; batch_size must be at most the number of examples"
        )
    sampler: Any = loader.sampler if loader.batch_size is not None else loader.batch_sampler
    if isinstance(sampler, (SequentialSampler, RandomSampler)):
        plain = len(sampler) == len(loader.dataset)  # type: ignore[arg-type]
        if plain and not getattr(sampler, "replacement", False):
            return
    elif isinstance(sampler, (DistributedSampler, UniformWithReplacementSampler)):
        return
    own = "batch_size None" if sampler is None else f"a {type(sampler).__name__} of its own"
    raise UserError(
        f"the loader has {own}; Poisson samples would be drawn from all examples of the data set "
        "in its place: give a plain DataLoader with batch_size, and torch.utils.data.Subset for "
        "part of a data set"
    )


def secure_loader(
    loader: DataLoader[object],
    *,
    seed: _native.Seed,
    distributed: bool,
) -> DataLoader[object]:
    """Return `loader` with secure Poisson samples for batches; each rank samples its own part."""
    rank = torch.distributed.get_rank() if distributed else 0
    world_size = torch.distributed.get_world_size() if distributed else 1
    size = len(loader.dataset)  # type: ignore[arg-type]
    return with_batch_sampler(
        loader,
        SecureSampler(
            seed=seed,
            num_samples=size,
            sample_rate=1 / len(loader),
            part=range(rank, size, world_size),
        ),
    )


def with_batch_sampler(loader: DataLoader[Any], sampler: Sampler[Any]) -> DataLoader[Any]:
    """Return a loader as `loader` is, with the batches of `sampler`."""
    return DataLoader(
        loader.dataset,
        batch_sampler=sampler,
        collate_fn=loader.collate_fn,
        num_workers=loader.num_workers,
        pin_memory=loader.pin_memory,
        timeout=loader.timeout,
        worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=loader.multiprocessing_context,
        prefetch_factor=loader.prefetch_factor,
        persistent_workers=loader.persistent_workers,
    )
