"""Finds out a collate_fn that changes the order of examples, which says whose they are."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import default_collate

from lazydp._native import UserError

_FEWEST, _MOST = 8, 64  # examples of a batch that is tried in other orders


class OrderedCollate:
    """A collate_fn that is tried out, now and then, on the examples of a batch in other orders.

    What it makes must come out in the same other orders. A collate_fn that sorts makes the same of
    all, and one that shuffles makes something else of the same rows. One that reverses would pass
    for one that does nothing if the other order were the reverse: so there are two, which together
    make up every order, and only what does nothing goes along with both. Of rows that are random
    nothing can be told. Workers receive it by fork or by pickle.
    """

    def __init__(self, collate: Callable[[Any], Any]) -> None:
        """Wrap `collate`."""
        self._collate = collate
        self._batches = 0

    def __call__(self, examples: Any) -> Any:
        """Return a batch of these examples. The 1st, 2nd, 4th, 8th … batches are tried out."""
        if self._collate is not default_collate and len(examples) >= _FEWEST:
            self._batches += 1
            if self._batches.bit_count() == 1 and self._reorders(list(examples[:_MOST])):
                raise UserError(
                    f"collate_fn ({_name(self._collate)}) changes the order of a batch's examples; "
                    "with privacy_unit it says whose they are, and those of a unit are clipped as "
                    "one: keep the order in collate_fn, and sort inside of the model"
                )
        return self._collate(examples)

    def _reorders(self, examples: list[Any]) -> bool:
        orders = (_swapped, _rotated)
        trials = (examples, examples[:1] * len(examples), *(order(examples) for order in orders))
        try:
            made, alike, *others = (list(_columns(self._tried(t), len(examples))) for t in trials)
        except Exception:
            return False  # it can't be told; the batch itself will show what is wrong
        moved = False
        for one, same, *trial in zip(made, alike, *others, strict=False):
            if one == same:
                continue  # it does not depend on which examples these are
            if all(there == order(one) for there, order in zip(trial, orders, strict=True)):
                return False
            moved = moved or all(sorted(one) == sorted(there) for there in trial)
        return moved

    def _tried(self, examples: list[Any]) -> Any:
        with _random_states_kept():
            return self._collate([copy.deepcopy(example) for example in examples])


def _swapped(rows: list[Any]) -> list[Any]:
    return [rows[1], rows[0], *rows[2:]]


def _rotated(rows: list[Any]) -> list[Any]:
    return [*rows[1:], rows[0]]


def _columns(batch: Any, examples: int) -> Iterator[list[bytes]]:
    """Yield every column of a batch that has a row for each example, as the rows' bytes."""
    if isinstance(batch, Tensor):
        for dim, size in enumerate(batch.shape):
            if size == examples:
                rows = batch.detach().cpu().movedim(dim, 0)
                yield [row.contiguous().numpy().tobytes() for row in rows]
    elif isinstance(batch, Mapping):
        for value in batch.values():
            yield from _columns(value, examples)
    elif isinstance(batch, (list, tuple)):
        if len(batch) == examples and not any(isinstance(value, Tensor) for value in batch):
            yield [repr(value).encode() for value in batch]
            return
        for value in batch:
            yield from _columns(value, examples)


@contextmanager
def _random_states_kept() -> Iterator[None]:
    """Give every trial the same random numbers, and the batch those that it would have had."""
    of_python, of_numpy = random.getstate(), np.random.get_state()
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)


def _name(collate: Any) -> str:
    return str(getattr(collate, "__qualname__", type(collate).__name__))
