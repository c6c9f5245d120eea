"""Runs by unit refuse what is not exact, in words, and their checkpoints say the unit."""

import copy
import itertools
import math

import pytest
import torch
from opacus.distributed import DifferentiallyPrivateDistributedDataParallel as DPDDP
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.utils.data import DataLoader

from lazydp import PrivacyEngine, PrivacyError, UserError
from models import Layered, assert_same, build
from training import Interrupted, checkpoint_of
from unit_runs import by_unit, data, loss_of, moved, step, unit_sums, values

USER = "one value of column 3 with all its examples"


def convolving():
    model = build("shared")
    model.extra = nn.Conv1d(1, 1, 1)
    return model


def tied():
    model = Layered(norm=False)
    model.each.weight = model.again.weight
    return model


OPTIONS = {
    "fixed batches": ({"poisson_sampling": False}, "poisson_sampling is False"),
    "per layer": ({"clipping": "per_layer", "max_grad_norm": [1.0] * 7}, "'per_layer', which"),
    "functorch": ({"grad_sample_mode": "functorch"}, "'functorch', which"),
    "generator": ({"noise_generator": torch.Generator()}, "noise_generator makes"),
    "made-up examples": ({"rand_on_empty": True}, "rand_on_empty is True"),
    "no number": ({"examples_per_unit": 0}, "examples_per_unit is 0; it must be"),
    "a fraction": ({"examples_per_unit": 1.5}, "examples_per_unit is 1.5; it must be"),
    "another word": ({"examples_per_unit": "some"}, "examples_per_unit is 'some'; it must be"),
    "no unit": ({"privacy_unit": None, "examples_per_unit": 4}, "without a privacy_unit"),
    "large batch": ({"batch": 11}, "batch_size is 11; with privacy_unit it counts units"),
}


@pytest.mark.parametrize(("options", "words"), OPTIONS.values(), ids=OPTIONS)
def test_arguments_that_are_refused(options, words):
    model = build("shared")
    with pytest.raises(UserError, match=words) as refused:
        by_unit(model, **options)
    assert "\n" not in str(refused.value)
    assert type(model.left) is nn.EmbeddingBag  # left as it was


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: build("layered_norm"), "layer 'norm' is a LayerNorm; with privacy_unit"),
        (convolving, "layer 'extra' is a Conv1d; with privacy_unit"),
        (tied, "layer 'each' is a Linear that shares its parameters"),
    ],
)
def test_layers_that_are_refused(make, words):
    model = make()
    with pytest.raises(UserError, match=words):
        by_unit(model)
    assert all(type(m).__module__.startswith(("torch", "models")) for m in model.modules())


def test_a_frozen_layer_of_another_kind_is_no_obstacle():
    model = build("layered_norm")
    model.norm.requires_grad_(False)
    trainable = [p for p in model.parameters() if p.requires_grad]
    made, optimizer, batches = by_unit(model, optimizer=torch.optim.SGD(trainable, lr=1.0))
    for batch in batches:
        step(made, optimizer, batch)


def test_ranks_are_refused():
    model = DPDDP.__new__(DPDDP)
    nn.Module.__init__(model)
    model.module = build("shared")
    with pytest.raises(UserError, match="spread over ranks"):
        by_unit(model)


LOADERS = {
    "batch sampler": {"batch_sampler": [[0, 1], [2]]},
    "sampler": {"batch_size": 2, "sampler": torch.utils.data.SubsetRandomSampler([0, 1])},
    "generator": {"batch_size": 2, "generator": torch.Generator()},
}


@pytest.mark.parametrize("options", LOADERS.values(), ids=LOADERS)
def test_loaders_that_are_refused(options):
    model = build("shared")
    with pytest.raises(UserError, match="the loader has a"):
        PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            data_loader=DataLoader(data(), **options),
            noise_multiplier=1.0,
            max_grad_norm=1.0,
            privacy_unit=3,
        )


def test_micro_batches_are_refused():
    model, optimizer, batches = by_unit(build("shared"))
    with (
        BatchMemoryManager(
            data_loader=batches, max_physical_batch_size=3, optimizer=optimizer
        ) as small,
        pytest.raises(UserError, match="BatchMemoryManager"),
    ):
        next(iter(small))
    it = iter(batches)
    batch = next(it)
    optimizer.signal_skip_step(True)
    loss_of(model, batch).backward()
    with pytest.raises(UserError, match="virtual"):
        optimizer.step()


# Whose examples a step has is known from the loader's batches.


def untaken(engine, model, before, optimizer, words):
    with pytest.raises(UserError, match=words):
        optimizer.step()
    assert len(engine.accountant) == 0
    after = values(model)
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def fresh(**options):
    engine = PrivacyEngine(accountant="rdp")
    run = by_unit(build("shared"), engine=engine, noise_multiplier=1.0, **options)
    return engine, *run


def test_a_batch_of_another_loader_is_refused():
    engine, model, optimizer, _ = fresh()
    before = values(model)
    loss_of(model, next(iter(DataLoader(data(), batch_size=4)))).backward()
    untaken(engine, model, before, optimizer, "no further batch")


def test_a_second_step_on_a_batch_is_refused():
    engine, model, optimizer, batches = fresh(batch=10)
    (batch,) = batches
    step(model, optimizer, batch)
    with pytest.raises(UserError, match="whole and once"):
        step(model, optimizer, batch)
    assert engine.accountant.history[0][2] == 1


