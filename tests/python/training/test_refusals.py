"""Wrong uses are refused, each with the words that help."""

import copy
import pickle
import warnings

import pytest
import torch
from torch import nn

from lazydp import PrivacyEngine, PrivacyError, UserError
from models import DIM, ROWS, Bag, Single, assert_same, build, data, squared_loss
from training import private, reference, step

REFUSALS = {
    "max_norm": (lambda: Bag(max_norm=1.0), "max_norm 1.0"),
    "frequency": (lambda: Single(scale_grad_by_freq=True), "scale_grad_by_freq"),
    "max": (lambda: Bag(mode="max"), "pools by max"),
    "double": (lambda: Single().double(), "float64"),
}


@pytest.mark.parametrize(("make", "words"), REFUSALS.values(), ids=REFUSALS)
def test_tables_that_are_refused(make, words):
    with pytest.raises(UserError, match=words):
        private(make())


def test_a_table_tied_to_a_linear_is_refused():
    class Tied(Single):
        def __init__(self):
            super().__init__()
            self.back = nn.Linear(DIM, ROWS, bias=False)
            self.back.weight = self.table.weight

    with pytest.raises(UserError, match="tied to 'back'"):
        private(Tied())


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.Adagrad, torch.optim.AdamW])
def test_other_optimizers_on_tables_are_refused(kind):
    model = build("bag_sum")
    with pytest.raises(UserError, match="sgd_group"):
        private(model, optimizer=kind(model.parameters(), lr=0.1))
    assert type(model.table) is nn.EmbeddingBag  # left as it was


def test_other_things_that_are_refused():
    model, optimizer, _ = private(build("bag_sum"))
    for move in (lambda: model.double(), lambda: model.half(), lambda: model.to("meta")):
        with pytest.raises(UserError, match="must stay torch.float32 on cpu"):
            move()
    with pytest.raises(UserError, match="can't be shared with other processes"):
        model.share_memory()
    assert not model.out[0].weight.is_shared()
    with pytest.raises(UserError, match="is private already"):
        model._module.table._parameters["weight"].requires_grad_(True)
        private(model._module)
    weights = torch.ones(4, 4, requires_grad=True)
    with pytest.raises(UserError, match="per_sample_weights"):
        model.table(torch.zeros(4, 4, dtype=torch.int64), per_sample_weights=weights)
    with pytest.raises(IndexError):
        model.table(torch.tensor([[ROWS]]))
    with pytest.raises(UserError, match="noise is 'later'"):
        private(build("bag_sum"), noise="later")
    with pytest.raises(UserError, match="settle is 'never'"):
        private(build("bag_sum"), settle="never")
    with pytest.raises(UserError, match="must be a list of 5 bounds"):
        private(build("bag_sum"), clipping="per_layer", max_grad_norm=[1.0] * 4)


def test_make_private_that_fails_leaves_the_model_plain():
    model = build("shared")
    with pytest.raises(ValueError):
        private(model, loss_reduction="median")
    assert type(model.left) is nn.EmbeddingBag and model.left.weight.requires_grad


def test_examples_that_do_not_match_are_refused():
    class Flat(Single):
        def look_up(self, ids):
            return self.table(ids.reshape(-1)).view(len(ids), -1, DIM).sum(1)

    model, optimizer, batches = private(Flat())
    with pytest.raises(UserError, match="'table' 16"):
        step(model, optimizer, next(iter(batches)))


@pytest.mark.parametrize("name", ["shared", "shared_norm", "layered_norm", "twice"])
def test_autocast_trains(name):
    model, optimizer, batches = private(build(name), noise_multiplier=0.0)
    expected, brute = reference(name, sigma=0.0)
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = squared_loss(model, batch)
        loss.backward()
        optimizer.step()
        brute.step(batch)
    assert_same(model, expected, 0.05)  # bfloat16 has three digits
    assert all(p.dtype == torch.float32 for p in model.parameters())


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_rounded_tables_are_refused_with_the_reason(kind):
    model = build("shared")
    model.other.to(kind)
    with pytest.raises(UserError, match=f"'other' is of {kind}; a row is rounded as often as it"):
        private(model)


@pytest.mark.parametrize("how", ["weight_norm", "parametrization"])
def test_a_table_with_a_computed_weight_is_refused(how):
    model = build("single")
    if how == "weight_norm":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nn.utils.weight_norm(model.table)
    else:
        nn.utils.parametrizations.weight_norm(model.table)
    with pytest.raises(UserError, match="computed from other parameters"):
        private(model)


def test_what_is_private_already_is_refused():
    model, optimizer, _ = private(build("shared"))
    with pytest.raises(UserError, match="private already"):
        private(model)
    with pytest.raises(UserError, match="table 'left' is private already"):
        private(model._module)


def test_a_released_model_does_not_step():
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(build("shared"), engine=engine)
    batch = next(iter(batches))
    step(model, optimizer, batch)
    kept = model.state_dict()
    plain = engine.release(model)
    squared_loss(plain, batch).backward()
    with pytest.raises(PrivacyError, match="was released"):
        optimizer.step()
    assert torch.equal(kept["_module.left.weight"].clone(), plain.left.weight.detach())


def test_export_of_a_private_model_says_what_to_do():
    model, optimizer, batches = private(build("shared"))
    step(model, optimizer, next(iter(batches)))
    inputs = tuple(data()[:4][:2])
    with pytest.raises(UserError, match="release"):
        torch.export.export(model._module, inputs)
    plain = PrivacyEngine().release(model)
    exported = torch.export.export(plain, inputs).module()
    torch.testing.assert_close(exported(*inputs), plain(*inputs))


