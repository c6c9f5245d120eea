"""Factors that backward passes leave, to clip examples' gradients without forming them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from threading import get_ident
from typing import Any, Protocol

import torch
from torch import Tensor

from lazydp._native import UserError
from lazydp.layers.autograd_mode import gradients_are_kept, new_anchor
from lazydp.layers.loss_graph import require_examples_apart
from lazydp.layers.pass_units import Units
from lazydp.loading.batch_record import BatchRecord

_MANY = 32  # passes that are cleared in a row from which a loop seems to step by another optimizer


class Layer:
    """Part of a model whose examples' gradients are kept as factors until they are clipped."""

    def squared_norms(self, calls: Calls) -> dict[Any, Tensor]:
        """Return the squared norm of each unit's gradient over all calls of one pass.

        There is a key for each layer or parameter with a bound of its own under per-layer clipping.
        """
        raise NotImplementedError

    def add_clipped(self, calls: Calls, factors: Callable[[Any], Tensor]) -> None:
        """Add factors(key)[u] x the gradient of unit u; a factor of 0 leaves a unit out."""
        raise NotImplementedError

    @classmethod
    def all_squared_norms(cls, calls: dict[Any, Calls]) -> dict[Any, Tensor]:
        """Return the squared norms of all layers of this class that a pass called."""
        squared: dict[Any, Tensor] = {}
        for layer, of_layer in calls.items():
            squared |= layer.squared_norms(of_layer)
        return squared

    @classmethod
    def add_all_clipped(cls, calls: dict[Any, Calls], factors: Callable[[Any], Tensor]) -> None:
        """Add the gradients of all layers of this class that a pass called."""
        for layer, of_layer in calls.items():
            layer.add_clipped(of_layer, factors)


class Capture(Protocol):
    """One call of a layer, with the gradient of its output."""

    examples: int

    @property
    def name(self) -> str:
        """The layer's name in messages."""

    @property
    def layer(self) -> Any:
        """The layer that was called."""


class Calls(list[Any]):
    """The calls of one layer in one pass."""

    units: Units  # which examples are measured together
    formed: Any = None  # what the layer measured, where it applies the same


class Pass:
    """The calls of one backward pass, by layer."""

    def __init__(self) -> None:
        """Start without calls."""
        self.calls: dict[Any, Calls] = {}
        self.clocks: set[int] = set()  # batches that had been handed out at each forward
        self.kept: bool | None = None  # whether its gradients are; None until the first has come
        self.sent: Tensor | None = None  # how many examples each unit has; None: each is a unit

    @property
    def fewest_calls(self) -> int:
        """The number of calls of the layer that was called least."""
        modules = [getattr(c, "module", c.layer) for calls in self.calls.values() for c in calls]
        return min(Counter(map(id, modules)).values(), default=0)

    @property
    def examples(self) -> int:
        """The number of examples of the pass. Raises UserError unless all layers agree."""
        sizes = {call.examples for calls in self.calls.values() for call in calls}
        if len(sizes) > 1:
            named = {
                f"'{c.name}' {c.examples}": None for calls in self.calls.values() for c in calls
            }
            names = ", ".join(named)
            raise UserError(
                f"layers saw different numbers of examples ({names}); the first dimension of every "
                "layer's input must be that of the batch: look positions up for every example, "
                "table(torch.arange(length).expand(batch, length))"
            )
        return sizes.pop() if sizes else 0

    def require_unchanged(self) -> None:
        """Raise UserError if an input was written to since its layer read it."""
        for calls in self.calls.values():
            for call in calls:
                if getattr(call, "inputs_changed", False):
                    raise UserError(
                        f"the input of layer '{call.name}' was changed in place between backward() "
                        "and step(); its gradient would be that of other values: use a fresh tensor"
                    )

    def squared_norms(self) -> dict[Any, Tensor]:
        """Return the squared norms of all units' gradients, by layer or parameter."""
        examples = self.examples
        units = Units.of_examples(examples) if self.sent is None else Units(self.sent)
        for calls in self.calls.values():
            calls.units = units
        squared: dict[Any, Tensor] = {}
        for kind, of_kind in self._by_class().items():
            squared |= kind.all_squared_norms(of_kind)
        return squared

    def add_clipped(self, factors: Callable[[Any], Tensor]) -> None:
        """Add every unit's gradient, times its factor, to the layers' sums."""
        for kind, of_kind in self._by_class().items():
            kind.add_all_clipped(of_kind, factors)

    def _by_class(self) -> dict[type[Layer], dict[Any, Calls]]:
        """Return the calls by class of layer: a class may measure its layers side by side."""
        classes: dict[type[Layer], dict[Any, Calls]] = {}
        for layer, calls in self.calls.items():
            classes.setdefault(type(layer), {})[layer] = calls
        return classes


class Call(Protocol):
    """One call of a layer, before its gradient has come."""

    def with_gradient(self, gradient: Tensor) -> Capture:
        """Return the call, with the gradient of its output."""


class _Attach(torch.autograd.Function):
    """Makes an output that was computed without a graph part of one."""

    @staticmethod
    def forward(
        ctx: Any, anchor: Tensor, output: Tensor, note: Any, call: Call, clock: int | None
    ) -> Tensor:
        ctx.note, ctx.call, ctx.clock = note, call, clock
        ctx.mark_dirty(output)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, ...]:  # type: ignore[override]
        ctx.note(ctx.call.with_gradient(gradient.detach()), ctx.clock)
        return (None,) * 5


