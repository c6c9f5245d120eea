"""Weights that were loaded, or frozen, before make_private."""

import pytest
import torch
from torch import nn

from lazydp import PrivacyEngine, UserError
from models import DIM, ROWS, assert_same, build
from training import brute_force, private, seeded, step
from unit_runs import by_unit, loss_of, unit_sums, values


def public_weights(name):
    """Of a model that somebody else has trained and published."""
    generator = torch.Generator().manual_seed(77)
    return {
        k: torch.randn(v.shape, generator=generator) for k, v in build(name).state_dict().items()
    }


def trained_by_brute_force(model, batches, **options):
    trains = [p for p in model.parameters() if p.requires_grad]
    brute = brute_force(model, optimizer=torch.optim.SGD(trains, lr=0.5), **options)
    for batch in batches:
        brute.step(batch)


@pytest.mark.parametrize("name", ["shared", "shared_norm", "layered", "bag_padding"])
def test_loaded_weights_are_what_training_begins_with(name):
    ours, theirs = build(name), build(name)
    for model in (ours, theirs):
        model.load_state_dict(public_weights(name))
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(ours, engine=engine, noise="lazy_each_step", **seeded())
    for batch in batches:
        step(model, optimizer, batch)
    trained_by_brute_force(theirs, batches)
    assert_same(engine.release(model), theirs, 1e-4)


def test_rows_that_no_batch_names_keep_what_was_loaded():
    raw = build("single")
    raw.load_state_dict(public_weights("single"))
    loaded = raw.table.weight.detach().clone()
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(raw, engine=engine, noise_multiplier=0.0)
    batch = next(iter(batches))
    step(model, optimizer, batch)
    seen = torch.zeros(ROWS, dtype=torch.bool)
    seen[batch[1][:, 0]] = True
    plain = engine.release(model)
    assert torch.equal(plain.table.weight.detach()[~seen], loaded[~seen])
    assert bool((plain.table.weight.detach()[seen] != loaded[seen]).any(1).all())


FROZEN = {
    "a table": ["other.weight"],
    "the shared table": ["left.weight"],
    "all tables": ["left.weight", "other.weight"],
    "a layer": ["out.0.weight", "out.0.bias"],
    "all layers": ["out.0.weight", "out.0.bias", "out.2.weight", "out.2.bias"],
    "some of each": ["other.weight", "out.0.weight"],
}


def freeze(model, names):
    for name in names:
        model.get_parameter(name).requires_grad_(False)


@pytest.mark.parametrize("everything_in_groups", [False, True])
@pytest.mark.parametrize("names", FROZEN.values(), ids=FROZEN)
def test_what_is_frozen_stays_and_is_not_measured(names, everything_in_groups):
    ours, theirs = build("shared"), build("shared")
    for model in (ours, theirs):
        model.load_state_dict(public_weights("shared"))
        freeze(model, names)
    before = {name: ours.get_parameter(name).detach().clone() for name in names}
    trained = [p for p in ours.parameters() if p.requires_grad or everything_in_groups]
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(
        ours,
        engine=engine,
        optimizer=torch.optim.SGD(trained, lr=0.5),
        noise="lazy_each_step",
        noise_multiplier=0.0,
    )
    for batch in batches:
        step(model, optimizer, batch)
    trained_by_brute_force(theirs, batches, sigma=0.0)
    plain = engine.release(model)
    assert_same(plain, theirs, 1e-4)
    for name, value in before.items():
        assert torch.equal(plain.get_parameter(name).detach(), value)
        assert not plain.get_parameter(name).requires_grad


@pytest.mark.parametrize("names", FROZEN.values(), ids=FROZEN)
def test_by_unit_too(names):
    raw = build("shared")
    raw.load_state_dict(public_weights("shared"))
    freeze(raw, names)
    before = {name: raw.get_parameter(name).detach().clone() for name in names}
    trained = [p for p in raw.parameters() if p.requires_grad]
    model, optimizer, batches = by_unit(raw, optimizer=torch.optim.SGD(trained, lr=1.0))
    for batch in batches:
        plain = build("shared")
        freeze(plain, names)
        with torch.no_grad():
            for to, value in zip(plain.parameters(), values(raw), strict=True):
                to.copy_(value)
        start = [p.detach().clone() for p in trained]
        expected, _ = unit_sums(plain, batch[:3], batch[3])
        optimizer.zero_grad()
        if len(batch[0]):
            loss_of(model, batch).backward()
        optimizer.step()
        for a, p, b in zip(start, trained, expected, strict=True):
            moved_by = (a - p.detach().clone()).double()
            torch.testing.assert_close(moved_by * 5.0, b, rtol=5e-5, atol=1e-5)
    for name, value in before.items():
        assert torch.equal(raw.get_parameter(name).detach().clone(), value)


def test_a_frozen_table_that_changes_as_it_is_read_is_refused():
    """Rows of max_norm shrink when they are looked up: those that nobody used would not."""
    for frozen_only in (False, True):
        model = build("shared")
        model.other = nn.Embedding(ROWS, DIM, max_norm=0.1)
        model.other.weight.requires_grad_(False)
        if frozen_only:
            model.left.weight.requires_grad_(False)
        trained = [p for p in model.parameters() if p.requires_grad]
        with pytest.raises(UserError, match="table 'other' has max_norm 0.1"):
            private(model, optimizer=torch.optim.SGD(trained, lr=0.1))
