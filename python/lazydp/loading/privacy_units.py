"""Privacy units: groups of examples that are protected together, such as all examples of a user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Subset, TensorDataset

from lazydp._native import UserError

Numbers = NDArray[np.int64]
_EXACT = 2.0**53  # whole numbers of double precision are told apart up to here


class PrivacyUnits:
    """Groups examples by unit. An example without an id (None, NaN) is a unit of its own."""

    def __init__(self, ids: Any, name: str = "unit") -> None:
        """Group by ids, one for each example: whole numbers or strings. `name` says of what."""
        self.name = name
        codes = _codes(ids)
        self._members = np.argsort(codes, kind="stable")
        sizes = np.bincount(codes)
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes

    @property
    def count(self) -> int:
        """The number of units, which is treated as public."""
        return len(self._ends)

    def members(self, unit: int) -> Numbers:
        """Return the numbers of a unit's examples, ascending."""
        return self._members[self._starts[unit] : self._ends[unit]]


def find_units(dataset: Any, ids_or_column: Any) -> PrivacyUnits:
    """Group the examples of a data set by the ids that are given, or by those of a column.

    A string or a whole number is a column: the name or the place of an example's field. Its ids
    are read once, example by example where the data set offers no column.
    """
    column = ids_or_column
    if isinstance(column, str) or _is_whole(column):
        place = column if isinstance(column, str) else int(column)
        name = place if isinstance(place, str) else f"value of column {place}"
        ids = _column(dataset, place)
    else:
        name = getattr(ids_or_column, "name", None) or "unit"  # a pandas Series has one
        ids = ids_or_column
    if not isinstance(ids, (Tensor, np.ndarray)) and not hasattr(ids, "__len__"):
        raise UserError(
            f"privacy_unit is a {type(ids).__name__}; it must be the name or the place of a "
            "column, or a sequence of ids, one for each example"
        )
    if len(ids) != len(dataset):
        raise UserError(
            f"privacy_unit has {len(ids)} ids, and the data set {len(dataset)} examples; it must "
            "have one for each example, in the data set's order"
        )
    return PrivacyUnits(ids, str(name))


def _column(dataset: Any, column: str | int) -> Any:
    """Return the values of a column, in the order of the examples."""
    if isinstance(dataset, Subset):
        inner = _column(dataset.dataset, column)
        return [inner[i] for i in dataset.indices]
    if isinstance(dataset, TensorDataset) and isinstance(column, int):
        if not -len(dataset.tensors) <= column < len(dataset.tensors):
            raise _no_column(column, f"{len(dataset.tensors)} tensors")
        return dataset.tensors[column]
    named = getattr(dataset, "column_names", None)  # as Hugging Face's data sets have
    if isinstance(column, str) and isinstance(named, Sequence) and column in named:
        return list(dataset[column])
    return [_field(dataset[i], column) for i in range(len(dataset))]


def _field(example: Any, column: str | int) -> Any:
    """Return a field of an example: of a mapping, a tuple, or an object with attributes."""
    try:
        if isinstance(example, Mapping):
            return example[column]
        if isinstance(column, str):
            return getattr(example, column)
        return example[column]
    except (KeyError, IndexError, AttributeError, TypeError):
        raise _no_column(column, f"examples of type {type(example).__name__}") from None


def _no_column(column: str | int, has: str) -> UserError:
    return UserError(
        f"privacy_unit is {column!r}, and the data set has {has} without such a field; give the "
        "ids themselves, a sequence with one for each example"
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def _codes(ids: Any) -> Numbers:
    """Return a number from 0 on for each example, the same for examples of one unit."""
    if isinstance(ids, Tensor):
        ids = ids.detach().cpu().numpy()
    if hasattr(ids, "to_numpy"):  # a column of pandas or polars
        ids = ids.to_numpy()
    shape = ids.shape if isinstance(ids, np.ndarray) else (len(ids),)
    if len(shape) != 1 or shape[0] == 0:
        raise UserError(
            f"privacy_unit has shape {list(shape)}; it must have one id for each example"
        )
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iuUS":
        return np.unique(ids, return_inverse=True)[1]
    return _codes_of_objects(ids)


def _codes_of_objects(ids: Iterable[Any]) -> Numbers:
    codes: list[int] = []
    known: dict[Any, int] = {}
    count = 0
    for value in ids:
        one = value.item() if isinstance(value, (Tensor, np.generic)) else value
        if not _is_missing(one):
            _require_id(one)
            count += one not in known
            codes.append(known.setdefault(one, count - 1))
        else:
            count += 1
            codes.append(count - 1)
    kinds = {int if isinstance(one, float) else type(one) for one in known}
    if len(kinds) > 1:
        raise UserError(
            f"privacy_unit has ids of types {' and '.join(sorted(k.__name__ for k in kinds))}; "
            "they must be of one: a person under two spellings would be two units"
        )
    return np.array(codes, dtype=np.int64)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # of pandas
        return True
    return isinstance(value, float) and value != value


def _require_id(value: Any) -> None:
    """Raise UserError unless this is a whole number or a string."""
    if type(value) not in (int, float, str, bytes):
        raise UserError(
            f"privacy_unit has an id of type {type(value).__name__}; ids must be whole numbers or "
            "strings"
        )
    if isinstance(value, float) and not (value.is_integer() and abs(value) <= _EXACT):
        raise UserError(
            f"privacy_unit has the id {value}; ids must be strings or whole numbers, in floating "
            "point at most 2^53: beyond, different persons look the same"
        )