def test_part_of_a_batch_is_refused():
    engine, model, optimizer, batches = fresh(batch=10)
    before = values(model)
    (batch,) = batches
    loss_of(model, [x[1:] for x in batch]).backward()
    untaken(engine, model, before, optimizer, "saw .* examples, and the loader handed out")


def fetched(batches, wanted):
    """Two batches of one iterator that goes on, both fetched before any step."""
    for _ in range(1000):
        it = iter(batches)
        pair = next(it), next(it)
        sizes = [len(batch[0]) for batch in pair]
        users = [batch[3].unique_consecutive(return_counts=True)[1].tolist() for batch in pair]
        if min(sizes) > 0 and wanted(sizes, users):
            return it, *pair
    raise AssertionError("there was no such pair")


def test_batches_that_can_not_be_told_apart_are_refused():
    """As many examples, of units of other sizes: which batch the step has is not known."""
    engine, model, optimizer, batches = fresh(batch=2)
    before = values(model)
    _it, first, _ = fetched(batches, lambda n, users: n[0] == n[1] and users[0] != users[1])
    loss_of(model, first).backward()
    untaken(engine, model, before, optimizer, "can't be told whose examples")


def test_batches_that_are_fetched_ahead_keep_their_units():
    raw = build("shared")
    model, optimizer, batches = by_unit(raw, batch=2)
    _it, *pair = fetched(batches, lambda n, users: n[0] != n[1] and max(map(len, users)) > 1)
    for batch in pair:
        plain, before = build("shared"), values(raw)
        with torch.no_grad():
            for to, value in zip(plain.parameters(), before, strict=True):
                to.copy_(value)
        expected, _ = unit_sums(plain, batch[:3], batch[3])
        step(model, optimizer, batch)
        for a, b in zip(moved(before, raw), expected, strict=True):
            torch.testing.assert_close(a * 2.0, b, rtol=5e-5, atol=1e-5)


@pytest.mark.parametrize("settle", ["on_read", "ahead"])
@pytest.mark.parametrize("workers", [0, 2])
def test_what_loops_do(workers, settle):
    """A peek, an evaluation between a fetch and its step, an interrupted pass, an early end."""
    engine, model, optimizer, batches = fresh(batch=2, workers=workers, settle=settle)
    next(iter(batches))
    for epoch in range(4):
        for number, batch in enumerate(batches):
            if number == 1:
                with torch.no_grad():
                    [loss_of(model, other) for other in batches]
            if number == 2 and len(batch[0]) and epoch == 2:
                with pytest.raises(KeyboardInterrupt):
                    Interrupted.apply(loss_of(model, batch)).backward()
                break
            if number == 3 and epoch == 1:
                break
            step(model, optimizer, batch)
    assert engine.get_epsilon(1e-5) < math.inf


def test_a_checkpoint_says_what_it_protects():
    engine, model, optimizer, batches = fresh()
    for batch in batches:
        step(model, optimizer, batch)
    file = checkpoint_of(engine, model, optimizer)

    def loaded(**options):
        other = PrivacyEngine(accountant="rdp")
        twin, twin_optimizer, _ = by_unit(build("shared"), engine=other, **options)
        file.seek(0)
        other.load_checkpoint(path=file, module=twin, optimizer=twin_optimizer)
        return other

    again = loaded()
    assert (
        again.accountant.unit
        == engine.accountant.unit
        == "one value of column 3 with all its examples"
    )
    assert again.get_epsilon(1e-5) == engine.get_epsilon(1e-5)
    for options in ({"privacy_unit": None}, {"privacy_unit": 4}):
        other = PrivacyEngine(accountant="rdp")
        twin, twin_optimizer, _ = by_unit(build("shared"), engine=other, **options)
        file.seek(0)
        before = copy.deepcopy(twin)
        with pytest.raises(PrivacyError, match=f"protect {USER}"):
            other.load_checkpoint(path=file, module=twin, optimizer=twin_optimizer)
        assert_same(twin, before, 0)
        assert len(other.accountant) == 0


def test_one_account_has_one_unit():
    engine = PrivacyEngine(accountant="rdp")
    by_unit(build("shared"), engine=engine)
    with pytest.raises(PrivacyError, match="no epsilon states both"):
        by_unit(build("shared"), engine=engine, privacy_unit=None)
    by_unit(build("shared"), engine=engine)  # the same
    other = PrivacyEngine(accountant="rdp")
    with pytest.raises(UserError):
        by_unit(build("layered_norm"), engine=other)
    by_unit(build("shared"), engine=other, privacy_unit=None)  # what failed left nothing behind
    assert other.accountant.unit == "one example"
    assert copy.deepcopy(other.accountant).unit == "one example"


def test_a_loader_of_units_stays_one():
    """Given to make_private again, it samples units still; samples do not repeat."""
    _, _, _, batches = fresh()
    model = build("shared")
    engine = PrivacyEngine(accountant="rdp")
    _, _, again = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        data_loader=batches,
        noise_multiplier=1.0,
        max_grad_norm=1.0,
    )
    assert engine.accountant.unit == USER
    drawn = [tuple(b[4].tolist()) for b in itertools.chain(batches, again)]
    assert len(drawn) == 4
