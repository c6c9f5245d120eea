"""The cost of steps: the accountants and the calibration of the core, as plain functions.

A ledger is a list of events, each (sampling rate, noise multiplier, steps).
"""

from __future__ import annotations

from collections.abc import Sequence

from lazydp import _native

Event = tuple[float, float, int]


def epsilon(
    *,
    sampling_rate: float,
    noise_multiplier: float,
    steps: int,
    delta: float,
    accountant: str = "pld",
) -> float:
    """Return the epsilon of `steps` steps of the Poisson-subsampled Gaussian, by "pld" or "rdp"."""
    return epsilon_of([(sampling_rate, noise_multiplier, steps)], delta, accountant)


def epsilon_of(ledger: Sequence[Event], delta: float, accountant: str = "pld") -> float:
    """Return the smallest epsilon that the accountant can prove for what the ledger records."""
    return _native.epsilon(list(ledger), delta, accountant)


def delta_of(ledger: Sequence[Event], epsilon: float, accountant: str = "pld") -> float:
    """Return the smallest delta that the accountant can prove at this epsilon."""
    return _native.delta(list(ledger), epsilon, accountant)


def noise_multiplier(
    *,
    target_epsilon: float,
    target_delta: float,
    sampling_rate: float,
    steps: int,
    accountant: str = "pld",
) -> float:
    """Return the smallest noise multiplier with which `steps` steps stay within the budget."""
    return _native.noise_for_budget(target_epsilon, target_delta, sampling_rate, steps, accountant)


def max_steps(
    *,
    target_epsilon: float,
    target_delta: float,
    sampling_rate: float,
    noise_multiplier: float,
    accountant: str = "pld",
) -> int:
    """Return the largest number of steps that stays within the budget."""
    return _native.max_steps(
        target_epsilon, target_delta, sampling_rate, noise_multiplier, accountant
    )
