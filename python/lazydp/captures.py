"""What backward passes leave behind: enough to clip every example's gradient without forming it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from lazydp._native import UserError


class Layer(Protocol):
    """A layer whose examples' gradients exist only as factors."""

    name: str

    def add_squared_norms(self, calls: list[Capture], squared: Tensor) -> None:
        """Add to squared[i] the squared norm of example i's gradient over all calls of one pass."""

    def add_clipped(self, call: Capture, factors: Tensor) -> None:
        """Add factors[i] x the gradient of example i; a factor of 0 leaves an example out."""


class Capture(Protocol):
    """One call of a layer, with the gradient of its output."""

    examples: int

    @property
    def layer(self) -> Layer:
        """Whose call it was."""


Batch = list[Capture]  # all calls of one backward pass


class Captures:
    """The calls of all such layers of a model, backward pass by backward pass."""

    def __init__(self, *, loss_reduction: str, batch_first: bool) -> None:
        """Before the first pass."""
        self.loss_reduction = loss_reduction
        self.batch_dim = 0 if batch_first else 1
        self.on = True
        self.accumulation_allowed = True
        self._batches: list[Batch] = []  # finished backward passes
        self._current: Batch = []

    def scale(self, examples: int) -> float:
        """What undoes a mean over the batch."""
        return float(examples) if self.loss_reduction == "mean" else 1.0

    def note(self, call: Capture) -> None:
        """Remember a call; the first of a backward pass also waits for the pass's end."""
        if not self._current:
            torch.autograd.Variable._execution_engine.queue_callback(self._end_of_backward)  # type: ignore[attr-defined]
        self._current.append(call)

    def _end_of_backward(self) -> None:
        self._batches.append(self._current)
        self._current = []
        if len(self._batches) > 1 and not self.accumulation_allowed:
            raise ValueError(
                "Poisson sampling is not compatible with grad accumulation. You need to call "
                "optimizer.step() after every forward/backward pass or consider using "
                "BatchMemoryManager"
            )

    def take(self) -> list[Batch]:
        """The backward passes since the last call."""
        batches, self._batches = self._batches, []
        return batches

    def discard(self) -> None:
        """Forget backward passes that no step has taken."""
        self._batches = []


def squared_norms_by_layer(batches: list[Batch], examples: int | None) -> dict[Layer, Tensor]:
    """Per layer and example, the squared norm of the example's gradient in that layer.

    `examples` is how many there are elsewhere, where that is known.
    """
    sizes = [_examples_of(batch) for batch in batches if batch]
    total = sum(sizes) if sizes else examples or 0
    if examples is not None and total != examples:
        raise UserError(
            f"tables and linear layers saw {total} examples, other layers {examples}; the "
            "first dimension of every layer's input must be that of the batch"
        )
    squared: dict[Layer, Tensor] = {}
    start = 0
    for batch in (batch for batch in batches if batch):
        end = start + batch[0].examples
        by_layer: dict[Layer, list[Capture]] = {}
        for call in batch:
            by_layer.setdefault(call.layer, []).append(call)
        for layer, calls in by_layer.items():
            of_layer = squared.setdefault(layer, torch.zeros(total))
            if end > start:
                layer.add_squared_norms(calls, of_layer[start:end])
        start = end
    return squared


def squared_norms(batches: list[Batch], examples: int | None) -> Tensor:
    """Per example, the squared norm of its gradient over all captured layers."""
    by_layer = list(squared_norms_by_layer(batches, examples).values())
    return torch.stack(by_layer).sum(0) if by_layer else torch.zeros(examples or 0)


def _examples_of(batch: Batch) -> int:
    sizes = {call.examples for call in batch}
    if len(sizes) > 1:
        names = ", ".join(f"'{call.layer.name}' {call.examples}" for call in batch)
        raise UserError(
            f"layers saw different numbers of examples ({names}); the first dimension of every "
            "layer's input must be that of the batch"
        )
    return sizes.pop()


def add_clipped(batches: list[Batch], factors: Callable[[Layer], Tensor]) -> None:
    """Add every example's gradient, times the layer's factor for it, to its layer's sum."""
    start = 0
    for batch in batches:
        if batch:
            end = start + batch[0].examples
            for call in batch:
                call.layer.add_clipped(call, factors(call.layer)[start:end])
            start = end
