"""Trains random configurations on the family of tasks, into one CSV: where defaults come from.

python3 benchmarks/utility/search.py --tasks apps,ratings --epsilons 8,1 --configurations 64

Configuration 0 is the defaults. The others are drawn around them from a public space by a fixed
seed, the same for all tasks, so that a column of the table can be read across tasks: batch and
learning rates as multiples of what the program would choose, everything else by value. A row that
is there is not computed again, so that a search can be stopped and gone on with. Two runs train at
a time, on one core each. `benchmarks/utility/distances.py` reads the table.
"""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tasks import ROOT, options, task_flags

# Each setting is drawn uniformly and independently. "x": a multiple of the default.
SPACE: dict[str, list[str]] = {
    "batch x": ["0.25", "0.5", "1", "1", "2", "4"],
    "lr x": ["0.2", "0.4", "0.7", "1", "1.5", "2.5", "5"],
    "dense-lr x": ["0.15", "0.3", "0.6", "1", "1.7", "3"],
    "epochs": ["5", "10", "20", "20", "40"],
    "clip-norm": ["", "0.1", "0.3", "1", "3"],
    "interaction": ["", "", "dot", "cat+dot"],
    "dim": ["", "", "8", "32"],
}
RESULTS = ["auc", "gauc", "logloss", "noise_multiplier", "batch", "steps", "seconds"]


def draw(number: int) -> dict[str, str]:
    """The configuration of a number; an empty value leaves the choice to the program."""
    if number == 0:
        return dict.fromkeys(SPACE, "")
    chance = random.Random(number)
    return {name: chance.choice(values) for name, values in SPACE.items()}


def named_flags(chosen: dict[str, str]) -> list[str]:
    words = []
    for flag, value in chosen.items():
        if value and not flag.endswith(" x"):
            words += [f"--{flag}", value]
    return words


def flags_of(program: Path, task: list[str], chosen: dict[str, str]) -> list[str]:
    """Flags of a configuration; a dry run says what its multiples are multiples of."""
    flags = [*task, *named_flags(chosen)]
    if any(chosen[name] for name in chosen if name.endswith(" x")):
        usual = train(program, [*flags, "--dry-run"])
        batch = round(usual["batch"] * float(chosen["batch x"]))
        most = int(usual["batch"] / usual["sampling_rate"])
        flags += ["--batch", str(max(1, min(batch, most)))]
        usual = train(program, [*flags, "--dry-run"])
        flags += ["--lr", repr(usual["table_rate"] * float(chosen["lr x"]))]
        flags += ["--dense-lr", repr(usual["dense_rate"] * float(chosen["dense-lr x"]))]
    return flags


def train(program: Path, flags: list[str]) -> dict:
    begin = time.monotonic()
    done = subprocess.run(
        [str(program), "train", *flags, "--threads", "1", "--quiet", "--json", "-"],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_WAIT_POLICY": "passive"},
    )
    if done.returncode != 0:
        return {"error": done.stderr.strip()}
    return json.loads(done.stdout) | {"seconds": time.monotonic() - begin}


class Table:
    """Rows of a CSV by their first columns; each is written as soon as it is known."""

    def __init__(self, path: Path, keys: list[str], header: list[str]) -> None:
        self.path, self.keys, self.header = path, keys, header
        self.rows: dict[tuple[str, ...], dict[str, str]] = {}
        if path.exists():
            with path.open() as file:
                for row in csv.DictReader(file):
                    self.rows[tuple(row[key] for key in keys)] = row
        else:
            path.write_text(",".join(header) + "\n")

    def has(self, row: dict[str, str]) -> bool:
        return tuple(row[key] for key in self.keys) in self.rows

    def add(self, row: dict[str, str]) -> None:
        self.rows[tuple(row[key] for key in self.keys)] = row
        with self.path.open("a", newline="") as file:
            csv.DictWriter(file, self.header, extrasaction="ignore").writerow(row)


def main() -> None:
    parser = options(__doc__, epsilons="1,3,8")
    parser.add_argument("--configurations", type=int, default=64)
    parser.add_argument("--out", type=Path, default=ROOT / "build/utility/search.csv")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    keys = ["task", "epsilon", "configuration"]
    table = Table(arguments.out, keys, [*keys, *SPACE, *RESULTS])
    data = os.environ.get("LAZYDP_DATA_DIR")

    def one(job: tuple[str, list[str], str, int]) -> None:
        task, flags, epsilon, number = job
        chosen = draw(number)
        row = {"task": task, "epsilon": epsilon, "configuration": str(number), **chosen}
        if table.has(row):
            return
        budget = [*flags, "--epsilon", epsilon]
        result = train(arguments.program, flags_of(arguments.program, budget, chosen))
        if "error" in result:
            print(f"{task} {epsilon} {number}: {result['error']}", flush=True)
            return
        row |= {key: f"{result[key]:.6g}" for key in RESULTS if result.get(key) is not None}
        table.add(row)

    jobs = []
    for task in arguments.tasks.split(","):
        flags = task_flags(arguments.program, task, data, arguments.work)
        if flags is None:
            print(f"{task}: skipped: no LAZYDP_DATA_DIR")
            continue
        for number in range(arguments.configurations):
            for epsilon in arguments.epsilons.split(","):
                jobs.append((task, flags, epsilon, number))
    jobs.sort(key=lambda job: job[3])  # a search that is stopped has tried as much on every task
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, jobs))


if __name__ == "__main__":
    main()
