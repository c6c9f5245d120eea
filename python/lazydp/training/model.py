"""The wrapper that make_private returns is Opacus' own, with layers that capture by themselves."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from typing import Any

import torch
from opacus.distributed import DifferentiallyPrivateDistributedDataParallel as DPDDP
from opacus.grad_sample import AbstractGradSampleModule, GradSampleModule, get_gsm_class
from opacus.grad_sample.utils import get_hooks_class
from torch import Tensor, nn

from lazydp._native import PrivacyError, UserError
from lazydp.layers.batch_statistics import refuse_statistics
from lazydp.layers.captures import Captures
from lazydp.layers.grad_sampler_layers import GradSamplerLayers
from lazydp.layers.linear import FactoredLinear, find_linears, require_held
from lazydp.tables.discovery import require_precise
from lazydp.tables.model_tables import Tables
from lazydp.tables.private_tensor import PrivateTensor

MODES = ("hooks", "functorch", "ew", "ghost")


class Layers:
    """Holds the dense layers of a private model, and refuses gradients that go around them."""

    def __init__(
        self,
        model: nn.Module,
        captures: Captures,
        samplers: dict[type, Any],
        *,
        factored: bool,
        kept: bool,
    ) -> None:
        """Turn every layer that trains into its private twin, in place."""
        linears = find_linears(model) if factored else {}
        self.linears = [FactoredLinear(name, linear, captures) for name, linear in linears.items()]
        self._refusals: list[Any] = []
        try:
            self._refusals += refuse_statistics(model)
            self.sampled = GradSamplerLayers(model, captures, samplers, kept=kept)
        except BaseException:
            for begun in self._refusals:
                begun.remove()
            for linear in self.linears:
                linear.undo()
            raise
        self._model = model
        self._held = {layer.module: layer.held for layer in self.linears} | self.sampled.held
        self._known = {id(p) for held in self._held.values() for p in held.values()}
        names = {p: name for name, p in model.named_parameters()}
        for p in self.parameters:
            if p.requires_grad:
                self._refusals.append(_refuse_gradients(p, names[p]))

    @property
    def parameters(self) -> list[nn.Parameter]:
        """The parameters that these layers train."""
        of_linears = [p for linear in self.linears for p in linear.parameters]
        return [*of_linears, *self.sampled.parameters]

    def require_intact(self) -> None:
        """Raise UserError if a layer, or its parameter, is not the one that make_private saw."""
        for module, held in self._held.items():
            require_held(module, held)
        for name, p in self._model.named_parameters():
            if not p.requires_grad or isinstance(p, PrivateTensor):
                continue
            require_precise(name, p)
            if id(p) not in self._known:
                raise UserError(
                    f"'{name}' became trainable after make_private, or is new: nothing clips its "
                    "gradient; set requires_grad and build the model before make_private"
                )

    def undo(self) -> None:
        """Give the modules back as they were."""
        for refusal in self._refusals:
            refusal.remove()
        for linear in self.linears:
            linear.undo()
        self.sampled.undo()


def _refuse_gradients(parameter: nn.Parameter, name: str) -> Any:
    def refuse(p: Tensor) -> None:
        p.grad = None
        raise UserError(
            f"a gradient reached '{name}' by another way than the forward of its layer; it belongs "
            "to no example and can't be clipped: call the layer itself, and leave its parameters "
            "out of the loss (for weight decay, use the optimizer's)"
        )

    return parameter.register_post_accumulate_grad_hook(refuse)  # type: ignore[no-untyped-call]


class PrivateModel:
    """A mixin for Opacus' wrapper, or for its hooks where nothing is wrapped."""

    _lazydp_tables: Tables
    _lazydp_layers: Layers
    _module: nn.Module

    def add_hooks(self, **arguments: Any) -> None:
        """Add none: the layers capture by themselves."""
        if hasattr(self._module, "autograd_grad_sample_hooks"):
            raise ValueError("Trying to add hooks twice to the same model")
        self.autograd_grad_sample_hooks: list[Any] = []
        self._module.autograd_grad_sample_hooks = self.autograd_grad_sample_hooks  # type: ignore[assignment]
        self.enable_hooks()  # type: ignore[attr-defined]

    def forbid_grad_accumulation(self) -> None:
        """Raise at the second backward pass of a step."""
        self._lazydp_tables.captures.accumulation_allowed = False
        super().forbid_grad_accumulation()  # type: ignore[misc]

    def allow_grad_accumulation(self) -> None:
        """Let several backward passes make up a step."""
        self._lazydp_tables.captures.accumulation_allowed = True
        super().allow_grad_accumulation()  # type: ignore[misc]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget backward passes that no step has taken."""
        self._lazydp_tables.captures.discard()
        super().zero_grad(set_to_none)  # type: ignore[misc]

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Load as a module does; where that fails, nothing has changed."""
        if assign:
            raise UserError(
                "assign is True; a private model's memory stays: load with assign=False"
            )
        _require_fit(self, state_dict, strict)
        return super().load_state_dict(state_dict, strict=strict, assign=assign)  # type: ignore[misc]

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        """Try the tables first: where one can't be moved, nothing is."""
        for table in self._lazydp_tables.all:
            if not self._lazydp_tables.released:
                table.modules[0]._apply(fn)  # type: ignore[no-untyped-call]
        return super()._apply(fn, recurse)  # type: ignore[misc]

    def get_norm_sample(self) -> Tensor:
        """Refuse: norms without tables would clip too little."""
        raise PrivacyError(
            "this model has tables, whose norms Opacus' own criterion does not know; use the "
            "criterion that make_private returned"
        )

    def cleanup(self) -> None:
        """Settle everything and give all modules back as they were."""
        if not self._lazydp_tables.released:
            self._lazydp_tables.settle_all()
            self._lazydp_tables.undo()
            self._lazydp_layers.undo()
        super().cleanup()  # type: ignore[misc]

    def to_standard_module(self) -> nn.Module:
        """Return the plain module, settled. Private training of it has ended."""
        return release(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> nn.Module:
        """Return a plain, settled copy: training an unsettled one would void the guarantee."""
        hooks = self._module.__dict__.pop("autograd_grad_sample_hooks", None)
        try:
            plain: nn.Module = copy.deepcopy(self._module, memo)
        finally:
            if hooks is not None:
                self._module.autograd_grad_sample_hooks = hooks
        for parameter in plain.parameters():
            _strip(parameter)
        return plain

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse, with the reason."""
        raise PrivacyError(
            "a private module can't be pickled: its tables may be waiting for noise, and a copy "
            "that trains on would void the guarantee; save state_dict(), or engine.release(model)"
        )


def _require_fit(model: Any, state_dict: Mapping[str, Any], strict: bool) -> None:
    """Raise torch's error unless load_state_dict() will succeed."""
    own = model.state_dict()
    errors = []
    if strict:
        missing = [key for key in own if key not in state_dict]
        unexpected = [key for key in state_dict if key not in own]
        if missing:
            errors.append(f"Missing key(s) in state_dict: {', '.join(missing)}.")
        if unexpected:
            errors.append(f"Unexpected key(s) in state_dict: {', '.join(unexpected)}.")
    for key, value in own.items():
        given = state_dict.get(key)
        if isinstance(value, Tensor) and key in state_dict and not isinstance(given, Tensor):
            errors.append(f"{key} is a {type(given).__name__}, not a tensor.")
        elif isinstance(value, Tensor) and given is not None and given.shape != value.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from "
                f"checkpoint, the shape in current model is {value.shape}."
            )
    if errors:
        name = type(model._module).__name__
        raise RuntimeError(f"Error(s) in loading state_dict for {name}:\n\t" + "\n\t".join(errors))


