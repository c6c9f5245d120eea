"""Opacus' optimizers with tables beside the dense layers: one norm, one step, one ledger."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from opacus.optimizers import AdaClipDPOptimizer, DPOptimizer
from opacus.optimizers.optimizer import _check_processed_flag, _mark_as_processed
from torch import Tensor

from lazydp._native import PrivacyError, UserError
from lazydp.accounting.mechanism import (
    clip_factors,
    moved_bound,
    noise_beside_count,
    require_mechanism,
)
from lazydp.layers.autograd_mode import arithmetic_of_steps
from lazydp.layers.captures import Captures, Pass
from lazydp.loading.batch_record import BatchRecord
from lazydp.noise.dense_noise import DenseNoise
from lazydp.tables.model_tables import Tables
from lazydp.tables.private_tensor import PrivateTensor


class SecureOptimizer(DPOptimizer):  # type: ignore[misc]
    """A mixin for Opacus' optimizers: dense layers' noise comes from the engine's generator."""

    dense_noise: DenseNoise | None = None

    def _noise_std(self) -> float:
        """Return the standard deviation of the noise on the clipped sum."""
        multiplier = float(self.noise_multiplier)
        if isinstance(self, AdaClipDPOptimizer):
            multiplier = noise_beside_count(multiplier, self.unclipped_num_std)
        return multiplier * float(self.max_grad_norm) if multiplier > 0 else 0.0

    def add_noise(self) -> None:
        """Add the engine's own noise to dense layers, unless the user brought a generator."""
        if self.dense_noise is None:
            super().add_noise()
            return
        first = getattr(self, "rank", 0) == 0  # one rank's noise counts for all, as in Opacus
        std = self._noise_std() if first else 0.0
        self.dense_noise.open_step()
        for p in self.params:
            _check_processed_flag(p.summed_grad)
            p.grad = self.dense_noise.of(p, p.summed_grad, std).add_(p.summed_grad).view_as(p)
            _mark_as_processed(p.summed_grad)
        if isinstance(self, AdaClipDPOptimizer):
            count = torch.as_tensor(self.unclipped_num, dtype=torch.float32)
            self.unclipped_num = count + self.dense_noise.like(count, self.unclipped_num_std)


