"""Opacus' grad samplers form the gradient of each example of every other layer.

The layer computes with detached parameters, so that no gradient of the whole batch ever exists;
inputs and output gradients are kept, and become gradients of examples when a step clips them. The
gradients that are measured are then the ones that are applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from opacus.grad_sample.functorch import ft_compute_per_sample_gradient, prepare_layer
from opacus.layers.dp_rnn import DPGRU, DPLSTM, DPRNN, RNNLinear
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from lazydp._native import UserError
from lazydp.layers.captures import Calls, Captures, Layer
from lazydp.layers.linear import add_to_sum, plain_copy, require_held
from lazydp.layers.tracing import Untraceable

Sampler = Callable[[nn.Module, list[Tensor], Tensor], dict[nn.Parameter, Tensor]]
_OF_PARTS = (DPRNN, DPLSTM, DPGRU)  # samplers form the gradients of their parts


@dataclass
class GradSamplerCall:
    """One call of a module."""

    layer: GradSamplerLayers
    module: GradSamplerModule
    inputs: list[Tensor]
    examples: int
    versions: list[int]  # the inputs' versions when they were kept
    gradient: Tensor | None = None

    @property
    def inputs_changed(self) -> bool:
        """Whether the inputs were written to since they were kept."""
        return [t._version for t in self.inputs] != self.versions

    @property
    def name(self) -> str:
        """The module's name in messages."""
        return self.layer.names[self.module]

    def with_gradient(self, gradient: Tensor) -> GradSamplerCall:
        """Return the call with the gradient of its output."""
        return replace(self, gradient=gradient)


class GradSamplerModule(Untraceable):
    """A mixin for modules whose examples' gradients are formed one by one."""

    _lazydp_layer: GradSamplerLayers
    _lazydp_plain: type[nn.Module]
    _lazydp_sampler: Sampler

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute as the plain module does, and keep the call."""
        layer = self._lazydp_layer
        require_held(self, layer.held[self])
        trains = any(p.requires_grad for p in self.parameters())
        if not (layer.captures.begin_forward(*args) and trains):
            return super().forward(*args, **kwargs)
        inputs = layer.inputs_of(self, args, kwargs)
        with _detached(self):
            output = super().forward(*args, **kwargs)
        if not isinstance(output, Tensor):
            raise UserError(
                f"layer {layer.name_of(self)} returns a {type(output).__name__}; a layer with "
                "parameters must return one tensor, or the gradients of examples can't be formed"
            )
        versions = [t._version for t in inputs]
        call = GradSamplerCall(layer, self, inputs, layer.examples_of(self, inputs), versions)
        return layer.captures.attach(output, call)

    def __deepcopy__(self, memo: dict[int, Any]) -> nn.Module:
        """Return a plain copy."""
        return plain_copy(self, self._lazydp_plain, memo)


@contextmanager
def _detached(module: nn.Module) -> Iterator[None]:
    held = [
        (inner._parameters, key, p)
        for inner in module.modules()
        for key, p in inner._parameters.items()
        if p is not None
    ]
    for parameters, key, p in held:
        parameters[key] = p.detach()  # type: ignore[assignment]
    try:
        yield
    finally:
        for parameters, key, p in held:
            parameters[key] = p


@contextmanager
def _plain(module: GradSamplerModule) -> Iterator[None]:
    """Make the module plain for a while: samplers look at its exact type."""
    private = type(module)
    module.__class__ = module._lazydp_plain  # type: ignore[assignment]
    try:
        yield
    finally:
        module.__class__ = private


def _before_recurrent(module: nn.Module, args: Any) -> None:
    """Raise UserError unless a recurrent layer's examples are in the order of the batch."""
    for part in module.modules():
        part.__dict__.pop("max_batch_len", None)  # left by an earlier, packed sequence
    packed = args[0] if args else None
    order = packed.sorted_indices if isinstance(packed, PackedSequence) else None
    if order is not None and not torch.equal(order, torch.arange(len(order), device=order.device)):
        raise UserError(
            "a recurrent layer was given a packed sequence in another order than the batch's; the "
            "gradients of different examples would be clipped as one: sort the batch by length "
            "before it enters the model, and pack with enforce_sorted=True"
        )


