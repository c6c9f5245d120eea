"""The data that the benchmark of accuracy trains on, as flags of `lazydp train`."""

from __future__ import annotations

import argparse
import csv
import subprocess
from pathlib import Path

from made_up_logs import LOGS, write_log

ROOT = Path(__file__).parents[2]
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
key = true
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
    """Ratings with their genres, oldest first: the last tenth is held out, as a file of its own."""
    parts = {part: work / f"movies-{part}.ldp" for part in ("train", "test")}
    if not all(out.exists() for out in parts.values()):
        folder = source / "movietweetings-100k"
        genres = {}
        for line in (folder / "movies.dat").read_text().splitlines():
            movie, _, kinds = line.split("::")
            genres[movie] = kinds
        ratings = [line.split("::") for line in (folder / "ratings.dat").read_text().splitlines()]
        ratings.sort(key=lambda r: int(r[3]))
        (work / "movies.toml").write_text(MOVIES_SCHEMA)
        cut = len(ratings) - round(0.1 * len(ratings))
        for part, rows in (("train", ratings[:cut]), ("test", ratings[cut:])):
            text = work / f"movies-{part}.csv"
            with text.open("w") as file:
                csv.writer(file).writerows(
                    (u, m, genres.get(m, ""), when, stars) for u, m, stars, when in rows
                )
            run(program, "convert", "csv", "--schema", work / "movies.toml", text, parts[part])
    return ["--data", str(parts["train"]), "--test", str(parts["test"])]


def prepare_click(name: str) -> list[str]:
    return ["--synthetic", name] + (
        ["--model", "small", "--scale", "10"] if name == "click:large" else []
    )


def prepare_made_up(program: Path, name: str, work: Path) -> list[str]:
    parts = {part: work / f"{name}-{part}.ldp" for part in ("train", "test")}
    if not all(out.exists() for out in parts.values()):
        write_log(name, work)
        for part, out in parts.items():
            text = work / f"{name}-{part}.csv"
            run(program, "convert", "csv", "--schema", work / f"{name}.toml", text, out)
            text.unlink()
    return ["--data", str(parts["train"]), "--test", str(parts["test"])]


UNITS = {"movies": "user"} | {name: log.unit for name, log in LOGS.items() if log.unit}
SHARED = {"adult": prepare_adult, "movies": prepare_movies}
ALL_TASKS = ["click", "click:large", *SHARED, *LOGS, *(f"{name}@unit" for name in UNITS)]


def task_flags(program: Path, task: str, data: str | None, work: Path) -> list[str] | None:
    """Flags of `lazydp train` for a task; `NAME@unit` protects persons instead of examples.

    None: the task needs data that is not here.
    """
    name, _, by_unit = task.partition("@")
    if name.startswith("click"):
        flags = prepare_click(name)
    elif name in LOGS:
        flags = prepare_made_up(program, name, work)
    elif data is None:
        return None
    else:
        flags = SHARED[name](program, Path(data), work)
    return flags + (["--privacy-unit", UNITS[name]] if by_unit else [])


def options(description: str | None, *, epsilons: str) -> argparse.ArgumentParser:
    """Return a parser with what every program that trains on these tasks is told."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", type=Path, default=ROOT / "build/lazydp")
    parser.add_argument("--tasks", default=",".join(ALL_TASKS))
    parser.add_argument("--epsilons", default=epsilons)
    parser.add_argument("--work", type=Path, default=ROOT / "build/utility")
    return parser
