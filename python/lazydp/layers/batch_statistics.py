"""Refuses layers that compute from a whole batch, or that remember it without noise."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from lazydp._native import UserError


def refuse_statistics(model: nn.Module) -> list[Any]:
    """Refuse batch statistics from here on; return the handles whose remove() ends that.

    A batch norm, trained or not, makes the gradient of an example depend on the others. And what a
    forward writes into a buffer is in state_dict() and in the released model, without noise.
    """
    handles: list[Any] = []
    for name, module in model.named_modules():
        if isinstance(module, _BatchNorm):
            _refuse_batch(name, module)
            handles.append(module.register_forward_pre_hook(_NormalisesByBatch(name)))
        if _kept(module):
            watch = _Watch(name)
            handles.append(module.register_forward_pre_hook(watch.before, prepend=True))
            handles.append(module.register_forward_hook(watch.after))
    return handles


class _Hook:
    """A hook of a private model's module. A copy or a pickle of the module is free of it."""

    def __init__(self, name: str, *, ends: bool = False) -> None:
        self._name, self._ends = name, ends

    def __deepcopy__(self, memo: dict[int, Any]) -> _Hook:
        return type(self)(self._name, ends=True)

    def __getstate__(self) -> Any:
        return {"_name": self._name, "_ends": True}


class _NormalisesByBatch(_Hook):
    """A forward pre-hook of a batch norm, which model.train() may have switched."""

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def __call__(self, module: _BatchNorm, _: Any) -> None:
        if not self._ends:
            _refuse_batch(self._name, module)


def _refuse_batch(name: str, module: _BatchNorm) -> None:
    if not module.training and module.running_mean is not None:
        return
    raise UserError(
        f"layer '{name}' is a {type(module).__name__} that normalises by the batch: the gradient "
        "of an example would depend on the others, and its running statistics are theirs, without "
        "noise; use nn.LayerNorm or nn.GroupNorm, or statistics of public data: "
        "requires_grad_(False), and eval() after every model.train()"
    )


class _Watch(_Hook):
    """Forward hooks of a module, which compare its buffers before and after."""

    _before: dict[str, tuple[int, int]]

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def before(self, module: nn.Module, _: Any) -> None:
        self._before = _kept(module)

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def after(self, module: nn.Module, *_: Any) -> None:
        kept = _kept(module)
        changed = [key for key in kept if kept[key] != self._before.get(key, kept[key])]
        if changed and not self._ends:
            where = f"'{self._name}' ({type(module).__name__})" if self._name else "the model"
            raise UserError(
                f"the forward of {where} changed its buffer '{changed[0]}', which is in "
                "state_dict(); what is computed from a batch would be released there without "
                "noise: keep it in a plain attribute, or in a buffer with persistent=False, and "
                "out of later batches"
            )


def _kept(module: nn.Module) -> dict[str, tuple[int, int]]:
    """Return the state of each buffer that state_dict() has: which tensor, and its version."""
    return {
        key: (id(buffer), 0 if buffer.is_inference() else buffer._version)
        for key, buffer in module._buffers.items()
        if buffer is not None and key not in module._non_persistent_buffers_set
    }
