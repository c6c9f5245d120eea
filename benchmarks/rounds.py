"""Steps of several contenders in turn, and what their times say about each other."""

from __future__ import annotations

import random
import statistics
import time
import zlib
from dataclasses import dataclass, field
from typing import Any, Protocol

from shapes import Shape, draw_batch


class Contender(Protocol):
    name: str

    def prepare(self, round_number: int) -> None:
        """Whatever is not part of a step."""

    def step(self) -> float:
        """Take a step; the milliseconds it took."""


class Trained:
    """A trainer in this process, with batches of its own: no contender finds rows in the cache."""

    def __init__(self, name: str, trainer: Any, shape: Shape, examples: int) -> None:
        self.name, self.trainer, self.shape, self.examples = name, trainer, shape, examples

    def prepare(self, round_number: int) -> None:
        seed = zlib.crc32(f"{self.name} {round_number}".encode())
        batch = draw_batch(self.shape, self.examples, seed)
        arrange = getattr(self.trainer, "arrange", None)
        self.batch = arrange(batch) if arrange else batch

    def step(self) -> float:
        start = time.perf_counter()
        self.trainer.step(self.batch)
        return 1000 * (time.perf_counter() - start)


@dataclass
class Times:
    name: str
    ms: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.ms)


def measure(contenders: list[Any], rounds: int, warm_up: int = 1) -> list[Times]:
    """A round is one step of each, in an order that turns; the first ones are not counted."""
    times = [Times(contender.name) for contender in contenders]
    for number in range(warm_up + rounds):
        for place in range(len(contenders)):
            index = (place + number) % len(contenders)
            contenders[index].prepare(number)
            taken = contenders[index].step()
            if number >= warm_up:
                times[index].ms.append(taken)
    return times


@dataclass
class Ratio:
    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:7.3f} [{self.low:.3f}, {self.high:.3f}]"


def ratio(of: Times, to: Times) -> Ratio:
    """The median of the rounds' own ratios, and a 95 % bootstrap interval of it.

    A slow spell of the machine slows both, and cancels.
    """
    each = [a / b for a, b in zip(of.ms, to.ms, strict=True)]
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(each, k=len(each))) for _ in range(2000))
    return Ratio(statistics.median(each), medians[49], medians[1949])


def table(times: list[Times], base: Times) -> str:
    """Medians, and how many times longer than `base` each takes."""
    lines = [f"{'':42}{'ms a step':>11}   times {base.name} [95 %]"]
    lines += [f"{t.name:42}{t.median:11.1f}   {ratio(t, base)}" for t in times]
    return "\n".join(lines)


def as_json(times: list[Times], base: Times) -> list[dict[str, Any]]:
    return [
        {"name": t.name, "step_ms": t.median, "each_ms": t.ms, "to": base.name}
        | {"ratio": vars(ratio(t, base))}
        for t in times
    ]
