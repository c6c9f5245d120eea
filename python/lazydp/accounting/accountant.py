"""Accountants that claim an epsilon only while everything that it rests on holds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

from opacus.accountants import IAccountant

from lazydp._native import PrivacyError
from lazydp.accounting.blocks import Blocks, Event
from lazydp.accounting.initial_model import InitialModel

_KEY, _RUN, _UNIT = "lazydp_no_claim", "lazydp_run", "lazydp_unit"
_INITIAL, _BLOCKS = "lazydp_initial_model", "lazydp_blocks"
_WITH_BLOCKS = " with blocks"  # an accountant that knows of none refuses the ledger
ONE_EXAMPLE = "one example"
_LARGE = 20.0  # as in the native program


class ClaimingAccountant(IAccountant):  # type: ignore[misc]
    """A mixin for Opacus' accountants. It knows why nothing may be claimed, and keeps all steps."""

    history: list[Any]
    run: str  # names the run that took these steps
    no_claim: str | None = None  # the first reason that was given
    unit: str | None = None  # what the steps protect, in words; None until it is known
    population: int = 0  # how many of these there are, which is public; 0 until it is known
    initial_model: str | None = None  # what is known of the weights before all steps, in words
    blocks: Blocks  # of steps that take the data in its order; `history` has all other steps
    _before: list[Any] = []  # what the initial model had spent

    def void(self, reason: str) -> None:
        """Claim nothing from here on, for this reason."""
        if self.no_claim is None:
            self.no_claim = reason

    def require_unit(self, unit: str, initial: InitialModel | None = None) -> None:
        """Raise PrivacyError if steps would protect something else: no epsilon could state both."""
        if self.unit not in (None, unit):
            raise PrivacyError(
                f"the account has steps, or a model, that protect {self.unit}, and these protect "
                f"{unit}; no epsilon states both: use the same privacy_unit, or another engine"
            )
        if initial is not None and initial.unit not in (None, unit):
            raise PrivacyError(
                f"the initial model's claim protects {initial.unit}, and these steps protect "
                f"{unit}; no epsilon states both: use the same privacy_unit, or a public model"
            )
        if initial is not None and initial.spent and self.mechanism() == "gdp":
            raise PrivacyError(
                "the initial model has spent something, which accountant='gdp' can't compose with "
                "other steps: use 'prv' or 'rdp'"
            )

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Take a step on the account. Where that fails, those that were taken stay on it."""
        taken = list(self.history)
        self._composed([*taken, (noise_multiplier, sample_rate, 1)])
        try:
            super().step(noise_multiplier=noise_multiplier, sample_rate=sample_rate)
        except BaseException:  # Opacus takes the last entry off before it looks at it
            self.history = taken
            raise

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """Return what an optimizer calls with each step: steps of a block are counted in it."""
        sampled = super().get_optimizer_hook_fn(sample_rate)

        def take(optimizer: Any) -> None:
            block = getattr(optimizer, "block", None)
            if block is None:
                sampled(optimizer)
            else:
                block.steps += 1

        return take

    def __len__(self) -> int:
        """Return the number of steps."""
        return int(super().__len__()) + self.blocks.steps  # type: ignore[safe-super]

    def begin_with(self, model: InitialModel) -> None:
        """Put what the initial model has spent on the account, once."""
        if self.initial_model == model.words:
            return
        self.history = self._composed([*model.spent, *self.history])
        self.initial_model = model.words
        self._before = list(model.spent)

    def _composed(self, history: list[Any]) -> list[Any]:
        """Return a ledger in which equal steps that follow each other are one entry.

        Raises PrivacyError for one of several entries that would be priced by its last alone.
        """
        entries: list[Any] = []
        for noise, rate, steps in history:
            if entries and entries[-1][:2] == (noise, rate):
                steps += entries.pop()[2]
            entries.append((noise, rate, steps))
        if len(entries) > 1 and self.mechanism() == "gdp":
            raise PrivacyError(
                "the account has steps of different noise multipliers or sampling rates, which "
                "accountant='gdp' can't compose: use 'prv' or 'rdp'"
            )
        return entries

    def _claims_nothing(self) -> bool:
        """Return whether nothing can be claimed, with a warning that says why."""
        reason = self.no_claim
        noises = [n for n, _, _ in self.history] + [b.noise_multiplier for b in self.blocks.begun]
        if reason is None and any(noise <= 0 for noise in noises):
            reason = "a step was taken without noise"
        if reason is not None:
            warnings.warn(f"{reason}: no epsilon is claimed", stacklevel=3)
        return reason is not None

    def get_epsilon(self, delta: float, *args: Any, **kwargs: Any) -> float:
        """Return what Opacus does, or infinity, with a warning, where nothing can be claimed."""
        if self._claims_nothing():
            return float("inf")
        if self.blocks:
            epsilon = self.blocks.epsilon(core_events(self.history), delta, self.mechanism())
        else:
            epsilon = float(super().get_epsilon(delta, *args, **kwargs))
        warn_of_budget(delta, epsilon, self.population)
        return epsilon

    def get_privacy_spent(self, *, delta: float, **arguments: Any) -> tuple[float, float]:
        """Return an epsilon and its order, as Opacus' RDP accountant does; blocks have no order."""
        if self.blocks:
            return self.get_epsilon(delta), 0.0
        return super().get_privacy_spent(delta=delta, **arguments)  # type: ignore[misc, no-any-return]

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Return Opacus' state, with the run and the reason for no claim."""
        state = super().state_dict(*args, **kwargs)
        state[_RUN] = self.run
        state[_UNIT] = self.unit or ONE_EXAMPLE
        if self.initial_model is not None:
            state[_INITIAL] = self.initial_model
        if self.no_claim is not None:
            state[_KEY] = self.no_claim
        if self.blocks.begun:
            state[_BLOCKS] = self.blocks.state()
            state["mechanism"] += _WITH_BLOCKS
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
        blocks = state_dict.get(_BLOCKS, []) if state_dict else []
        if blocks:
            plain = state_dict["mechanism"].removesuffix(_WITH_BLOCKS)
            state_dict = {**state_dict, "mechanism": plain}
        super().load_state_dict(state_dict)
        loaded, self.history = self.history, taken
        same = state_dict.get(_RUN) == self.run
        initial = state_dict.get(_INITIAL)
        fresh = taken == self._before and (not taken or initial == self.initial_model)
        fresh = fresh and not self.blocks.begun
        self.blocks.join(blocks)
        if (same or fresh) and _begins_with(loaded, taken):
            self.history = loaded
        elif not (same and _begins_with(taken, loaded)):
            self.history = self._composed([*loaded, *taken])
        if fresh:
            self.run = state_dict.get(_RUN, self.run)
        self.unit = unit
        self.initial_model = (
            "; and ".join(dict.fromkeys(words for words in (initial, self.initial_model) if words))
            or None
        )
        if state_dict.get(_KEY) is not None:
            self.void(state_dict[_KEY])

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Rebuild the mixed class, which has no name of its own, so that a copy knows the same."""
        kinds = type(self).__mro__
        plain = kinds[kinds.index(ClaimingAccountant) + 1]
        return _again, (plain, self.__dict__.copy())


class SpendingAccountant(ClaimingAccountant):
    """A mixin for Opacus' RDP accountant, which has a second way to ask for an epsilon."""

    def get_privacy_spent(self, **arguments: Any) -> tuple[float, float]:
        """Return an epsilon and its order as Opacus does: infinity where nothing can be claimed."""
        if self._claims_nothing():
            return float("inf"), 0.0
        epsilon, order = super().get_privacy_spent(**arguments)
        return float(epsilon), float(order)


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


def core_events(history: list[Any]) -> list[Event]:
    """Return Opacus' entries as the core's accountants read them."""
    return [(float(rate), float(noise), int(steps)) for noise, rate, steps in history]


def warn_of_budget(delta: float, epsilon: float, population: int) -> None:
    """Warn of a budget that promises next to nothing to so many examples, or units."""
    if population and delta * population >= 1:
        warnings.warn(
            f"delta is {delta:g}, and there are {population:,} examples or units; from "
            f"1/{population:,} on it lets all of one be given away: choose a smaller one",
            stacklevel=4,
        )
    if epsilon > _LARGE:
        warnings.warn(
            f"epsilon is {epsilon:.3g}; above {_LARGE:g} an attacker may be all but certain",
            stacklevel=4,
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
    if isinstance(accountant, ClaimingAccountant):
        return accountant
    accountant.run, accountant.blocks = uuid4().hex, Blocks()
    return _mixed(accountant)


def _mixed(accountant: Any) -> Any:
    plain = type(accountant)
    mixin = SpendingAccountant if hasattr(plain, "get_privacy_spent") else ClaimingAccountant
    accountant.__class__ = type(f"Claiming{plain.__name__}", (mixin, plain), {})
    return accountant
