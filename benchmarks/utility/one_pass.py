"""Compares ways of sampling at one budget, each with the best settings that a search finds for it.

python3 benchmarks/utility/one_pass.py --ways poisson,stream --epochs 1
python3 benchmarks/utility/one_pass.py --ways poisson,balls --epochs 5 --tasks apps,ratings

Every way of a task and budget tries the defaults and the same random numbers of steps a pass, with
the same multiples of its own default learning rates, judged on a tenth of the training data; the
three best are tried again. The best on average is then trained under --seeds seeds and judged on
the test data. Printed are the means and, for each way after the first, the mean of the differences
under equal seeds (which begin at equal weights) with its 95 % interval. Every run is kept in --out
and not repeated.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
from pathlib import Path

from report import STUDENT
from search import Table, train
from tasks import ROOT, options, task_flags

WAYS = {
    "poisson": ["--sampling", "poisson"],
    "shuffled": ["--sampling", "shuffled"],
    "stream": ["--sampling", "stream", "--correlation", "lambda"],
    "bisr": ["--sampling", "stream", "--correlation", "bisr:16"],
    "independent": ["--sampling", "stream", "--correlation", "independent"],
    "balls": ["--sampling", "balls-in-bins", "--correlation", "independent"],
}
SPACE = {
    "steps a pass": ["25", "50", "100", "200", "400"],
    "lr x": ["0.3", "0.5", "0.7", "1", "1.5", "2.5"],
    "dense-lr x": ["0.25", "0.5", "1", "2", "4", "8"],
}
TASKS = "apps,rare,ratings,drift,criteo-shape"


def draw(number: int) -> dict[str, str]:
    """The configuration of a number, the same for all ways; 0 is the defaults."""
    if number == 0:
        return dict.fromkeys(SPACE, "")
    chance = random.Random(number)
    return {name: chance.choice(values) for name, values in SPACE.items()}


class Side:
    """One way on one task under one budget."""

    def __init__(self, arguments, table: Table, task: str, epsilon: str, way: str) -> None:
        self.arguments, self.table = arguments, table
        self.key = {"task": task, "epsilon": epsilon, "epochs": arguments.epochs, "way": way}
        whole = task_flags(arguments.program, task, None, arguments.work)
        assert whole is not None and whole[0] == "--data"
        budget = ["--epsilon", epsilon, "--epochs", arguments.epochs, *WAYS[way]]
        self.judged = {"validation": [*whole[:2], "--test", "0.1", *budget], "test": whole + budget}

    def auc(self, number: int, part: str, seed: int) -> float:
        row = self.key | {"configuration": str(number), "part": part, "seed": str(seed)}
        if not self.table.has(row):
            chosen = draw(number)
            flags = [*self.flags(self.judged[part], chosen), "--seed", str(seed)]
            result = train(self.arguments.program, flags)
            if "error" in result:
                print(row, result["error"], file=sys.stderr, flush=True)
                result = {"auc": 0.5}
            columns = ["auc", "noise_multiplier", "batch", "table_rate", "dense_rate", "seconds"]
            row |= chosen | {name: f"{result.get(name, 0.0):.6g}" for name in columns}
            self.table.add(row)
        return float(self.table.rows[tuple(row[key] for key in self.table.keys)]["auc"])

    def flags(self, budget: list[str], chosen: dict[str, str]) -> list[str]:
        if not chosen["lr x"]:
            return budget
        usual = train(self.arguments.program, [*budget, "--dry-run"])
        examples = usual["batch"] / usual["sampling_rate"]
        flags = [*budget, "--batch", str(round(examples / int(chosen["steps a pass"])))]
        usual = train(self.arguments.program, [*flags, "--dry-run"])
        flags += ["--lr", repr(usual["table_rate"] * float(chosen["lr x"]))]
        return [*flags, "--dense-lr", repr(usual["dense_rate"] * float(chosen["dense-lr x"]))]

    def best(self) -> int:
        """Returns the number of the best configuration by validation."""
        numbers = range(self.arguments.configurations)
        three = sorted(numbers, key=lambda n: -self.auc(n, "validation", 1))[:3]
        again = {n: statistics.mean(self.auc(n, "validation", s) for s in (1, 2, 3)) for n in three}
        return max(again, key=lambda n: again[n])

    def tested(self, number: int) -> list[float]:
        return [self.auc(number, "test", 101 + s) for s in range(self.arguments.seeds)]


def interval(values: list[float]) -> str:
    half = STUDENT[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))
    return f"{statistics.mean(values):+.4f} ± {half:.4f}"


def main() -> None:
    parser = options(__doc__, epsilons="1,3,8")
    parser.set_defaults(tasks=TASKS)
    parser.add_argument("--ways", default="poisson,stream")
    parser.add_argument("--epochs", default="1")
    parser.add_argument("--configurations", type=int, default=24)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--out", type=Path, default=ROOT / "build/utility/one_pass.csv")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    keys = ["task", "epsilon", "epochs", "way", "configuration", "part", "seed"]
    results = ["auc", "noise_multiplier", "batch", "table_rate", "dense_rate", "seconds"]
    table = Table(arguments.out, keys, [*keys, *SPACE, *results])
    for task in arguments.tasks.split(","):
        for epsilon in arguments.epsilons.split(","):
            first: list[float] = []
            for way in arguments.ways.split(","):
                side = Side(arguments, table, task, epsilon, way)
                number = side.best()
                defaults, best = side.tested(0), side.tested(number)
                first = first or best
                apart = [b - a for a, b in zip(first, best, strict=True)]
                print(
                    f"{task} epsilon {epsilon} {way}: defaults {statistics.mean(defaults):.4f}, "
                    f"best ({number}) {statistics.mean(best):.4f}"
                    + (f", apart {interval(apart)}" if first is not best else ""),
                    flush=True,
                )


if __name__ == "__main__":
    main()
