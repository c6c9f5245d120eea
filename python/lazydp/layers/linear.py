"""Linear layers keep per-example gradients as two factors: the input and the output's gradient.

Backward propagation is linear in each example's output gradient, so clip factors can be applied
after the only backward pass: norms and clipped sums come from the factors (linear_terms.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lazydp._native import UserError
from lazydp.layers.autograd_mode import new_anchor
from lazydp.layers.captures import Calls, Captures, Layer
from lazydp.layers.linear_terms import terms_of
from lazydp.layers.pass_units import Bucket
from lazydp.layers.tracing import Untraceable, require_values


@dataclass
class LinearCall:
    """One call of a linear layer: examples x positions x features."""

    layer: FactoredLinear
    inputs: Tensor
    gradient: Tensor
    examples: int
    scale: float  # undoes a mean over the batch
    version: int  # the inputs' version when they were kept

    @property
    def inputs_changed(self) -> bool:
        """Whether the inputs were written to since they were kept."""
        return self.inputs._version != self.version

    @property
    def name(self) -> str:
        """The layer's name in messages."""
        return self.layer.name


class _Factors(torch.autograd.Function):
    """Computes a linear layer whose backward forms no gradient of the weight."""

    @staticmethod
    def forward(
        ctx: Any, anchor: Tensor, inputs: Tensor, weight: Tensor, bias: Any, layer: FactoredLinear
    ) -> Tensor:
        ctx.layer, ctx.clock = layer, layer.captures.clock()
        ctx.save_for_backward(inputs, weight)
        return functional.linear(inputs, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        inputs, weight = ctx.saved_tensors
        ctx.layer.capture(inputs, gradient, ctx.clock)
        back = None
        if ctx.needs_input_grad[1]:  # under autocast the gradient is of a lower precision
            back = (gradient @ weight.to(gradient.dtype)).to(inputs.dtype)
        return None, back, None, None, None


class FactoredLinear(Layer):
    """Clips the gradients of a linear layer from their factors."""

    def __init__(self, name: str, module: nn.Linear, captures: Captures) -> None:
        """Turn the module into its factored twin, in place."""
        self.name = name
        self.module = module
        self.held = dict(module._parameters)
        self.captures = captures
        self.anchor = new_anchor()
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

    def capture(self, inputs: Tensor, gradient: Tensor, clock: int | None) -> None:
        """Keep a call's factors. Autograd calls this."""
        batch_dim = self.captures.batch_dim if inputs.dim() > 2 else 0
        inputs, gradient = (t.detach().movedim(batch_dim, 0) for t in (inputs, gradient))
        examples = inputs.shape[0]
        positions = inputs[..., 0].numel() // examples if examples else 1
        inputs = inputs.reshape(examples, positions, inputs.shape[-1]).float()
        self.captures.note(
            LinearCall(
                self,
                inputs,
                gradient.reshape(examples, positions, gradient.shape[-1]).float(),
                examples,
                self.captures.scale(examples),
                inputs._version,
            ),
            clock,
        )

    def squared_norms(self, calls: Calls) -> dict[Any, Tensor]:
        """Measure sums over the positions of a unit's examples, from the factors."""
        units = calls.units
        squared = torch.zeros(len(units), dtype=torch.float64)
        calls.formed = []
        for bucket in [None] if units.single else units.buckets():
            terms = terms_of(*_factors(calls, bucket))
            calls.formed.append((bucket, terms))
            weight, bias = (norms.double().square().cpu() for norms in terms.norms())
            part = torch.zeros_like(weight)
            if self.module.weight.requires_grad:
                part += weight
            if self.module.bias is not None and self.module.bias.requires_grad:
                part += bias
            squared[slice(None) if bucket is None else bucket.units] = part
        return {self: squared * (calls[0].scale * units.shares) ** 2}

    def add_clipped(self, calls: Calls, factors: Callable[[Any], Tensor]) -> None:
        """Add products of matrices to the weight's sum, and sums to the bias's."""
        each = factors(self) * (calls[0].scale * calls.units.shares)
        for bucket, terms in calls.formed:
            weight, bias = terms.sums(each if bucket is None else each[bucket.units])
            if self.module.weight.requires_grad:
                add_to_sum(self.module.weight, weight)
            if self.module.bias is not None and self.module.bias.requires_grad:
                add_to_sum(self.module.bias, bias)


def _factors(calls: Calls, bucket: Bucket | None) -> tuple[Tensor, Tensor]:
    """Return inputs and output gradients of all calls: units x terms x features."""
    if bucket is None:
        if len(calls) == 1:
            return calls[0].inputs, calls[0].gradient
        return torch.cat([c.inputs for c in calls], 1), torch.cat([c.gradient for c in calls], 1)
    device = calls[0].inputs.device
    chosen = bucket.examples.to(device)
    inputs, gradients = (
        torch.cat([t.index_select(0, chosen.flatten()).unflatten(0, chosen.shape) for t in of], 2)
        for of in ([c.inputs for c in calls], [c.gradient for c in calls])
    )
    if bucket.present is not None:
        gradients.mul_(bucket.present.to(device)[:, :, None, None])
    return inputs.flatten(1, 2), gradients.flatten(1, 2)


class PrivateLinear(Untraceable, nn.Linear):
    """nn.Linear, which keeps factors while it trains."""

    _lazydp_layer: FactoredLinear

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, input: Tensor) -> Tensor:
        """Compute as nn.Linear does, and keep the factors."""
        require_values(input)
        layer = self._lazydp_layer
        require_held(self, layer.held)
        trains = any(p.requires_grad for p in layer.parameters)
        if not (layer.captures.begin_forward(input) and trains):
            return functional.linear(input, self.weight, self.bias)
        bias = None if self.bias is None else self.bias.detach()
        result: Tensor = _Factors.apply(  # type: ignore[no-untyped-call]
            layer.anchor, input, self.weight.detach(), bias, layer
        )
        return result

    def __deepcopy__(self, memo: dict[int, Any]) -> nn.Module:
        """Return a plain copy."""
        return plain_copy(self, nn.Linear, memo)


