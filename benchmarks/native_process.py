"""The native program beside us: a process that takes a step when it is asked to."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from pytorch.memory import peak_of


class Native:
    """native_steps.cc; between steps it waits and takes no time."""

    def __init__(
        self, program: Path, flags: list[str], algorithms: list[str], rounds: int, threads: int
    ) -> None:
        words = [program, *flags, "--algorithms", ",".join(algorithms)]
        words += ["--rounds", str(rounds), "--threads", str(threads)]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.contenders = [NativeContender(self, name) for name in algorithms]
        self._times: dict[str, float] = {}

    def times(self, algorithm: str) -> float:
        """Milliseconds of the algorithm's next step; a round is one step of each."""
        if algorithm not in self._times:
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.write("\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            if not line:
                raise SystemExit(f"native_steps ended with status {self._process.wait()}")
            self._times = json.loads(line)
        return self._times.pop(algorithm)

    def peak_bytes(self) -> int:
        """The most memory that the process has had."""
        return peak_of(self._process.pid)

    def end(self) -> None:
        """Take it away; what it holds is gone."""
        self._process.kill()
        self._process.wait()


class NativeContender:
    def __init__(self, process: Native, algorithm: str) -> None:
        self.name = f"native {algorithm}"
        self._process, self._algorithm = process, algorithm

    def prepare(self, round_number: int) -> None:
        """It draws its own batches, outside its clock."""

    def step(self) -> float:
        return self._process.times(self._algorithm)
