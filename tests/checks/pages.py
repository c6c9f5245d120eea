#!/usr/bin/env python3
"""Checks the pages: prose is wrapped at 120 columns, and every source file that they name is there.

Usage: pages.py [PROJECT ROOT]. Names file:line and the rule; exit 1 if any is broken.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

COLUMNS = 120
NAMED = re.compile(r"`([\w./{},-]+\.(?:h|cc|py|sh|\{h,cc\}))`")
PLACEHOLDER = re.compile(r"\b[A-Z]+\b")  # cli/verbs/NAME.cc
ADDED = re.compile(r"^\+\+\+ b/(\S+)", re.MULTILINE)  # by a patch


def files_of(root: Path) -> Iterator[Path]:
    """Yields the files of the project, without those that were built."""
    for path in sorted(root.iterdir()):
        if path.name == "build" or path.name.startswith("."):
            continue
        yield from files_of(path) if path.is_dir() else [path]


def expanded(name: str) -> list[str]:
    """Returns the names that a name with one pair of braces stands for."""
    before, brace, rest = name.partition("{")
    inside, _, after = rest.partition("}")
    return [before + part + after for part in inside.split(",")] if brace else [name]


def complaints(page: Path, ends: set[str]) -> Iterator[tuple[int, str]]:
    """Yields line and rule. `ends` holds every path of the project, from any folder on."""
    code = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith(("```", "~~~")):
            code = not code
        if code:
            continue
        if len(line) > COLUMNS and not line.lstrip().startswith(("|", "<")):
            yield number, f"prose is wrapped at {COLUMNS} columns; this line has {len(line)}"
        for found in NAMED.findall(line):
            for name in expanded(found):
                if name not in ends and not PLACEHOLDER.search(name):
                    yield number, f"there is no file {name}"


def main() -> int:
    """Prints what is wrong, and returns the exit code."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    files = list(files_of(root))
    paths = [path.relative_to(root).as_posix() for path in files]
    for path in files:
        if path.suffix == ".patch":
            paths += ADDED.findall(path.read_text(encoding="utf-8"))
    parts = [path.split("/") for path in paths]
    ends = {"/".join(names[i:]) for names in parts for i in range(len(names))}
    broken = 0
    for page in (path for path in files if path.suffix == ".md"):
        for number, rule in complaints(page, ends):
            print(f"{page.relative_to(root)}:{number}: {rule}")
            broken = 1
    return broken


if __name__ == "__main__":
    sys.exit(main())
