"""What a stream has spent: against dense matrices and a closed form, and through checkpoints."""

import math

import numpy as np
import pytest
import torch
from opacus.accountants import RDPAccountant
from scipy import optimize, stats
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from lazydp import PrivacyEngine, PrivacyError, UserError
from models import assert_same, build, loader
from stream_runs import bands_of, claims_nothing, in_order, of_bands
from test_initial_model import released
from training import checkpoint_of, private, seeded, step

DELTA = 1e-6


def gaussian_delta(epsilon, mu):
    """Return the delta of a Gaussian mechanism whose sensitivity is mu standard deviations."""
    a, b = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return stats.norm.cdf(a) - math.exp(epsilon + stats.norm.logcdf(b))


def gaussian_epsilon(mu, delta=DELTA):
    return optimize.brentq(lambda e: gaussian_delta(e, mu) - delta, 0, 200, xtol=1e-12)


def sensitivity(bands, steps, separation, times):
    """Return how far an example moves `steps` steps, from a dense matrix, whatever its first."""
    decorrelate = np.linalg.inv(of_bands(bands, steps))
    farthest = 0.0
    for first in range(min(separation, steps)):
        columns = range(first, steps, separation)[:times]
        farthest = max(farthest, np.linalg.norm(decorrelate[:, list(columns)].sum(1)))
    return farthest


def accumulated(bands, steps):
    """Return the root mean square over steps of the noise in the weights."""
    walk = np.cumsum(of_bands(bands, steps), axis=0)
    return math.sqrt((walk**2).sum() / steps)


def planned(correlation, separation, times, **options):
    """Return the optimizer of a run that plans this."""
    model = nn.Sequential(nn.EmbeddingBag(3, 2))
    data = TensorDataset(torch.zeros(separation, 1, dtype=torch.int64))
    _, optimizer, _ = in_order(
        model,
        batches=DataLoader(data, batch_size=1),
        correlation=correlation,
        epochs=times,
        **options,
    )
    return optimizer


# (steps, separation, times), and for each correlation the sensitivity, and that times the noise
# that accumulates: computed apart.
INDEPENDENT, LAMBDAS = ["independent"], ["lambda:0.5", "lambda:0.9"]
COLUMNS = INDEPENDENT + LAMBDAS + ["bisr:4", "bisr:16", "bisr:64"]
TABLE = {
    (200, 200, 1): "1 10.025 1.1547 5.874 2.2942 3.240 1.2737 4.207 1.4532 2.794 1.6000 2.542",
    (2000, 2000, 1): "1 31.631 1.1547 18.289 2.2942 7.607 1.2737 12.661 1.4532 6.891 1.6014 4.266",
    (200, 50, 4): "2 20.050 2.3094 11.747 4.6061 6.506 2.5475 8.415 2.9897 5.749 3.8735 6.155",
    (480, 24, 20): "4.4721 69.354 5.1640 40.291 11.0671 20.392 5.7042 28.282 7.6985 19.815 "
    "12.4682 22.502",
}


@pytest.mark.parametrize("plan", TABLE, ids=str)
def test_sensitivities_and_bands_are_those_of_the_reference(plan):
    numbers = iter(map(float, TABLE[plan].split()))
    for correlation in COLUMNS:
        block = planned(correlation, *plan[1:]).block
        moved = block.sensitivity(block.planned)
        assert block.planned == plan[0]
        assert moved == pytest.approx(next(numbers), rel=1e-3)
        assert moved * accumulated(block.bands, plan[0]) == pytest.approx(next(numbers), rel=1e-3)


@pytest.mark.parametrize(("steps", "least"), [(200, 3.238), (2000, 5.667)])
def test_bare_lambda_is_the_best_one(steps, least):
    block = planned("lambda", steps, 1).block
    assert block.sensitivity(steps) * accumulated(block.bands, steps) == pytest.approx(least, 1e-3)


@pytest.mark.parametrize("correlation", ["lambda:0.9", "bisr:4", "independent"])
def test_epsilon_is_that_of_the_steps_so_far(correlation):
    """At any time, as one mechanism of so many steps. An example is in each pass of three steps."""
    engine = PrivacyEngine()
    model, optimizer, batches = in_order(
        build("shared"), engine=engine, correlation=correlation, epochs=3, noise_multiplier=2.0
    )
    assert engine.get_epsilon(DELTA) == 0.0
    steps = 0
    for _ in range(3):
        for batch in batches:
            step(model, optimizer, batch)
            steps += 1
            mu = sensitivity(bands_of(correlation), steps, 3, 3) / 2.0
            assert engine.get_epsilon(DELTA) == pytest.approx(gaussian_epsilon(mu), rel=1e-6)
            assert len(engine.accountant) == steps
    assert engine.accountant.get_epsilon(DELTA) == engine.get_epsilon(DELTA)


