"""Attacks on training programs: they tell from released models which examples were in the data.

`audit` trains many times with and without one example, the canary; `audit_one_run` trains once with
many canaries, each in or out by the toss of a coin. Both test the claimed trade-off curve.
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import torch
from torch import nn

from lazydp import _native
from lazydp.privacy import Event

POWER = 0.9  # against half the noise; an audit that has less says so
PLANNED_NOISE = 0.6  # half the noise, for an attack that sees five sixths as well as a perfect one

# A claim is (epsilon, delta), a ledger as in lazydp.privacy, or an engine that has trained.
Claim = tuple[float, float] | Sequence[Event] | Any
# The canary's own rows, by the name of a parameter of the released module.
Rows = Mapping[str, Sequence[int] | torch.Tensor]


@dataclass(frozen=True)
class AuditResult:
    """The finding of an audit. `verdict` is "broken", "stands" or "nothing"."""

    verdict: str
    p_value: float  # under the claimed trade-off curve
    alpha: float  # a true claim is called broken with this probability at most
    attack: str
    evidence: str
    needed: str

    @property
    def broken(self) -> bool:
        """Whether the claim was found false; a true one is with probability alpha at most."""
        return self.verdict == "broken"

    def __str__(self) -> str:
        """Return the finding in two sentences."""
        said = {
            "broken": "BROKEN: the claim is false",
            "stands": "the claim stands",
            "nothing": f"this audit can say nothing: it takes {self.needed} to catch half the "
            "noise",
        }[self.verdict]
        return f"{said} (p-value {self.p_value:.3g}, alpha {self.alpha:g}). {self.evidence}."


def audit(
    make_run: Callable[[bool], nn.Module],
    *,
    claim: Claim,
    runs: int,
    rows: Rows | None = None,
    score: Callable[[nn.Module], float] | None = None,
    alpha: float = 1e-3,
) -> AuditResult:
    """Try to break the claim of a training program by training `runs` times with and without.

    `make_run(True)` trains with the canary in the data, `make_run(False)` without it; both return
    the released module. It begins with the same weights every time, and draws its noise afresh.
    Give the canary's own `rows`, which no other example uses, or a `score` that is larger for
    models trained with it. Half of the runs choose how to attack; the others are the evidence.
    """
    curve, halved = _curves(claim, 0.5)
    _choose_one(rows, score)
    half = runs // 2
    _require(half >= 1, f"runs is {runs}; it must be 2 or more")
    perfect = _native.attack_evidence([0.0] * half, [1.0] * half, 0.5, alpha)
    _require(
        _native.attack_p_value(perfect, curve) <= alpha,
        f"runs is {runs}; half of them could not contradict the claim even if the attack were "
        "always right: it must be larger",
    )
    needed = _native.runs_needed(curve, halved, alpha, POWER)
    words = f"at least {2 * needed} runs" if needed else "more runs than can be had"
    enough = needed is not None and half >= needed
    if not enough:
        warnings.warn(f"runs is {runs}; to catch half the noise it takes {words}", stacklevel=2)

    found = {with_canary: [] for with_canary in (False, True)}  # type: dict[bool, list[Any]]
    for _ in range(2 * half):
        for with_canary, results in found.items():
            module = make_run(with_canary)
            results.append(score(module) if score else _features(module, rows or {}))
    attacks = {"your score": (found[False], found[True])} if score else _attacks(found, half)

    best, attack, evidence = -1.0, "", perfect
    for name, (without, present) in attacks.items():
        threshold = _native.best_threshold(without[:half], present[:half], alpha)
        chosen = _native.attack_evidence(without[:half], present[:half], threshold, alpha)
        told = 1.0 - _native.attack_p_value(chosen, curve)
        told += (2 * half - chosen.false_alarms - chosen.misses) / (2 * half) * 1e-3
        if told > best:
            best, attack = told, name
            evidence = _native.attack_evidence(without[half:], present[half:], threshold, alpha)
    p_value = _native.attack_p_value(evidence, curve)
    return AuditResult(
        verdict="broken" if p_value <= alpha else "stands" if enough else "nothing",
        p_value=p_value,
        alpha=alpha,
        attack=attack,
        evidence=f"Looking at {attack}: {evidence.false_alarms} false alarms in "
        f"{evidence.runs_without} runs without the canary, {evidence.misses} misses in "
        f"{evidence.runs_with} with it",
        needed=words,
    )


def audit_one_run(
    make_run: Callable[[torch.Tensor], nn.Module],
    *,
    claim: Claim,
    canaries: int,
    rows: Rows | None = None,
    score: Callable[[nn.Module], torch.Tensor] | None = None,
    alpha: float = 0.01,
    coins: Callable[[int], torch.Tensor] | None = None,
) -> AuditResult:
    """Try to break the claim of one training, with many canaries in or out by the toss of a coin.

    `make_run(included)` trains with those canaries in the data for which `included` is true, and
    returns the released module. `rows[name][i]` is canary i's own row, or rows, of a parameter.
    Without a `score` (one number a canary) there is another training, with other coins, that shows
    where canaries pull their rows: they should all pull the same way. `coins(n)` tosses n of them,
    for several processes that must see the same ones; they must be fair, and secret.
    """
    curve, weaker = _curves(claim, PLANNED_NOISE)
    _choose_one(rows, score)
    plan = _native.plan_one_run(canaries, curve, weaker, alpha)
    _require(
        plan.needed > 0,
        f"canaries is {canaries}; they could not contradict the claim even if the attack were "
        "always right: it must be larger",
    )
    needed = _native.canaries_needed(curve, weaker, alpha, POWER)
    words = f"at least {needed} canaries" if needed else "more canaries than can be had"
    if plan.power < POWER:
        warnings.warn(
            f"canaries is {canaries}; to catch half the noise it takes {words}", stacklevel=2
        )

    toss = coins or _toss
    included = toss(canaries)
    module = make_run(included)
    if score:
        scores = score(module).double()
    else:
        seen = _canary_features(module, rows or {}, canaries)
        known = toss(canaries)
        other = _canary_features(make_run(known), rows or {}, canaries)
        scores = (seen - other.mean(0)) @ (other[known].mean(0) - other[~known].mean(0))
        scores[(seen == other).all(1)] = -torch.inf  # rows that both trainings left alone
    made = _native.guess(scores.tolist(), included.tolist(), plan.guesses)
    p_value = _native.one_run_p_value(made, curve)
    return AuditResult(
        verdict="broken" if p_value <= alpha else "stands" if plan.power >= POWER else "nothing",
        p_value=p_value,
        alpha=alpha,
        attack="your score" if score else "where the canaries' rows lie",
        evidence=f"{made.correct} of {made.guesses} guesses about {made.canaries} canaries were "
        f"right, {plan.needed} would break the claim",
        needed=words,
    )


def _require(ok: bool, message: str) -> None:
    if not ok:
        raise _native.UserError(message)


def _toss(count: int) -> torch.Tensor:
    return torch.tensor([secrets.randbits(1) for _ in range(count)], dtype=torch.bool)


def _choose_one(rows: Rows | None, score: Callable[[nn.Module], Any] | None) -> None:
    _require((rows is None) != (score is None), "give either the canary's rows or a score")


def _curves(claim: Claim, factor: float) -> tuple[_native.TradeOff, _native.TradeOff]:
    """Return the claim's trade-off curve, and the one seen with `factor` times the noise."""
    if isinstance(claim, tuple) and isinstance(claim[0], int | float):
        epsilon, delta = float(claim[0]), float(claim[1])
        mu = _gaussian_mu(epsilon, delta)
        points = [(epsilon, delta)]
        return _native.TradeOff.of_points(points), _native.TradeOff.gaussian(mu / factor)
    ledger: Any = claim
    if hasattr(ledger, "accountant"):  # Opacus' history is (noise, rate, steps)
        ledger = [(q, noise, n) for noise, q, n in ledger.accountant.history]
    events = [(float(q), float(noise), int(n)) for q, noise, n in ledger]
    _require(len(events) > 0, "the claim is a ledger without steps; train first, or state it")
    return _native.TradeOff.of_events(events), _native.TradeOff.of_sum(events, factor)


