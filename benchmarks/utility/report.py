"""Measures what privacy costs in accuracy: AUC and log-loss by algorithm and epsilon.

python3 benchmarks/utility/report.py --quick
python3 benchmarks/utility/report.py --tasks adult,apps@unit --runs 10

Every run is `lazydp train` with its defaults, under a fresh secret seed. A run that was done is
kept in --work and not repeated, so that the benchmark can be stopped and gone on with. Beside it
stand, not private: SGD with its defaults, and a PyTorch model of the same shape under Adam; and
private: logistic regression, by example or by unit, whose settings were chosen by the test data in
its favour. With --algorithms, DP-SGD(F) and EANA are trained too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from private_logistic import private_logistic_auc
from tasks import UNITS, options, run, task_flags
from torch_dlrm import torch_auc

QUICK = [
    "click",
    "adult",
    "movies",
    "apps",
    "tags",
    "shop",
    "movies@unit",
    "apps@unit",
    "shop@unit",
]
# Student's t at 97.5 % by degrees of freedom: the interval of a mean over few runs.
STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


class Runs:
    """Results by name, in a folder; what is there is not computed again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, name: str, compute: Callable[[], dict]) -> dict:
        path = self.folder / (name.replace(":", "-") + ".json")
        if not path.exists():
            begin = time.monotonic()
            result = compute()
            path.write_text(json.dumps(result))
            seconds = time.monotonic() - begin
            print(
                f"  {name}: AUC {result['auc']:.4f}, {seconds:.0f} s", file=sys.stderr, flush=True
            )
        return json.loads(path.read_text())


def train(program: Path, flags: list[str]) -> dict:
    words = [str(program), "train", *flags, "--quiet", "--json", "-"]
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


def told(values: list[float]) -> str:
    """Mean and half the width of its 95 % interval; the worst run, if there are several."""
    mean = statistics.mean(values)
    if len(values) < 2:
        return f"{mean:.4f}"
    t = STUDENT.get(len(values) - 1, 2.2)
    half = t * statistics.stdev(values) / math.sqrt(len(values))
    return f"{mean:.4f} ± {half:.4f}   (worst {min(values):.4f})"


class Task:
    """One task: its files, and its runs."""

    def __init__(self, name: str, flags: list[str], arguments: argparse.Namespace) -> None:
        self.name, self.flags, self.program = name, flags, arguments.program
        self.work: Path = arguments.work
        self.runs = Runs(arguments.work / "runs")
        self.unit = UNITS.get(name.partition("@")[0], "") if "@" in name else ""

    def over_runs(self, name: str, more: list[str], count: int) -> list[dict]:
        return [
            self.runs.get(
                f"{self.name}-{name}-{k}", lambda: train(self.program, [*self.flags, *more])
            )
            for k in range(count)
        ]

    def card_and_files(self) -> tuple[dict, Path, Path, int]:
        """The card of an SGD run, the files, and how much of the test file was trained on."""
        words = self.flags[: self.flags.index("--privacy-unit")] if self.unit else self.flags
        name = self.name.partition("@")[0].replace(":", "-")
        out = self.work / f"sgd-{name}"
        if not (out / "model/card.json").exists():
            subprocess.run(["rm", "-rf", str(out)], check=True)
            train(self.program, [*words, "--algorithm", "sgd", "--seed", "0", "--out", str(out)])
        card = json.loads((out / "model/card.json").read_text())
        files = {f: Path(words[words.index(f) + 1]) for f in ("--data", "--test") if f in words}
        if "--data" in files:
            return card, files["--data"], files["--test"], 0
        data = self.work / f"{name}.ldp"
        if not data.exists():
            run(self.program, "generate", "--synthetic", self.name, *words[2:], data)
        trained = round(card["plan"]["expected_batch"] / card["plan"]["sampling_rate"])
        return card, data, data, trained

    def torch(self, *, adam: bool) -> float:
        def compute() -> dict:
            card, data, test, skip = self.card_and_files()
            return torch_auc(self.program, card, data, test, skip, 1, adam=adam)

        name = self.name.partition("@")[0]
        return self.runs.get(f"{name}-torch-{'adam' if adam else 'sgd'}", compute)["auc"]

    def logistic(self, epsilon: str) -> float:
        def compute() -> dict:
            card, data, test, _ = self.card_and_files()
            return private_logistic_auc(self.program, card, data, test, float(epsilon), self.unit)

        return self.runs.get(f"{self.name}-logistic-{epsilon}", compute)["auc"]


def report(task: Task, arguments: argparse.Namespace) -> dict:
    """All runs of one task, and their table."""
    table = {}

    def row(name: str, values: list[float], losses: list[float] | None = None) -> None:
        table[name] = values
        loss = f"   log-loss {statistics.mean(losses):.4f}" if losses else ""
        print(f"  {name:28} {told(values)}{loss}", flush=True)

    def row_of_runs(name: str, runs: list[dict]) -> None:
        row(name, [run["auc"] for run in runs], [run["logloss"] for run in runs])

    print(f"\n{task.name}: held-out AUC of {arguments.runs} runs", flush=True)
    if not task.unit:
        row_of_runs("sgd", task.over_runs("sgd", ["--algorithm", "sgd"], min(3, arguments.runs)))
        if arguments.torch:
            row("the same in PyTorch", [task.torch(adam=False)])
            row("Adam in PyTorch", [task.torch(adam=True)])
    for epsilon in arguments.epsilons.split(","):
        for algorithm in arguments.algorithms.split(","):
            flags = ["--algorithm", algorithm]
            if algorithm == "eana":  # claims nothing, so that no budget can be given
                noise = train(task.program, [*task.flags, "--epsilon", epsilon, "--dry-run"])
                flags += ["--noise-multiplier", str(noise["noise_multiplier"])]
            else:
                flags += ["--epsilon", epsilon]
            name = f"{algorithm}-{epsilon}"
            runs = task.over_runs(name, flags, arguments.runs)
            row_of_runs(f"{algorithm}, epsilon {epsilon}", runs)
        if not task.name.startswith("click"):
            row(f"logistic, epsilon {epsilon}", [task.logistic(epsilon)])
    return table


def main() -> None:
    parser = options(__doc__, epsilons="8,3,1")
    parser.add_argument("--algorithms", default="lazydp")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="nine tasks, two runs each")
    parser.add_argument("--json", type=Path, help="the AUC of every run, for machines")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.tasks, arguments.runs = ",".join(QUICK), 2
    arguments.work.mkdir(parents=True, exist_ok=True)
    try:
        import torch

        arguments.torch = bool(torch.__version__)
    except ImportError:
        arguments.torch = False
        print("no torch here: SGD is not set beside PyTorch")
    data = os.environ.get("LAZYDP_DATA_DIR")
    tables = {}
    for name in arguments.tasks.split(","):
        flags = task_flags(arguments.program, name, data, arguments.work)
        if flags is None:
            print(f"\n{name}: skipped: no LAZYDP_DATA_DIR")
            continue
        tables[name] = report(Task(name, flags, arguments), arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(tables, indent=1))


if __name__ == "__main__":
    main()