def sums_of_steps(weights):
    """Return what each step of three passes adds up, where losses are linear, and have weights."""
    model = nn.Sequential(nn.EmbeddingBag(12, 4, mode="sum"), nn.Linear(4, 1, bias=False))
    nn.init.ones_(model[1].weight)
    model[1].weight.requires_grad_(False)
    data = TensorDataset(torch.arange(12)[:, None], weights)
    private, optimizer, batches = in_order(
        model,
        optimizer=torch.optim.SGD([model[0].weight], lr=1.0),
        batches=DataLoader(data, batch_size=4),
        epochs=3,
        noise_multiplier=0.0,
        max_grad_norm=0.5,
    )
    weight, sums = private._module[0].weight, []
    for _ in range(3):
        for ids, of_example in batches:
            before = weight.detach().clone()
            (private(ids).squeeze(1) * of_example).mean().backward()
            optimizer.step()
            sums.append((before - weight.detach()).flatten().double() * 4 / 0.5)
    return torch.stack(sums).numpy()


@pytest.mark.parametrize("correlation", ["lambda:0.9", "bisr:4"])
@pytest.mark.parametrize("place", [0, 5, 11])
def test_an_example_moves_a_run_by_the_sensitivity_at_most(correlation, place):
    """By difference: with the example, and with its place empty. The first place is the worst."""
    weights = torch.ones(12)
    moved = sums_of_steps(weights)
    weights[place] = 0.0
    moved -= sums_of_steps(weights)
    bands = bands_of(correlation)
    for steps in range(1, 10):
        decorrelated = np.linalg.inv(of_bands(bands, steps)) @ moved[:steps]
        bound = planned(correlation, 3, 3).block.sensitivity(steps)
        assert np.linalg.norm(decorrelated) <= bound
        if place == 0:
            assert np.linalg.norm(decorrelated) == pytest.approx(bound, rel=1e-4)


@pytest.mark.parametrize(("epsilon", "sigma"), [(1, 4.22468), (3, 1.54386), (8, 0.65294)])
def test_noise_for_a_budget_pays_for_all_planned_steps(epsilon, sigma):
    engine, model = PrivacyEngine(), build("shared")
    _, optimizer, _ = engine.make_private_with_epsilon(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
        data_loader=loader(),
        max_grad_norm=1.0,
        target_epsilon=epsilon,
        target_delta=DELTA,
        epochs=4,
        sampling="stream",
        correlation="lambda:0.9",
    )
    expected = sigma * sensitivity([1.0, -0.9], 12, 3, 4)
    assert optimizer.noise_multiplier == pytest.approx(expected, rel=1e-5)


def two_passes(engine, model=None, **options):
    made = in_order(model or build("shared"), engine=engine, noise_multiplier=3.0, **options)
    model, optimizer, batches = made
    for _ in range(2):
        for batch in batches:
            step(model, optimizer, batch)
    return made


def test_blocks_compose_sequentially():
    """A second model, or the same one after its release, has a key of its own: a block."""
    engine = PrivacyEngine()
    model, _, _ = two_passes(engine)
    mu = sensitivity([1.0, -0.9], 6, 3, 2) / 3.0
    assert engine.get_epsilon(DELTA) == pytest.approx(gaussian_epsilon(mu), rel=1e-6)
    two_passes(engine, engine.release(model))
    both = gaussian_epsilon(math.sqrt(2) * mu)
    assert engine.get_epsilon(DELTA) == pytest.approx(both, rel=1e-6)
    assert len(engine.accountant) == 12


@pytest.mark.parametrize("accountant", ["rdp", "prv"])
def test_blocks_compose_with_steps_that_sampled(accountant):
    engine = PrivacyEngine(accountant=accountant)
    model, optimizer, batches = private(
        build("shared"), engine=engine, poisson_sampling=True, noise_multiplier=3.0
    )
    for batch in batches:
        step(model, optimizer, batch)
    sampled = engine.get_epsilon(1e-3)
    two_passes(engine)
    mu = sensitivity([1.0, -0.9], 6, 3, 2) / 3.0
    alone = gaussian_epsilon(mu, 1e-3)
    assert alone < engine.get_epsilon(1e-3) < sampled + gaussian_epsilon(mu, 5e-4)


def test_a_checkpoint_carries_its_blocks_and_a_resume_begins_another():
    engine = PrivacyEngine()
    made = two_passes(engine)
    spent = engine.get_epsilon(DELTA)
    file = checkpoint_of(engine, *made[:2])
    other = PrivacyEngine()
    model, optimizer, batches = in_order(build("shared", 3), engine=other, noise_multiplier=3.0)
    other.load_checkpoint(path=file, module=model, optimizer=optimizer)
    assert_same(model, made[0], 0)
    assert other.get_epsilon(DELTA) == spent and len(other.accountant) == 6
    for batch in batches:
        step(model, optimizer, batch)
    mu = math.hypot(sensitivity([1.0, -0.9], 6, 3, 2), sensitivity([1.0, -0.9], 3, 3, 2)) / 3.0
    assert other.get_epsilon(DELTA) == pytest.approx(gaussian_epsilon(mu), rel=1e-6)


