"""The numbers that a claim rests on: noise, bounds, and the factors that clip gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lazydp._native import UserError

_BELOW = 1.0 - 1e-5  # keeps rounding from carrying a norm beyond the bound


def require_mechanism(noise_multiplier: Any, max_grad_norm: Any) -> None:
    """Raise UserError unless noise of this multiplier hides gradients of this bound, or these.

    The ledger records the multiplier alone: what is no number, or negative, would be noise that it
    prices and that is never drawn.
    """
    number = isinstance(noise_multiplier, (int, float, Tensor, np.number))
    if not (number and math.isfinite(noise_multiplier) and noise_multiplier >= 0):
        raise UserError(
            f"noise_multiplier is {noise_multiplier}; it must be a finite number, 0 or above"
        )
    bounds = max_grad_norm if isinstance(max_grad_norm, Sequence) else [max_grad_norm]
    for bound in map(float, bounds):
        if math.isinf(bound) and bound > 0 and noise_multiplier > 0:
            raise UserError(
                "max_grad_norm is infinite, and noise is a multiple of it; it must be finite where "
                f"there is noise (noise_multiplier is {noise_multiplier})"
            )
        if not bound > 0:
            raise UserError(f"max_grad_norm is {bound}; it must be above 0, for example 1.0")


def noise_beside_count(noise_multiplier: float, count_std: float) -> float:
    """Return the multiplier for the sum where a count, with noise `count_std`, is paid for, too.

    An example moves the count by a half (Andrew et al. 2021).
    """
    if noise_multiplier <= 0:
        return 0.0
    if noise_multiplier >= 2 * count_std:
        raise UserError(
            f"noise_multiplier is {noise_multiplier}; with adaptive clipping it must stay below "
            f"{2 * count_std:g}, twice the noise of the count, which has to be paid for"
        )
    return float((noise_multiplier**-2 - (2 * count_std) ** -2) ** -0.5)


def clip_factors(squared_norms: Tensor, bound: float) -> Tensor:
    """Return min(1, bound / norm); 0, which leaves an example out, if the norm is not finite."""
    norms = squared_norms.sqrt()
    factors = (float(bound) * _BELOW / norms).clamp(max=1.0)  # a norm of 0 keeps everything
    return torch.where(torch.isfinite(norms), factors, 0.0)


def moved_bound(bound: float, excess: float, rate: float, limits: tuple[float, float]) -> float:
    """Return the bound, moved against the excess of unclipped examples and kept in its limits."""
    moved = bound * float(torch.exp(torch.tensor(-rate * excess, dtype=torch.float64)))
    return min(max(moved, limits[0]), limits[1])
