"""The peak memory of one contender alone: python -m pytorch.memory SHAPE GIGABYTES BATCH NAME"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pytorch.contenders import ALL
from pytorch.tables import Fused
from rounds import Trained, measure
from shapes import SHAPES


def peak_of(process: int | str) -> int:
    """The most memory that a process has had. (ru_maxrss would count its parent's.)"""
    status = Path(f"/proc/{process}/status").read_text()
    line = next(x for x in status.splitlines() if x.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def peak_bytes(shape: str, gigabytes: float, batch: int, name: str) -> int:
    """Measured in a process of its own, over three steps (one of them, if noise is eager)."""
    words = [sys.executable, "-m", "pytorch.memory", shape, str(gigabytes), str(batch), name]
    return int(subprocess.check_output(words, cwd=Path(__file__).parents[1]))


def main() -> None:
    shape = SHAPES[sys.argv[1]].scaled(float(sys.argv[2]))
    name = sys.argv[4]
    trainer = ALL[name](Fused(shape))
    steps = 1 if name.startswith("DP-SGD") else 3
    measure([Trained(name, trainer, shape, int(sys.argv[3]))], steps, warm_up=0)
    print(peak_of("self"))


if __name__ == "__main__":
    main()
