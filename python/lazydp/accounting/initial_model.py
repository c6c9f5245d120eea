"""What is known of the privacy of the model that training begins with.

A run that begins with a model's weights reveals what these say of the data they were trained on,
and what it learns itself. Where one person is in both, both count.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opacus.accountants import create_accountant

from lazydp import _native
from lazydp._native import PrivacyError, UserError
from lazydp.serving.released_files import folder_of, verified_card

PUBLIC = "public"
Steps = tuple[float, float, int]  # noise multiplier, sampling rate, how many: as Opacus keeps them


@dataclass(frozen=True)
class InitialModel:
    """A model that is public, or that has spent what its card says."""

    words: str
    unit: str | None = None  # what its claim protects; None where nothing is to be protected
    spent: tuple[Steps, ...] = ()


def read_initial_model(given: Any) -> InitialModel | None:
    """Return what make_private was told of the weights; None if it was told nothing."""
    if given is None:
        return None
    if given == PUBLIC:
        return InitialModel("public, as its user declared")
    if not isinstance(given, (str, Path)):
        raise UserError(
            f"initial_model is a {type(given).__name__}; it must be 'public' or the folder of a "
            "released model, whose card says what it has spent"
        )
    return _of_card(verified_card(folder_of(given)), given)


def _of_card(card: dict[str, Any], folder: Any) -> InitialModel:
    claim = card["claim"]
    if "epsilon" not in claim:
        raise PrivacyError(
            f"nothing is claimed for the initial model {folder} ({claim['reason']}), so that "
            "nothing could be claimed for what begins with it: begin with another model"
        )
    if "search" in claim:
        raise PrivacyError(
            f"the initial model {folder} was chosen by a private search, which its ledger does "
            "not hold: begin with another model"
        )
    spent = tuple(_steps(event, folder) for event in card["ledger"])
    return InitialModel(
        f"the released model {folder}, which had spent epsilon {claim['epsilon']:.3g} at delta "
        f"{claim['delta']:g} in {sum(int(event['steps']) for event in card['ledger'])} steps: "
        "these count",
        claim["unit"].removesuffix(", added or removed").removesuffix(", blanked where it stands"),
        spent,
    )


def _steps(event: dict[str, Any], folder: Any) -> Steps:
    known = {"sampling_rate", "noise_multiplier", "steps"}
    if event.get("mechanism") == "correlated_gaussian" and event.get("sampling") == "stream":
        event = _as_one(event)
    if event.get("mechanism") == "gaussian":
        event = {"sampling_rate": 1.0} | {k: v for k, v in event.items() if k != "mechanism"}
    if set(event) != known:
        raise PrivacyError(
            f"the ledger of the initial model {folder} has an event that Opacus' accountants do "
            f"not know ({', '.join(sorted(map(str, event)))}): train on with the program instead"
        )
    return float(event["noise_multiplier"]), float(event["sampling_rate"]), int(event["steps"])


def _as_one(block: dict[str, Any]) -> dict[str, Any]:
    """Return the one Gaussian mechanism that the steps of a block are."""
    sensitivity = _native.sensitivity(
        block["bands"], block["steps"], block["separation"], block["participations"]
    )
    noise_multiplier = block["noise_multiplier"] / sensitivity
    return {"mechanism": "gaussian", "noise_multiplier": noise_multiplier, "steps": 1}


def noise_for_rest(
    spent: tuple[Steps, ...],
    mechanism: str,
    *,
    target_epsilon: float,
    target_delta: float,
    sample_rate: float,
    epochs: float,
) -> float:
    """Return the least noise multiplier, to 1 %, with which these steps and the spent ones meet a
    budget.
    """
    steps = round(epochs / sample_rate)
    accountant = create_accountant(mechanism=mechanism)

    def epsilon(*more: Steps) -> float:
        accountant.history = [*spent, *more]
        return float(accountant.get_epsilon(delta=target_delta))

    if epsilon() >= target_epsilon:
        raise UserError(
            f"target_epsilon is {target_epsilon}; the initial model alone has spent "
            f"{epsilon():.3g} at delta {target_delta:g}: a budget for both must be above that"
        )
    low, high = 0.0, 1.0
    while epsilon((high, sample_rate, steps)) > target_epsilon:
        low, high = high, 2 * high
        if high > 1e6:
            raise UserError(f"no noise is enough for target_epsilon {target_epsilon}")
    while high - low > 0.01 * high:
        middle = (low + high) / 2
        if epsilon((middle, sample_rate, steps)) > target_epsilon:
            low = middle
        else:
            high = middle
    return high
