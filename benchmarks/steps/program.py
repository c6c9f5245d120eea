"""Runs `lazydp bench steps` and reads what it measured."""

from __future__ import annotations

import json
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "lazydp"


@dataclass(frozen=True)
class Measured:
    """One run: several algorithms, their steps interleaved in one process."""

    report: dict

    def step_ms(self, algorithm: str) -> float:
        return self._of(algorithm)["step_ms"]["median"]

    def stages_ms(self, algorithm: str) -> dict[str, float]:
        return self._of(algorithm)["stages_ms"]

    def ratio(self, of: str, to: str) -> tuple[float, float, float]:
        """(median, low, high) of the time of one over the time of the other."""
        for ratio in self.report["ratios"]:
            if (ratio["of"], ratio["to"]) == (of, to):
                return ratio["median"], ratio["low"], ratio["high"]
        raise KeyError((of, to))

    def result(self, algorithm: str) -> dict:
        return self._of(algorithm)

    def _of(self, algorithm: str) -> dict:
        return next(r for r in self.report["results"] if r["algorithm"] == algorithm)


def bench(algorithms: str, program: Path = PROGRAM, **flags: object) -> Measured:
    command = [str(program), "bench", "steps", "--algorithms", algorithms, "--quiet", "--json", "-"]
    for name, value in flags.items():
        command += ["--" + name.replace("_", "-"), str(value)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Measured(json.loads(done.stdout))


def alternate(of: dict, to: dict, turns: int, algorithm: str) -> tuple[float, float, float]:
    """(median, lowest, highest) ratio of step times under two settings that one process can't
    interleave: each has processes of its own, and they take turns."""
    ratios = []
    for _ in range(turns):
        times = [bench(algorithm, **flags).step_ms(algorithm) for flags in (of, to)]
        ratios.append(times[0] / times[1])
    return statistics.median(ratios), min(ratios), max(ratios)
