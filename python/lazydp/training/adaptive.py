"""Ghost clipping whose bound follows a quantile of the norms."""

from __future__ import annotations

from typing import Any

import torch
from opacus.utils.adaptive_clipping.adaptive_clipping_utils import (
    DPLossFastGradientAdaptiveClipping,
)
from torch import Tensor

from lazydp._native import UserError
from lazydp.accounting.mechanism import moved_bound, noise_beside_count
from lazydp.training.engine import PrivacyEngine
from lazydp.training.ghost import PrivateCriterion
from lazydp.training.optimizer import TableOptimizer

_COUNTS_PER_STD = 20  # the count's noise, relative to the expected batch (Andrew et al. 2021)


class AdaptiveOptimizer(TableOptimizer):
    """A mixin for ghost optimizers with tables.

    A step clips by the bound that it began with; its noisy count of unclipped examples moves the
    bound of the next one. Opacus moves it before it clips, once for each physical batch, and
    divides by the number of examples that were drawn, which is a secret.
    """

    target_unclipped_quantile: float
    clipbound_learning_rate: float
    limits: tuple[float, float]
    _centred_count = 0.0

    @property
    def _expected(self) -> float:
        return float(self.expected_batch_size * self.tables.exchange.world_size)

    @property
    def count_std(self) -> float:
        """The standard deviation of the noise on the count."""
        return self._expected / _COUNTS_PER_STD

    def follow(self, quantile: float, rate: float, limits: tuple[float, float]) -> None:
        """Set the quantile to follow, the rate of the bound and its limits."""
        if self.noise_multiplier >= 2 * self.count_std:
            raise UserError(
                f"the expected batch is {self._expected:g}; adaptive clipping needs one above "
                f"10 x noise_multiplier = {10 * self.noise_multiplier:g}, to pay for its count"
            )
        self.target_unclipped_quantile, self.clipbound_learning_rate = quantile, rate
        self.limits = limits

    def _noise_std(self) -> float:
        """Return the noise of the sum; the rest of the budget pays for the count."""
        multiplier = noise_beside_count(float(self.noise_multiplier), self.count_std)
        return multiplier * float(self.max_grad_norm) if multiplier > 0 else 0.0

    def count_unclipped(self, factors: Tensor) -> None:
        """Add a half for each example that is not clipped; take a half away for each that is."""
        self._centred_count += float((factors >= 1).sum()) - 0.5 * len(factors)

    def move_bound(self) -> None:
        """Move the bound of the next step by the count of all ranks with the noise of rank 0."""
        exchange = self.tables.exchange
        (count,) = exchange.add_up([self._centred_count])
        self._centred_count = 0.0
        one = torch.zeros(1)
        noise = (
            self.dense_noise.like(one, self.count_std)
            if self.dense_noise is not None
            else torch.normal(one, self.count_std, generator=self.generator)
        )
        (noise_of_first,) = exchange.of_the_first([float(noise)])
        fraction = 0.5 + (count + noise_of_first) / self._expected
        self.max_grad_norm = moved_bound(
            float(self.max_grad_norm),
            fraction - self.target_unclipped_quantile,
            self.clipbound_learning_rate,
            self.limits,
        )

    def _drop(self) -> None:
        """Keep no count of a step that was refused or interrupted, either."""
        super()._drop()
        self._centred_count = 0.0

    def zero_grad(self, set_to_none: bool = False) -> None:
        """Forget gradients that no step has taken, and their count."""
        if not self._is_last_step_skipped:
            self._centred_count = 0.0
        super().zero_grad(set_to_none)


class PrivacyEngineAdaptiveClipping(PrivacyEngine):
    """Opacus' engine of that name, with tables, for grad_sample_mode="ghost"."""

    def make_private(self, *, sampling: str = "poisson", **arguments: Any) -> Any:
        """Do what the other engine does, with Poisson samples."""
        if sampling != "poisson":
            raise UserError(
                f"sampling is '{sampling}' with adaptive clipping, whose bound and noise follow "
                "the data; the noise of a stream is one mechanism, fixed in advance: use "
                "PrivacyEngine"
            )
        return super().make_private(sampling=sampling, **arguments)

    def _prepare_optimizer(self, *, optimizer: Any, **arguments: Any) -> Any:
        prepared = super()._prepare_optimizer(optimizer=optimizer, **arguments)
        if isinstance(prepared, TableOptimizer):
            plain = type(prepared)
            prepared.__class__ = type(
                plain.__name__.replace("Private", "Adaptive"), (AdaptiveOptimizer, plain), {}
            )
        return prepared

    def _prepare_criterion(  # type: ignore[override]
        self,
        *,
        module: Any,
        optimizer: Any,
        criterion: Any,
        loss_reduction: str = "mean",
        target_unclipped_quantile: float = 0.5,
        min_clipbound: float = 1,
        max_clipbound: float = 1e8,
        clipbound_learning_rate: float = 0.2,
        **rest: Any,
    ) -> Any:
        if isinstance(optimizer, AdaptiveOptimizer):
            limits = (float(min_clipbound), float(max_clipbound))
            optimizer.follow(target_unclipped_quantile, clipbound_learning_rate, limits)
            return PrivateCriterion(module, optimizer, criterion, loss_reduction)
        return DPLossFastGradientAdaptiveClipping(
            module,
            optimizer,
            criterion,
            loss_reduction=loss_reduction,
            target_unclipped_quantile=target_unclipped_quantile,
            min_clipbound=min_clipbound,
            max_clipbound=max_clipbound,
            clipbound_learning_rate=clipbound_learning_rate,
            initial_noise_multiplier=optimizer.noise_multiplier,
        )