def _gaussian_mu(epsilon: float, delta: float) -> float:
    """Return mu of the Gaussian mechanism that spends all of (epsilon, delta)."""
    cdf, low, high = NormalDist().cdf, 1e-6, 100.0
    _require(epsilon > 0 and 0 < delta < 1, f"claim is ({epsilon}, {delta}), which claims nothing")
    for _ in range(60):
        mu = (low + high) / 2
        spent = cdf(mu / 2 - epsilon / mu)
        if spent > delta:
            spent -= torch.tensor(epsilon).double().exp().item() * cdf(-mu / 2 - epsilon / mu)
        low, high = (mu, high) if spent <= delta else (low, mu)
    return low


def _features(module: nn.Module, rows: Rows) -> torch.Tensor:
    """Return the values of some rows of a module, in one vector."""
    state = module.state_dict()
    parts = []
    for name, chosen in rows.items():
        _require(name in state, f"rows names {name}; the released module has {', '.join(state)}")
        parts.append(state[name].detach()[torch.as_tensor(chosen)].double().cpu().flatten())
    return torch.cat(parts)


def _canary_features(module: nn.Module, rows: Rows, canaries: int) -> torch.Tensor:
    """Return the values of every canary's rows, a vector each."""
    every = _features(module, {name: torch.as_tensor(chosen) for name, chosen in rows.items()})
    parts, begin = [], 0
    state = module.state_dict()
    for name, chosen in rows.items():
        index = torch.as_tensor(chosen)
        _require(len(index) == canaries, f"rows['{name}'] has not one entry for each canary")
        size = index.numel() * state[name][0].numel()
        parts.append(every[begin : begin + size].reshape(canaries, -1))
        begin += size
    return torch.cat(parts, 1)


def _attacks(
    found: Mapping[bool, Sequence[torch.Tensor]], half: int
) -> dict[str, tuple[list[float], list[float]]]:
    """Return two attacks' scores of the canary's rows, learned from the first half of the runs."""
    without, present = torch.stack(list(found[False])), torch.stack(list(found[True]))
    pull = present[:half].mean(0) - without[:half].mean(0)
    usual = without[:half].mode(0).values
    moved = [(runs != usual).sum(1).double() for runs in (without, present)]
    return {
        "how far its rows lie where it pulls them": (
            (without @ pull).tolist(),
            (present @ pull).tolist(),
        ),
        "whether its rows moved at all": (moved[0].tolist(), moved[1].tolist()),
    }
