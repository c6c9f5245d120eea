"""Ids of privacy units are checked, and read where they were said to be."""

import collections
import math

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, Subset, TensorDataset

from lazydp import UserError
from lazydp.loading.privacy_units import PrivacyUnits, find_units
from models import build
from unit_runs import by_unit

IDS = {
    "ints": [7, 7, 3, 3, 3, 9],
    "negative": [-7, -7, 3, 3, 3, 2**70],
    "strings": ["ann", "ann", "bob", "bob", "bob", "cy"],
    "bytes": [b"ann", b"ann", b"bob", b"bob", b"bob", b"cy"],
    "array": np.array([7, 7, 3, 3, 3, 9], dtype=np.uint8),
    "text array": np.array(["ann", "ann", "bob", "bob", "bob", "cy"]),
    "objects": np.array(["ann", "ann", "bob", "bob", "bob", "cy"], dtype=object),
    "floats": np.array([7.0, 7.0, 3.0, 3.0, 3.0, 9.0]),
    "tensor": torch.tensor([7, 7, 3, 3, 3, 9]),
    "tensors": [torch.tensor(i) for i in (7, 7, 3, 3, 3, 9)],
    "numbers": [np.int64(7), 7, 3, np.int32(3), 3.0, 9],
    "tuple": (7, 7, 3, 3, 3, 9),
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_ids_group_examples(ids):
    units = find_units(TensorDataset(torch.arange(6)), ids)
    assert units.count == 3
    groups = {tuple(units.members(u).tolist()) for u in range(3)}
    assert groups == {(0, 1), (2, 3, 4), (5,)}


MISSING = {
    "none": ["ann", None, "ann", None],
    "nan": [1.0, math.nan, 1.0, math.nan],
    "array": np.array([1.0, np.nan, 1.0, np.nan]),
    "tensor": torch.tensor([1.0, math.nan, 1.0, math.nan]),
    "both": np.array(["ann", None, "ann", math.nan], dtype=object),
}


@pytest.mark.parametrize("ids", MISSING.values(), ids=MISSING)
def test_an_example_without_an_id_is_a_unit_of_its_own(ids):
    units = PrivacyUnits(ids)
    assert {tuple(units.members(u).tolist()) for u in range(units.count)} == {(0, 2), (1,), (3,)}


class Rows(Dataset):
    """Examples of any kind."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Columns(Rows):
    """As Hugging Face's data sets: columns by name, rows by number."""

    column_names = ("user", "x")

    def __getitem__(self, i):
        return [row[i] for row in self.rows] if isinstance(i, str) else self.rows[i]


Pair = collections.namedtuple("Pair", "user x")
NAMES = ["ann", "bob", "ann"]
DATASETS = {
    "mappings": (Rows([{"user": u, "x": 0} for u in NAMES]), "user", "user"),
    "named tuples": (Rows([Pair(u, 0) for u in NAMES]), "user", "user"),
    "tuples": (Rows([(0, u) for u in NAMES]), 1, "value of column 1"),
    "from the end": (Rows([[0, u] for u in NAMES]), -1, "value of column -1"),
    "columns": (Columns([{"user": u, "x": 0} for u in NAMES]), "user", "user"),
    "tensors": (TensorDataset(torch.zeros(3), torch.tensor([4, 5, 4])), 1, "value of column 1"),
    "subset": (
        Subset(TensorDataset(torch.tensor([4, 8, 5, 4])), [0, 2, 3]),
        0,
        "value of column 0",
    ),
}


@pytest.mark.parametrize(("dataset", "column", "name"), DATASETS.values(), ids=DATASETS)
def test_ids_are_read_from_a_column(dataset, column, name):
    units = find_units(dataset, column)
    assert units.name == name
    assert {tuple(units.members(u).tolist()) for u in range(units.count)} == {(0, 2), (1,)}


def test_a_column_of_a_data_frame_gives_ids_and_a_name():
    class Series(list):
        """As much of pandas as is used: it is no dependency."""

        name = "user"

        def to_numpy(self):
            return np.array(self, dtype=object)

    units = find_units(TensorDataset(torch.arange(3)), Series(NAMES))
    assert units.name == "user" and units.count == 2


WRONG = {
    "too few": ([1, 2], "has 2 ids, and the data set 35 examples"),
    "two columns": (torch.zeros(35, 2), r"shape \[35, 2\]"),
    "fractions": (torch.full((35,), 0.5), "the id 0.5"),
    "large floats": (np.full(35, 2.0**60), "at most 2"),
    "spellings": (["1"] * 34 + [1], "types int and str"),
    "lists": ([[1]] * 35, "an id of type list"),
    "flags": ([True] * 35, "an id of type bool"),
    "no column": ("user", "without such a field"),
    "no tensor": (9, "5 tensors without such a field"),
    "a generator": ((i for i in range(35)), "privacy_unit is a generator"),
}


@pytest.mark.parametrize(("ids", "words"), WRONG.values(), ids=WRONG)
def test_ids_that_are_refused(ids, words):
    with pytest.raises(UserError, match=words):
        by_unit(build("shared"), privacy_unit=ids)
