"""With clipping="per_layer" every parameter tensor, tables included, has a bound of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from opacus.optimizers import DPOptimizer
from torch import optim

from lazydp._native import UserError
from lazydp.accounting.mechanism import clip_factors
from lazydp.layers.captures import Layer, Pass
from lazydp.tables.model_tables import Tables
from lazydp.training.optimizer import SecureOptimizer, TableOptimizer
from lazydp.training.stream_steps import StreamOptimizer
from lazydp.training.unit_clipping import UnitOptimizer


def split_bounds(
    bounds: Any, optimizer: optim.Optimizer, tables: Tables
) -> tuple[list[float], dict[Layer, float]]:
    """Return bounds of dense parameters, and of tables, from one list in the optimizer's order."""
    by_weight = {table.weight: table for table in tables.all}
    parameters = [
        p
        for group in optimizer.param_groups
        for p in group["params"]
        if p.requires_grad or p in by_weight
    ]
    if not isinstance(bounds, Sequence) or len(bounds) != len(parameters):
        raise UserError(
            f"max_grad_norm is {bounds}; with clipping='per_layer' it must be a list of "
            f"{len(parameters)} bounds, one for each trainable parameter in the optimizer's order"
        )
    dense = [float(b) for p, b in zip(parameters, bounds, strict=True) if p not in by_weight]
    of_tables: dict[Layer, float] = {
        by_weight[p]: float(b) for p, b in zip(parameters, bounds, strict=True) if p in by_weight
    }
    return dense, of_tables


class PerLayerTableOptimizer(TableOptimizer):
    """Clips parameter by parameter; the noise is that of the bounds' joint norm, as in Opacus."""

    max_grad_norms: list[float]  # bounds of dense parameters
    table_bounds: dict[Layer, float]
    joint_bound: float

    def take_bounds(self, dense: list[float], of_tables: dict[Layer, float]) -> None:
        """Set the bounds of tables and of dense layers apart; Opacus' constructor took all."""
        self.max_grad_norms, self.table_bounds = dense, of_tables
        self._bounds = dict(zip(self.params, dense, strict=True))  # some may be frozen later
        self.joint_bound = math.hypot(*dense, *of_tables.values())
        self.max_grad_norm = self.joint_bound

    def clip(self, passes: list[Pass]) -> None:
        """Clip by parameter. An example that is not finite somewhere is left out everywhere."""
        changed = float(self.max_grad_norm) / self.joint_bound  # a clip scheduler may have
        bounds: dict[Any, float] = self._bounds | self.table_bounds  # type: ignore[operator]
        for one in passes:
            norms = one.squared_norms()
            finite = torch.stack([torch.isfinite(n) for n in norms.values()]).all(0)
            factors = {
                key: torch.where(finite, clip_factors(n, bounds[key] * changed), 0.0)
                for key, n in norms.items()
            }
            one.add_clipped(factors.__getitem__)


def optimizer_class(
    base: type[DPOptimizer], clipping: str, *, tables: bool, units: bool, stream: bool
) -> type[DPOptimizer]:
    """Return `base`, one of Opacus' optimizers, with tables or at least with secure noise."""
    kind: type[DPOptimizer] = SecureOptimizer
    if units:
        kind = UnitOptimizer
    elif stream:
        kind = StreamOptimizer
    elif tables:
        kind = PerLayerTableOptimizer if clipping == "per_layer" else TableOptimizer
    return type(f"Private{base.__name__}", (kind, base), {})
