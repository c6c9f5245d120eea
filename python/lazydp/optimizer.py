"""Opacus' optimizers with tables beside the dense layers: one norm, one step, one ledger."""

from __future__ import annotations

from typing import Any

import torch
from opacus.optimizers import (
    AdaClipDPOptimizer,
    DistributedDPOptimizer,
    DistributedDPOptimizerFastGradientClipping,
    DPOptimizer,
    DPOptimizerFastGradientClipping,
)
from torch import Tensor

from lazydp.secure import DenseNoise
from lazydp.tables import Tables

_BELOW = 1.0 - 1e-5  # so that rounding can't carry a norm beyond the bound


def clip_factors(squared_norms: Tensor, bound: float) -> Tensor:
    """min(1, bound / norm), and 0 for a norm that is not finite: that example is left out."""
    norms = squared_norms.sqrt()
    factors = (float(bound) * _BELOW / norms).clamp(max=1.0)  # a norm of 0 keeps everything
    return torch.where(torch.isfinite(norms), factors, 0.0)


class TableOptimizer(DPOptimizer):  # type: ignore[misc]
    """Mixed into Opacus' optimizer of the mode that was asked for."""

    tables: Tables | None
    dense_noise: DenseNoise | None

    def pre_step(self, closure: Any = None) -> bool:
        """Clip; then, unless the step is a virtual one, add noise, account, and move the tables."""
        ghost = isinstance(self, DPOptimizerFastGradientClipping)
        self.accumulate() if ghost else self.clip_and_accumulate()
        if self._check_skip_next_step():
            self._is_last_step_skipped = True
            return False
        self.add_noise()
        self.scale_grad()
        iterations = self.accumulated_iterations
        if self.step_hook:
            self.step_hook(self)
        self._is_last_step_skipped = False
        if self.tables is not None:
            self._step_tables(self.tables, iterations)
        if isinstance(self, AdaClipDPOptimizer) and self.sample_size > 0:
            self.update_max_grad_norm()
            self.max_grad_norm = float(self.max_grad_norm)
        return True

    def _step_tables(self, tables: Tables, iterations: int) -> None:
        divisor = 1.0
        if self.loss_reduction == "mean":
            divisor = self.expected_batch_size * iterations * tables.exchange.world_size
        tables.step(self.param_groups, divisor, self._noise_std())
        tables.put_momentum(self.state)

    def _noise_std(self) -> float:
        """Of the noise on the clipped sum."""
        multiplier: Any = getattr(self, "_adjusted_noise_multiplier", self.noise_multiplier)
        if isinstance(self, AdaClipDPOptimizer) and multiplier > 0:
            # Part of the budget goes to the count of unclipped examples (Andrew et al. 2021).
            multiplier = (multiplier**-2 - (2 * self.unclipped_num_std) ** -2) ** -0.5
        return multiplier * float(self.max_grad_norm) if multiplier > 0 else 0.0

    @property
    def accumulated_iterations(self) -> int:
        """How many batches make up this step."""
        if isinstance(self, DPOptimizerFastGradientClipping):
            return 1
        if self.params:
            return int(super().accumulated_iterations)
        return max(1, self._table_batches)

    _table_batches = 0

    def clip_and_accumulate(self) -> None:
        """Clip every example's gradient over dense layers and tables together."""
        if isinstance(self, DPOptimizerFastGradientClipping):
            return  # the loss has done it
        samples = self.grad_samples
        for p in self.params:
            self._require_fresh(p.grad_sample)
        batches = self.tables.take_batches() if self.tables is not None else []
        self._table_batches = len(batches)
        squared = self._squared_norms(samples, batches)
        factors = clip_factors(squared, self.max_grad_norm)
        if isinstance(self, AdaClipDPOptimizer):
            self.sample_size += len(factors)
            self.unclipped_num += (factors >= 1).sum()
        for p, sample in zip(self.params, samples, strict=True):
            each = factors.to(sample.device, p.dtype)
            sample = sample.to(p.dtype)
            if not bool(torch.isfinite(squared).all()):  # by selection: 0 x NaN would be NaN
                kept = (each > 0).view(-1, *[1] * (sample.dim() - 1))
                sample = torch.where(kept, sample, 0.0)
            gradient = torch.einsum("i,i...", each, sample)
            p.summed_grad = gradient if p.summed_grad is None else p.summed_grad + gradient
            self._mark_used(p.grad_sample)
        if self.tables is not None:
            self.tables.accumulate(batches, factors)

    def _squared_norms(self, samples: list[Tensor], batches: list[Any]) -> Tensor:
        dense = [g.square().flatten(1).sum(1).float() for g in samples]
        examples = len(dense[0]) if dense else None
        if self.tables is None:
            return sum(dense[1:], dense[0])
        device = dense[0].device if dense else torch.device("cpu")
        squared = self.tables.squared_norms(batches, examples).to(device)
        return sum((g.to(device) for g in dense), squared)

    @staticmethod
    def _require_fresh(obj: Any) -> None:
        from opacus.optimizers.optimizer import _check_processed_flag

        _check_processed_flag(obj)

    @staticmethod
    def _mark_used(obj: Any) -> None:
        from opacus.optimizers.optimizer import _mark_as_processed

        _mark_as_processed(obj)

    def add_noise(self) -> None:
        """Noise for the dense layers; under secure_mode from the engine's own generator."""
        if self.dense_noise is None:
            super().add_noise()
            return
        first = getattr(self, "rank", 0) == 0  # as Opacus: one rank's noise counts for all
        std = self._noise_std() if first else 0.0
        self.dense_noise.open_step()
        for p in self.params:
            self._require_fresh(p.summed_grad)
            noise = self.dense_noise.like(p.summed_grad, std)
            p.grad = (p.summed_grad + noise).view_as(p)
            self._mark_used(p.summed_grad)
        if isinstance(self, AdaClipDPOptimizer):
            count = torch.as_tensor(self.unclipped_num, dtype=torch.float32)
            self.unclipped_num = count + self.dense_noise.like(count, self.unclipped_num_std)

    def zero_grad(self, set_to_none: bool = False) -> None:
        """As Opacus does, tables included."""
        if self.tables is not None:
            self.tables.discard(pending=not self._is_last_step_skipped)
        super().zero_grad(set_to_none)

    def state_dict(self) -> Any:
        """The state of the optimizer; momenta of tables are settled first."""
        if self.tables is not None:
            for table in self.tables.all:
                if table.momentum is not None:
                    table.settle_all()
        return super().state_dict()

    def load_state_dict(self, state_dict: Any) -> None:
        """Take a state; momenta go to where tables keep them."""
        super().load_state_dict(state_dict)
        if self.tables is not None:
            self.tables.take_momentum(self.state, range(len(self.param_groups)))

    def __getstate__(self) -> Any:
        """Pickling would copy what the tables owe."""
        from lazydp._native import PrivacyError

        raise PrivacyError("a private optimizer can't be pickled; save optimizer.state_dict()")


def optimizer_class(base: type[DPOptimizer]) -> type[DPOptimizer]:
    """`base`, one of Opacus' optimizers, with tables."""
    if base not in (
        DPOptimizer,
        AdaClipDPOptimizer,
        DPOptimizerFastGradientClipping,
        DistributedDPOptimizer,
        DistributedDPOptimizerFastGradientClipping,
    ):
        from lazydp._native import UserError

        raise UserError(
            f"clipping by {base.__name__} has no form for tables; use clipping='flat' or 'adaptive'"
        )
    return type(f"Table{base.__name__}", (TableOptimizer, base), {})
