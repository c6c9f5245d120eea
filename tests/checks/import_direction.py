#!/usr/bin/env python3
"""Checks that imports in python/lazydp go only leftward in the pipeline of folders.

A folder imports the folders before it and the extension, each by its full name. The public modules
beside them import the extension and each other; `__init__` alone imports everything. What
scores needs no torch. Usage: import_direction.py [PROJECT ROOT]. Names file:line and the rule;
exit 1 if any is broken.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDERS = "serving noise accounting loading layers tables training".split()
PUBLIC = ["privacy", "auditing", "converting"]


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields line and full name of everything that a module imports, wherever it does so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            before = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{before}.{name.name}") for name in node.names)


def broken_rule(folder: str, name: str) -> str | None:
    """Returns the rule that a module of this folder, or a public module, breaks by this import."""
    if name.startswith("."):
        return "our modules are imported by their full names"
    first, _, rest = name.partition(".")
    if first == "torch" and folder == "serving":
        return "serving may not import torch"
    if first != "lazydp":
        return None
    to = rest.partition(".")[0]
    if to in ("_native", folder):
        return None
    order = PUBLIC if folder in PUBLIC else FOLDERS
    if to in order[: order.index(folder)]:
        return None
    if to in FOLDERS + PUBLIC:
        return f"imports go only leftward: {folder} may not import {to}"
    return f"{name} is in no folder: import it from where it lies"


def complaints(package: Path, path: Path) -> Iterator[tuple[int, str]]:
    """Yields line and rule for one module."""
    parts = path.relative_to(package).parts
    folder = parts[0] if len(parts) > 1 else path.stem
    if folder == "__init__":
        return
    if folder not in (FOLDERS if len(parts) > 1 else PUBLIC):
        yield 1, f"neither a folder of the pipeline nor public: {folder}"
        return
    for line, name in imported(ast.parse(path.read_text(encoding="utf-8"))):
        rule = broken_rule(folder, name)
        if rule is not None:
            yield line, rule


def main() -> int:
    """Prints what is wrong, and returns the exit code."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    package = root / "python/lazydp"
    broken = 0
    for path in sorted(package.rglob("*.py")):
        for line, rule in complaints(package, path):
            print(f"{path.relative_to(root)}:{line}: {rule}")
            broken = 1
    return broken


if __name__ == "__main__":
    sys.exit(main())
