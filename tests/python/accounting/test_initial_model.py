"""What the claim says of the model that training began with, and what that model has spent."""

import copy
import hashlib
import json

import pytest
import torch
from opacus.accountants import PRVAccountant, RDPAccountant
from safetensors.torch import save_file

from lazydp import PrivacyEngine, PrivacyError, UserError, privacy
from models import build, loader
from training import private, step
from unit_runs import by_unit

LEDGER = [
    {"sampling_rate": 0.02, "noise_multiplier": 1.5, "steps": 400},
    {"mechanism": "gaussian", "noise_multiplier": 30.0, "steps": 1},
]
CLAIM = {"epsilon": 2.5, "delta": 1e-6, "unit": "one example, added or removed"}


def released(folder, **changes):
    """The files of a released model, as the program writes them."""
    card = {"format": "lazydp-card", "version": 1, "claim": CLAIM, "ledger": LEDGER} | changes
    folder.mkdir(exist_ok=True)
    weights = folder / "model.safetensors"
    save_file({"x": torch.zeros(2)}, weights, {"lazydp.card": json.dumps(card)})
    digest = hashlib.blake2b(weights.read_bytes(), digest_size=32).hexdigest()
    card["weights"] = {"file": "model.safetensors", "blake2b_256": digest}
    (folder / "card.json").write_text(json.dumps(card))
    return folder


def begun_with(model, accountant="rdp", **options):
    engine = PrivacyEngine(accountant=accountant)
    chosen = {"poisson_sampling": True, "initial_model": model, "noise_multiplier": 2.0} | options
    run = private(build("shared"), engine=engine, **chosen)
    return engine, *run


def test_a_public_model_is_said_to_be_one():
    engine, model, optimizer, batches = begun_with("public")
    for batch in batches:
        step(model, optimizer, batch)
    assert engine.accountant.initial_model == "public, as its user declared"
    assert begun_with(None)[0].accountant.initial_model is None
    alone = privacy.epsilon(
        sampling_rate=1 / 3, noise_multiplier=2.0, steps=3, delta=1e-5, accountant="rdp"
    )
    assert engine.get_epsilon(1e-5) == pytest.approx(alone, rel=0.01)


@pytest.mark.parametrize("kind", [RDPAccountant, PRVAccountant])
def test_what_a_released_model_has_spent_counts(kind, tmp_path):
    name = kind.mechanism()
    engine, model, optimizer, batches = begun_with(released(tmp_path / "model"), name)
    together = kind()
    together.history = [(1.5, 0.02, 400), (30.0, 1.0, 1)]
    assert engine.get_epsilon(1e-5) == pytest.approx(together.get_epsilon(1e-5))
    for batch in batches:
        step(model, optimizer, batch)
    together.history.append((2.0, 1 / 3, 3))
    assert engine.get_epsilon(1e-5) == pytest.approx(together.get_epsilon(1e-5))
    words = engine.accountant.initial_model
    assert "had spent epsilon 2.5 at delta 1e-06 in 401 steps: these count" in words
    run = tmp_path  # the folder of a run that has released one will do
    assert begun_with(run)[0].accountant.history[:2] == [(1.5, 0.02, 400), (30.0, 1.0, 1)]


def test_it_counts_once(tmp_path):
    """In a second run of one engine, and where a run goes on from its checkpoint."""
    folder = released(tmp_path / "model")
    engine, model, optimizer, batches = begun_with(folder)
    for batch in batches:
        step(model, optimizer, batch)
    path = tmp_path / "checkpoint"
    engine.save_checkpoint(path=path, module=model, optimizer=optimizer)
    again, twin, twin_optimizer, _ = begun_with(folder)
    again.load_checkpoint(path=path, module=twin, optimizer=twin_optimizer)
    assert again.accountant.history == engine.accountant.history
    assert again.accountant.initial_model == engine.accountant.initial_model
    private(engine.release(model), engine=engine, poisson_sampling=True, initial_model=folder)
    assert again.accountant.history == engine.accountant.history
    other, twin, twin_optimizer, _ = begun_with("public")
    other.load_checkpoint(path=path, module=twin, optimizer=twin_optimizer)
    assert other.accountant.history == engine.accountant.history
    assert other.accountant.initial_model.endswith("count; and public, as its user declared")


