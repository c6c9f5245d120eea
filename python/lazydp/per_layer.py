"""clipping="per_layer": every parameter tensor, tables among them, has a bound of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from opacus.optimizers import DPOptimizer
from torch import Tensor, optim

from lazydp._native import UserError
from lazydp.captures import Layer, add_clipped, squared_norms_by_layer
from lazydp.optimizer import TableOptimizer, add_clipped_sample, clip_factors
from lazydp.tables import Tables


def split_bounds(
    bounds: Any, optimizer: optim.Optimizer, tables: Tables | None
) -> tuple[list[float], dict[Layer, float]]:
    """Bounds of dense parameters, and of tables, from one list in the optimizer's order."""
    by_weight = {table.weight: table for table in tables.all} if tables is not None else {}
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

    max_grad_norms: list[float]  # of dense parameters
    table_bounds: dict[Layer, float]
    joint_bound: float

    def take_bounds(self, of_tables: dict[Layer, float]) -> None:
        """Bounds of tables join those that Opacus' constructor was given."""
        self.table_bounds = of_tables
        self.joint_bound = math.hypot(*self.max_grad_norms, *of_tables.values())
        self.max_grad_norm = self.joint_bound

    def clip_and_accumulate(self) -> None:
        """An example whose gradient is not finite somewhere is left out everywhere."""
        batches, samples = self._take_gradients()
        examples = len(next(iter(samples.values()))) if samples else None
        dense = {p: s.square().flatten(1).sum(1).float().cpu() for p, s in samples.items()}
        tables = squared_norms_by_layer(batches, examples)
        every = [*dense.values(), *tables.values()]
        finite = torch.stack([torch.isfinite(n) for n in every]).all(0) if every else None
        changed = float(self.max_grad_norm) / self.joint_bound  # by a clip scheduler

        def factors(squared: Tensor, bound: float) -> Tensor:
            return torch.where(finite, clip_factors(squared, bound * changed), 0.0)  # type: ignore[arg-type]

        bounds = dict(zip(self.params, self.max_grad_norms, strict=True))
        for p, sample in samples.items():
            add_clipped_sample(p, sample, factors(dense[p], bounds[p]))
        of_tables = {t: factors(n, self.table_bounds[t]) for t, n in tables.items()}
        add_clipped(batches, of_tables.__getitem__)


def optimizer_class(base: type[DPOptimizer], clipping: str) -> type[DPOptimizer]:
    """`base`, one of Opacus' optimizers, with tables."""
    kind = PerLayerTableOptimizer if clipping == "per_layer" else TableOptimizer
    return type(f"Table{base.__name__}", (kind, base), {})
