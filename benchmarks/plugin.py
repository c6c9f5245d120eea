"""LazyDP's plug-in beside plain PyTorch: steps interleaved, results as ratios.

build/venv/bin/python benchmarks/plugin.py --shape mlperf --gigabytes 4
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from dlrm import Dlrm, Sgd
from private_engines import LazyDp, LazyDpByUnit, Opacus
from pytorch.memory import peak_of
from pytorch.private import Eager, EagerInBlocks, EagerOnThreads
from pytorch.tables import Fused
from rounds import Trained, as_json, measure, table
from shapes import SHAPES

KINDS: dict[str, Any] = {
    "sgd": lambda shape, batch: Sgd(Dlrm(shape, sparse=True)),
    "lazydp": LazyDp,
    "lazydp-ghost": lambda shape, batch: LazyDp(shape, batch, "ghost"),
    "eager": lambda shape, batch: Eager(Fused(shape)),
    "eager-blocks": lambda shape, batch: EagerInBlocks(Fused(shape)),
    "eager-threads": lambda shape, batch: EagerOnThreads(Fused(shape)),
    "opacus": Opacus,
    "lazydp-units": LazyDpByUnit,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, default="mlperf")
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kinds", default="sgd,lazydp", help="ratios are to the first")
    parser.add_argument("--examples-per-unit", type=int, default=32, help="of lazydp-units")
    parser.add_argument("--json", type=Path, help="add the numbers to this file, a line a run")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    shape = SHAPES[options.shape].scaled(options.gigabytes)
    contenders = []
    for kind in options.kinds.split(","):
        more = [options.examples_per_unit] if kind == "lazydp-units" else []
        trainer = KINDS[kind](shape, options.batch, *more)
        contenders.append(Trained(kind, trainer, shape, options.batch))
    times = measure(contenders, options.rounds)
    print(table(times, times[0]), flush=True)
    if options.json:
        numbers = {"shape": options.shape, "gigabytes": options.gigabytes}
        numbers |= {"peak_bytes": peak_of("self")}  # of all contenders: one, where memory is asked
        numbers |= {"batch": options.batch, "results": as_json(times, times[0])}
        with options.json.open("a") as file:
            file.write(json.dumps(numbers) + "\n")


if __name__ == "__main__":
    main()
