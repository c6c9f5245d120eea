"""Parameter groups move tables by torch's SGD, whatever optimizer moves the dense layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import nn, optim

from lazydp._native import Rule, UserError

_MARK = "lazydp_sgd"


def sgd_group(
    params: Iterable[nn.Parameter],
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
) -> dict[str, Any]:
    """Return a parameter group for tables, in any torch optimizer: SGD moves them, with this rate.

    Noise that comes late can be exact only where a step is linear in the gradient. So
    ``torch.optim.Adam([{"params": dense}, lazydp.sgd_group(tables, lr=1.0)])`` trains dense layers
    with Adam and tables with SGD; schedulers see one more group.
    """
    return {
        "params": list(params),
        "lr": lr,
        "momentum": momentum,
        "dampening": dampening,
        "weight_decay": weight_decay,
        "nesterov": nesterov,
        _MARK: True,
    }


def require_sgd(name: str, optimizer: optim.Optimizer, group: dict[str, Any]) -> None:
    """Raise UserError unless SGD moves this group."""
    optimizer = getattr(optimizer, "original_optimizer", optimizer)
    if type(optimizer) is optim.SGD or group.get(_MARK, False):
        return
    raise UserError(
        f"table '{name}' is trained by {type(optimizer).__name__}; late noise is exact only under "
        "SGD: give tables their own group, lazydp.sgd_group(tables, lr=1.0), in the same optimizer"
    )


def rule_of(group: dict[str, Any], *, first: bool, divisor: float, noise_std: float) -> Rule:
    """Return the rule by which the next step moves tables of this group."""
    return Rule(
        learning_rate=float(group["lr"]),
        weight_decay=float(group.get("weight_decay", 0.0)),
        momentum=float(group.get("momentum", 0.0)),
        dampening=float(group.get("dampening", 0.0)),
        nesterov=bool(group.get("nesterov", False)),
        first=first,
        divisor=-divisor if group.get("maximize", False) else divisor,
        noise_std=noise_std,
    )
