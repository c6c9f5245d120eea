"""Steps that take the data in its order, with noise that is correlated from step to step."""

from __future__ import annotations

import math
from typing import Any

from opacus.distributed import DifferentiallyPrivateDistributedDataParallel as DPDDP
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from lazydp import _native
from lazydp._native import UserError
from lazydp.accounting.blocks import Block
from lazydp.layers.captures import Pass
from lazydp.loading.stream import StreamRecord, in_order
from lazydp.noise.correlated_dense_noise import CorrelatedDenseNoise
from lazydp.tables.discovery import FoundTable
from lazydp.training.optimizer import TableOptimizer

SAMPLINGS = ("poisson", "stream")
_REPLICAS = (DPDDP, DDP)


class Stream:
    """How batches come, and how their noise is correlated, where none is drawn."""

    def __init__(
        self, loader: DataLoader[Any], correlation: str, epochs: int, noise_multiplier: float
    ) -> None:
        """Plan `epochs` passes over the loader's data set in its order."""
        self.loader = in_order(loader)
        sampler: Any = self.loader.batch_sampler
        bands = _native.correlation_bands(correlation, len(sampler) * epochs, len(sampler), epochs)
        self.block = Block(
            bands=tuple(bands),
            noise_multiplier=noise_multiplier,
            separation=len(sampler),
            participations=epochs,
            places=sampler.places,
            batch=sampler.batch,
        )
        self.record = StreamRecord(self.block)

    def require_linear(self, found: list[FoundTable], param_groups: list[dict[str, Any]]) -> None:
        """Raise UserError for tables whose rows can't wait for correlated noise."""
        for table in found:
            if len(self.block.bands) > 1 and param_groups[table.param_group].get("momentum", 0.0):
                raise UserError(
                    f"table '{table.name}' is trained with momentum; rows can wait for correlated "
                    "noise under plain SGD alone: set momentum to 0 in the tables' group "
                    "(lazydp.sgd_group), or use correlation='independent'"
                )


def plan_stream(
    *,
    sampling: str,
    correlation: str | None,
    epochs: int | None,
    noise: str,
    privacy_unit: Any,
    data_loader: DataLoader[Any],
    arguments: dict[str, Any],
) -> Stream | None:
    """Return the stream that make_private was asked for, None for Poisson samples.

    Raises UserError for what has no epsilon, or none that is known.
    """
    if sampling == "poisson":
        _require_independent(correlation, epochs)
        return None
    if sampling != "stream":
        raise UserError(f"sampling is '{sampling}'; it must be {' or '.join(SAMPLINGS)}")
    _require_arguments(noise, privacy_unit, arguments)
    if type(epochs) is not int or epochs < 1:
        raise UserError(
            f"epochs is {epochs!r}; with sampling='stream' epsilon rests on how often an example "
            "comes back: give the number of passes over the data that will be made at most"
        )
    noise_multiplier = float(arguments.get("noise_multiplier", 0.0))
    return Stream(data_loader, correlation or "lambda", epochs, noise_multiplier)


def _require_independent(correlation: str | None, epochs: int | None) -> None:
    if correlation not in (None, "independent"):
        raise UserError(
            f"correlation is '{correlation}' with Poisson samples; no epsilon is known for noise "
            "that is correlated between steps whose examples are drawn anew: use "
            "sampling='stream', or leave correlation out"
        )
    if epochs is not None:
        raise UserError(
            f"epochs is {epochs}; make_private is told of epochs with sampling='stream' alone, "
            "where an example comes back after one: leave it out"
        )


