"""Linear layers keep per-example gradients as two factors: the input and the output's gradient.

Backward propagation is linear in each example's output gradient, so clip factors can be applied
after the only backward pass: norms come from the factors, and the clipped sum is one product of
matrices, the one that plain training computes too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lazydp.captures import Calls, Captures

# Where an example has several terms they may cancel, and rounding errors are relative to the terms,
# not to their sum. So terms are multiplied and added in double precision, and this part of the sum
# of their norms is added to the norm. It is more than the square root of the error that a sum of a
# million products of that precision can have.
_ROUNDING = 1e-6
_AT_ONCE = 1 << 22  # doubles that are held at a time


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

    def of_units(self, chosen: Tensor, each: int) -> LinearCall:
        """Return the call with the positions of a unit's examples as those of one example."""
        chosen = chosen.to(self.inputs.device)
        inputs, gradient = (
            t.index_select(0, chosen).reshape(len(chosen) // each, -1, t.shape[2])
            for t in (self.inputs, self.gradient)
        )
        return replace(
            self,
            inputs=inputs,
            gradient=gradient,
            examples=len(inputs),
            scale=self.scale / each,
            version=inputs._version,
        )


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


class FactoredLinear:
    """Clips the gradients of a linear layer from their factors."""

    def __init__(self, name: str, module: nn.Linear, captures: Captures) -> None:
        """Turn the module into its factored twin, in place."""
        self.name = name
        self.module = module
        self.captures = captures
        self.anchor = torch.zeros((), requires_grad=True)
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

    def squared_norms(self, calls: Calls, examples: int) -> dict[Any, Tensor]:
        """Compute norms of sums over positions, from the factors."""
        if len(calls) == 1 and calls[0].inputs.shape[1] == 1:  # one term: nothing can cancel
            of_bias = torch.linalg.vector_norm(calls[0].gradient, dim=(1, 2)).square()
            of_weight = torch.linalg.vector_norm(calls[0].inputs, dim=(1, 2)).square() * of_bias
        else:
            parts = [_norms_of_sum(x, d) for x, d in _chunks(calls)]
            of_weight = torch.cat([weight for weight, _ in parts]).square()
            of_bias = torch.cat([bias for _, bias in parts]).square()
        squared = torch.zeros(examples, dtype=torch.float64, device=of_bias.device)
        if self.module.weight.requires_grad:
            squared += of_weight
        if self.module.bias is not None and self.module.bias.requires_grad:
            squared += of_bias
        return {self: (squared * calls[0].scale ** 2).cpu()}

    def add_clipped(self, calls: Calls, factors: Callable[[Any], Tensor]) -> None:
        """Add one product of matrices to the weight's sum, and one sum to the bias's."""
        each = factors(self)
        if len(calls) == 1 and calls[0].inputs.shape[1] == 1:
            gradient, inputs = _scaled(calls[0].gradient, calls[0].inputs, each * calls[0].scale)
            gradient, inputs = gradient.flatten(0, 1), inputs.flatten(0, 1)
            weight, bias = gradient.T @ inputs, gradient.sum(0)
        else:
            shape = (calls[0].gradient.shape[2], calls[0].inputs.shape[2])
            weight = calls[0].inputs.new_zeros(shape, dtype=torch.float64)
            bias = weight.new_zeros(shape[0])
            start = 0
            for x, d in _chunks(calls):
                part = each[start : start + len(x)] * calls[0].scale
                start += len(x)
                d, x = _scaled(d, x, part)
                d, x = d.flatten(0, 1), x.flatten(0, 1)
                weight.addmm_(d.T, x)
                bias.add_(d.sum(0))
        if self.module.weight.requires_grad:
            add_to_sum(self.module.weight, weight)
        if self.module.bias is not None and self.module.bias.requires_grad:
            add_to_sum(self.module.bias, bias)


def _chunks(calls: Calls) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield inputs and output gradients of all positions and calls, some examples at a time."""
    first = calls[0]
    numbers = sum(c.inputs[:1].numel() + c.gradient[:1].numel() for c in calls)
    step = max(1, _AT_ONCE // max(1, numbers))
    for i in range(0, max(1, first.examples), step):
        yield (
            torch.cat([c.inputs[i : i + step] for c in calls], 1).double(),
            torch.cat([c.gradient[i : i + step] for c in calls], 1).double(),
        )


def _norms_of_sum(x: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
    """Return upper bounds of |sum over positions of d x'| and of |sum of d|.

    The first comes from pairs of positions, or from the matrices themselves where that takes less.
    """
    positions, m, n = x.shape[1], x.shape[2], d.shape[2]
    if positions * (m + n) <= m * n:
        weight = ((x @ x.mT) * (d @ d.mT)).sum((1, 2)).clamp(min=0).sqrt()
    else:
        step = max(1, _AT_ONCE // (m * n))
        blocks = zip(torch.split(x, step), torch.split(d, step), strict=True)  # type: ignore[no-untyped-call]
        weight = torch.cat([torch.linalg.matrix_norm(b.mT @ a) for a, b in blocks])
    of_d = torch.linalg.vector_norm(d, dim=2)
    given = (torch.linalg.vector_norm(x, dim=2) * of_d).sum(1)
    bias = torch.linalg.vector_norm(d.sum(1), dim=1)
    return weight + _ROUNDING * given, bias + _ROUNDING * of_d.sum(1)


def _scaled(gradient: Tensor, inputs: Tensor, factors: Tensor) -> tuple[Tensor, Tensor]:
    """Multiply gradients by factors. An example of factor 0 is taken out: 0 x NaN would be NaN."""
    each = factors.to(gradient.device, gradient.dtype)[:, None, None]
    gradient = gradient * each
    if bool((each == 0).any()):
        gradient, inputs = (torch.where(each > 0, t, 0.0) for t in (gradient, inputs))
    return gradient, inputs


class PrivateLinear(nn.Linear):
    """nn.Linear, which keeps factors while it trains."""

    _lazydp_layer: FactoredLinear

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, input: Tensor) -> Tensor:
        """Compute as nn.Linear does, and keep the factors."""
        layer = self._lazydp_layer
        trains = any(p.requires_grad for p in layer.parameters)
        if not (layer.captures.begin_forward() and trains):
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