@pytest.mark.parametrize("accountant", ["rdp", "prv"])
def test_a_budget_pays_for_both(accountant, tmp_path):
    folder = released(tmp_path / "model")
    spent = begun_with(folder, accountant)[0].get_epsilon(1e-5)

    def trained(target):
        engine, raw = PrivacyEngine(accountant=accountant), build("shared")
        model, optimizer, batches = engine.make_private_with_epsilon(
            module=raw,
            optimizer=torch.optim.SGD(raw.parameters(), lr=0.1),
            data_loader=loader(),
            target_epsilon=target,
            target_delta=1e-5,
            epochs=2,
            max_grad_norm=1.0,
            initial_model=folder,
        )
        for _ in range(2):
            for batch in batches:
                step(model, optimizer, batch)
        return engine.get_epsilon(1e-5)

    assert 0.95 * (spent + 2) < trained(spent + 2) <= spent + 2
    with pytest.raises(UserError, match="the initial model alone has spent"):
        trained(spent * 0.9)


REFUSED = {
    "no claim": ({"claim": {"statement": "no", "reason": "it was sgd"}}, "nothing is claimed"),
    "search": ({"claim": CLAIM | {"search": {}}}, "chosen by a private search"),
    "unit": ({"claim": CLAIM | {"unit": "one user, added or removed"}}, "protects one user"),
    "mechanism": ({"ledger": [{"mechanism": "banded", "steps": 3}]}, "do not know"),
}


@pytest.mark.parametrize(("changes", "words"), REFUSED.values(), ids=REFUSED)
def test_initial_models_that_are_refused(changes, words, tmp_path):
    folder = released(tmp_path / "model", **changes)
    with pytest.raises(PrivacyError, match=words):
        begun_with(folder)


def test_initial_models_that_are_none(tmp_path):
    folder = released(tmp_path / "model")
    with pytest.raises(UserError, match="no card.json there"):
        begun_with(tmp_path / "nowhere")
    with pytest.raises(UserError, match="must be 'public' or the folder"):
        begun_with({"epsilon": 1.0})
    with pytest.raises(PrivacyError, match="gdp"):
        begun_with(folder, "gdp")
    card = json.loads((folder / "card.json").read_text())
    edited = copy.deepcopy(card)
    edited["ledger"][0]["steps"] = 1
    (folder / "card.json").write_text(json.dumps(edited))
    with pytest.raises(PrivacyError, match="not the one that the weights carry"):
        begun_with(folder)


def test_a_run_by_unit_needs_a_claim_by_the_same_unit(tmp_path):
    user = "one value of column 3 with all its examples"
    same = released(tmp_path / "same", claim=CLAIM | {"unit": f"{user}, added or removed"})
    engine = PrivacyEngine(accountant="rdp")
    by_unit(build("shared"), engine=engine, initial_model=same, noise_multiplier=1.0)
    assert engine.accountant.unit == user and len(engine.accountant.history) == 2
    with pytest.raises(PrivacyError, match="protects one example, and these steps protect"):
        by_unit(build("shared"), initial_model=released(tmp_path / "other"))


def test_nothing_stays_behind_where_make_private_fails(tmp_path):
    engine = PrivacyEngine(accountant="rdp")
    with pytest.raises(ValueError, match="median"):
        private(
            build("shared"),
            engine=engine,
            loss_reduction="median",
            initial_model=released(tmp_path / "model"),
        )
    assert engine.accountant.history == [] and engine.accountant.initial_model is None
