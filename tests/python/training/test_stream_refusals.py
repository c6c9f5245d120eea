"""What a stream refuses, in words, before anything moves; and what goes on nevertheless."""

import math

import pytest
import torch
from opacus.distributed import DifferentiallyPrivateDistributedDataParallel as DPDDP
from opacus.schedulers import ExponentialGradClip, ExponentialNoise
from torch import nn

from lazydp import PrivacyEngine, PrivacyEngineAdaptiveClipping, UserError
from models import assert_same, build, loader, plain_state, squared_loss
from stream_runs import InOrder, bands_of, in_order
from training import ADAPTIVE, seeded, step

OPTIONS = {
    "Poisson": (
        {"sampling": "poisson", "epochs": None},
        "correlation is 'lambda:0.9' with Poisson",
    ),
    "epochs of Poisson": (
        {"sampling": "poisson", "correlation": None},
        "make_private is told of epochs with sampling='stream' alone",
    ),
    "another sampling": ({"sampling": "shuffled"}, "sampling is 'shuffled'; it must be poisson or"),
    "both": ({"poisson_sampling": True}, "poisson_sampling is True"),
    "touched rows": ({"noise": "touched_rows"}, "noise is 'touched_rows'"),
    "adaptive": ({k: v for k, v in ADAPTIVE.items() if k != "noise_multiplier"}, "'adaptive'"),
    "per layer": ({"clipping": "per_layer", "max_grad_norm": [1.0] * 7}, "'per_layer'"),
    "units": ({"privacy_unit": list(range(12))}, "by the native program alone"),
    "made-up examples": ({"rand_on_empty": True}, "rand_on_empty is True"),
    "no epochs": ({"epochs": None}, "epochs is None; with sampling='stream' epsilon rests on"),
    "no whole number": ({"epochs": 1.5}, "epochs is 1.5"),
    "none": ({"epochs": 0}, "epochs is 0"),
    "a word": ({"correlation": "strong"}, "correlation is 'strong'; it must be independent,"),
    "lambda of 1": ({"correlation": "lambda:1"}, "correlation is 'lambda:1'; it must be"),
    "too many bands": ({"correlation": "bisr:65"}, "correlation is 'bisr:65'; it must be"),
    "negative noise": ({"noise_multiplier": -1.0}, "noise_multiplier is -1.0"),
    "infinite bound": ({"max_grad_norm": math.inf}, "max_grad_norm is infinite"),
}


@pytest.mark.parametrize(("options", "words"), OPTIONS.values(), ids=OPTIONS)
def test_arguments_that_are_refused(options, words):
    model = build("shared")
    with pytest.raises(UserError, match=words) as refused:
        in_order(model, **options)
    assert "\n" not in str(refused.value)
    assert type(model.left) is nn.EmbeddingBag  # left as it was


def test_momentum_of_tables_is_refused_with_correlated_noise():
    def sgd(model):
        return torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)

    model = build("shared")
    with pytest.raises(UserError, match="table 'left' is trained with momentum"):
        in_order(model, optimizer=sgd(model))
    in_order(model, optimizer=sgd(model), correlation="independent")
    late = build("shared")
    private, optimizer, batches = in_order(late)
    optimizer.param_groups[0]["momentum"] = 0.9
    with pytest.raises(UserError, match="momentum is 0.9"):
        step(private, optimizer, next(iter(batches)))


def test_an_engine_that_adapts_the_bound_is_refused():
    model = build("shared")
    with pytest.raises(UserError, match="sampling is 'stream' with adaptive clipping"):
        in_order(model, engine=PrivacyEngineAdaptiveClipping(), grad_sample_mode="ghost")


def test_ranks_are_refused(tmp_path):
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/ranks", rank=0, world_size=1
    )
    try:
        model = DPDDP(build("shared"))
        with pytest.raises(UserError, match="the model is spread over ranks"):
            in_order(model)
    finally:
        torch.distributed.destroy_process_group()


def raises_and_moves_nothing(engine, model, optimizer, batch, words):
    before, steps = plain_state(model), len(engine.accountant)
    with pytest.raises(UserError, match=words) as refused:
        step(model, optimizer, batch)
    assert "\n" not in str(refused.value)
    after = plain_state(model)
    assert all(torch.equal(before[key], after[key]) for key in before)
    assert len(engine.accountant) == steps


def set_noise(model, optimizer):
    ExponentialNoise(optimizer, gamma=0.5).step()


def turn_round(model, optimizer):
    optimizer.param_groups[0]["lr"] *= -1


def go_uphill(model, optimizer):
    optimizer.param_groups[0]["maximize"] = True


CHANGES = {
    "noise": (set_noise, "noise_multiplier is 0.35, and was 0.7 at make_private"),
    "sign of the rate": (turn_round, "changed its sign"),
    "maximize": (go_uphill, "changed its sign"),
}