def test_a_graph_from_before_make_private_can_not_be_used():
    raw = build("shared")
    loss = squared_loss(raw, data()[:4])
    model, optimizer, batches = private(raw)
    with pytest.raises((RuntimeError, UserError)):
        loss.backward()
    step(model, optimizer, next(iter(batches)))


def test_a_signal_during_a_step_does_not_apply_a_gradient_twice():
    model, optimizer, batches = private(build("shared"), noise_multiplier=0.0)
    batch = next(iter(batches))
    squared_loss(model, batch).backward()
    optimizer.tables.exchange.synchronise = lambda tables: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        optimizer.step()
    del optimizer.tables.exchange.synchronise
    assert all(not table.pending for table in optimizer.tables.all)


TRACED = {
    "trace": lambda m, x: torch.jit.trace(m, x, check_trace=False),
    "vmap": lambda m, x: torch.vmap(m)(*(t.unsqueeze(1) for t in x)),
}


@pytest.mark.parametrize("trace", TRACED.values(), ids=TRACED)
def test_tracing_a_private_model_says_what_to_do(trace):
    model, _, _ = private(build("shared"))
    with torch.no_grad(), pytest.raises(UserError, match="can't be traced"):
        trace(model._module, tuple(data()[:4][:2]))


@pytest.mark.parametrize("settle", ["on_read", "ahead"])
@pytest.mark.parametrize("how", [pickle.dumps, copy.deepcopy])
def test_what_holds_a_secret_is_not_copied(how, settle):
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(
        build("shared"), engine=engine, poisson_sampling=True, settle=settle
    )
    for batch in batches:
        step(model, optimizer, batch)
    with pytest.raises(PrivacyError, match="would draw the same samples"):
        how(batches)
    with pytest.raises(PrivacyError, match="save_checkpoint"):
        how(engine)
    with pytest.raises(PrivacyError, match="state_dict"):
        how(optimizer)


@pytest.mark.parametrize("accountant", ["rdp", "prv", "gdp"])
@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_what_holds_none_is_copied(again, accountant):
    engine = PrivacyEngine(accountant=accountant)
    assert again(engine).accountant.run == engine.accountant.run
    model, optimizer, batches = private(build("shared"), engine=engine)
    for batch in batches:
        step(model, optimizer, batch)
    copied = again(batches)
    assert type(copied) is torch.utils.data.DataLoader
    assert all(torch.equal(a[1], b[1]) for a, b in zip(copied, batches, strict=True))
    ledger = again(engine.accountant)
    assert ledger.history == engine.accountant.history and ledger.no_claim is not None
    with pytest.warns(UserWarning, match="no epsilon"):
        assert ledger.get_epsilon(1e-5) == float("inf")


@pytest.mark.parametrize("of", [lambda w: w, torch.Tensor.detach, lambda w: w[2:4]])
def test_memory_is_not_handed_out_as_a_capsule(of):
    """torch.utils.dlpack.to_dlpack asks no subclass; it gave the address 0, which crashes."""
    model, optimizer, batches = private(build("shared"))
    step(model, optimizer, next(iter(batches)))
    shown = of(model.left.weight)
    with pytest.raises(RuntimeError, match="Cannot access data pointer"):
        torch.utils.dlpack.to_dlpack(shown)
    assert torch.equal(torch.from_dlpack(shown.detach()), shown.detach().clone())


NO_MECHANISM = {
    "negative noise": ({"noise_multiplier": -1.0}, "noise_multiplier is -1.0"),
    "noise that is no number": ({"noise_multiplier": float("nan")}, "noise_multiplier is nan"),
    "infinite noise": ({"noise_multiplier": float("inf")}, "noise_multiplier is inf"),
    "negative bound": ({"max_grad_norm": -1.0}, "max_grad_norm is -1.0"),
    "no bound": ({"max_grad_norm": 0.0}, "max_grad_norm is 0.0"),
    "bound that is no number": ({"max_grad_norm": float("nan")}, "max_grad_norm is nan"),
    "infinite bound": ({"max_grad_norm": float("inf")}, "max_grad_norm is infinite"),
}


@pytest.mark.parametrize(("options", "words"), NO_MECHANISM.values(), ids=NO_MECHANISM)
def test_noise_that_the_ledger_prices_and_nobody_draws_is_refused(options, words):
    with pytest.raises(UserError, match=words):
        private(build("shared"), **options)
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(build("shared"), engine=engine, poisson_sampling=True)
    before = copy.deepcopy(model)
    squared_loss(model, next(b for b in batches if len(b[0]))).backward()
    for name, value in options.items():
        setattr(optimizer, name, value)  # as a schedule that runs too far does
    with pytest.raises(UserError, match=words):
        optimizer.step()
    assert len(engine.accountant) == 0
    assert_same(model, before, 0)


def test_without_noise_a_bound_may_be_infinite():
    bounds = {"noise_multiplier": 0.0, "max_grad_norm": float("inf")}
    model, optimizer, batches = private(build("shared"), **bounds)
    expected, brute = reference("shared", sigma=0.0, bound=float("inf"))
    for batch in batches:
        step(model, optimizer, batch)
        brute.step(batch)
    assert_same(model, expected)
