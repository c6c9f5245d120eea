"""The ledger follows the weights, and what it promises is worth something."""

import copy
import warnings

import pytest
import torch
from opacus.accountants import RDPAccountant
from torch import nn

from lazydp import PrivacyEngine, PrivacyError, UserError
from models import assert_same, build, loader
from test_claims import claims_nothing
from training import checkpoint_of, private, step


def test_a_ledger_that_does_not_fit_comes_without_its_weights():
    """Else weights would be trained on, or released, whose steps are on no account."""
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(build("shared"), engine=engine, poisson_sampling=True)
    for batch in batches:
        step(model, optimizer, batch)
    file = checkpoint_of(engine, model, optimizer)
    other = PrivacyEngine(accountant="prv")
    twin, twin_optimizer, _ = private(build("shared", 3), engine=other, poisson_sampling=True)
    before = copy.deepcopy(twin)
    with pytest.raises(ValueError, match="mechanism prv"):
        other.load_checkpoint(path=file, module=twin, optimizer=twin_optimizer)
    assert_same(twin, before, 0)
    file.seek(0)
    small = nn.Sequential(nn.EmbeddingBag(3, 4))
    twin, twin_optimizer, _ = private(small, engine=engine, poisson_sampling=True)
    steps = len(engine.accountant)
    with pytest.raises(RuntimeError, match="loading state_dict"):
        engine.load_checkpoint(path=file, module=twin, optimizer=twin_optimizer)
    assert len(engine.accountant) == steps


@pytest.mark.parametrize("options", [{}, {"poisson_sampling": True, "noise": "touched_rows"}])
def test_another_way_to_ask_for_epsilon_claims_nothing_either(options):
    """Opacus' RDP accountant has get_privacy_spent() beside get_epsilon()."""
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(build("shared"), engine=engine, **options)
    for batch in batches:
        step(model, optimizer, batch)
    for ledger in (engine.accountant, copy.deepcopy(engine.accountant)):
        with pytest.warns(UserWarning, match="no epsilon is claimed"):
            assert ledger.get_privacy_spent(delta=1e-5)[0] == float("inf")


def test_both_ways_to_ask_for_epsilon_agree():
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(build("shared"), engine=engine, poisson_sampling=True)
    for batch in batches:
        step(model, optimizer, batch)
    spent = engine.accountant.get_privacy_spent(delta=1e-5)
    assert spent[0] == engine.get_epsilon(1e-5) < float("inf") and spent[1] > 1


def test_an_accountant_is_not_replaced_once_steps_are_told_to_it():
    """The new one would have seen no step, and would claim an epsilon of 0."""
    own = RDPAccountant()
    engine = PrivacyEngine()
    engine.accountant = own  # before make_private it may be chosen
    model, optimizer, batches = private(build("shared"), engine=engine, poisson_sampling=True)
    for batch in batches:
        step(model, optimizer, batch)
    assert engine.accountant is own and 0 < engine.get_epsilon(1e-5) < float("inf")
    with pytest.raises(UserError, match="choose it before"):
        engine.accountant = RDPAccountant()
    dense = PrivacyEngine()
    private(nn.Sequential(nn.Linear(3, 1)), engine=dense)
    with pytest.raises(UserError, match="choose it before"):
        dense.accountant = RDPAccountant()


@pytest.mark.parametrize("accountant", ["rdp", "prv", "gdp"])
def test_a_step_without_noise_claims_nothing(accountant):
    engine = PrivacyEngine(accountant=accountant)
    model, optimizer, batches = private(build("shared"), engine=engine, poisson_sampling=True)
    for batch in batches:
        if accountant == "gdp":  # which takes steps of one noise multiplier alone
            optimizer.noise_multiplier = 0.0
        step(model, optimizer, batch)
        optimizer.noise_multiplier = 0.0
    claims_nothing(engine, "without noise")


def test_a_claim_that_promises_next_to_nothing_is_warned_of():
    engine = PrivacyEngine(accountant="rdp")
    options = {"poisson_sampling": True, "noise_multiplier": 0.4}
    model, optimizer, batches = private(build("shared"), engine=engine, **options)
    for batch in batches:
        step(model, optimizer, batch)
    for ask in (engine.get_epsilon, engine.accountant.get_epsilon):
        with pytest.warns(UserWarning, match=r"delta is 0.5, and there are 12 examples"):
            ask(0.5)
        with pytest.warns(UserWarning, match="all but certain"):
            assert ask(1e-5) > 20
    quiet = PrivacyEngine(accountant="rdp")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        private(build("shared"), engine=quiet, **(options | {"noise_multiplier": 4.0}))
        assert quiet.get_epsilon(1e-5) < 20


def test_a_budget_that_promises_next_to_nothing_is_warned_of():
    raw = build("shared")
    with pytest.warns(UserWarning, match="there are 12 examples"):
        PrivacyEngine(accountant="rdp").make_private_with_epsilon(
            module=raw,
            optimizer=torch.optim.SGD(raw.parameters(), lr=0.1),
            data_loader=loader(),
            target_epsilon=3.0,
            target_delta=0.1,
            epochs=1,
            max_grad_norm=1.0,
        )


def test_a_step_that_fails_takes_none_off_the_account():
    """Opacus' accountants take the last entry off before they look at it."""
    engine = PrivacyEngine(accountant="gdp")
    model, optimizer, batches = private(build("shared"), engine=engine, poisson_sampling=True)
    first, *rest = batches
    step(model, optimizer, first)
    before = copy.deepcopy(model)
    optimizer.noise_multiplier = 0.9
    with pytest.raises(PrivacyError, match="accountant='gdp' can't compose"):
        step(model, optimizer, rest[0])
    assert engine.accountant.history == [(0.7, 1 / 3, 1)]
    assert_same(model, before, 0)
    optimizer.noise_multiplier = 0.7
    step(model, optimizer, rest[1])
    assert engine.accountant.history == [(0.7, 1 / 3, 2)]


@pytest.mark.parametrize("accountant", ["rdp", "prv"])
def test_an_interrupted_entry_takes_none_off_the_account(accountant, monkeypatch):
    engine = PrivacyEngine(accountant=accountant)
    model, optimizer, batches = private(build("shared"), engine=engine, poisson_sampling=True)
    first, second, _ = batches
    step(model, optimizer, first)

    class Interrupting(list):
        def append(self, _):
            raise KeyboardInterrupt

    engine.accountant.history = Interrupting(engine.accountant.history)
    with pytest.raises(KeyboardInterrupt):
        step(model, optimizer, second)
    assert engine.accountant.history == [(0.7, 1 / 3, 1)]


def test_ledgers_of_two_runs_are_priced_together_or_not_at_all():
    """The accountant that prices its last entry alone, too."""
    ledgers = []
    for sigma in (0.7, 0.7, 0.9):
        engine = PrivacyEngine(accountant="gdp")
        options = {"poisson_sampling": True, "noise_multiplier": sigma}
        model, optimizer, batches = private(build("shared"), engine=engine, **options)
        for batch in batches:
            step(model, optimizer, batch)
        ledgers.append(engine.accountant)
    one, other, different = ledgers
    alone = one.get_epsilon(1e-5)
    with pytest.raises(PrivacyError, match="can't compose"):
        one.load_state_dict(different.state_dict())
    assert one.history == [(0.7, 1 / 3, 3)]
    one.load_state_dict(other.state_dict())
    assert one.history == [(0.7, 1 / 3, 6)] and one.get_epsilon(1e-5) > alone
