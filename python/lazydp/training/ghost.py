"""Ghost clipping's loss. Every layer is captured, so one backward pass is enough."""

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


def per_example(loss: Tensor) -> Tensor:
    """Return the losses as a vector; those of shape [B, 1] would broadcast against [B] factors."""
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
    """Return Opacus' operator with a private result; Opacus' own would take its two passes."""
    opacus = getattr(DPTensorFastGradientClipping, name)

    def operator(self: Any, *other: Any) -> Any:
        result = copy.copy(self)
        result.loss_per_sample = opacus(self, *other).loss_per_sample
        return result

    return operator


class PrivateLoss(DPTensorFastGradientClipping):  # type: ignore[misc]
    """A loss for each example. The optimizer's step clips the gradients of its backward()."""

    def backward(self) -> None:
        """Run one backward pass."""
        loss = per_example(self.loss_per_sample)
        reduced = loss.mean() if self.loss_reduction == "mean" else loss.sum()
        reduced.backward()  # type: ignore[no-untyped-call]


for _name in _ARITHMETIC:
    setattr(PrivateLoss, _name, _staying_private(_name))


class PrivateCriterion(DPLossFastGradientClipping):  # type: ignore[misc]
    """A criterion that keeps the losses of examples apart."""

    def __call__(self, *args: Any, shape: Any = None, **kwargs: Any) -> PrivateLoss:
        """Return the losses of a batch, one for each example."""
        loss = super().__call__(*args, shape=shape, **kwargs)
        return PrivateLoss(
            self.module, self.optimizer, per_example(loss.loss_per_sample), self.loss_reduction
        )
