"""Made-up logs, as different from each other as real ones are.

Each is a family of examples whose labels follow a hidden model: an effect of every id, dot products
of hidden vectors, effects of numbers. What differs is what differs between real logs: whether there
are numbers, how many columns and values, how heavy the tails, how rare the positives, bags of
several values, how many lines, whether the effects drift in time, and which column names a person.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Column:
    """A categorical column: ids are drawn from a Zipf law over `values` and shuffled."""

    name: str
    values: int
    zipf: float = 1.05
    effect: float = 0.7  # standard deviation of an id's own effect
    affinity: float = 0.5  # of each coordinate of its hidden vector
    several: int = 1  # at most so many values in a bag; 1: exactly one
    key: bool = False  # examples may be grouped by it
    rows: int = 0  # of the table; 0: twice the values


@dataclass(frozen=True)
class Log:
    lines: int
    columns: tuple[Column, ...]
    numbers: int = 0
    positives: float = 0.3
    sharpness: float = 1.8  # standard deviation of the logit
    drift: float = 0.0  # how far effects move from the first line to the last
    hidden: int = 6  # coordinates of a hidden vector
    unit: str = ""  # the column that names a person
    seed: int = 0


LOGS = {
    # Users x items x contexts, all categorical. Labels are nearly certain: they follow mostly
    # from the item, the rest from the user.
    "apps": Log(
        250_000,
        (
            Column("user", 950, 0.7, 0.8, 0.5, key=True, rows=2000),
            Column("item", 4000, 1.1, 1.8, 0.5, rows=8000),
            Column("hour", 7, 0.2, 0.1, 0.2),
            Column("weekday", 7, 0.1, 0.1, 0.2),
            Column("place", 3, 0.5, 0.1, 0.2),
            Column("weather", 9, 0.8, 0.1, 0.2),
            Column("country", 80, 1.2, 0.3, 0.3),
        ),
        positives=0.33,
        sharpness=6.0,
        unit="user",
        seed=1,
    ),
    # Thousands of users, thousands of items, nothing else.
    "ratings": Log(
        600_000,
        (
            Column("user", 6000, 0.6, 0.6, 0.6, key=True, rows=12000),
            Column("item", 3700, 0.9, 0.9, 0.6, rows=8000),
        ),
        positives=0.45,
        sharpness=1.7,
        unit="user",
        seed=2,
    ),
    # One positive in a hundred.
    "rare": Log(
        400_000,
        (
            Column("user", 20_000, 0.8, 0.5, 0.3, rows=40_000),
            Column("ad", 2000, 1.1, 0.8, 0.3),
            Column("site", 500, 1.2, 0.6, 0.2),
            Column("device", 20, 1.0, 0.4, 0.1),
        ),
        numbers=4,
        positives=0.01,
        sharpness=1.8,
        seed=3,
    ),
    # Bags of several values.
    "tags": Log(
        150_000,
        (
            Column("tags", 3000, 1.0, 0.6, 0.4, several=12),
            Column("history", 5000, 1.0, 0.4, 0.4, several=20),
            Column("item", 3000, 1.0, 0.6, 0.5),
        ),
        numbers=2,
        seed=4,
    ),
    # Criteo's shape: thirteen numbers, twenty-six columns of very different sizes.
    "criteo-shape": Log(
        300_000,
        tuple(
            Column(f"c{k}", values, 1.1, 0.35, 0.15)
            for k, values in enumerate(
                [1400, 550, 90_000, 40_000, 300, 24, 9000, 600, 3, 30_000, 5000, 80_000, 3100]
                + [27, 9500, 60_000, 10, 3600, 2000, 4, 70_000, 17, 15, 30_000, 80, 25_000]
            )
        ),
        numbers=13,
        positives=0.26,
        sharpness=1.5,
        seed=5,
    ),
    # Ids so rare that most occur once.
    "tails": Log(
        200_000,
        (
            Column("user", 150_000, 0.5, 0.3, 0.2, rows=200_000),
            Column("item", 80_000, 0.9, 0.8, 0.4, rows=100_000),
            Column("category", 200, 1.0, 0.8, 0.4),
        ),
        numbers=1,
        positives=0.2,
        seed=6,
    ),
    # A log of a small shop.
    "shop": Log(
        8000,
        (
            Column("customer", 900, 0.7, 0.5, 0.3, key=True),
            Column("product", 300, 1.0, 0.8, 0.3),
            Column("channel", 5, 0.5, 0.4, 0.2),
        ),
        numbers=3,
        positives=0.25,
        unit="customer",
        seed=7,
    ),
    # Tastes that change while the log is written; the last tenth is held out.
    "drift": Log(
        300_000,
        (
            Column("user", 5000, 0.7, 0.5, 0.4, key=True, rows=10_000),
            Column("item", 5000, 1.0, 0.9, 0.4, rows=10_000),
            Column("slot", 12, 0.5, 0.4, 0.2),
        ),
        numbers=2,
        positives=0.3,
        drift=0.8,
        unit="user",
        seed=8,
    ),
}


def draw_ids(random: np.random.Generator, column: Column, count: int) -> np.ndarray:
    weight = np.arange(1, column.values + 1, dtype=float) ** -column.zipf
    ranks = np.searchsorted(np.cumsum(weight) / weight.sum(), random.random(count))
    return random.permutation(column.values)[np.minimum(ranks, column.values - 1)]


def write_log(name: str, folder: Path) -> None:
    """Writes NAME-train.csv, NAME-test.csv and NAME.toml; the best AUC there is to NAME.bayes."""
    log = LOGS[name]
    random = np.random.default_rng(log.seed)
    time = np.linspace(0.0, 1.0, log.lines)
    logit = np.zeros(log.lines)
    vectors = []
    texts = []
    for column in log.columns:
        lengths = (
            np.ones(log.lines, int)
            if column.several == 1
            else random.integers(0, column.several + 1, log.lines)
        )
        ids = draw_ids(random, column, int(lengths.sum()))
        owner = np.repeat(np.arange(log.lines), lengths)
        scale = 1.0 / np.sqrt(np.maximum(lengths, 1))
        first, last = random.normal(0, column.effect, (2, column.values))
        moved = time[owner] * log.drift
        effect = (first[ids] * (1 - moved) + last[ids] * moved) * scale[owner]
        np.add.at(logit, owner, effect)
        hidden = random.normal(0, column.affinity, (column.values, log.hidden))
        pooled = np.zeros((log.lines, log.hidden))
        np.add.at(pooled, owner, hidden[ids] * scale[owner, None])
        vectors.append(pooled)
        if column.several == 1:
            texts.append([f"{column.name[0]}{i}" for i in ids])
        else:
            ends = np.cumsum(lengths)
            texts.append(
                [
                    "|".join(f"t{i}" for i in ids[end - n : end])
                    for end, n in zip(ends, lengths, strict=True)
                ]
            )
    total = np.sum(vectors, axis=0)
    pairs = 0.5 * (np.sum(total**2, axis=1) - sum(np.sum(v**2, axis=1) for v in vectors))
    logit += pairs
    numbers = random.normal(0, 1, (log.lines, log.numbers))
    logit += numbers @ random.normal(0, 0.4, log.numbers)
    logit = (logit - logit.mean()) / logit.std() * log.sharpness
    low, high = -30.0, 30.0
    for _ in range(60):  # the shift that gives the wanted share of positives
        shift = (low + high) / 2
        if np.mean(1 / (1 + np.exp(-(logit + shift)))) > log.positives:
            high = shift
        else:
            low = shift
    labels = random.random(log.lines) < 1 / (1 + np.exp(-(logit + low)))
    held_out = (
        time >= 0.9 if log.drift else random.random(log.lines) < 0.1
    )  # in time where time matters
    for part, chosen in (("train", ~held_out), ("test", held_out)):
        with (folder / f"{name}-{part}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            for i in np.flatnonzero(chosen):
                writer.writerow(
                    [
                        int(labels[i]),
                        *(f"{x:.5f}" for x in numbers[i]),
                        *(column[i] for column in texts),
                    ]
                )
    (folder / f"{name}.toml").write_text(schema(log))
    (folder / f"{name}.bayes").write_text(
        f"{area_under_curve(logit[held_out], labels[held_out]):.4f}\n"
    )


def schema(log: Log) -> str:
    text = '[[column]]\nname = "label"\nrole = "label"\npositive = ["1"]\nnegative = ["0"]\n'
    for k in range(log.numbers):
        text += f'[[column]]\nname = "n{k}"\nrole = "dense"\ntransform = "none"\n'
    for column in log.columns:
        text += f'[[column]]\nname = "{column.name}"\n'
        text += (
            'role = "categorical"\n' if column.several == 1 else 'role = "multi"\nseparator = "|"\n'
        )
        text += f"rows = {column.rows or 2 * column.values + 8}\n"
        if column.key:
            text += "key = true\n"
    return text


def area_under_curve(scores: np.ndarray, labels: np.ndarray) -> float:
    """AUC, ties counted half."""
    order = np.argsort(scores, kind="stable")
    _, inverse, counts = np.unique(scores[order], return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2)[inverse]
    positive = np.asarray(labels, bool)[order]
    p = positive.sum()
    n = len(positive) - p
    return float((ranks[positive].sum() - p * (p + 1) / 2) / (p * n))
