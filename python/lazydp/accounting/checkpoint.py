"""Loading what engine.save_checkpoint() wrote: weights come with their ledger, or not at all."""

from __future__ import annotations

import copy
import os
import warnings
from typing import IO, Any

import torch


def load_checkpoint(
    accountant: Any,
    *,
    path: str | os.PathLike[str] | IO[bytes],
    module: Any,
    optimizer: Any = None,
    noise_scheduler: Any = None,
    grad_clip_scheduler: Any = None,
    module_load_dict_kwargs: dict[str, Any] | None = None,
    torch_load_kwargs: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Load as Opacus' engine does. Where the ledger, or a weight, does not fit, nothing changes.

    Opacus loads the weights first, and then may refuse the ledger of the steps that made them.
    """
    checkpoint: dict[str, Any] = torch.load(path, **(torch_load_kwargs or {}), weights_only=False)
    ledger = checkpoint["privacy_accountant_state_dict"]
    copy.deepcopy(accountant).load_state_dict(ledger)
    module.load_state_dict(checkpoint["module_state_dict"], **(module_load_dict_kwargs or {}))
    accountant.load_state_dict(ledger)
    rest = {
        "optimizer_state_dict": optimizer,
        "noise_scheduler_state_dict": noise_scheduler,
        "grad_clip_scheduler_state_dict": grad_clip_scheduler,
    }
    for key, thing in rest.items():
        state = checkpoint.pop(key, {})
        if thing is not None and state:
            thing.load_state_dict(state)
        elif key == "optimizer_state_dict" and (thing is not None or state):
            has = "an" if state else "no"
            given = "none was given" if state else "one was given"
            warnings.warn(
                f"the checkpoint has {has} {key}, and {given} to load_checkpoint", stacklevel=3
            )
    return checkpoint
