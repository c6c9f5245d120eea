"""Reads a search: how far the defaults are from the best that was found, and what others would do.

python3 benchmarks/utility/distances.py build/utility/search.csv

For every task and epsilon: the AUC of the defaults (configuration 0), the best of the search, and
the AUC of the configuration that is best on average over all *other* tasks. The last one is what
tuning without the task would have given it. The best of many noisy runs is too good by chance; the
column `best` says so by being the mean of the three best.
"""

from __future__ import annotations

import csv
import statistics
import sys
from collections import defaultdict
from pathlib import Path

Cell = tuple[str, str]  # task, epsilon


def read(path: Path) -> dict[Cell, dict[int, float]]:
    """AUC by configuration, for every task and epsilon."""
    found: dict[Cell, dict[int, float]] = defaultdict(dict)
    with path.open() as file:
        for row in csv.DictReader(file):
            if row["auc"]:
                cell = (row["task"], row["epsilon"])
                found[cell][int(row["configuration"])] = float(row["auc"])
    return dict(found)


def family(task: str) -> bool:
    """Defaults differ between examples and units, so a choice is carried over within each."""
    return "@" in task


def chosen_without(cell: Cell, found: dict[Cell, dict[int, float]]) -> int | None:
    """The configuration that is best on average on other tasks of the same kind and epsilon."""
    others = [
        aucs
        for (task, epsilon), aucs in found.items()
        if epsilon == cell[1] and task != cell[0] and family(task) == family(cell[0])
    ]
    if not others:
        return None
    common = set.intersection(*(set(aucs) for aucs in others))

    def shortfall(number: int) -> float:
        return statistics.mean(max(aucs.values()) - aucs[number] for aucs in others)

    return min(common, key=shortfall) if common else None


def main() -> None:
    found = read(Path(sys.argv[1]))
    print("| task | ε | configurations | defaults | best | defaults - best | chosen without it |")
    print("|---|---|---|---|---|---|---|")
    for cell, aucs in sorted(found.items(), key=lambda item: (item[0][0], -float(item[0][1]))):
        best = statistics.mean(sorted(aucs.values())[-3:])
        usual = aucs.get(0, float("nan"))
        other = chosen_without(cell, found)
        told = f"{aucs[other]:.4f} ({other})" if other in aucs else "-"
        print(
            f"| `{cell[0]}` | {cell[1]} | {len(aucs)} | {usual:.4f} | {best:.4f} |"
            f" {usual - best:+.4f} | {told} |"
        )


if __name__ == "__main__":
    main()