class GradSamplerLayers(Layer):
    """Holds all such modules of a model as one layer: parameters may be shared among them."""

    def __init__(
        self,
        model: nn.Module,
        captures: Captures,
        samplers: dict[type, Sampler],
        *,
        kept: bool,
    ) -> None:
        """Turn the modules into their private twins. Unless `kept`, gradients are formed twice."""
        self.captures = captures
        self._kept = kept
        self.names: dict[nn.Module, str] = {}
        self.held: dict[nn.Module, dict[str, Any]] = {}
        self.parameters: list[nn.Parameter] = []
        for name, module in find_grad_sampled(model):
            self.names[module] = name
            self.held[module] = dict(module._parameters)
            self._add(module, samplers)
        self._orders = [
            module.register_forward_pre_hook(_before_recurrent)
            for module in model.modules()
            if isinstance(module, _OF_PARTS)
        ]

    def _add(self, module: nn.Module, samplers: dict[type, Sampler]) -> None:
        plain: Any = type(module)
        sampler = samplers.get(plain, ft_compute_per_sample_gradient)
        if sampler is ft_compute_per_sample_gradient:
            prepare_layer(module, batch_first=not self.captures.batch_dim)
        module.__dict__["_lazydp_layer"] = self
        module.__dict__["_lazydp_plain"] = plain
        module.__dict__["_lazydp_sampler"] = sampler
        module.__class__ = type(f"Private{plain.__name__}", (GradSamplerModule, plain), {})
        known = set(self.parameters)
        self.parameters += [p for p in module.parameters() if p.requires_grad and p not in known]

    def undo(self) -> None:
        """Give the modules back as they were."""
        for order in self._orders:
            order.remove()
        for module in self.names:
            module.__class__ = module.__dict__.pop("_lazydp_plain")
            for key in ("_lazydp_layer", "_lazydp_sampler", "ft_compute_sample_grad"):
                module.__dict__.pop(key, None)

    def name_of(self, module: nn.Module) -> str:
        """Return the module's name and type for messages."""
        return f"'{self.names[module]}' ({type(module).__name__.removeprefix('Private')})"

    def inputs_of(self, module: GradSamplerModule, args: Any, kwargs: Any) -> list[Tensor]:
        """Return the tensors that a module was called with."""
        tensors = [t.detach() for t in args if isinstance(t, Tensor)]
        several = len(tensors) != 1 or any(isinstance(t, Tensor) for t in kwargs.values())
        if several and module._lazydp_sampler is ft_compute_per_sample_gradient:
            raise UserError(
                f"layer {self.name_of(module)} was called with {len(tensors)} positional tensors; "
                "the gradients of its examples can be formed only with exactly one: split the "
                "layer, so that each part with parameters takes one tensor"
            )
        return tensors

    def _batch_dim(self, module: GradSamplerModule) -> int:
        return 0 if issubclass(module._lazydp_plain, RNNLinear) else self.captures.batch_dim

    def examples_of(self, module: GradSamplerModule, inputs: list[Tensor]) -> int:
        """Return the examples of a call; a step of a packed sequence has only the longest ones."""
        longest: int | None = module.__dict__.get("max_batch_len")
        if longest is not None:
            return longest
        return inputs[-1].shape[self._batch_dim(module)]

    def squared_norms(self, calls: Calls) -> dict[Any, Tensor]:
        """Measure by parameter: a parameter of several modules, or calls, has one gradient."""
        samples = self._form(calls)
        if self._kept:
            calls.formed = samples
        return {p: _squared(g).double().cpu() for p, g in samples.items()}

    def add_clipped(self, calls: Calls, factors: Callable[[Any], Tensor]) -> None:
        """Add a weighted sum of the gradients that were measured."""
        samples = calls.formed if self._kept else self._form(calls)
        for p, sample in samples.items():
            each = factors(p).to(sample.device, p.dtype)
            sample = sample.to(p.dtype)
            if bool((each == 0).any()):  # by selection: 0 x NaN would be NaN
                sample = torch.where((each > 0).view(-1, *[1] * (sample.dim() - 1)), sample, 0.0)
            add_to_sum(p, torch.einsum("i,i...", each, sample))

    def _form(self, calls: Calls) -> dict[nn.Parameter, Tensor]:
        samples: dict[nn.Parameter, Tensor] = {}
        for call in calls:
            assert call.gradient is not None
            dim = self._batch_dim(call.module)
            inputs = [t.movedim(dim, 0) if t.dim() > dim else t for t in call.inputs]
            gradient = call.gradient.movedim(dim, 0) * self.captures.scale(call.examples)
            with _plain(call.module):
                formed = call.module._lazydp_sampler(call.module, inputs, gradient)
            for p, sample in formed.items():
                if not p.requires_grad:
                    continue
                if p not in samples:
                    shape = (call.examples, *sample.shape[1:])
                    samples[p] = sample.new_zeros(shape)
                samples[p][: len(sample)] += sample
        return samples


def _squared(samples: Tensor) -> Tensor:
    norms: Tensor = torch.linalg.vector_norm(samples.flatten(1), dim=1)
    return norms.square()


def find_grad_sampled(model: nn.Module) -> Iterable[tuple[str, nn.Module]]:
    """Yield the modules that train parameters and that no other kind of layer takes care of.

    Tables and factored linear layers are private already when this is called.
    """
    for name, module in model.named_modules():
        own = [p for p in module.parameters(recurse=False) if p.requires_grad]
        if not own or hasattr(module, "_lazydp_layer") or hasattr(module, "_lazydp_table"):
            continue
        if isinstance(module, _OF_PARTS):
            continue
        if any(module is not inner and _trains(inner) for inner in module.modules()):
            held = next(k for k, p in module.named_parameters(recurse=False) if p.requires_grad)
            raise UserError(
                f"parameter '{held}' belongs to '{name or type(module).__name__}', a "
                f"{type(module).__name__} that also holds layers; the gradients of examples can't "
                "be told apart there: move it into a module of its own, or freeze it"
            )
        yield name, module


def _trains(module: nn.Module) -> bool:
    return any(p.requires_grad for p in module.parameters(recurse=False))
