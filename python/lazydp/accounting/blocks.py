"""Blocks of steps under one noise key, whose noise may be correlated: what each has spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import uuid4

from lazydp import _native
from lazydp._native import UserError

Event = tuple[float, float, int]  # sampling rate, noise multiplier, steps: as the core has them


@dataclass
class Block:
    """Passes over the data in its order, under one noise key.

    Step i adds noise of sigma C_i sum_j d_j zeta_{i-j}: C_i is its clipping norm, sigma the noise
    multiplier, d the bands, zeta the cells of the block. An example is in at most `participations`
    steps, at least `separation` apart. The steps so far are then one Gaussian mechanism, of noise
    multiplier sigma / sensitivity, for neighbours that differ by one example, whose place is empty
    in one of them and is nobody else's.
    """

    bands: tuple[float, ...]
    noise_multiplier: float  # sigma
    separation: int  # the steps of a pass
    participations: int  # the passes that were declared
    places: int  # the examples of the data set, in the order of the passes
    batch: int  # places a step
    first_window: int = 0  # the place, in its pass, of the first step
    steps: int = 0  # those that were taken
    name: str = field(default_factory=lambda: uuid4().hex)

    @property
    def planned(self) -> int:
        """The number of steps that the block may have."""
        return self.separation * self.participations

    @property
    def next_window(self) -> int:
        """The place, in its pass, of the next step."""
        return (self.first_window + self.steps) % self.separation

    @property
    def cut(self) -> tuple[int, int, int]:
        """How places fall to steps."""
        return self.places, self.batch, self.separation

    def sensitivity(self, steps: int) -> float:
        """Return how far one example moves the first so many steps at most."""
        return _native.sensitivity(self.bands, steps, self.separation, self.participations)

    def event(self) -> Event:
        """Return the one use of the data that the steps so far are."""
        return 1.0, self.noise_multiplier / self.sensitivity(self.steps), 1

    def noise_for(
        self, spent: Sequence[Event], *, target_epsilon: float, target_delta: float, mechanism: str
    ) -> float:
        """Return the least noise multiplier with which all planned steps and `spent` meet a budget.

        It is exact where nothing was spent before, and else within 1e-6 of itself.
        """
        sensitivity = self.sensitivity(self.planned)
        alone = _native.noise_for_budget(target_epsilon, target_delta, 1.0, 1, "pld")
        if not spent:
            return alone * sensitivity
        if _epsilon(spent, target_delta, mechanism) >= target_epsilon:
            raise UserError(
                f"target_epsilon is {target_epsilon}; the initial model alone has spent that much "
                f"at delta {target_delta:g}: a budget for both must be above it"
            )

        def enough(noise: float) -> bool:
            events = [*spent, (1.0, noise, 1)]
            return _epsilon(events, target_delta, mechanism) <= target_epsilon

        low, high = alone, 2 * alone
        while not enough(high):
            low, high = high, 2 * high
        while high - low > 1e-6 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high * sensitivity


class Blocks:
    """All blocks of an account. They compose sequentially, with each other and with other steps."""

    def __init__(self) -> None:
        """Start without blocks."""
        self._all: dict[str, Block] = {}

    def add(self, block: Block) -> None:
        """Count this block's steps from here on."""
        self._all[block.name] = block

    def __len__(self) -> int:
        """Return their number."""
        return len(self._all)

    @property
    def begun(self) -> list[Block]:
        """Those with steps."""
        return [block for block in self._all.values() if block.steps]

    @property
    def steps(self) -> int:
        """The number of steps of all blocks."""
        return sum(block.steps for block in self.begun)

    def epsilon(self, sampled: Sequence[Event], delta: float, mechanism: str) -> float:
        """Return the epsilon of these blocks, and of steps that sampled: a closed form without."""
        return _epsilon([*sampled, *(block.event() for block in self.begun)], delta, mechanism)

    def state(self) -> list[dict[str, Any]]:
        """Return what a checkpoint keeps: all but the keys, which no checkpoint has."""
        return [asdict(block) for block in self.begun]

    def join(self, state: list[dict[str, Any]]) -> None:
        """Count the blocks of a checkpoint, too. Of a block that is known the later state holds.

        A block that has not begun will begin where the checkpoint's last one ended.
        """
        loaded = [Block(**(one | {"bands": tuple(one["bands"])})) for one in state]
        for block in self._all.values():
            if not block.steps and loaded and loaded[-1].cut == block.cut:
                block.first_window = loaded[-1].next_window
        for one in loaded:
            known = self._all.setdefault(one.name, one)
            known.steps = max(known.steps, one.steps)


def _epsilon(events: Sequence[Event], delta: float, mechanism: str) -> float:
    """Return what these events cost: exactly, where none of them sampled."""
    sampled = any(rate < 1 for rate, _, _ in events)
    return _native.epsilon(list(events), delta, "rdp" if sampled and mechanism == "rdp" else "pld")