@pytest.mark.parametrize(("change", "words"), CHANGES.values(), ids=CHANGES)
def test_changes_between_steps_that_are_refused(change, words):
    engine = PrivacyEngine()
    model, optimizer, batches = in_order(build("shared"), engine=engine)
    first, second, _ = batches
    step(model, optimizer, first)
    change(model, optimizer)
    raises_and_moves_nothing(engine, model, optimizer, second, words)


def test_several_batches_in_one_step_are_refused():
    model, optimizer, batches = in_order(build("shared"))
    for batch in list(batches)[:2]:
        squared_loss(model, batch).backward()
    with pytest.raises(UserError, match="2 backward passes make up this step"):
        optimizer.step()


def test_schedules_of_bound_and_rate_go_on():
    """They are public, and a cell is scaled by the step that uses it."""
    ours, theirs = build("shared"), build("shared")
    brute = InOrder(
        theirs, torch.optim.SGD(theirs.parameters(), lr=0.5), bands=bands_of("lambda:0.9")
    )
    model, optimizer, batches = in_order(ours, noise="lazy_each_step", **seeded())
    clip = ExponentialGradClip(optimizer, gamma=0.8)
    rates = [torch.optim.lr_scheduler.StepLR(o, 1, 0.7) for o in (optimizer, brute.optimizer)]
    for batch in batches:
        step(model, optimizer, batch)
        brute.step(batch)
        clip.step()
        brute.bound *= 0.8
        for rate in rates:
            rate.step()
    assert_same(model, theirs)


@pytest.mark.parametrize("frozen", ["out.0.weight", "left.weight"])
def test_what_is_frozen_for_a_while_takes_up_its_own_cells(frozen):
    """The cells of a parameter have one place, whatever else is frozen."""
    ours, theirs = build("shared"), build("shared")
    brute = InOrder(theirs, torch.optim.SGD(theirs.parameters(), lr=0.5), bands=bands_of("bisr:4"))
    model, optimizer, batches = in_order(
        ours, noise="lazy_each_step", correlation="bisr:4", **seeded()
    )
    number = 0
    for _ in range(2):
        for batch in batches:
            for one in (ours, theirs):
                one.get_parameter(frozen).requires_grad_(number not in (2, 3))
            for p in theirs.parameters():
                p.grad = None
            step(model, optimizer, batch)
            brute.step(batch)
            number += 1
    assert_same(model, theirs)


def test_a_step_that_was_interrupted_as_it_moved_ends_the_block():
    """Some weights would be a cell ahead of others, and examples would come back a step early."""
    engine = PrivacyEngine()
    model, optimizer, batches = in_order(build("shared"), engine=engine)
    first, second, _ = batches
    moves = model._lazydp_tables.step
    model._lazydp_tables.step = interrupted
    with pytest.raises(KeyboardInterrupt):
        step(model, optimizer, first)
    model._lazydp_tables.step = moves
    assert len(engine.accountant) == 1
    raises_and_moves_nothing(engine, model, optimizer, second, "an earlier step was interrupted")
    plain = engine.release(model)
    model, optimizer, batches = in_order(plain, engine=engine)
    step(model, optimizer, next(iter(batches)))


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_dense_model_without_tables_trains_in_order():
    model = nn.Sequential(nn.Linear(3, 1), nn.Flatten(0))
    engine = PrivacyEngine()
    private, optimizer, batches = in_order(model, engine=engine)
    for _ in range(2):
        for dense, _, target in batches:
            optimizer.zero_grad()
            nn.functional.mse_loss(private(dense), target).backward()
            optimizer.step()
    assert 0 < engine.get_epsilon(1e-5) < math.inf
    with pytest.raises(UserError, match="all 6 steps were taken"):
        optimizer.step()


@pytest.mark.parametrize("options", [{"secure_mode": True}, {"accountant": "gdp"}], ids=str)
def test_other_engines(options):
    engine = PrivacyEngine(**options)
    model, optimizer, batches = in_order(build("shared"), engine=engine)
    for batch in batches:
        step(model, optimizer, batch)
    assert 0 < engine.get_epsilon(1e-5) < math.inf


def test_ghost_clipping_trains_in_order():
    ours, theirs = build("shared"), build("shared")
    brute = InOrder(
        theirs, torch.optim.SGD(theirs.parameters(), lr=0.5), bands=bands_of("lambda:0.9")
    )
    model, optimizer, criterion, batches = in_order(
        ours,
        grad_sample_mode="ghost",
        criterion=nn.MSELoss(),
        noise="lazy_each_step",
        **seeded(),
    )
    for dense, ids, target in batches:
        optimizer.zero_grad()
        criterion(model(dense, ids), target).backward()
        optimizer.step()
        brute.step((dense, ids, target))
    assert_same(model, theirs)


def test_a_loader_is_left_as_it_was():
    plain = loader()
    in_order(build("shared"), batches=plain)
    assert type(plain) is torch.utils.data.DataLoader
