"""Sets the cost of a private step over a plain one beside its target: make bench-steps.

Prints a table in Markdown: ratios of interleaved steps (median, and a bootstrap interval; of
processes that take turns, the lowest and the highest), and whether the interval reaches the target.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from program import alternate, bench

MLPERF_GB = 96.14  # of tables, at scale 1
RMC1_GB = 96.0


def scale(model: str, gigabytes: float) -> float:
    return round(gigabytes / (MLPERF_GB if model == "mlperf" else RMC1_GB), 5)


class Table:
    def __init__(self) -> None:
        print("| what | target | measured | interval | |\n|---|---|---|---|---|", flush=True)

    def row(self, what: str, sign: str, target: float, median: float, low=None, high=None) -> None:
        nearest = median if low is None else (low if sign == "≤" else high)
        met = nearest <= target if sign == "≤" else nearest >= target
        interval = "" if low is None else f"{low:.3f} … {high:.3f}"
        verdict = "met" if met else "**not met**"
        print(f"| {what} | {sign} {target} | {median:.3f} | {interval} | {verdict} |", flush=True)


def ratios(table: Table, options: argparse.Namespace) -> None:
    bounds = {"mlperf": (1.06, 1.05, 4.0), "rmc1": (1.9, 1.15, 8.0)}
    for model, (over_sgd, over_eana, eager) in bounds.items():
        run = bench(
            "sgd,eana,lazydp",
            model=model,
            scale=scale(model, options.gigabytes),
            rounds=options.rounds,
            threads=2,
            batch=2048,
        )
        size = f"`{model}`, {options.gigabytes:g} GB"
        table.row(f"LazyDP / SGD, {size}", "≤", over_sgd, *run.ratio("lazydp", "sgd"))
        table.row(f"LazyDP / EANA, {size}", "≤", over_eana, *run.ratio("lazydp", "eana"))
        if model == "mlperf":
            share = run.stages_ms("lazydp")["dedup"] / run.step_ms("lazydp")
            table.row(f"LazyDP's own overhead (dedup and history), {size}", "≤", 0.03, share)
        lazy = run.result("lazydp")  # means: those of parts add up to that of the whole
        stages = (sum(lazy["stages_ms"].values()) + lazy["data_ms"]) / lazy["wall_ms"]
        table.row(f"stages add up to the step, {size}, off by", "≤", 0.03, abs(1.0 - stages))
        big = bench(
            "lazydp,dpsgd-f",
            model=model,
            scale=scale(model, options.largest),
            rounds=max(5, options.rounds // 4),
            threads=2,
            batch=2048,
        )
        rate = big.result("dpsgd-f")["noise_elements_per_second"]
        table.row(
            f"DP-SGD(F) / LazyDP, `{model}`, {options.largest:g} GB (eager noise at "
            f"{rate / 1e9:.2f} G/s)",
            "≥",
            eager,
            *big.ratio("dpsgd-f", "lazydp"),
        )


def growth(table: Table, options: argparse.Namespace) -> None:
    few = max(5, options.rounds // 3)

    def setting(model: str, gigabytes: float, threads: int) -> dict:
        return dict(model=model, scale=scale(model, gigabytes), rounds=few, threads=threads)

    table.row(
        f"LazyDP step, `mlperf`, {options.largest:g} GB / 1 GB",
        "≤",
        1.1,
        *alternate(
            setting("mlperf", options.largest, 2),
            setting("mlperf", 1.0, 2),
            options.turns,
            "lazydp",
        ),
    )
    for model in ("mlperf", "rmc1"):
        one, two = (setting(model, options.gigabytes, threads) for threads in (1, 2))
        found = alternate(one, two, options.turns, "lazydp")
        table.row(f"LazyDP, `{model}`, 1 thread / 2 threads", "≥", 1.7, *found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--turns", type=int, default=5, help="of processes that alternate")
    parser.add_argument("--gigabytes", type=float, default=4.0, help="of tables")
    parser.add_argument("--largest", type=float, default=8.0, help="gigabytes of the largest")
    options = parser.parse_args()
    table = Table()
    ratios(table, options)
    growth(table, options)


if __name__ == "__main__":
    main()
