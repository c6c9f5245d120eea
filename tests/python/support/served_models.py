"""Models of a made-up log with every kind of column, trained and released by the program."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "build/dev/src/lazydp/cli/lazydp"

SCHEMA = """
header = true
missing = ["", "?"]
salt = "18446744073709551615"
[[column]]
name = "age"
role = "dense"
[[column]]
name = "balance"
role = "dense"
transform = "none"
[[column]]
name = "user"
role = "categorical"
rows = 300
key = true
[[column]]
name = "tags"
role = "multi"
separator = "|"
rows = 64
[[column]]
name = "ad"
role = "categorical"
hexadecimal = true
rows = 40
[[column]]
name = "note"
[[column]]
name = "time"
role = "categorical"
bucket = 0.5
rows = 20
[[column]]
name = "y"
role = "label"
positive = "1"
"""
COLUMNS = ["age", "balance", "user", "tags", "ad", "note", "time", "y"]


def example(i: int) -> dict[str, str]:
    """Return the texts of a line: some are missing, some stand between blanks."""
    tags = [f"t{i * 7 % 41}", f"t{i % 5}", "?", "é"][: i % 5]
    return {
        "age": "?" if i % 9 == 0 else str(i % 50 - 3),
        "balance": "" if i % 11 == 0 else f"{(i % 13 - 6) / 4}",
        "user": "" if i % 17 == 0 else f" {i % 200} ",
        "tags": " | ".join(tags),
        "ad": f"{i % 30:x}",
        "note": "whatever",
        "time": f"{i % 8 / 4 - 1}",
        "y": str(int(i * 7 % 41 < 20)),
    }


def write_log(path: Path, count: int, columns: list[str] = COLUMNS) -> None:
    lines = [",".join(columns)]
    lines += [",".join(example(i)[name] for name in columns) for i in range(count)]
    path.write_text("\n".join(lines) + "\n")


def run(*words: object) -> str:
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def train(folder: Path, *flags: object, schema: str = SCHEMA) -> Path:
    """Train on the log; return the run's folder."""
    (folder / "s.toml").write_text(schema)
    write_log(folder / "log.csv", 600)
    data = folder / "log.ldp"
    run("convert", "csv", "--quiet", "--schema", folder / "s.toml", folder / "log.csv", data)
    few = ["--steps", 30, "--batch", 128, "--lr", 30, "--quiet", "--out", folder / "run"]
    run("train", "--data", data, *few, *flags)
    return folder / "run"


def predicted(model: Path, text: Path) -> list[float]:
    return [float(line) for line in run("predict", model, text).split()]
