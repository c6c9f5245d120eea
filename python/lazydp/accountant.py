"""Accountants that claim an epsilon only while everything that it rests on holds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from opacus.accountants import IAccountant

from lazydp._native import PrivacyError

_KEY, _RUN, _UNIT = "lazydp_no_claim", "lazydp_run", "lazydp_unit"
ONE_EXAMPLE = "one example"


class ClaimingAccountant(IAccountant):  # type: ignore[misc]
    """A mixin for Opacus' accountants. It knows why nothing may be claimed, and keeps all steps."""

    history: list[Any]
    run: str  # names the run that took these steps
    no_claim: str | None = None  # the first reason that was given
    unit: str | None = None  # what the steps protect, in words; None until it is known

    def void(self, reason: str) -> None:
        """Claim nothing from here on, for this reason."""
        if self.no_claim is None:
            self.no_claim = reason

    def require_unit(self, unit: str) -> None:
        """Raise PrivacyError if these steps protect something else: no epsilon could state both."""
        if self.unit not in (None, unit):
            raise PrivacyError(
                f"the account has steps, or a model, that protect {self.unit}, and these protect "
                f"{unit}; no epsilon states both: use the same privacy_unit, or another engine"
            )

    def get_epsilon(self, delta: float, *args: Any, **kwargs: Any) -> float:
        """Return what Opacus does, or infinity, with a warning, where nothing can be claimed."""
        if self.no_claim is not None:
            warnings.warn(f"{self.no_claim}: no epsilon is claimed", stacklevel=2)
            return float("inf")
        return float(super().get_epsilon(delta, *args, **kwargs))

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Return Opacus' state, with the run and the reason for no claim."""
        state = super().state_dict(*args, **kwargs)
        state[_RUN] = self.run
        state[_UNIT] = self.unit or ONE_EXAMPLE
        if self.no_claim is not None:
            state[_KEY] = self.no_claim
        return state

    def load_state_dict(self, state_dict: Any) -> None:
        """Go on from a ledger. Steps that were taken stay on the account.

        A run that goes back to an earlier checkpoint has taken the steps since then, and may have
        gone back because of what they showed.
        """
        unit = state_dict.get(_UNIT, ONE_EXAMPLE) if state_dict else self.unit
        if unit is not None:
            self.require_unit(unit)
        taken = self.history
        super().load_state_dict(state_dict)
        self.unit = unit
        loaded = self.history
        same = state_dict.get(_RUN) == self.run
        if not taken:
            self.run = state_dict.get(_RUN, self.run)
        elif same and _begins_with(taken, loaded):
            self.history = taken
        elif not (same and _begins_with(loaded, taken)):
            self.history = [*loaded, *taken]
        if state_dict.get(_KEY) is not None:
            self.void(state_dict[_KEY])

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Rebuild the mixed class, which has no name of its own, so that a copy knows the same."""
        return _again, (type(self).__mro__[2], self.__dict__.copy())


def _again(plain: Any, state: dict[str, Any]) -> Any:
    copied: Any = plain.__new__(plain)
    copied.__dict__.update(state)
    return _mixed(copied)


def _begins_with(history: list[Any], other: list[Any]) -> bool:
    """Return whether a ledger of (noise, rate, steps) is `other`, or `other` with further steps."""
    if len(other) > len(history):
        return False
    if not other:
        return True
    last = len(other) - 1
    return (
        [tuple(e) for e in history[:last]] == [tuple(e) for e in other[:last]]
        and tuple(history[last][:2]) == tuple(other[last][:2])
        and history[last][2] >= other[last][2]
    )


def reasons_against_a_claim(
    *, noise: str, noise_generator: Any, poisson_sampling: bool, sample_generator: Any
) -> Iterator[str]:
    """Yield every reason why these choices of make_private allow no epsilon to be claimed."""
    if noise == "touched_rows":
        yield "noise='touched_rows' shows which rows nobody used"
    if noise_generator is not None:
        yield "noise_generator makes noise that repeats, and can be predicted"
    if not poisson_sampling:
        yield "with poisson_sampling=False batches are not the samples that accounting assumes"
    elif sample_generator is not None:
        yield "the loader's generator makes samples that repeat, and can be predicted"


def claiming(accountant: Any) -> Any:
    """Turn the accountant, in place, into one that knows what may be claimed."""
    accountant.run = uuid4().hex
    return _mixed(accountant)


def _mixed(accountant: Any) -> Any:
    plain = type(accountant)
    accountant.__class__ = type(f"Claiming{plain.__name__}", (ClaimingAccountant, plain), {})
    return accountant
