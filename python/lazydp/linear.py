"""Linear layers whose per-example gradients are kept as factors: input and output gradient.

Backward propagation is linear in each example's output gradient, so clip factors can be applied
after the only backward pass: norms come from the factors, and the clipped sum is one product of
matrices, the one that plain training computes too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lazydp.captures import Captures


@dataclass
class LinearCall:
    """One call of a linear layer: examples x positions x features."""

    layer: FactoredLinear
    inputs: Tensor
    gradient: Tensor
    examples: int
    scale: float  # what undoes a mean over the batch


class _Factors(torch.autograd.Function):
    """A linear layer whose backward forms no gradient of the weight."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None, layer: FactoredLinear
    ) -> Tensor:
        ctx.layer = layer
        ctx.save_for_backward(inputs, weight)
        return functional.linear(inputs, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None, None]:  # type: ignore[override]
        inputs, weight = ctx.saved_tensors
        ctx.layer.capture(inputs, gradient)
        return gradient @ weight if ctx.needs_input_grad[0] else None, None, None, None


class FactoredLinear:
    """A linear layer's part in clipping."""

    def __init__(self, name: str, module: nn.Linear, captures: Captures) -> None:
        """Turn the module into its factored twin, in place."""
        self.name = name
        self.module = module
        self.captures = captures
        module.__dict__["_lazydp_layer"] = self
        module.__class__ = PrivateLinear

    def undo(self) -> None:
        """Give the module back as it was."""
        self.module.__class__ = nn.Linear
        self.module.__dict__.pop("_lazydp_layer")

    @property
    def parameters(self) -> list[Any]:
        """Weight and, where there is one, bias."""
        return [p for p in (self.module.weight, self.module.bias) if p is not None]

    def capture(self, inputs: Tensor, gradient: Tensor) -> None:
        """Keep a call's factors; called by autograd."""
        if not self.captures.on:
            return
        batch_dim = self.captures.batch_dim if inputs.dim() > 2 else 0
        inputs, gradient = (t.detach().movedim(batch_dim, 0) for t in (inputs, gradient))
        examples = inputs.shape[0]
        positions = inputs[..., 0].numel() // examples if examples else 1
        self.captures.note(
            LinearCall(
                self,
                inputs.reshape(examples, positions, inputs.shape[-1]).float(),
                gradient.reshape(examples, positions, gradient.shape[-1]).float(),
                examples,
                self.captures.scale(examples),
            )
        )

    def add_squared_norms(self, calls: list[Any], squared: Tensor) -> None:
        """|sum over positions of d x'|^2 = sum over pairs of positions of (x . x') (d . d')."""
        inputs = (
            torch.cat([call.inputs for call in calls], 1) if len(calls) > 1 else calls[0].inputs
        )
        d = torch.cat([call.gradient for call in calls], 1) if len(calls) > 1 else calls[0].gradient
        square = calls[0].scale ** 2  # calls of one pass have one batch
        if inputs.shape[1] == 1:
            of_bias = torch.linalg.vector_norm(d, dim=(1, 2)).square() * square
            of_weight = torch.linalg.vector_norm(inputs, dim=(1, 2)).square() * of_bias
        else:
            of_bias = d.sum(1).square().sum(1) * square
            of_weight = ((inputs @ inputs.mT) * (d @ d.mT)).sum((1, 2)).clamp(min=0) * square
        if self.module.weight.requires_grad:
            squared += of_weight.to(squared.device)
        if self.module.bias is not None and self.module.bias.requires_grad:
            squared += of_bias.to(squared.device)

    def add_clipped(self, call: Any, factors: Tensor) -> None:
        """One product of matrices for the weight, one sum for the bias."""
        each = factors.to(call.gradient.device, call.gradient.dtype)[:, None, None] * call.scale
        gradient, inputs = call.gradient * each, call.inputs
        if bool((each == 0).any()):  # by selection: 0 x NaN would be NaN
            gradient, inputs = (torch.where(each > 0, t, 0.0) for t in (gradient, inputs))
        gradient, inputs = gradient.flatten(0, 1), inputs.flatten(0, 1)
        if self.module.weight.requires_grad:
            _add(self.module.weight, gradient.T @ inputs)
        if self.module.bias is not None and self.module.bias.requires_grad:
            _add(self.module.bias, gradient.sum(0))


class PrivateLinear(nn.Linear):
    """nn.Linear that keeps factors while it trains."""

    _lazydp_layer: FactoredLinear

    def forward(self, input: Tensor) -> Tensor:
        """As nn.Linear does."""
        if not (self.training and torch.is_grad_enabled() and self._lazydp_layer.captures.on):
            return functional.linear(input, self.weight, self.bias)
        result: Tensor = _Factors.apply(input, self.weight, self.bias, self._lazydp_layer)  # type: ignore[no-untyped-call]
        return result

    def __deepcopy__(self, memo: dict[int, Any]) -> nn.Module:
        """A plain copy."""
        from copy import deepcopy

        plain = nn.Linear.__new__(nn.Linear)
        memo[id(self)] = plain
        for key, value in self.__dict__.items():
            if key != "_lazydp_layer":
                plain.__dict__[key] = deepcopy(value, memo)
        return plain


def _add(parameter: Any, gradient: Tensor) -> None:
    """To the clipped sum, where Opacus keeps it."""
    gradient = gradient.to(parameter.dtype)
    total = getattr(parameter, "summed_grad", None)
    parameter.summed_grad = gradient if total is None else total + gradient


def find_linears(model: nn.Module, grad_sample_mode: str) -> dict[str, nn.Linear]:
    """Linear layers that can be factored; Opacus keeps all others.

    Ghost clipping needs no second pass where no layer is left to Opacus; where one is, Opacus'
    two passes serve all layers.
    """
    if grad_sample_mode not in ("hooks", "ghost"):
        return {}
    holders: dict[nn.Parameter, int] = {}
    trainable: dict[str, nn.Module] = {}
    for name, module in model.named_modules():
        own = [p for p in module.parameters(recurse=False) if p.requires_grad]
        if own:
            trainable[name] = module
        for p in own:
            holders[p] = holders.get(p, 0) + 1
    linears = {
        name: module
        for name, module in trainable.items()
        if type(module) is nn.Linear
        and all(holders.get(p, 1) == 1 for p in module.parameters(recurse=False))
        and not (module._forward_hooks or module._backward_hooks)
    }
    if grad_sample_mode == "ghost" and len(linears) < len(trainable):
        return {}
    return linears
