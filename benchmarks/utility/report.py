"""What privacy costs in accuracy: AUC by algorithm and epsilon, over several seeds.

python3 benchmarks/utility/report.py --tasks click,adult --seeds 5

Every run is `lazydp train` with its defaults. A run that was done is kept in --work and not
repeated, so that the benchmark can be stopped and gone on with. With torch, a PyTorch DLRM of the
same shape is trained beside SGD, on the same examples, batch, rates and number of steps.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tasks import run, task_flags
from torch_dlrm import torch_auc

ROOT = Path(__file__).parents[2]
PRIVATE = ["lazydp", "dpsgd-f", "eana"]
# Student's t at 97.5 % by degrees of freedom: the interval of a mean over few seeds.
STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


class Runs:
    """Results by name, in a folder; what is there is not computed again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, name: str, compute: Callable[[], dict]) -> dict:
        path = self.folder / (name.replace(":", "-") + ".json")
        if not path.exists():
            result = compute()
            path.write_text(json.dumps(result))
            print(f"  {name}: AUC {result['auc']:.4f}", file=sys.stderr, flush=True)
        return json.loads(path.read_text())


def train(program: Path, flags: list[str]) -> dict:
    words = [str(program), "train", *flags, "--quiet", "--json", "-"]
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


def interval(values: list[float]) -> tuple[float, float]:
    """Mean, and half the width of its 95 % interval."""
    if len(values) < 2:
        return values[0], math.nan
    t = STUDENT.get(len(values) - 1, 2.2)
    return statistics.mean(values), t * statistics.stdev(values) / math.sqrt(len(values))


def told(values: list[float]) -> str:
    mean, half = interval(values)
    return f"{mean:.4f} ± {half:.4f}"


def torch_beside(
    program: Path, runs: Runs, task: str, flags: list[str], work: Path, seeds: int
) -> list[float]:
    out = work / f"sgd-{task.replace(':', '-')}"
    if not (out / "model/card.json").exists():
        subprocess.run(["rm", "-rf", str(out)], check=True)
        train(program, [*flags, "--algorithm", "sgd", "--seed", "0", "--out", str(out)])
    card = json.loads((out / "model/card.json").read_text())
    files = {f: Path(flags[flags.index(f) + 1]) for f in ("--data", "--test") if f in flags}
    if "--data" not in files:
        files["--data"] = work / f"{task.replace(':', '-')}.ldp"
        if not files["--data"].exists():
            run(program, "generate", "--synthetic", task, *flags[2:], files["--data"])
    trained = round(card["plan"]["expected_batch"] / card["plan"]["sampling_rate"])
    skip = 0 if "--test" in files else trained
    test = files.get("--test", files["--data"])
    return [
        runs.get(
            f"{task}-torch-{s}",
            lambda s=s: torch_auc(program, card, files["--data"], test, skip, s),
        )["auc"]
        for s in range(1, seeds + 1)
    ]


def report(
    program: Path, runs: Runs, task: str, flags: list[str], arguments: argparse.Namespace
) -> dict:
    """All runs of one task, and their table."""
    seeds = range(1, arguments.seeds + 1)

    def over_seeds(name: str, more: list[str]) -> list[dict]:
        return [
            runs.get(
                f"{task}-{name}-{s}", lambda s=s: train(program, [*flags, *more, "--seed", str(s)])
            )
            for s in seeds
        ]

    sgd = [r["auc"] for r in over_seeds("sgd", ["--algorithm", "sgd"])]
    print(
        f"\n{task}: {len(sgd)} seeds, mean AUC and its 95 % interval\n\n"
        f"  sgd               {told(sgd)}"
    )
    table = {"sgd": sgd}
    if arguments.torch:
        table["torch"] = torch_beside(program, runs, task, flags, arguments.work, arguments.seeds)
        gap = statistics.mean(sgd) - statistics.mean(table["torch"])
        print(f"  sgd in PyTorch    {told(table['torch'])}   (sgd is {gap:+.4f})")
    for epsilon in arguments.epsilons.split(","):
        lazy = over_seeds(f"lazydp-{epsilon}", ["--algorithm", "lazydp", "--epsilon", epsilon])
        noise = str(lazy[0]["noise_multiplier"])
        print(
            f"  epsilon {epsilon} (noise multiplier {float(noise):.3f}, batch {lazy[0]['batch']})"
        )
        for algorithm in PRIVATE:
            budget = (
                ["--noise-multiplier", noise] if algorithm == "eana" else ["--epsilon", epsilon]
            )
            found = over_seeds(f"{algorithm}-{epsilon}", ["--algorithm", algorithm, *budget])
            aucs = [r["auc"] for r in found]
            table[f"{algorithm} {epsilon}"] = aucs
            cost = statistics.mean(sgd) - statistics.mean(aucs)
            print(f"    {algorithm:15} {told(aucs)}   (costs {cost:.4f})")
        both = zip(table[f"lazydp {epsilon}"], table[f"dpsgd-f {epsilon}"], strict=True)
        mean, half = interval([a - b for a, b in both])
        verdict = "equal within it" if abs(mean) <= half else "NOT equal within it"
        print(f"    lazydp - dpsgd-f {mean:+.4f} ± {half:.4f}: {verdict}", flush=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", type=Path, default=ROOT / "build/lazydp")
    parser.add_argument("--tasks", default="click,click:large,adult,movies")
    parser.add_argument("--epsilons", default="1,3,8")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--work", type=Path, default=ROOT / "build/utility")
    parser.add_argument("--json", type=Path, help="the AUC of every run, for machines")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    try:
        import torch

        arguments.torch = bool(torch.__version__)
    except ImportError:
        arguments.torch = False
        print("no torch here: SGD is not set beside a PyTorch DLRM")
    data = os.environ.get("LAZYDP_DATA_DIR")
    tables = {}
    for task in arguments.tasks.split(","):
        flags = task_flags(arguments.program, task, data, arguments.work)
        if flags is None:
            print(f"\n{task}: skipped: no LAZYDP_DATA_DIR")
            continue
        tables[task] = report(
            arguments.program, Runs(arguments.work / "runs"), task, flags, arguments
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(tables, indent=1))


if __name__ == "__main__":
    main()
