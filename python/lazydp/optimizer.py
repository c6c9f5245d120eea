"""Opacus' optimizers with tables beside the dense layers: one norm, one step, one ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from opacus.optimizers import (
    AdaClipDPOptimizer,
    DPOptimizer,
    DPOptimizerFastGradientClipping,
)
from opacus.optimizers.optimizer import _check_processed_flag, _mark_as_processed
from torch import Tensor

from lazydp._native import PrivacyError
from lazydp.captures import Batch, Captures, add_clipped, squared_norms
from lazydp.linear import FactoredLinear
from lazydp.secure import DenseNoise
from lazydp.tables import Tables

_BELOW = 1.0 - 1e-5  # so that rounding can't carry a norm beyond the bound


def clip_factors(squared_norms: Tensor, bound: float) -> Tensor:
    """min(1, bound / norm), and 0 for a norm that is not finite: that example is left out."""
    norms = squared_norms.sqrt()
    factors = (float(bound) * _BELOW / norms).clamp(max=1.0)  # a norm of 0 keeps everything
    return torch.where(torch.isfinite(norms), factors, 0.0)


def add_clipped_sample(p: Any, sample: Tensor, factors: Tensor) -> None:
    """Add factors[i] x the gradient of example i to the parameter's sum."""
    each, sample = factors.to(sample.device, p.dtype), sample.to(p.dtype)
    if bool((each == 0).any()):  # by selection: 0 x NaN would be NaN
        kept = (each > 0).view(-1, *[1] * (sample.dim() - 1))
        sample = torch.where(kept, sample, 0.0)
    gradient = torch.einsum("i,i...", each, sample)
    p.summed_grad = gradient if p.summed_grad is None else p.summed_grad + gradient
    _mark_as_processed(p.grad_sample)


class TableOptimizer(DPOptimizer):  # type: ignore[misc]
    """Mixed into Opacus' optimizer of the mode that was asked for."""

    tables: Tables | None = None
    captures: Captures | None = None
    linears: Sequence[FactoredLinear] = ()
    dense_noise: DenseNoise | None = None
    _passes = 0  # backward passes of this step

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
        if isinstance(self, DPOptimizerFastGradientClipping) or not self._materialised:
            return max(1, self._passes)
        sample = self._materialised[0].grad_sample
        return len(sample) if isinstance(sample, list) else 1

    @property
    def _materialised(self) -> list[Any]:
        """Parameters whose per-example gradients Opacus forms."""
        factored = {id(p) for layer in self.linears for p in layer.parameters}
        return [p for p in self.params if id(p) not in factored]

    def clip_and_accumulate(self) -> None:
        """Clip every example's gradient over tables and all dense layers together."""
        batches, samples = self._take_gradients()
        factors = clip_factors(
            self._squared_norms(list(samples.values()), batches), self.max_grad_norm
        )
        if isinstance(self, AdaClipDPOptimizer):
            self.sample_size += len(factors)
            self.unclipped_num += (factors >= 1).sum()
        for p, sample in samples.items():
            add_clipped_sample(p, sample, factors)
        add_clipped(batches, lambda layer: factors)
        self._fill_missing()

    def _take_gradients(self) -> tuple[list[Batch], dict[Any, Tensor]]:
        """What backward passes left: captures, and per-example gradients that Opacus formed."""
        batches = self.captures.take() if self.captures is not None else []
        self._passes = len(batches)
        for p in self._materialised:
            _check_processed_flag(p.grad_sample)
        return batches, {p: self._get_flat_grad_sample(p) for p in self._materialised}

    def accumulate(self) -> None:
        """Ghost clipping: the loss has clipped; add what its second pass left, if it had one."""
        if self._materialised:
            super().accumulate()
        self._passes = 1
        self._fill_missing()

    def _fill_missing(self) -> None:
        """A linear layer that nothing went through has a gradient of 0, and noise all the same."""
        for layer in self.linears:
            for p in layer.parameters:
                if p.requires_grad and getattr(p, "summed_grad", None) is None:
                    p.summed_grad = torch.zeros_like(p)

    def _squared_norms(self, samples: list[Tensor], batches: list[Batch]) -> Tensor:
        dense = [g.square().flatten(1).sum(1).float() for g in samples]
        if self.captures is None:
            return sum(dense[1:], dense[0])
        device = dense[0].device if dense else torch.device("cpu")
        squared = squared_norms(batches, len(dense[0]) if dense else None).to(device)
        return sum((g.to(device) for g in dense), squared)

    def add_noise(self) -> None:
        """Noise for dense layers: from the engine's own generator, unless the user brought one."""
        if self.dense_noise is None:
            super().add_noise()
            return
        first = getattr(self, "rank", 0) == 0  # as Opacus: one rank's noise counts for all
        std = self._noise_std() if first else 0.0
        self.dense_noise.open_step()
        for p in self.params:
            _check_processed_flag(p.summed_grad)
            p.grad = self.dense_noise.like(p.summed_grad, std).add_(p.summed_grad).view_as(p)
            _mark_as_processed(p.summed_grad)
        if isinstance(self, AdaClipDPOptimizer):
            count = torch.as_tensor(self.unclipped_num, dtype=torch.float32)
            self.unclipped_num = count + self.dense_noise.like(count, self.unclipped_num_std)

    def zero_grad(self, set_to_none: bool = False) -> None:
        """As Opacus does, tables included."""
        if self.captures is not None:
            self.captures.discard()
        if self.tables is not None and not self._is_last_step_skipped:
            self.tables.discard_pending()
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
        raise PrivacyError("a private optimizer can't be pickled; save optimizer.state_dict()")
