"""Private logistic regression on one-hot columns: the baseline that a private model must beat.

Each unit (a person, or a single line) sends the mean gradient of all its examples, clipped as a
whole; every unit takes part in every step, so that the noise is that of a Gaussian mechanism.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from made_up_logs import area_under_curve
from torch_dlrm import examples_of

STEPS = 100
RATES = (0.3, 1.0, 3.0, 10.0)
CLIPS = (0.3, 1.0)


@dataclass
class OneHot:
    """Examples as lists of columns, all of weight 1 but the numbers."""

    labels: np.ndarray
    example: np.ndarray  # of every entry
    column: np.ndarray
    value: np.ndarray
    columns: int

    def logits(self, weights: np.ndarray) -> np.ndarray:
        return np.bincount(self.example, self.value * weights[self.column], len(self.labels))


def one_hot(program: Path, file: Path, rows: list[int]) -> OneHot:
    labels, numbers, bags = zip(*examples_of(program, file), strict=True)
    first = np.cumsum([0, *rows])
    example, column, value = [], [], []
    for i, (dense, ids) in enumerate(zip(numbers, bags, strict=True)):
        entries = [(int(first[k]) + r, 1.0) for k, bag in enumerate(ids) for r in bag]
        entries += [(int(first[-1]) + k, x) for k, x in enumerate(dense)]
        entries.append((int(first[-1]) + len(dense), 1.0))
        for c, x in entries:
            example.append(i)
            column.append(c)
            value.append(x)
    return OneHot(
        np.array(labels),
        np.array(example),
        np.array(column),
        np.array(value),
        int(first[-1]) + len(numbers[0]) + 1,
    )


def noise_for(program: Path, epsilon: float, delta: float) -> float:
    words = ["privacy", "noise", "--epsilon", str(epsilon), "--delta", str(delta)]
    words += ["--sampling-rate", "1", "--steps", str(STEPS), "--json", "-", "--quiet"]
    done = subprocess.run([str(program), *words], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["noise_multiplier"]


def units_of(data: OneHot, rows: list[int], table: int) -> np.ndarray:
    """The person of each example: the row of the column that names persons."""
    first = sum(rows[:table])
    here = (data.column >= first) & (data.column < first + rows[table])
    return np.unique(data.column[here], return_inverse=True)[1]


def train(
    data: OneHot, unit: np.ndarray, sigma: float, rate: float, clip: float, seed: int
) -> np.ndarray:
    """Weights after full-batch steps, whose rates fall linearly to zero."""
    random = np.random.default_rng(seed)
    units = int(unit.max()) + 1
    share = 1.0 / np.bincount(unit, minlength=units)[unit]  # of an example in its unit's mean
    # The entries of a unit's gradient: one for each of its columns, filled anew in every step.
    pair, slot = np.unique(unit[data.example] * data.columns + data.column, return_inverse=True)
    owner, where = pair // data.columns, pair % data.columns
    entry = data.value * share[data.example]
    weights = np.zeros(data.columns)
    for t in range(STEPS):
        logits = np.clip(data.logits(weights), -30, 30)
        error = 1 / (1 + np.exp(-logits)) - data.labels
        gradient = np.bincount(slot, entry * error[data.example], len(pair))
        norms = np.sqrt(np.bincount(owner, gradient**2, units))
        clipped = gradient * np.minimum(1.0, clip / np.maximum(norms, 1e-12))[owner]
        total = np.bincount(where, clipped, data.columns)
        total += sigma * clip * random.normal(size=data.columns)
        weights -= rate / clip * (1 - t / STEPS) * total / units
    return weights


def private_logistic_auc(
    program: Path, card: dict, train_file: Path, test_file: Path, epsilon: float, unit: str
) -> dict:
    """The best AUC over rates and clip norms, which nothing pays for: in the baseline's favour."""
    rows = card["model"]["table_rows"]
    data = one_hot(program, train_file, rows)
    test = one_hot(program, test_file, rows)
    tables = [c for c in card["data"]["schema"]["column"] if "rows" in c]
    unit_of = (
        units_of(data, rows, [c["name"] for c in tables].index(unit))
        if unit
        else np.arange(len(data.labels))
    )
    sigma = noise_for(program, epsilon, min(1e-6, 0.9 / (int(unit_of.max()) + 1)))
    found = [
        area_under_curve(test.logits(train(data, unit_of, sigma, rate, clip, 1)), test.labels)
        for rate in RATES
        for clip in CLIPS
    ]
    return {"auc": max(found)}
