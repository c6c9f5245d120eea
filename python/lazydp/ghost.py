"""Ghost clipping's loss: one backward pass where every layer is captured, otherwise Opacus' two."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from opacus.utils.fast_gradient_clipping_utils import (
    DPLossFastGradientClipping,
    DPTensorFastGradientClipping,
)
from torch import Tensor

from lazydp._native import UserError
from lazydp.captures import Batch, add_clipped


def per_example(loss: Tensor) -> Tensor:
    """A loss for each example as a vector; a [B, 1] one would broadcast against [B] factors."""
    if loss.dim() == 2 and loss.shape[1] == 1:
        return loss.squeeze(1)
    if loss.dim() != 1:
        raise UserError(
            f"the loss has shape {list(loss.shape)}; ghost clipping needs one loss for each "
            "example, shape [batch] or [batch, 1]: reduce the other dimensions in the criterion"
        )
    return loss


_ARITHMETIC = ("__add__", "__sub__", "__rsub__", "__mul__", "__truediv__", "__neg__")


def _staying_private(name: str) -> Callable[..., Any]:
    """Opacus' operator, whose result would clip as if there were no tables."""
    opacus = getattr(DPTensorFastGradientClipping, name)

    def operator(self: Any, *other: Any) -> Any:
        result = copy.copy(self)
        result.loss_per_sample = opacus(self, *other).loss_per_sample
        return result

    return operator


class PrivateLoss(DPTensorFastGradientClipping):  # type: ignore[misc]
    """A loss whose backward() clips."""

    def backward(self) -> None:
        """Norms, then clipped sums; a second pass only for layers that are not captured."""
        loss = per_example(self.loss_per_sample)
        captures = self.module._lazydp_captures
        one_pass = not self.module.trainable_parameters
        reduced = loss.mean() if self.loss_reduction == "mean" else loss.sum()
        reduced.backward(retain_graph=not one_pass)  # type: ignore[no-untyped-call]
        batches, factored = captures.take(), self.module.take_factored()
        self.optimizer.zero_grad()  # of the first pass; clipped sums of a skipped step stay
        factors = self.clip_factors(batches)
        add_clipped(batches, lambda layer: factors)
        if one_pass:
            return
        if bool((factors == 0).any()):  # a second pass would carry what is not finite: 0 x NaN
            self.module.add_by_selection(factored, factors)
            return
        self.module.disable_hooks()
        captures.on = False
        try:
            (factors.to(loss.device) * loss).sum().backward()  # type: ignore[no-untyped-call]
        finally:
            captures.on = True
            self.module.enable_hooks()

    def clip_factors(self, batches: list[Batch]) -> Tensor:
        """What part of each example's gradient is kept."""
        factors: Tensor = self.module.clip_factors(batches)
        return factors


for _name in _ARITHMETIC:
    setattr(PrivateLoss, _name, _staying_private(_name))


class PrivateCriterion(DPLossFastGradientClipping):  # type: ignore[misc]
    """A criterion whose losses clip."""

    def __call__(self, *args: Any, shape: Any = None, **kwargs: Any) -> PrivateLoss:
        """The losses of a batch, one for each example."""
        loss = super().__call__(*args, shape=shape, **kwargs)
        return PrivateLoss(
            self.module, self.optimizer, per_example(loss.loss_per_sample), self.loss_reduction
        )
