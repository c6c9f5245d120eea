"""Values of programs as the text of a log: what a number, a list or nothing means to a schema."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lazydp._native import UserError

Column = dict[str, Any]  # of a schema, as a card has it
Texts = list[str | None]

_READ = ("dense", "categorical", "multi")
_EXACT = 2.0**53  # whole numbers below it are exact in a float


def is_read(column: Column) -> bool:
    """Return whether a model reads the column: it is neither a label nor ignored."""
    return column["role"] in _READ


_TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def _seconds_of(value: Any) -> float:
    """Return the seconds of a time since 1970, in UTC without a zone, or since midnight."""
    if isinstance(value, datetime.datetime):
        known = value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
        return float((known - _EPOCH) / datetime.timedelta(seconds=1))
    if isinstance(value, datetime.date):
        return value.toordinal() * 86400.0 - _EPOCH.toordinal() * 86400.0
    if isinstance(value, datetime.time):
        return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
    if isinstance(value, np.datetime64):
        value = value - np.datetime64(0, "s")
    second = np.timedelta64(1, "s") if isinstance(value, np.timedelta64) else None
    return float(value / (second or datetime.timedelta(seconds=1)))


def text_of(value: object, *, as_number: bool = False) -> str | None:
    """Return the text that a log would have for a value; None for a missing one.

    A whole float is written as a whole number, because data frames turn the ids of a column in
    which one is missing into floats. Where the column is a number, True is 1 and a time its seconds
    since 1970.
    """
    if value is None or isinstance(value, str):
        return value
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas
        return None
    if isinstance(value, (bool, np.bool_)):
        if as_number:
            return "1" if value else "0"
        raise UserError(
            f"{value} is neither text nor a number; give the text that the log had ('true' or "
            "'false' if it came from JSON or Arrow)"
        )
    if isinstance(value, _TIMES):
        if as_number:
            return None if value != value else text_of(_seconds_of(value))
        raise UserError(f"{value} is a time; give the text that the log had")
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if number != number:
            return None
        return str(int(number)) if abs(number) < _EXACT and number.is_integer() else str(value)
    raise UserError(
        f"a value is of type {type(value).__name__}; it must be text, a number or None "
        "(for a multi column also a list of these)"
    )


def _of_list(values: Iterable[object], separator: str) -> str | None:
    texts = [text for text in map(text_of, values) if text is not None]
    for text in texts:
        if separator in text:
            raise UserError(f"the value '{text}' holds '{separator}', which separates values")
    return separator.join(texts) or None


def texts_of(values: Iterable[object], column: Column, trim: bool) -> Texts:
    """Return the values of a column as texts."""
    name = column["name"]
    try:
        if column["role"] == "multi":
            separator = column["separator"]
            texts = [
                _of_list(value, separator)
                if isinstance(value, (list, tuple, set, frozenset, np.ndarray))
                else text_of(value)
                for value in values
            ]
        else:
            as_number = column["role"] == "dense" or bool(column.get("bucket"))
            texts = [text_of(value, as_number=as_number) for value in values]
    except UserError as error:
        raise UserError(f"column '{name}': {error}") from None
    return [text and text.strip(" ") for text in texts] if trim else texts


def columns_of(examples: Any, names: Sequence[str]) -> tuple[dict[str, list[object]], int]:
    """Return the named columns of examples, those that they have, and how many examples there are.

    Takes a sequence of dicts, a mapping from names to columns, and the data frames and tables of
    pandas, polars and Arrow.
    """
    if isinstance(examples, Mapping):
        columns = {name: _listed(examples[name]) for name in names if name in examples}
    elif hasattr(examples, "to_pydict"):  # Arrow
        columns = {
            name: examples.column(name).to_pylist()
            for name in names
            if name in examples.schema.names
        }
        return columns, int(examples.num_rows)
    elif hasattr(examples, "columns") and hasattr(examples, "shape"):  # pandas, polars
        there = list(examples.columns)
        columns = {name: examples[name].to_list() for name in names if name in there}
        return columns, int(examples.shape[0])
    else:
        rows = list(examples)
        if not all(isinstance(row, Mapping) for row in rows):
            raise UserError("examples must be dicts, a dict of columns, a data frame or a table")
        for name in names:
            have = sum(name in row for row in rows)
            if 0 < have < len(rows):
                raise UserError(f"some examples have no '{name}'; give None where it is missing")
        there = [name for name in names if rows and name in rows[0]]
        return {name: [row[name] for row in rows] for name in there}, len(rows)
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise UserError(f"the columns have different lengths: {sorted(lengths)}")
    return columns, lengths.pop() if lengths else 0


def _listed(column: Any) -> list[object]:
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise UserError("a dict of columns has a list for each; give one example to score_one()")
    return list(column.tolist() if isinstance(column, np.ndarray) else column)