def wrap(
    module: nn.Module,
    tables: Tables,
    *,
    factored: bool,
    grad_sample_mode: str,
    wrap_model: bool,
    **arguments: Any,
) -> Any:
    """Return `module` in Opacus' wrapper of this mode, with layers that capture.

    Unless `factored`, the gradients of linear layers' examples are formed, too.
    """
    if grad_sample_mode not in MODES:
        raise UserError(
            f"grad_sample_mode is '{grad_sample_mode}'; for a model with tables it must be "
            f"{', '.join(MODES[:-1])} or {MODES[-1]}"
        )
    ghost = grad_sample_mode == "ghost"
    kind = (get_gsm_class if wrap_model else get_hooks_class)(
        "hooks" if grad_sample_mode in ("ew", "functorch") else grad_sample_mode
    )
    if not ghost:
        arguments.pop("max_grad_norm", None)
    samplers = {} if grad_sample_mode == "functorch" else GradSampleModule.GRAD_SAMPLERS
    layers = Layers(
        module,
        tables.captures,
        samplers,
        factored=factored and grad_sample_mode != "functorch",
        kept=not ghost,
    )
    known = {"_lazydp_tables": tables, "_lazydp_layers": layers}
    try:
        return type(f"Private{kind.__name__}", (PrivateModel, kind), known)(module, **arguments)
    except BaseException:
        layers.undo()
        raise


def require_plain(module: nn.Module) -> None:
    """Raise UserError for a module that is wrapped already."""
    if isinstance(module, AbstractGradSampleModule):
        what = "private" if isinstance(module, PrivateModel) else "wrapped by Opacus"
        raise UserError(
            f"the module is {what} already; pass the plain nn.Module (engine.release(model) gives "
            "it back)"
        )


def release(model: Any) -> nn.Module:
    """Settle everything, end private training, and return the module as it was before."""
    model.cleanup()
    plain: nn.Module = model._module
    if isinstance(plain, DPDDP):
        plain = plain.module
    for parameter in plain.parameters():
        parameter.grad = None
        _strip(parameter)
    return plain


def save(private: Any, path: str | os.PathLike[str]) -> None:
    """Write the settled weights of a private model. The file appears when it is whole."""
    module = getattr(private, "_module", private)
    if isinstance(module, DPDDP):
        module = module.module
    partial = f"{os.fspath(path)}.part"
    try:
        torch.save(module.state_dict(), partial)
        os.replace(partial, path)
    except BaseException:
        if os.path.exists(partial):
            os.remove(partial)
        raise


def _strip(parameter: nn.Parameter) -> None:
    """Take away the attributes that Opacus hangs on parameters."""
    for name in ("summed_grad", "grad_sample", "_norm_sample", "_forward_counter"):
        parameter.__dict__.pop(name, None)
