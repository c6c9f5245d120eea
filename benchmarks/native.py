"""The native program beside PyTorch, in one run: steps interleaved, results as ratios.

build/venv/bin/python benchmarks/native.py --json build/bench-torch.json
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from pathlib import Path
from typing import Any

import torch

from native_process import Native
from private_engines import Opacus
from pytorch.check import check
from pytorch.contenders import EAGER, PRIVATE, SGD
from pytorch.memory import peak_bytes
from pytorch.tables import Fused
from rounds import Ratio, Times, Trained, as_json, measure, ratio, table
from shapes import SHAPES, Shape

ROOT = Path(__file__).parents[1]
OURS = "native lazydp"

# At least how many times longer the best of a group must take than the native LazyDP.
REQUIRED = {
    "mlperf": {"SGD": 1.0, "LazyDP in PyTorch": 1.7, "DP-SGD(F)": 20.0},
    "rmc1": {"SGD": 3.5, "LazyDP in PyTorch": 8.0, "DP-SGD(F)": 20.0},
}


def shape_flags(shape: Shape, batch: int) -> list[str]:
    def joined(widths: list[int]) -> str:
        return "-".join(map(str, widths))

    flags = f"--dim {shape.dim} --pooling {shape.pooling} --batch {batch} --synthetic uniform"
    rows = ",".join(map(str, shape.rows))
    mlps = ["--bottom", joined(shape.bottom), "--top", joined(shape.top)]
    return ["--rows", rows, *flags.split(), *mlps]


def trained(kinds: dict[str, Any], fused: Fused, batch: int) -> list[Trained]:
    """All on the same tables: what they hold does not matter to the clock."""
    return [Trained(k, make(fused), fused.shape, batch) for k, make in kinds.items()]


def best_of(times: list[Times], group: str) -> Times:
    return min((t for t in times if t.name.startswith(group)), key=lambda t: t.median)


class Bench:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.numbers: dict[str, Any] = {"threads": options.threads, "batch": options.batch}
        self.verdicts: list[str] = []

    def say(self, text: str) -> None:
        print(text, flush=True)

    def shape(self, name: str) -> None:
        """One shape: quick contenders for many rounds, eager noise for few."""
        o = self.options
        shape = SHAPES[name].scaled(o.gigabytes)
        size = sum(shape.rows) * shape.dim * 4 / 1e9
        self.say(f"\n{name}, {size:.2f} GB of tables, batch {o.batch}, {o.threads} threads")
        asked = 1 + o.rounds + o.eager_rounds
        native = Native(
            o.native_steps, shape_flags(shape, o.batch), ["lazydp", "sgd"], asked, o.threads
        )
        fused = Fused(shape)
        sgd = {k: v for k, v in SGD.items() if o.compile or k != "SGD, torch.compile"}

        quick = measure([*native.contenders, *trained(sgd | PRIVATE, fused, o.batch)], o.rounds)
        eager = measure(
            [native.contenders[0], *trained(EAGER, fused, o.batch)], o.eager_rounds, warm_up=0
        )
        peaks = {OURS: native.peak_bytes()}
        native.end()
        del fused
        gc.collect()
        alone = [*sgd, *PRIVATE, *EAGER]
        peaks |= self.peaks(name, alone[-1:] if o.smoke else alone)
        for times in (quick, eager):
            self.say(table(times, times[0]))
        self.say("peak memory, GB: " + ", ".join(f"{k} {v / 1e9:.2f}" for k, v in peaks.items()))
        self.judge(name, quick, eager)
        results = as_json(quick, quick[0]) + as_json(eager, eager[0])
        self.numbers[name] = {"gigabytes": size, "results": results, "peak_bytes": peaks}

    def peaks(self, name: str, kinds: list[str]) -> dict[str, int]:
        o = self.options
        return {k: peak_bytes(name, o.gigabytes, o.batch, k) for k in kinds}

    def judge(self, name: str, quick: list[Times], eager: list[Times]) -> None:
        for group, least in REQUIRED.get(name, {}).items():
            times = eager if group == "DP-SGD(F)" else quick
            best = best_of(times, group)
            found: Ratio = ratio(best, times[0])
            met = "met" if found.low >= least else "NOT MET"
            self.verdicts.append(
                f"{name}: {best.name} / {OURS} = {found}, required {least:g}: {met}"
            )

    def opacus(self) -> None:
        """Opacus as it comes, where it fits: small tables, small batches."""
        shape, batch = SHAPES["tiny" if self.options.smoke else "opacus"], 64
        self.say(f"\ntables of {shape.rows[0]} rows, batch {batch}")
        rounds = self.options.eager_rounds
        flags = shape_flags(shape, batch)
        native = Native(
            self.options.native_steps, flags, ["lazydp"], rounds + 1, self.options.threads
        )
        others = [Trained("Opacus (hooks)", Opacus(shape, batch), shape, batch)]
        times = measure([*native.contenders, *others], rounds)
        native.end()
        self.say(table(times, times[0]))
        self.numbers["opacus"] = {"results": as_json(times, times[0])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--eager-rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--shapes", default="mlperf,rmc1")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    parser.add_argument("--native-steps", type=Path, default=ROOT / "build/native_steps")
    parser.add_argument("--native-run", type=Path, default=ROOT / "build/dev/tests/native_run")
    parser.add_argument("--smoke", action="store_true", help="two rounds of a tiny model")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    options = parser.parse_args()
    if options.smoke:
        options.shapes, options.gigabytes, options.batch = "tiny", 0.0, 32
        options.rounds, options.eager_rounds, options.compile = 2, 1, False
    torch.set_num_threads(options.threads)

    bench = Bench(options)
    bench.say(check(options.native_run))
    for name in options.shapes.split(","):
        bench.shape(name)
    bench.opacus()
    bench.say("\n" + "\n".join(bench.verdicts))
    if options.json:
        numbers = bench.numbers | {"verdicts": bench.verdicts}
        options.json.write_text(json.dumps(numbers, indent=1) + "\n")
    sys.exit(any("NOT MET" in verdict for verdict in bench.verdicts))


if __name__ == "__main__":
    main()
