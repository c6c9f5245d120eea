"""What privacy costs in accuracy: AUC by algorithm and epsilon, over several seeds.

python3 benchmarks/utility.py --tasks click,adult --seeds 5

Every run is `lazydp train` with its defaults. A run that was done is kept in --results and not
repeated, so that the benchmark can be stopped and gone on with. With torch, a PyTorch DLRM of the
same shape is trained beside SGD, on the same examples, batch, rates and number of steps.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import runpy
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRIVATE = ["lazydp", "dpsgd-f", "eana"]
# Student's t at 97.5 % by degrees of freedom: the interval of a mean over few seeds.
STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}

ADULT = [
    ("age", "dense"),
    ("workclass", 32),
    ("fnlwgt", "ignore"),
    ("education", 64),
    ("education-num", "dense"),
    ("marital-status", 32),
    ("occupation", 64),
    ("relationship", 32),
    ("race", 32),
    ("sex", 16),
    ("capital-gain", "dense"),
    ("capital-loss", "dense"),
    ("hours-per-week", "dense"),
    ("native-country", 256),
]


def run(*words: str | Path) -> None:
    subprocess.run([str(w) for w in words], check=True, stdout=subprocess.DEVNULL)


def adult_schema() -> str:
    text = 'missing = ["", "?"]\n'
    for name, kind in ADULT:
        text += f'[[column]]\nname = "{name}"\n'
        text += (
            f'role = "{kind}"\n'
            if isinstance(kind, str)
            else f'role = "categorical"\nrows = {kind}\n'
        )
    return text + (
        '[[column]]\nname = "income"\nrole = "label"\n'
        'positive = [">50K", ">50K."]\nnegative = ["<=50K", "<=50K."]\n'
    )


MOVIES_SCHEMA = """
[[column]]
name = "user"
role = "categorical"
rows = 20000
[[column]]
name = "movie"
role = "categorical"
rows = 10000
[[column]]
name = "genres"
role = "multi"
separator = "|"
rows = 64
[[column]]
name = "month"
role = "categorical"
bucket = 2592000
rows = 64
[[column]]
name = "rating"
role = "label"
positive_from = 8
"""


def prepare_adult(program: Path, source: Path, work: Path) -> list[str]:
    (work / "adult.toml").write_text(adult_schema())
    for part in ("train", "test"):
        out = work / f"adult-{part}.ldp"
        if not out.exists():
            run(
                program,
                "convert",
                "csv",
                "--schema",
                work / "adult.toml",
                source / "adult" / f"{part}.csv",
                out,
            )
    return ["--data", str(work / "adult-train.ldp"), "--test", str(work / "adult-test.ldp")]


def prepare_movies(program: Path, source: Path, work: Path) -> list[str]:
    """Ratings with their genres, oldest first: the last tenth is held out."""
    out = work / "movies.ldp"
    if not out.exists():
        folder = source / "movietweetings-100k"
        genres = {}
        for line in (folder / "movies.dat").read_text().splitlines():
            movie, _, kinds = line.split("::")
            genres[movie] = kinds
        ratings = [line.split("::") for line in (folder / "ratings.dat").read_text().splitlines()]
        ratings.sort(key=lambda r: int(r[3]))
        with (work / "movies.csv").open("w") as file:
            csv.writer(file).writerows(
                (u, m, genres.get(m, ""), when, stars) for u, m, stars, when in ratings
            )
        (work / "movies.toml").write_text(MOVIES_SCHEMA)
        run(program, "convert", "csv", "--schema", work / "movies.toml", work / "movies.csv", out)
    return ["--data", str(out)]


def prepare_click(name: str) -> list[str]:
    return ["--synthetic", name] + (
        ["--model", "small", "--scale", "10"] if name == "click:large" else []
    )


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


def examples_of(program: Path, file: Path) -> Iterator[tuple[float, list[float], list[list[int]]]]:
    """Label, numbers and rows of each example of a data file, as `lazydp inspect` tells them."""
    with subprocess.Popen(
        [str(program), "inspect", str(file), "--show", "1000000000"],
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        for line in child.stdout or ():
            if ": label " not in line:
                continue
            label, dense, rows = line.split(": label ", 1)[1].split("; ")
            numbers = [float(x) for x in dense.split()[1:]]
            bags = [
                [int(r) for r in bag.split(",") if r]
                for bag in rows[len("rows ") :].rstrip("\n").split(" ")
            ]
            yield float(label), numbers, bags


def torch_auc(
    program: Path, card: dict, train_file: Path, test_file: Path, skip: int, seed: int
) -> dict:
    """SGD in PyTorch with the settings of a native run's card.

    `skip` examples of the test file were trained on.
    """
    import torch
    from torch.nn import functional

    torch.manual_seed(seed)

    def tensors(file: Path) -> tuple:
        labels, dense, bags = zip(*examples_of(program, file), strict=True)
        ids = []
        for k in range(len(bags[0])):
            column = [b[k] for b in bags]
            single = all(len(ids_of_one) == 1 for ids_of_one in column)
            ids.append(
                torch.tensor([b[0] for b in column])
                if single
                else [torch.tensor(b, dtype=torch.long) for b in column]
            )
        return torch.tensor(labels), torch.tensor(dense), ids

    def bags_of(ids: list, which: torch.Tensor) -> list:
        out = []
        for column in ids:
            if isinstance(column, torch.Tensor):
                out.append((column[which], torch.arange(len(which))))
            else:
                some = [column[int(i)] for i in which]
                sizes = torch.tensor([len(s) for s in some])
                out.append((torch.cat(some), torch.cumsum(sizes, 0) - sizes))
        return out

    plan = card["plan"]
    model = runpy.run_path(str(ROOT / "examples/load_released_model.py"))["Dlrm"](card)
    for table in model.tables:
        table.sparse = True
        torch.nn.init.uniform_(
            table.weight, -((1 / table.num_embeddings) ** 0.5), (1 / table.num_embeddings) ** 0.5
        )
    dense_layers = [*model.bottom.parameters(), *model.top.parameters()]
    optimizer = torch.optim.SGD(
        [
            {"params": dense_layers, "lr": plan["dense_rate"]},
            {"params": model.tables.parameters(), "lr": plan["table_rate"]},
        ]
    )
    steps, batch = plan["steps"], round(plan["expected_batch"])
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: max(0.0, 1 - t / steps))
    assert plan["rate_schedule"] == "poly:1", plan["rate_schedule"]
    labels, dense, ids = tensors(train_file)
    count = round(plan["expected_batch"] / plan["sampling_rate"])
    order = torch.randperm(count)
    for t in range(steps):
        at = t * batch % count
        if at + batch > count:
            order, at = torch.randperm(count), 0
        which = order[at : at + batch]
        optimizer.zero_grad()
        logits = model(dense[which], bags_of(ids, which))
        functional.binary_cross_entropy_with_logits(logits, labels[which]).backward()
        optimizer.step()
        scheduler.step()
    if test_file != train_file:
        labels, dense, ids = tensors(test_file)
    which = torch.arange(skip, len(labels))
    with torch.no_grad():
        scores = torch.cat([model(dense[w], bags_of(ids, w)) for w in which.split(4096)])
    return {"auc": auc_of(scores.tolist(), labels[which].tolist())}


def auc_of(scores: list[float], labels: list[float]) -> float:
    order = sorted(range(len(scores)), key=scores.__getitem__)
    negatives = right = 0.0
    for i in order:  # ties between floats of a trained model are too rare to matter
        if labels[i] > 0.5:
            right += negatives
        else:
            negatives += 1
    return right / negatives / (len(scores) - negatives)


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
        if task in ("adult", "movies") and data is None:
            print(f"\n{task}: skipped: no LAZYDP_DATA_DIR")
            continue
        if task == "adult":
            flags = prepare_adult(arguments.program, Path(data or ""), arguments.work)
        elif task == "movies":
            flags = prepare_movies(arguments.program, Path(data or ""), arguments.work)
        else:
            flags = prepare_click(task)
        tables[task] = report(
            arguments.program, Runs(arguments.work / "runs"), task, flags, arguments
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(tables, indent=1))


if __name__ == "__main__":
    main()