class TableOptimizer(SecureOptimizer):
    """A mixin for Opacus' optimizer of the mode that was asked for.

    A step applies the gradients of the backward passes since the last one, each once, whether or
    not the loop calls zero_grad().
    """

    tables: Tables
    captures: Captures
    batch_record: BatchRecord
    void: Callable[[str], None]  # ends the claim of an epsilon, for the given reason
    trained: list[Any]  # the dense parameters whose gradients are captured
    require_intact: Callable[[], None]  # raises unless the layers are those of make_private
    _hooks: tuple[Any, ...] = ()  # the ledger's, then the user's
    _passes = 0  # the number of this step's backward passes
    _examples = 0  # the number of this step's examples, virtual steps included
    _warned = False
    _stepping = False

    @property
    def params(self) -> list[Any]:
        """The dense parameters. Tables step by themselves."""
        return [p for p in super().params if not isinstance(p, PrivateTensor)]

    def join(
        self, tables: Tables, layers: Any, *, batch_record: BatchRecord, void: Callable[[str], None]
    ) -> None:
        """Step these tables, and these dense layers, from here on."""
        self.tables, self.captures = tables, tables.captures
        self.batch_record, self.void = batch_record, void
        self.trained, self.require_intact = layers.parameters, layers.require_intact
        self._guard_original()

    def _guard_original(self) -> None:
        """Let the wrapped optimizer step only from here."""

        def refuse(*_: Any) -> None:
            if not self._stepping and not self.tables.released:
                raise PrivacyError(
                    "the optimizer that was given to make_private stepped by itself, past clipping "
                    "and noise; call step() of the one that make_private returned"
                )

        self._guard = self.original_optimizer.register_step_pre_hook(refuse)

    @property
    def _step_supports_amp_scaling(self) -> bool:
        """GradScaler.step() asks, before it looks for gradients to divide: refuse it."""
        raise UserError(
            "a GradScaler divides gradients before a step, and a private model forms none; use "
            "bfloat16 autocast, which needs none, or GradScaler(enabled=False)"
        )

    def attach_step_hook(self, fn: Callable[[Any], None]) -> None:
        """Call one more hook with every step; the ledger's own stays."""
        self._hooks = (*self._hooks, fn)

    def step(self, closure: Any = None) -> Any:
        """Step as Opacus does."""
        self._stepping = True
        try:
            return super().step(closure)
        finally:
            self._stepping = False

    @arithmetic_of_steps()
    def pre_step(self, closure: Any = None) -> bool:
        """Clip; then, unless the step is a virtual one, take it.

        A step that can't be right raises before noise is drawn or the ledger moves. Of one that is
        interrupted nothing is kept: what is left of its clipped sums would join the next step's.
        """
        self.tables.require_open()
        virtual = self._check_skip_next_step()
        try:
            passes, rules = self._checked_passes(virtual)
            self.clip(passes)
            if not virtual:
                self._take(rules)
        except BaseException:
            self._drop()
            raise
        self._is_last_step_skipped = virtual
        return not virtual

    def _take(self, rules: dict[int, Any]) -> None:
        """Add noise to the clipped sums, account for the step, and move the tables."""
        self._fill_missing()
        if isinstance(self, AdaClipDPOptimizer):
            self.unclipped_num = torch.as_tensor(float(self.unclipped_num))
        self.add_noise()
        self.scale_grad()
        self._clear_dense()
        for hook in self._hooks:
            hook(self)
        self.tables.step(rules)
        self.tables.put_momentum(self.state)
        self.move_bound()

    def _checked_passes(self, virtual: bool) -> tuple[list[Pass], dict[int, Any]]:
        """Return this step's passes and rules for tables. Raises UserError if it can't be right."""
        passes = self.captures.take()
        require_mechanism(self.noise_multiplier, self.max_grad_norm)
        self.require_intact()
        self._require_known()
        for one in passes:
            one.require_unchanged()
        self.batch_record.require_one_each(passes)
        if not passes and not self.batch_record.empty:
            raise UserError(
                "no gradient reached the private layers since the last step; call backward() on a "
                "loss that depends on them, outside of torch.no_grad(), before step()"
            )
        self._passes = len(passes)
        self._examples += sum(p.examples for p in passes)
        if virtual:
            return passes, {}
        if self._recorded() == 0:
            passes = []  # of an example that the loader made up, because the batch was empty
        divisor = 1.0
        if self.loss_reduction == "mean":
            divisor = self.expected_batch_size * self.accumulated_iterations
            divisor *= self.tables.exchange.world_size
        return passes, self.tables.rules(self.param_groups, divisor, self._noise_std())

    def _drop(self) -> None:
        """Keep nothing of a step that was refused or interrupted, or of its virtual steps."""
        self.captures.discard()
        self._step_skip_queue.clear()
        self._is_last_step_skipped = False
        self._forget_sums()

    def _forget_sums(self) -> None:
        """Forget clipped sums that no step has taken, and the count of their examples."""
        self.tables.discard_pending()
        self._examples = 0
        self._clear_dense()
        if isinstance(self, AdaClipDPOptimizer):
            self.unclipped_num = 0

    def _clear_dense(self) -> None:
        """Clear clipped sums, also of parameters that are frozen now: no later step has them."""
        for p in self.trained:
            p.summed_grad = None

    def _require_known(self) -> None:
        known, here = ({id(p) for p in some} for some in (self.trained, self.params))
        for p in self.params:
            if id(p) not in known:
                raise UserError(
                    f"a parameter of shape {list(p.shape)} became trainable after make_private, "
                    "which did not prepare its layer; set requires_grad before make_private, or "
                    "release the model and call it again"
                )
        for p in self.trained:
            if p.requires_grad and id(p) not in here:
                raise UserError(
                    f"a parameter of shape {list(p.shape)} is not in the parameter group that it "
                    "had at make_private; leave it there, and freeze it by requires_grad_(False)"
                )

    def _recorded(self) -> int:
        """Return how many of this step's examples the loader handed out; all of them, or none.

        An empty batch may hold an example that was made up. With it the batch's sum would be twice
        the bound away from that of the batch with one more example, which holds that one alone.
        """
        examples, self._examples = self._examples, 0
        recorded = self.batch_record.take(examples, max(1, self._passes))
        if recorded is None:
            self.void("batches did not come from the loader that make_private returned")
            return examples
        return recorded

    @property
    def accumulated_iterations(self) -> int:
        """The number of batches that make up this step."""
        return max(1, self._passes)

    def clip(self, passes: list[Pass]) -> None:
        """Clip every example's gradient over tables and all dense layers together."""
        for one in passes:
            norms = one.squared_norms()
            squared = torch.stack(list(norms.values())).sum(0)
            factors = clip_factors(squared, self.max_grad_norm)
            self._warn_if_none(factors)
            self.count_unclipped(factors)
            one.add_clipped(lambda key, factors=factors: factors)  # type: ignore[misc]

    def _warn_if_none(self, factors: Tensor) -> None:
        if len(factors) and not self._warned and not bool(factors.any()):
            self._warned = True
            warnings.warn(
                "the gradient of every example of a batch was not finite; the step is noise alone: "
                "look at the loss, the learning rates and the inputs",
                stacklevel=5,
            )

    def count_unclipped(self, factors: Tensor) -> None:
        """Count, for adaptive clipping, the examples that the bound left as they were.

        Each of them adds a half and every other one takes a half away, so that an example moves the
        count by a half in either case, and their number stays a secret.
        """
        if isinstance(self, AdaClipDPOptimizer):
            self.sample_size = 1  # Opacus' divisor, which is not used
            self.unclipped_num += (factors >= 1).sum() - 0.5 * len(factors)

    def move_bound(self) -> None:
        """Set, for adaptive clipping, the next step's bound from this step's noisy count."""
        if not isinstance(self, AdaClipDPOptimizer):
            return
        fraction = 0.5 + float(self.unclipped_num) / self.expected_batch_size
        self.max_grad_norm = moved_bound(
            float(self.max_grad_norm),
            fraction - self.target_unclipped_quantile,
            self.clipbound_learning_rate,
            (self.min_clipbound, self.max_clipbound),
        )
        self.sample_size, self.unclipped_num = 0, 0

    def _fill_missing(self) -> None:
        """Give a layer that no batch went through a gradient of 0: it receives noise, too."""
        for p in self.params:
            if getattr(p, "summed_grad", None) is None:
                p.summed_grad = torch.zeros_like(p)

    def zero_grad(self, set_to_none: bool = False) -> None:
        """Forget gradients that no step has taken; clipped sums of virtual steps stay."""
        self.captures.discard()
        if not self._is_last_step_skipped:
            self._forget_sums()
        self.original_optimizer.zero_grad(set_to_none)

    def load_state_dict(self, state_dict: Any) -> None:
        """Load a state; momenta go to where tables keep them."""
        self.tables.require_momentum(state_dict)
        super().load_state_dict(state_dict)
        self.tables.take_momentum(self.state)

    def __getstate__(self) -> Any:
        """Refuse: a copy would take the tables' debts with it."""
        raise PrivacyError("a private optimizer can't be pickled; save optimizer.state_dict()")
