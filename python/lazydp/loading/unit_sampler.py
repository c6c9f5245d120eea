"""A Poisson sample of privacy units, each of which sends up to K of its examples."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from hashlib import blake2b
from struct import pack, unpack
from typing import Any

from torch.utils.data import DataLoader, RandomSampler, SequentialSampler

from lazydp import _native
from lazydp._native import UserError
from lazydp.loading.privacy_units import Numbers, PrivacyUnits, find_units
from lazydp.loading.secure_sampler import SecureSampler, require_map_style, with_batch_sampler

EXAMPLES_PER_UNIT = 32  # as in the native program


class UnitBatch(list[int]):
    """The examples of a batch, those of a unit one after the other."""

    units: tuple[int, ...] = ()  # how many examples each unit sent


class UnitSampler(SecureSampler):
    """Draws units, each with the same probability at every step, and lets them send examples.

    A unit sends all of its examples if it has at most `most`, else `most` of them, drawn without
    replacement and anew in each step: every subset with the same probability. What it sends depends
    on a secret, its number and the step alone, not on which other units were drawn.
    """

    def __init__(self, units: PrivacyUnits, *, steps: int, most: int | None) -> None:
        """Draw each unit once in `steps` steps on average; `most` of None means every example."""
        super().__init__(
            seed=_native.Seed.from_bytes(secrets.token_bytes(16)),
            num_samples=units.count,
            sample_rate=1 / steps,
        )
        self.steps = steps
        self.units = units
        self.most = most
        self._key = secrets.token_bytes(32)

    @property
    def expected_units(self) -> float:
        """The expected number of units in a batch."""
        return self.units.count / self.steps

    @property
    def protected(self) -> str:
        """What the steps protect, in words."""
        return f"one {self.units.name} with all its examples"

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        return self.steps

    def __iter__(self) -> Iterator[UnitBatch]:
        """Yield one batch of examples a step."""
        for drawn in super().__iter__():
            batch, sent = UnitBatch(), []
            for unit in drawn:
                examples = self._sent_by(unit, self._step)
                batch.extend(examples.tolist())
                sent.append(len(examples))
            batch.units = tuple(sent)
            yield batch

    def _sent_by(self, unit: int, step: int) -> Numbers:
        members = self.units.members(unit)
        if self.most is None or len(members) <= self.most:
            return members
        # Floyd's way (Bentley 1987), with a bias below 2^-32: of 64-bit words.
        places: set[int] = set()
        words = self._words(unit, step, self.most)
        for last, word in zip(range(len(members) - self.most, len(members)), words, strict=False):
            place = word * (last + 1) >> 64
            places.add(last if place in places else place)
        return members[sorted(places)]

    def _words(self, unit: int, step: int, count: int) -> Iterator[int]:
        """Yield at least `count` words of 64 bits that belong to this unit at this step."""
        for block in range(-(-count // 8)):
            address = pack("<QQQ", unit, step, block)
            yield from unpack("<8Q", blake2b(address, key=self._key).digest())


def sampler_of_units(loader: Any) -> UnitSampler | None:
    """Return the sampler of a loader that draws units, None for any other loader."""
    sampler = getattr(loader, "batch_sampler", None)
    return sampler if isinstance(sampler, UnitSampler) else None


def population(loader: Any) -> int:
    """Return how many units, or else examples, a loader draws from; 0 if it can't tell."""
    units = sampler_of_units(loader)
    if units is not None:
        return units.units.count
    return len(loader.dataset) if hasattr(loader.dataset, "__len__") else 0


def by_unit(
    loader: DataLoader[Any], privacy_unit: Any, examples_per_unit: int | str | None
) -> DataLoader[Any]:
    """Return `loader` with Poisson samples of units for batches; as it is without a privacy_unit.

    Its batch_size is the expected number of units, up to rounding: an epoch has as many batches as
    it takes to hand every unit out once.
    """
    if privacy_unit is None:
        if examples_per_unit is not None:
            raise UserError(
                f"examples_per_unit is {examples_per_unit!r} without a privacy_unit; say whose "
                "examples they are, or leave it out"
            )
        return loader
    most = _most(examples_per_unit)
    require_map_style(loader)
    plain = type(loader.sampler) in (SequentialSampler, RandomSampler)
    if loader.batch_size is None or not plain:
        what = type(loader.batch_sampler if loader.batch_size is None else loader.sampler).__name__
        raise UserError(
            f"the loader has a {what} of its own; with privacy_unit units are sampled instead: "
            "give a plain DataLoader with batch_size, the expected number of units a step"
        )
    if loader.generator is not None:
        raise UserError(
            "the loader has a generator, whose samples repeat; units are always sampled in secret: "
            "leave it out"
        )
    units = find_units(loader.dataset, privacy_unit)
    if loader.batch_size > units.count:
        raise UserError(
            f"batch_size is {loader.batch_size}; with privacy_unit it counts units, and there are "
            f"{units.count}: it must be at most that"
        )
    whole, rest = divmod(units.count, loader.batch_size)
    steps = whole if loader.drop_last or not rest else whole + 1
    return with_batch_sampler(loader, UnitSampler(units, steps=steps, most=most))


def _most(examples_per_unit: int | str | None) -> int | None:
    if examples_per_unit is None:
        return EXAMPLES_PER_UNIT
    if examples_per_unit == "all":
        return None
    if type(examples_per_unit) is int and examples_per_unit > 0:
        return examples_per_unit
    raise UserError(
        f"examples_per_unit is {examples_per_unit!r}; it must be a positive whole number, for "
        f'example {EXAMPLES_PER_UNIT}, or "all"'
    )
