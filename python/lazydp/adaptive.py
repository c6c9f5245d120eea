"""Ghost clipping whose bound follows a quantile of the norms, as in Opacus."""

from __future__ import annotations

from typing import Any

import torch
from opacus.utils.adaptive_clipping.adaptive_clipping_utils import (
    DPLossFastGradientAdaptiveClipping,
    DPTensorFastGradientAdaptiveClipping,
)
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
from torch import Tensor

from lazydp.captures import Batch
from lazydp.engine import PrivacyEngine
from lazydp.exchange import Exchange
from lazydp.ghost import PrivateLoss, per_example
from lazydp.optimizer import clip_factors


class AdaptiveLoss(PrivateLoss, DPTensorFastGradientAdaptiveClipping):  # type: ignore[misc]
    """A loss whose backward() moves the bound, then clips."""

    def clip_factors(self, batches: list[Batch]) -> Tensor:
        """By the new bound, whose price the noise of this step pays."""
        squared: Tensor = self.module.squared_norms(batches)
        norms = squared[torch.isfinite(squared)].sqrt()
        exchange: Exchange = self.module._lazydp_tables.exchange
        below = float((norms <= self.module.max_grad_norm).sum())
        below, examples = exchange.add_up([below, float(len(norms))])
        if examples > 0:
            # Opacus counts norms: as many as all ranks have. The count's noise is rank 0's.
            norms = torch.full((int(examples),), torch.inf)
            norms[: int(below)] = 0.0
            bound, multiplier = exchange.of_the_first([*self._update_clip_and_noise(norms)])
            self.module.max_grad_norm = self.optimizer.max_grad_norm = bound
            self.optimizer._adjusted_noise_multiplier = multiplier
        return clip_factors(squared, self.module.max_grad_norm)

    def _is_distributed(self) -> bool:
        """Say that Opacus has nothing to add up: all ranks' norms are in what it is given."""
        return False


class AdaptiveCriterion(DPLossFastGradientAdaptiveClipping):  # type: ignore[misc]
    """A criterion whose losses move the bound."""

    def __call__(self, *args: Any, **kwargs: Any) -> AdaptiveLoss:
        """The losses of a batch, one for each example."""
        loss = DPLossFastGradientClipping.__call__(self, *args, **kwargs).loss_per_sample
        return AdaptiveLoss(
            self.module,
            self.optimizer,
            per_example(loss),
            self.loss_reduction,
            self.target_unclipped_quantile,
            self.min_clipbound,
            self.max_clipbound,
            self.clipbound_learning_rate,
            self.initial_noise_multiplier,
        )


class PrivacyEngineAdaptiveClipping(PrivacyEngine):
    """Opacus' engine of that name, for grad_sample_mode="ghost", with tables."""

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
        kind = DPLossFastGradientAdaptiveClipping if self._tables is None else AdaptiveCriterion
        return kind(
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