BLOCK = {
    "mechanism": "correlated_gaussian",
    "noise_multiplier": 4.0,
    "bands": [1.0, -0.9],
    "sampling": "stream",
    "block_steps": 200,
    "separation": 50,
    "participations": 4,
    "after_step": 0,
    "disjoint": False,
    "steps": 120,
}


def test_a_model_that_the_program_trained_in_order_counts(tmp_path):
    claim = {"epsilon": 2.5, "delta": 1e-6, "unit": "one example, blanked where it stands"}
    folder = released(tmp_path / "model", ledger=[BLOCK], claim=claim)
    engine = PrivacyEngine()
    model, optimizer, batches = in_order(
        build("shared"), engine=engine, initial_model=folder, noise_multiplier=3.0
    )
    for batch in batches:
        step(model, optimizer, batch)
    before = sensitivity([1.0, -0.9], 120, 50, 4) / 4.0
    mu = math.hypot(before, sensitivity([1.0, -0.9], 3, 3, 2) / 3.0)
    assert engine.get_epsilon(DELTA) == pytest.approx(gaussian_epsilon(mu), rel=1e-6)
    assert "in 120 steps: these count" in engine.accountant.initial_model
    bins = [BLOCK | {"sampling": "balls-in-bins"}]
    with pytest.raises(PrivacyError, match="train on with the program instead"):
        in_order(build("shared"), initial_model=released(tmp_path / "bins", ledger=bins))


def test_a_budget_pays_for_the_model_that_a_stream_begins_with(tmp_path):
    folder, epsilon = released(tmp_path / "model", ledger=[BLOCK]), 9.0
    engine, model = PrivacyEngine(), build("shared")
    model, optimizer, batches = engine.make_private_with_epsilon(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
        data_loader=loader(),
        max_grad_norm=1.0,
        target_epsilon=epsilon,
        target_delta=DELTA,
        epochs=2,
        sampling="stream",
        initial_model=folder,
    )
    for _ in range(2):
        for batch in batches:
            step(model, optimizer, batch)
    assert 0.9999 * epsilon < engine.get_epsilon(DELTA) <= epsilon


def test_going_back_takes_no_steps_back():
    engine = PrivacyEngine()
    model, optimizer, batches = in_order(build("shared"), engine=engine, noise_multiplier=3.0)
    for batch in batches:
        step(model, optimizer, batch)
    early = checkpoint_of(engine, model, optimizer)
    for batch in batches:
        step(model, optimizer, batch)
    spent = engine.get_epsilon(DELTA)
    engine.load_checkpoint(path=early, module=model, optimizer=optimizer)
    assert engine.get_epsilon(DELTA) == spent


def test_an_accountant_that_knows_no_blocks_refuses_their_ledger():
    engine = PrivacyEngine(accountant="rdp")
    two_passes(engine)
    with pytest.raises(ValueError, match="with blocks"):
        RDPAccountant().load_state_dict(engine.accountant.state_dict())
    with pytest.raises(ValueError, match="mechanism prv"):
        PrivacyEngine(accountant="prv").accountant.load_state_dict(engine.accountant.state_dict())


def test_no_claim_without_noise_or_with_noise_that_repeats():
    engine = PrivacyEngine()
    model, optimizer, batches = in_order(build("shared"), engine=engine, noise_multiplier=0.0)
    for batch in batches:
        step(model, optimizer, batch)
    claims_nothing(engine, "without noise")
    engine = PrivacyEngine()
    in_order(build("shared"), engine=engine, **seeded())
    claims_nothing(engine, "noise that repeats")


def test_no_claim_for_batches_of_another_loader():
    engine = PrivacyEngine()
    model, optimizer, _ = in_order(build("shared"), engine=engine)
    step(model, optimizer, next(iter(loader())))
    claims_nothing(engine, "did not come from the loader")


def test_units_of_an_account_stay_one():
    engine = PrivacyEngine()
    users = list(range(12))
    engine.make_private(
        module=(model := build("bag_sum")),
        optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
        data_loader=loader(),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        privacy_unit=users,
    )
    with pytest.raises(PrivacyError, match="no epsilon states both"):
        in_order(build("bag_sum"), engine=engine)


def test_the_other_way_to_ask_for_an_epsilon_counts_blocks():
    engine = PrivacyEngine(accountant="rdp")
    two_passes(engine)
    assert engine.accountant.get_privacy_spent(delta=DELTA)[0] == engine.get_epsilon(DELTA) > 0


def test_a_budget_that_no_noise_meets():
    with pytest.raises(UserError, match="epsilon"):
        model = build("shared")
        PrivacyEngine().make_private_with_epsilon(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
            data_loader=loader(),
            max_grad_norm=1.0,
            target_epsilon=-1,
            target_delta=DELTA,
            epochs=1,
            sampling="stream",
        )