def _in_backward() -> bool:
    return int(torch._C._current_graph_task_id()) != -1  # type: ignore[attr-defined]


class Captures:
    """The backward passes of a model since the last step.

    A pass is everything that one call of backward() reaches. Checkpointed segments, which are
    computed again and propagated by backward passes of their own, belong to the outer pass. A pass
    that did not reach its end (it was interrupted, or memory ran out) is dropped.
    """

    def __init__(
        self, *, loss_reduction: str, batch_first: bool, batch_record: BatchRecord
    ) -> None:
        """Start without passes."""
        self._batch_record = batch_record
        self.loss_reduction = loss_reduction
        self.batch_dim = 0 if batch_first else 1
        self.accumulation_allowed = True
        self.ended = False  # whether private training has
        self.lengths: dict[int, Tensor] = {}  # of lists of ids, by id(list): of each example
        self._anchor = new_anchor()
        self._finished: list[Pass] = []
        self._passes = 0  # that reached their end
        self._discarded = 0  # passes since the last step
        self._open: Pass | None = None
        self._thread = get_ident()  # the thread that began the open pass

    def scale(self, examples: int) -> float:
        """Return the factor that undoes a mean over the batch."""
        return float(examples) if self.loss_reduction == "mean" else 1.0

    def begin_forward(self, *inputs: Any) -> bool:
        """Prepare for a layer's forward; return whether its gradient will have to be kept."""
        self._batch_record.look_at(inputs)
        if _in_backward():  # a checkpointed segment is computed again: it belongs to that pass
            if self._open is None:
                self._begin_pass()
        elif torch.is_grad_enabled() and self._thread == get_ident():
            self._open = None  # it was interrupted, or its thread would not be here
        return torch.is_grad_enabled() and not self.ended

    def clock(self) -> int | None:
        """Return how many batches were handed out at this forward; None if it is a recomputation.

        A recomputed segment belongs to an earlier forward, at which the clock is not known.
        """
        return None if _in_backward() else self._batch_record.at_forward()

    def attach(self, output: Tensor, call: Call) -> Tensor:
        """Return the output of a call, connected so that its gradient will be kept."""
        clock = self.clock()
        if output.requires_grad:
            output.register_hook(lambda g: self.note(call.with_gradient(g.detach()), clock))  # type: ignore[no-untyped-call]
            return output
        attached: Tensor = _Attach.apply(self._anchor, output, self.note, call, clock)  # type: ignore[no-untyped-call]
        return attached

    def note(self, call: Capture, clock: int | None) -> None:
        """Keep a call whose gradient has come; `clock` is that of its forward."""
        if self.ended:
            return
        if torch.is_grad_enabled():
            raise UserError(
                "a gradient of a gradient (create_graph=True) would go around the layers' weights, "
                "and can't be clipped by example: leave gradient penalties out of the private "
                "model's loss, and analyse a copy of it, copy.deepcopy(model)"
            )
        if self._open is None:
            self._begin_pass()
        assert self._open is not None
        if self._open.kept is None:
            self._open.kept = gradients_are_kept()
        if not self._open.kept:
            return
        self._open.calls.setdefault(call.layer, Calls()).append(call)
        if clock is not None:
            self._open.clocks.add(clock)

    def _begin_pass(self) -> None:
        begun = self._open = Pass()
        self._thread = get_ident()
        torch.autograd.Variable._execution_engine.queue_callback(  # type: ignore[attr-defined]
            lambda: self._end_pass(begun)
        )

    def _end_pass(self, ended: Pass) -> None:
        if ended is not self._open:
            return
        self._open = None
        if not ended.calls:
            return
        self._passes += 1
        if self._passes.bit_count() == 1:
            self._look_at_loss(ended.examples)
        self._finished.append(ended)
        if len(self._finished) > 1 and not self.accumulation_allowed:
            raise ValueError(
                "Poisson sampling is not compatible with grad accumulation. You need to call "
                "optimizer.step() after every forward/backward pass or consider using "
                "BatchMemoryManager"
            )

    def _look_at_loss(self, examples: int) -> None:
        """Raise UserError if the loss ties examples together: of the 1st, 2nd, 4th, 8th … pass."""
        drawn = self._batch_record.latest
        if examples < 2 or (drawn is not None and examples > drawn):
            return  # no example of others; or the step will say that these are no examples
        sampled = not self.accumulation_allowed  # how many are drawn is a secret
        require_examples_apart(examples, self.loss_reduction if sampled else None)

    def take(self) -> list[Pass]:
        """Return the backward passes since the last call. Raises UserError if one did not end."""
        if self._open is not None:
            self.discard()
            raise UserError(
                "the last backward pass did not reach its end; nothing of it was kept: go on with "
                "the next batch"
            )
        passes, self._finished = self._finished, []
        self._discarded = 0
        return passes

    def discard(self) -> None:
        """Forget backward passes that no step has taken."""
        self._discarded += len(self._finished)
        if self._discarded >= _MANY:
            self._discarded = -(10**9)  # it is said once
            warnings.warn(
                f"the gradients of {_MANY} backward passes in a row were cleared and no step took "
                "them; a private model learns by step() of the optimizer that make_private "
                "returned, between backward() and zero_grad()",
                stacklevel=4,
            )
        self._finished = []
        self._open = None
