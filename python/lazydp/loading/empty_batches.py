"""Makes batches without examples, which Poisson samples now and then are, like all others."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from lazydp._native import UserError
from lazydp.loading.jagged import is_keyed_jagged, without_examples, without_ids

_PLAIN = (bool, int, float, complex, str, bytes)


class _Unknown(Exception):
    """Part of a batch is of a type that can't be emptied."""


class CollateWithEmpty:
    """A loader's collate_fn that can also collate no examples.

    The batches that it makes of one example, and of that example twice, show along which dimension
    of which tensor examples lie; no value of the example is kept. Workers receive it by fork or by
    pickle.
    """

    def __init__(self, collate: Callable[[Any], Any], dataset: Any, *, rand_on_empty: bool) -> None:
        """Wrap `collate`; with rand_on_empty an empty batch is one random example, as in Opacus."""
        self._collate = collate
        self._dataset = dataset
        self._rand = rand_on_empty
        self._one_and_two: tuple[Any, Any] | None = None  # made at the first empty batch

    def __call__(self, examples: Any) -> Any:
        """Return a batch of these examples."""
        if len(examples):
            return self._collate(examples)
        if self._one_and_two is None:
            example = self._dataset[0]
            one, two, three = (copy.deepcopy(example) for _ in range(3))  # collate may write
            self._one_and_two = self._collate([one]), self._collate([two, three])
        try:
            return self._emptied(*self._one_and_two)
        except _Unknown as unknown:
            try:
                return self._collate([])
            except Exception:
                raise UserError(
                    f"collate_fn makes a {unknown}, and nothing of an empty list; a Poisson sample "
                    "may be empty: let collate_fn([]) give a batch without examples, or make "
                    "batches of tensors, mappings, lists and tuples"
                ) from None

    def _emptied(self, one: Any, two: Any) -> Any:
        if isinstance(one, Tensor):
            return self._tensor(one, two)
        if is_keyed_jagged(one):
            return without_ids(one) if self._rand else without_examples(one)
        if isinstance(one, Mapping):
            fields = {key: self._emptied(one[key], two[key]) for key in one}
            return fields if type(one) is dict else _rebuilt(one, fields)
        if isinstance(one, (list, tuple)):
            if len(one) != len(two):  # an item for each example
                return type(one)(self._emptied(a, a) for a in one if self._rand)
            items = [self._emptied(a, b) for a, b in zip(one, two, strict=True)]
            return type(one)(*items) if hasattr(one, "_fields") else type(one)(items)
        if one is None or isinstance(one, _PLAIN):
            return None if one is None else type(one)()
        raise _Unknown(type(one).__name__)

    def _tensor(self, one: Tensor, two: Tensor) -> Tensor:
        if self._rand:
            return torch.randint(0, 2, one.shape, device=one.device).to(one.dtype)
        # From two examples to one, and as much again to none: offsets of 3, 2 and then 1.
        return one.new_zeros([max(0, 2 * a - b) for a, b in zip(one.shape, two.shape, strict=True)])


def _rebuilt(one: Any, fields: dict[Any, Any]) -> Any:
    """Return a mapping of the same kind with these fields."""
    rebuilt = copy.copy(one)
    for key, value in fields.items():
        rebuilt[key] = value
    return rebuilt
