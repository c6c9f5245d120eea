"""Private layers compute on batches alone: what traces, scripts or transforms them is refused."""

from __future__ import annotations

import copy
import copyreg
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor

from lazydp._native import UserError


def require_values(given: Any) -> None:
    """Raise UserError unless a layer was given the values of a batch."""
    traced = not isinstance(given, Tensor)  # torch.fx
    traced = traced or torch._C._get_tracing_state() is not None  # torch.jit
    traced = traced or torch._C._functorch.is_functorch_wrapped_tensor(given)
    if traced or isinstance(given, FakeTensor) or given.is_meta:
        raise _refusal()


class Untraceable(nn.Module):
    """A mixin for private layers, which torch.jit.script asks before it compiles a module.

    Copies and pickles of a layer are plain: they name nothing of a run, and hold no batch.
    """

    def __prepare_scriptable__(self) -> Any:
        """Refuse, with the reason."""
        raise _refusal()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle a plain layer."""
        plain = copy.deepcopy(self)
        return copyreg._reconstructor, (type(plain), object, None), plain.__dict__  # type: ignore[attr-defined]


def _refusal() -> UserError:
    return UserError(
        "a private model can't be traced, scripted, exported or transformed (torch.export, "
        "torch.jit, torch.fx, torch.func): do that with the released model, engine.release(model)"
    )
