"""Scores with a released model: NumPy and the encoder of values, no torch.

model = lazydp.load("runs/first")
model.score([{"user": "u1", "item": "i7"}])
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazydp._native import ExampleEncoder, UserError
from lazydp.serving import scoring_values
from lazydp.serving.recommending import probabilities, recommend
from lazydp.serving.released_files import (
    Card,
    Floats,
    Rows,
    folder_of,
    tables_of,
    verified_card,
    weights_of,
)

Bags = list[tuple[NDArray[np.int64], NDArray[np.int64]]]  # ids and offsets of each table
Layers = list[tuple[Floats, Floats]]  # weight (out x in) and bias of each

_BLOCK = 4096  # examples that are scored together


def load(model: str | Path) -> ServedModel:
    """Open a released model, or the one that a run's folder holds.

    Raises PrivacyError if the weights or the card were edited since the release.
    """
    return ServedModel(folder_of(model))


class ServedModel:
    """A released model that scores examples. Nothing in it changes: threads may share it."""

    card: Card
    """What is claimed of the model, and how values become its input."""

    bottom: Layers
    top: Layers
    tables: list[Rows]

    def __init__(self, folder: Path) -> None:
        """Read the model in `folder`, whose card is checked first."""
        self.folder = folder
        self.card = verified_card(folder)
        shape = self.card["model"]
        weights = weights_of(folder)
        self.bottom = _layers(weights, "bottom", len(shape["bottom"]) - 1)
        self.top = _layers(weights, "top", len(shape["top"]))
        # A calibrated score is scale * logit + shift: the last layer takes it in.
        scaling = shape.get("score_scaling", {"scale": 1.0, "shift": 0.0})
        self.linear_scale = np.float32(scaling["scale"])
        weight, bias = self.top[-1]
        self.top[-1] = (
            weight * self.linear_scale,
            bias * self.linear_scale + np.float32(scaling["shift"]),
        )
        self.tables = tables_of(weights, len(shape["table_rows"]))
        self.pools_by_mean = shape["pooling_mode"] == "mean"
        interaction = shape.get("interaction", "dot")
        self.copies_all_vectors = interaction != "dot"
        self.adds_first_coordinates = interaction == "linear+cat+dot"
        below = np.tril_indices(len(self.tables) + 1, -1)
        self._pairs: tuple[NDArray[Any], NDArray[Any]] = (below[0], below[1])
        self._schema: dict[str, Any] | None = self.card["data"].get("schema")
        if self._schema is not None:
            self._encoder = ExampleEncoder(json.dumps(self._schema))

    @property
    def columns(self) -> list[str]:
        """The names of the columns that the model reads."""
        return [c["name"] for c in self._described()["column"] if scoring_values.is_read(c)]

    @property
    def dense_columns(self) -> list[str]:
        """The names of the dense columns, in the order of the dense features."""
        return [c["name"] for c in self._described()["column"] if c["role"] == "dense"]

    @property
    def table_columns(self) -> list[str]:
        """The names of the columns that have a table, in the order of the tables."""
        return [name for name in self.columns if name not in self.dense_columns]

    def score(self, examples: Any) -> NDArray[np.float64]:
        """Return the probability of a positive label for each example.

        `examples` are a list of dicts, a dict of columns, or a data frame or table of pandas,
        polars or Arrow. Every column that the model reads must be there; None, NaN, and what the
        schema lists as missing, is a missing value. Values that cannot be used raise UserError.
        """
        dense, bags = self.encode(examples)
        logits = np.empty(len(dense), np.float32)
        for begin in range(0, len(dense), _BLOCK):
            end = min(begin + _BLOCK, len(dense))
            some = [_some(bag, begin, end) for bag in bags]
            logits[begin:end] = self.logits(dense[begin:end], some)
        return probabilities(logits)

    def score_one(self, example: Mapping[str, object]) -> float:
        """Return the probability of a positive label for one example, a dict."""
        return float(self.score([example])[0])

    def recommend(
        self,
        users: Any,
        items: Any,
        *,
        top: int = 10,
        seen: Sequence[Collection[int]] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the items that score best for each user: their places in `items`, and scores.

        Users and items are given as examples are, each with its part of the columns. `seen` has
        the places of the items that each user is not to be shown. Where fewer than `top` are left,
        a row ends with places of -1 and scores of NaN.
        """
        return recommend(self, users, items, top, seen)

    def encode(self, examples: Any, *, some_columns: bool = False) -> tuple[Floats, Bags]:
        """Return dense features and, for each table, all ids and where each example's begin."""
        schema = self._described()
        columns, count = scoring_values.columns_of(examples, self.columns)
        missing = [name for name in self.columns if name not in columns]
        if missing and count > 0 and not some_columns:
            raise UserError(f"the examples have no '{missing[0]}', which the model reads")
        texts = [
            scoring_values.texts_of(columns[c["name"]], c, schema["trim"])
            if scoring_values.is_read(c) and c["name"] in columns
            else None
            for c in schema["column"]
        ]
        return self._encoder.encode(texts, count)

    def logits(self, dense: Floats, bags: Bags) -> Floats:
        """Return the logits of encoded examples."""
        vectors = self.vectors(dense, bags)
        weight, bias = self.top[0]
        hidden = self.interaction(vectors) @ weight.T + bias
        return self.logits_of_hidden(hidden) + self.linear_term(vectors)

    def vectors(self, dense: Floats, bags: Bags) -> Floats:
        """Return, for each example, the bottom MLP's output and the pooled rows of every table."""
        bottom = dense
        for weight, bias in self.bottom:
            bottom = np.maximum(bottom @ weight.T + bias, 0)
        pooled = [
            _pool(t, bag, self.pools_by_mean) for t, bag in zip(self.tables, bags, strict=True)
        ]
        return np.stack([bottom, *pooled], axis=1)

    def interaction(self, vectors: Floats) -> Floats:
        """Return the top MLP's input: vectors, then the dot products of all pairs."""
        dots = vectors @ vectors.transpose(0, 2, 1)
        copied = vectors.reshape(len(vectors), -1) if self.copies_all_vectors else vectors[:, 0]
        return np.concatenate([copied, dots[:, self._pairs[0], self._pairs[1]]], axis=1)

    def linear_term(self, vectors: Floats) -> Floats:
        """Return what the tables' rows add to the logits directly."""
        if self.adds_first_coordinates:
            return np.asarray(self.linear_scale * vectors[:, 1:, 0].sum(axis=1))
        return np.zeros(len(vectors), np.float32)

    def logits_of_hidden(self, hidden: Floats) -> Floats:
        """Return logits from the sums of the top MLP's first layer; overwrites these."""
        for weight, bias in self.top[1:]:
            hidden = np.maximum(hidden, 0, out=hidden) @ weight.T
            hidden += bias
        return hidden[:, 0]

    def _described(self) -> dict[str, Any]:
        if self._schema is None:
            raise UserError(
                "the model was trained on a synthetic task: its card has no schema, so that "
                "nothing says how a value becomes its input; give logits() rows and numbers"
            )
        return self._schema


def _layers(weights: dict[str, Floats], stack: str, count: int) -> Layers:
    names = [f"{stack}.{2 * i}" for i in range(count)]  # a ReLU stands after each but the last
    return [(weights[f"{name}.weight"], weights[f"{name}.bias"]) for name in names]


def _some(
    bag: tuple[NDArray[np.int64], NDArray[np.int64]], begin: int, end: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    ids, offsets = bag
    return ids[offsets[begin] : offsets[end]], offsets[begin : end + 1] - offsets[begin]


def _pool(table: Rows, bag: tuple[NDArray[np.int64], NDArray[np.int64]], mean: bool) -> Floats:
    """Return the sum or the mean of each bag's rows; zeros for an empty bag."""
    ids, offsets = bag
    lengths = np.diff(offsets)
    if len(ids) == len(lengths) and (lengths == 1).all():
        return table[ids]
    pooled = np.zeros((len(lengths), table.shape[1]), np.float32)
    filled = lengths > 0
    if filled.any():
        pooled[filled] = np.add.reduceat(table[ids], offsets[:-1][filled], axis=0)
    if mean:
        pooled /= np.maximum(lengths, 1).astype(np.float32)[:, None]
    return pooled
