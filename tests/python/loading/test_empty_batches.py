"""Poisson samples may be empty, and have the form of all others."""

import copy
from collections import OrderedDict, namedtuple

import pytest
import torch
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from lazydp import PrivacyEngine, UserError
from lazydp.loading.empty_batches import CollateWithEmpty
from models import assert_same, build, data
from training import private, step

Click = namedtuple("Click", ["features", "target"])
FORMS = {
    "tuple": lambda x, i, y: (x, i, y),
    "dict": lambda x, i, y: {"dense": x, "ids": i, "name": f"user {i[0]}", "target": y},
    "nested": lambda x, i, y: {"x": {"dense": x, "ids": [i, (i, "a")]}, "target": y, "n": 3},
    "namedtuple": lambda x, i, y: Click({"dense": x, "ids": i}, y),
    "ordered": lambda x, i, y: OrderedDict(dense=x, ids=i, target=y),
}


class Few(Dataset):
    """Some examples over and over; in samples of one on average, a third is empty."""

    def __init__(self, form, length=100):
        self.form, self.length, self.whole = form, length, data()

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        return FORMS[self.form](*self.whole[i % len(self.whole)])


def parts(batch):
    """Dense features, ids and targets, wherever they are."""
    if isinstance(batch, Click):
        return batch.features["dense"], batch.features["ids"], batch.target
    if isinstance(batch, (list, tuple)):
        return batch
    inner = batch.get("x", batch)
    ids = inner["ids"][0] if isinstance(inner["ids"], list) else inner["ids"]
    return inner["dense"], ids, batch["target"]


def same_form(a, b):
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype and a.shape[1:] == b.shape[1:]
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        [same_form(a[k], b[k]) for k in a]
    elif isinstance(a, (list, tuple)) and not any(isinstance(x, str) for x in (*a, *b)):
        assert len(a) == len(b)
        [same_form(x, y) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("generator", [False, True])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("form", FORMS)
def test_empty_batches_have_the_form_of_all_others(form, workers, generator):
    engine = PrivacyEngine(accountant="rdp")
    plain = DataLoader(
        Few(form, 60),
        batch_size=1,
        num_workers=workers,
        generator=torch.Generator() if generator else None,
    )
    model, optimizer, batches = private(
        build("shared"), engine=engine, poisson_sampling=True, batches=plain
    )
    sizes = []
    full = next(iter(plain))
    for batch in batches:
        same_form(batch, full)
        dense, ids, target = parts(batch)
        assert len(dense) == len(ids) == len(target)
        sizes.append(len(target))
        optimizer.zero_grad()
        functional.mse_loss(model(dense, ids), target).backward()
        optimizer.step()
    assert 0 in sizes  # but for one run in 10^11
    assert engine.accountant.history[0][2] == 60


@pytest.mark.parametrize("form", FORMS)
def test_no_value_of_an_example_is_in_an_empty_batch(form):
    dataset = Few(form)
    collate = CollateWithEmpty(torch.utils.data.default_collate, dataset, rand_on_empty=False)
    empty = collate([])
    assert all(len(part) == 0 for part in parts(empty))
    if form == "dict":
        assert empty["name"] == []
    if form == "nested":
        assert empty["x"]["ids"][1][1] == () and len(empty["n"]) == 0
    rand = CollateWithEmpty(torch.utils.data.default_collate, dataset, rand_on_empty=True)([])
    assert all(len(part) == 1 and set(part.unique().tolist()) <= {0, 1} for part in parts(rand))
    if form == "dict":
        assert rand["name"] == [""]


def jagged(examples):
    """Ids of all examples one after the other, with where each begins, and the end."""
    ids = [x[1][: 1 + int(x[1][0]) % 3] for x in examples]
    ends = torch.tensor([0, *(len(i) for i in ids)]).cumsum(0)
    return torch.cat(ids), ends, len(examples)


def by_position(examples):
    """Positions come first, then examples."""
    return torch.stack([x[1] for x in examples], 1), torch.stack([x[2] for x in examples])


def popping(examples):
    return torch.stack([e.pop("dense") for e in examples])


def test_collate_functions_of_all_kinds():
    def empty(collate, form="tuple"):
        return CollateWithEmpty(collate, Few(form), rand_on_empty=False)([])

    ids, ends, number = empty(jagged)
    assert ids.shape == (0,) and ends.tolist() == [0] and number == 0
    ids, target = empty(by_position)
    assert ids.shape == (4, 0) and target.shape == (0,)
    assert empty(popping, "dict").shape == (0, 3)
    assert empty(list) == []
    assert empty(lambda e: None) is None
    assert empty(lambda e: {"kept": {x[2] for x in e}} if e else "own") == "own"
    with pytest.raises(UserError, match="makes a set, and nothing of an empty list"):
        empty(lambda e: {"kept": {x[2] for x in e}, "first": e[0][0]})


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_of_either_kind_make_empty_batches(context):
    plain = DataLoader(
        Few("dict", 60), batch_size=1, num_workers=1, multiprocessing_context=context
    )
    _, _, batches = private(nn.Embedding(12, 2), poisson_sampling=True, batches=plain)
    assert 0 in [len(batch["ids"]) for batch in batches]


def test_an_iterable_has_no_poisson_samples():
    class Lines(torch.utils.data.IterableDataset):
        def __iter__(self):
            yield from data()

    model = build("shared")
    with pytest.raises(UserError, match="a Lines, .* use a map-style Dataset, or poisson_sampling"):
        private(model, poisson_sampling=True, batches=DataLoader(Lines(), batch_size=4))
    assert type(model.left) is nn.EmbeddingBag


@pytest.mark.parametrize("physical", [None, 2])
def test_an_example_that_is_made_up_moves_nothing(physical):
    """The clipped sums of no example and of one are at most the bound apart."""
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(
        build("shared_norm"),
        engine=engine,
        noise_multiplier=0.0,
        poisson_sampling=True,
        rand_on_empty=True,
        batches=DataLoader(Few("tuple", 60), batch_size=1),
    )
    made_up = 0
    for batch in batches if physical is None else in_parts(batches, optimizer, physical):
        empty = optimizer.batch_record.empty
        before = copy.deepcopy(model)
        step(model, optimizer, batch)
        if empty:
            assert_same(model, before, 0)
        made_up += empty
    assert made_up  # but for one run in 10^11
    assert engine.accountant.history[0][2] == 60


def in_parts(batches, optimizer, physical):
    with BatchMemoryManager(
        data_loader=batches, max_physical_batch_size=physical, optimizer=optimizer
    ) as small:
        yield from small