def plain_copy(module: nn.Module, plain: type[nn.Module], memo: dict[int, Any]) -> nn.Module:
    """Return a deep copy of a private module as the plain one it was."""
    from copy import deepcopy

    copied = plain.__new__(plain)
    memo[id(module)] = copied
    for key, value in module.__dict__.items():
        if not key.startswith("_lazydp") and key != "ft_compute_sample_grad":
            copied.__dict__[key] = deepcopy(value, memo)
    return copied


def require_held(module: nn.Module, held: dict[str, Any]) -> None:
    """Raise UserError if a parameter is not the one that make_private saw."""
    for key, parameter in held.items():
        if module._parameters.get(key) is not parameter:
            kind = type(module).__name__.removeprefix("Private")
            raise UserError(
                f"parameter '{key}' of a {kind} was replaced after make_private; copy into it "
                "instead, or release the model first"
            )


def add_to_sum(parameter: Any, gradient: Tensor) -> None:
    """Add to the clipped sum, where Opacus keeps it."""
    gradient = gradient.to(parameter.device, parameter.dtype)
    total = getattr(parameter, "summed_grad", None)
    parameter.summed_grad = gradient if total is None else total + gradient


def find_linears(model: nn.Module) -> dict[str, nn.Linear]:
    """Return linear layers that can be factored: plain ones that share no parameter."""
    holders: dict[nn.Parameter, int] = {}
    for module in model.modules():
        for p in module.parameters(recurse=False):
            holders[p] = holders.get(p, 0) + 1
    return {
        name: module
        for name, module in model.named_modules()
        if type(module) is nn.Linear
        and any(p.requires_grad for p in module.parameters(recurse=False))
        and all(holders[p] == 1 for p in module.parameters(recurse=False))
    }