def _require_arguments(noise: str, privacy_unit: Any, arguments: dict[str, Any]) -> None:
    clipping = arguments.get("clipping", "flat")
    refusals = {
        "poisson_sampling is True; with sampling='stream' no batch is drawn: leave it out": (
            bool(arguments.get("poisson_sampling", False))
        ),
        "noise is 'touched_rows', of which later steps would take back what rows never received; "
        "with sampling='stream' use 'lazy', 'lazy_each_step' or 'every_row'": (
            noise == "touched_rows"
        ),
        "clipping is 'adaptive', whose bound and noise follow the data; the noise of a stream is "
        "one mechanism, fixed in advance: use 'flat', with a clip scheduler if you like": (
            clipping == "adaptive"
        ),
        "clipping is 'per_layer'; with sampling='stream' an example is clipped as a whole: use "
        "'flat'": clipping == "per_layer",
        "privacy_unit is given; how often a unit takes part in a stream, and how soon again, is "
        "tracked by the native program alone: lazydp train --sampling stream --privacy-unit": (
            privacy_unit is not None
        ),
        "the model is spread over ranks, whose loaders would each go through a part of the data; "
        "with sampling='stream' train in one process": isinstance(arguments["module"], _REPLICAS),
        "rand_on_empty is True; a stream has no empty batches: leave it out": bool(
            arguments.get("rand_on_empty", False)
        ),
    }
    for reason, refused in refusals.items():
        if refused:
            raise UserError(reason)


class StreamOptimizer(TableOptimizer):
    """A mixin for Opacus' optimizers, whose steps take the windows of a stream one by one.

    The cells of a step are used again by those that follow, in tables and dense layers alike, so
    every step is taken by all of them or the block has ended.
    """

    batch_record: StreamRecord
    block: Block
    _moving = False  # whether a step has begun to draw noise, and has not ended
    _signs: dict[int, float]  # of the steps of each parameter group

    def follow(self, stream: Stream, seed: _native.Seed, normals_per_sample: int) -> None:
        """Take the steps of this stream."""
        self.block, self._signs = stream.block, {}
        self.dense_noise = CorrelatedDenseNoise(
            seed, normals_per_sample, stream.block.bands, self.params
        )

    def _checked_passes(self, virtual: bool) -> tuple[list[Pass], dict[int, Any]]:
        self._require_open_block()
        passes, rules = super()._checked_passes(virtual)
        for index, rule in rules.items():
            self._require_one_direction(index, rule.noise_per_step)
        return passes, rules

    def _require_open_block(self) -> None:
        block = self.block
        if self._moving:
            raise UserError(
                "an earlier step was interrupted while its noise was added; later steps would "
                "take back noise that was never there: release the model and call make_private "
                "again, which begins a new block of steps"
            )
        if float(self.noise_multiplier) != block.noise_multiplier:
            raise UserError(
                f"noise_multiplier is {float(self.noise_multiplier):g}, and was "
                f"{block.noise_multiplier:g} at make_private; the steps of a stream are one "
                "mechanism, of one noise multiplier: leave it, and schedule learning rate or bound"
            )
        if block.steps >= block.planned:
            raise UserError(
                f"all {block.planned} steps were taken that epochs={block.participations} allows "
                f"({block.separation} a pass); examples would come back more often than was "
                "declared: declare more epochs at make_private"
            )

    def _require_one_direction(self, group: int, moved: float) -> None:
        """Raise UserError if tables would go uphill after downhill: cells would add up."""
        if moved == 0.0:
            return
        if self._signs.setdefault(group, math.copysign(1.0, moved)) != math.copysign(1.0, moved):
            raise UserError(
                f"the learning rate of parameter group {group} changed its sign (or `maximize` was "
                "changed); correlated noise would add up where it should cancel: keep the sign"
            )

    def _recorded(self) -> int:
        if self._passes > 1:
            self.batch_record.forget()
            raise UserError(
                f"{self._passes} backward passes make up this step; with sampling='stream' a step "
                "takes one batch, by one backward pass: call step() after each, or use a larger "
                "batch_size"
            )
        return super()._recorded()

    def _drop(self) -> None:
        super()._drop()
        self.batch_record.drop_step()

    def _take(self, rules: dict[int, Any]) -> None:
        self._moving = True
        super()._take(rules)
        self._moving = False
