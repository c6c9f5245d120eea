"""Top-N: scores all pairs of users and items, without making an example of each.

Where the dense features come from one side, a vector of the interaction belongs to the user or to
the item. So do most dot products, and their share of the top MLP's first layer, which is linear: it
is computed once for each user and once for each item.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lazydp._native import UserError
from lazydp.serving import scoring_values
from lazydp.serving.released_files import Floats

if TYPE_CHECKING:
    from lazydp.serving.served_model import Bags, ServedModel

_ITEMS = 2048  # scored together: their products stay in the cache
_PAIRS = 1 << 20  # scores held at once


def probabilities(logits: Floats) -> NDArray[np.float64]:
    """Return the probability of a positive label for each logit, without overflow."""
    small = np.exp(-np.abs(logits.astype(np.float64)))
    return np.where(logits >= 0, 1.0, small) / (1.0 + small)


@dataclass
class _Side:
    dense: Floats
    bags: Bags
    has: set[str]

    def __len__(self) -> int:
        return len(self.dense)


@dataclass
class _Share:
    """What users, or items, contribute to the scores of all of their pairs."""

    vectors: Floats  # size x vectors of this side x dim
    hidden: Floats  # size x width of the top MLP's first layer, before its activation
    linear: Floats


def recommend(
    model: ServedModel,
    users: Any,
    items: Any,
    top: int,
    seen: Sequence[Collection[int]] | None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return places among the items, the best first, and their scores: a row for each user."""
    theirs, of_items = _encode(model, users), _encode(model, items)
    if seen is not None and len(seen) != len(theirs):
        raise UserError(f"seen has {len(seen)} entries; it must have one for each user")
    if top < 1:
        raise UserError(f"top is {top}; it must be at least 1")
    for name in model.columns:
        if (name in theirs.has) == (name in of_items.has):
            where = "both" if name in theirs.has else "neither"
            raise UserError(
                f"the column '{name}', which the model reads, is in {where} of users and items; "
                "it must be in one"
            )
    logits_of = _scorer(model, theirs, of_items)
    count = min(top, len(of_items))
    best = np.full((len(theirs), count), -1, np.int64)
    scores = np.full((len(theirs), count), np.nan)
    at_once = max(1, _PAIRS // max(1, len(of_items)))
    for begin in range(0, len(theirs), at_once):
        end = min(begin + at_once, len(theirs))
        logits = logits_of(begin, end)
        for user in range(begin, end):
            row = logits[user - begin]
            if seen is not None and len(seen[user]) > 0:
                row[list(seen[user])] = -np.inf
            order = _best(row, count)
            order = order[row[order] > -np.inf]
            best[user, : len(order)] = order
            scores[user, : len(order)] = probabilities(row[order])
    return best, scores


def _best(row: Floats, count: int) -> NDArray[np.int64]:
    """Return the places of the largest values, in order; equal ones keep theirs."""
    places = np.arange(len(row))
    if count < len(row):
        least = np.partition(row, len(row) - count)[len(row) - count]
        places = np.flatnonzero(row >= least)
    order: NDArray[np.int64] = places[np.argsort(-row[places], kind="stable")][:count]
    return order


def _encode(model: ServedModel, examples: Any) -> _Side:
    columns, _ = scoring_values.columns_of(examples, model.columns)
    dense, bags = model.encode(examples, some_columns=True)
    return _Side(dense, bags, set(columns))


def _scorer(model: ServedModel, users: _Side, items: _Side) -> Any:
    of_user = [name in users.has for name in model.dense_columns] or [True]
    owners = [of_user[0], *(name in users.has for name in model.table_columns)]
    if len(set(of_user)) > 1:
        return _plain_scorer(model, users, items, np.array(of_user), owners[1:])
    return _split_scorer(model, users, items, np.array(owners))


def _plain_scorer(
    model: ServedModel,
    users: _Side,
    items: _Side,
    dense_of_user: NDArray[np.bool_],
    table_of_user: list[bool],
) -> Any:
    """Make an example of every pair: for dense features from both sides."""

    def logits_of(begin: int, end: int) -> Floats:
        logits = np.empty((end - begin, len(items)), np.float32)
        for user in range(begin, end):
            dense = np.where(dense_of_user, users.dense[user], items.dense)
            bags = []
            for k, of_user in enumerate(table_of_user):
                if not of_user:
                    bags.append(items.bags[k])
                    continue
                ids, offsets = users.bags[k]
                own = ids[offsets[user] : offsets[user + 1]]
                repeated = np.tile(own, len(items)), np.arange(len(items) + 1) * len(own)
                bags.append(repeated)
            logits[user - begin] = model.logits(dense, bags)
        return logits

    return logits_of


def _split_scorer(
    model: ServedModel, users: _Side, items: _Side, of_user: NDArray[np.bool_]
) -> Any:
    weight, bias = model.top[0]
    user_vectors, item_vectors = np.flatnonzero(of_user), np.flatnonzero(~of_user)

    def share(side: _Side, own: NDArray[np.int64]) -> _Share:
        vectors = model.vectors(side.dense, side.bags)
        alone = np.zeros_like(vectors)  # the other side's vectors are zero
        alone[:, own] = vectors[:, own]
        hidden = model.interaction(alone) @ weight.T
        return _Share(alone[:, own], hidden, model.linear_term(alone))

    theirs, of_items = share(users, user_vectors), share(items, item_vectors)
    vectors = len(of_user)
    copied = weight.shape[1] - vectors * (vectors - 1) // 2
    more = np.maximum(item_vectors[:, None], user_vectors[None, :])
    less = np.minimum(item_vectors[:, None], user_vectors[None, :])
    crossing = weight[:, (copied + more * (more - 1) // 2 + less).ravel()].T.copy()
    own_hidden = theirs.hidden + bias

    def logits_of(begin: int, end: int) -> Floats:
        logits = np.empty((end - begin, len(items)), np.float32)
        for first in range(0, len(items), _ITEMS):
            some = slice(first, min(first + _ITEMS, len(items)))
            flat = of_items.vectors[some].reshape(-1, of_items.vectors.shape[2])
            for user in range(begin, end):
                dots = (flat @ theirs.vectors[user].T).reshape(some.stop - first, -1)
                hidden = dots @ crossing
                hidden += of_items.hidden[some]
                hidden += own_hidden[user]
                logits[user - begin, some] = model.logits_of_hidden(hidden)
            logits[:, some] += of_items.linear[some]
        return logits + theirs.linear[begin:end, None]

    return logits_of
