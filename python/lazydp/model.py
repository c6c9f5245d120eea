"""The wrapper that make_private returns: Opacus' own, which also knows of tables."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from opacus.distributed import DifferentiallyPrivateDistributedDataParallel as DPDDP
from opacus.grad_sample import AbstractGradSampleModule, get_gsm_class
from opacus.grad_sample.functorch import ft_compute_per_sample_gradient
from opacus.grad_sample.utils import get_hooks_class
from torch import Tensor, nn

from lazydp._native import PrivacyError, UserError
from lazydp.captures import Captures, squared_norms
from lazydp.linear import FactoredLinear, PrivateLinear, find_linears
from lazydp.optimizer import clip_factors
from lazydp.tables import Tables

Factored = tuple[nn.Module, list[Tensor], Tensor]  # a layer, its input, its output's gradient


def _select(kept: Tensor, values: Tensor) -> Tensor:
    """Zeros in place of examples that are left out, whatever stood there."""
    return torch.where(kept.view(-1, *[1] * (values.dim() - 1)), values, 0)


class PrivateModel:
    """Mixed into Opacus' wrapper, or into its hooks where nothing is wrapped."""

    _lazydp_tables: Tables
    _lazydp_captures: Captures
    _lazydp_linears: list[FactoredLinear]
    _lazydp_ghost: bool
    _lazydp_factored: list[Factored]
    _module: nn.Module
    max_grad_norm: float
    trainable_parameters: list[nn.Parameter]
    per_sample_gradient_norms: Tensor

    def iterate_submodules(self, module: nn.Module) -> Iterable[nn.Module]:
        """The layers that Opacus takes care of."""
        for inner in super().iterate_submodules(module):  # type: ignore[misc]
            if not isinstance(inner, PrivateLinear):
                yield inner

    def forbid_grad_accumulation(self) -> None:
        """Raise at the second backward pass of a step, in tables too."""
        self._lazydp_captures.accumulation_allowed = False
        super().forbid_grad_accumulation()  # type: ignore[misc]

    def allow_grad_accumulation(self) -> None:
        """Let several backward passes make up a step."""
        self._lazydp_captures.accumulation_allowed = True
        super().allow_grad_accumulation()  # type: ignore[misc]

    def squared_norms(self, batches: list[Any]) -> Tensor:
        """Ghost clipping: squared norms of the last backward pass, tables included."""
        dense = [p._norm_sample for p in self.trainable_parameters]  # type: ignore[attr-defined]
        examples = len(dense[0]) if dense else None
        squared = squared_norms(batches, examples)
        device = dense[0].device if dense else squared.device
        total: Tensor = sum((n.square().to(device) for n in dense), squared.to(device))
        self.per_sample_gradient_norms = total.sqrt()
        return total

    def get_norm_sample(self) -> Tensor:
        """Refuse: norms without tables would clip too little."""
        raise PrivacyError(
            "this model has tables, whose norms Opacus' own criterion does not know; use the "
            "criterion that make_private returned"
        )

    def rearrange_grad_samples(self, *, module: nn.Module, **arguments: Any) -> Any:
        """Opacus' factors of a layer's gradient; ghost clipping may have to select among them."""
        factors = super().rearrange_grad_samples(module=module, **arguments)  # type: ignore[misc]
        if self._lazydp_ghost:
            self._lazydp_factored.append((module, *factors))
        return factors

    def take_factored(self) -> list[Factored]:
        """The factors that the last backward pass left."""
        factored, self._lazydp_factored = self._lazydp_factored, []
        return factored

    def add_by_selection(self, factored: list[Factored], factors: Tensor) -> None:
        """Opacus' layers without a second pass: an example of factor 0 is taken out first."""
        for module, activations, backprops in factored:
            each = factors[: len(backprops)].to(backprops.device)
            kept = each > 0
            sampler = self.GRAD_SAMPLERS.get(type(module), ft_compute_per_sample_gradient)  # type: ignore[attr-defined]
            samples = sampler(
                module, [_select(kept, a) for a in activations], _select(kept, backprops)
            )
            for p, sample in samples.items():
                gradient = torch.einsum("i,i...", each.to(sample.dtype), sample)
                p.grad = gradient if p.grad is None else p.grad + gradient

    def clip_factors(self, batches: list[Any]) -> Tensor:
        """What part of each example's gradient is kept."""
        return clip_factors(self.squared_norms(batches), self.max_grad_norm)

    def cleanup(self) -> None:
        """Settle everything and give all modules back as they were."""
        if not self._lazydp_tables.released:
            self._lazydp_tables.settle_all()
            self._lazydp_tables.undo()
            for linear in self._lazydp_linears:
                linear.undo()
        super().cleanup()  # type: ignore[misc]

    def to_standard_module(self) -> nn.Module:
        """The plain module, settled; private training of it has ended."""
        return release(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> nn.Module:
        """A plain, settled copy: an unsettled one that trained on would void the guarantee."""
        self._lazydp_tables.settle_all()
        with _without_hooks(self):
            plain = copy.deepcopy(self._module, memo)
        for module in plain.modules():
            for name in ("autograd_grad_sample_hooks", "activations", "max_batch_len"):
                module.__dict__.pop(name, None)
        return plain

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse, with the reason."""
        raise PrivacyError(
            "a private module can't be pickled: its tables may be waiting for noise, and a copy "
            "that trains on would void the guarantee; save state_dict(), or engine.release(model)"
        )


@contextmanager
def _without_hooks(model: Any) -> Iterator[None]:
    """Opacus' hooks belong to the wrapper, not to a copy of the module."""
    held = []
    for handle in getattr(model, "autograd_grad_sample_hooks", []):
        hooks = handle.hooks_dict_ref()
        held.append((hooks, handle.id, hooks.pop(handle.id)))
    handles = model._module.__dict__.pop("autograd_grad_sample_hooks", None)
    try:
        yield
    finally:
        for hooks, key, hook in held:
            hooks[key] = hook
        if handles is not None:
            model._module.autograd_grad_sample_hooks = handles


def wrap(
    module: nn.Module,
    tables: Tables,
    *,
    factored: bool,
    grad_sample_mode: str,
    wrap_model: bool,
    **arguments: Any,
) -> Any:
    """`module` in Opacus' wrapper of this mode, which also knows of tables.

    Unless `factored`, linear layers are left to Opacus too.
    """
    if isinstance(module, AbstractGradSampleModule):
        raise UserError("the module is wrapped by Opacus already; pass the plain nn.Module")
    kind = (get_gsm_class if wrap_model else get_hooks_class)(grad_sample_mode)
    if "ghost" not in grad_sample_mode:
        arguments.pop("max_grad_norm", None)
    if grad_sample_mode == "functorch":
        arguments["force_functorch"] = True
    found = find_linears(module, grad_sample_mode) if factored else {}
    linears = [FactoredLinear(name, linear, tables.captures) for name, linear in found.items()]
    known = {
        "_lazydp_tables": tables,
        "_lazydp_captures": tables.captures,
        "_lazydp_linears": linears,
        "_lazydp_ghost": "ghost" in grad_sample_mode,
        "_lazydp_factored": [],
    }
    try:
        made = type(f"Private{kind.__name__}", (PrivateModel, kind), known)(module, **arguments)
    except BaseException:
        for linear in linears:
            linear.undo()
        raise
    if "ghost" in grad_sample_mode:
        captured = {id(p) for linear in linears for p in linear.parameters}
        made.trainable_parameters = [p for p in made.trainable_parameters if id(p) not in captured]
    return made


def release(model: Any) -> nn.Module:
    """Settle everything, take hooks and private modules out, and end private training."""
    model.cleanup()
    plain: nn.Module = model._module
    if isinstance(plain, DPDDP):
        plain = plain.module
    for parameter in plain.parameters():
        parameter.grad = None
        for name in ("summed_grad", "grad_sample", "_norm_sample", "_forward_counter"):
            parameter.__dict__.pop(name, None)
    return plain
