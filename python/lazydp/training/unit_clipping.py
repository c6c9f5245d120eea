"""Clips privacy units: the mean of the gradients of a unit's examples, as a whole."""

from __future__ import annotations

from typing import Any

import torch
from opacus.distributed import DifferentiallyPrivateDistributedDataParallel as DPDDP
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from lazydp._native import UserError
from lazydp.layers.captures import Pass
from lazydp.layers.linear import find_linears
from lazydp.training.optimizer import TableOptimizer

_TABLES = (nn.Embedding, nn.EmbeddingBag)


class UnitOptimizer(TableOptimizer):
    """A mixin for Opacus' optimizers, whose steps clip units where others clip examples."""

    _sent: tuple[int, ...] = ()  # how many examples each unit of this step sent

    def _checked_passes(self, virtual: bool) -> tuple[list[Pass], dict[int, Any]]:
        if virtual:
            raise UserError(
                "the step is a virtual one, of part of a batch (signal_skip_step), which may cut a "
                "unit's examples apart, and they are clipped as one; with privacy_unit a step "
                "takes a whole batch of the loader"
            )
        return super()._checked_passes(virtual)

    def _recorded(self) -> int:
        examples, self._examples = self._examples, 0
        if self._passes > 1:
            raise UserError(
                f"{self._passes} backward passes make up this step; with privacy_unit a step takes "
                "one backward pass of one batch: call step() after each"
            )
        self._sent = self.batch_record.take_units(examples)
        return examples

    def clip(self, passes: list[Pass]) -> None:
        """Clip every unit's gradient over tables and all dense layers together."""
        for one in passes:
            one.sent = torch.tensor(self._sent, dtype=torch.int64)
        super().clip(passes)


def require_clipped_by_unit(module: nn.Module, arguments: dict[str, Any]) -> None:
    """Raise UserError unless units can be clipped in this module, with these arguments."""
    _require_arguments(module, arguments)
    linears = set(find_linears(module).values())
    for name, layer in module.named_modules():
        trains = any(p.requires_grad for p in layer.parameters(recurse=False))
        if not trains or isinstance(layer, _TABLES) or layer in linears:
            continue
        also = " that shares its parameters" if type(layer) is nn.Linear else ""
        raise UserError(
            f"layer '{name}' is a {type(layer).__name__}{also}; with privacy_unit the gradients of "
            "a unit's examples are added up before they are clipped, as nn.Embedding, "
            "nn.EmbeddingBag and nn.Linear allow: freeze it, requires_grad_(False), or replace it"
        )


def _require_arguments(module: nn.Module, arguments: dict[str, Any]) -> None:
    mode, clipping = arguments.get("grad_sample_mode", "hooks"), arguments.get("clipping", "flat")
    refusals = {
        "the model is spread over ranks, each of which would clip its part of a unit; with "
        "privacy_unit train in one process": isinstance(module, (DPDDP, DDP)),
        "poisson_sampling is False; with privacy_unit epsilon rests on Poisson samples of units: "
        "leave it at True": not arguments.get("poisson_sampling", True),
        "noise_generator makes runs repeat, and units are always sampled in secret; with "
        "privacy_unit leave it out": arguments.get("noise_generator") is not None,
        "rand_on_empty is True; a made-up example belongs to no unit: with privacy_unit leave it "
        "out, an empty batch is a step of noise alone": arguments.get("rand_on_empty", False),
        "clipping is 'per_layer', which forms the gradients of examples one by one; with "
        "privacy_unit use 'flat' or 'adaptive'": clipping == "per_layer",
        "grad_sample_mode is 'functorch', which forms the gradients of examples one by one; with "
        "privacy_unit use 'hooks' or 'ghost'": mode == "functorch",
    }
    for reason, refused in refusals.items():
        if refused:
            raise UserError(reason)
