"""Finds out losses whose divisor depends on the examples that were drawn.

Examples are clipped one by one, so the gradient of each must be a matter of that example alone. A
mean over a batch is: the number of examples is known, and is undone. A mean with weights for
classes divides by the weights of all examples, and a mean over what a mask left by their number:
one example more makes the gradients of all others smaller, by up to any factor.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from lazydp._native import UserError

_MEAN, _SUM = 1, 2  # torch's numbers of reductions
_UNSET = (-100, 2**64 - 100)  # ignore_index where it is not given, as torch shows it
_LAYERS = ("_FactorsBackward", "_AttachBackward")  # where the graphs of private layers begin


def require_examples_apart(examples: int, loss_reduction: str | None) -> None:
    """Raise UserError if the loss of the backward pass that runs is known to divide otherwise.

    With a loss_reduction, which says what is undone, a sum for a mean is refused, or the reverse.

    It is called while torch.autograd.backward() runs, whose frame holds the loss. Where there is
    none (another thread runs the graph), nothing can be told.
    """
    for node, of_examples, shape, scaled in _reductions(_roots()):
        reduction = _reduction(node)
        said = "mean" if reduction == _MEAN else "sum"
        if reduction and of_examples and not scaled and loss_reduction not in (said, None):
            raise UserError(
                f"the loss is a {said} over examples, and loss_reduction is '{loss_reduction}', so "
                "that all gradients would depend on how many examples were drawn; pass "
                f"loss_reduction='{said}' to make_private, or let the loss be a {loss_reduction}"
            )
        if reduction != _MEAN:
            continue
        by_class = node.name().startswith("NllLoss")
        if by_class and _has_weight(node):
            raise UserError(
                "the loss is a mean with weights for classes, which divides by the weights of all "
                "examples that were drawn, so that no example's gradient is its own; leave the "
                "division to the batch: cross_entropy(…, weight=w, reduction='none').mean()"
            )
        if by_class and node._saved_ignore_index not in _UNSET:
            raise UserError(
                f"the loss is a mean that leaves targets of {node._saved_ignore_index} out "
                "(ignore_index), and divides by how many all examples have left; divide by the "
                "batch: cross_entropy(…, ignore_index=i, reduction='none').mean()"
            )
        values = math.prod(shape) // (shape[1] if by_class and len(shape) > 1 else 1)
        if values % examples and of_examples:
            raise UserError(
                f"the loss is a mean over {values} values, and the batch has {examples} examples; "
                "a mean over what a mask or a filter left divides by a number that depends on the "
                "other examples: (losses * mask).mean(), of all examples, does not"
            )


def _reduction(node: Any) -> int:
    """Return how a node makes a number of a tensor: by _MEAN, by _SUM, or otherwise (0)."""
    by_name = {"MeanBackward0": _MEAN, "SumBackward0": _SUM}.get(node.name(), 0)
    return by_name or int(getattr(node, "_saved_reduction", 0))


def _roots() -> Iterator[Any]:
    """Yield the nodes whose backward() runs in this thread."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "_engine_run_backward":
            outputs = frame.f_locals.get("t_outputs", ())
            yield from (t.grad_fn for t in outputs if isinstance(t, Tensor) and t.grad_fn)
            return
        frame = frame.f_back  # type: ignore[assignment]


def _reductions(roots: Iterator[Any]) -> Iterator[tuple[Any, bool, tuple[int, ...], bool]]:
    """Yield the nodes that reduce a tensor to a number, with what is known of them: whether the
    tensor is one of examples, its shape, and whether the number is multiplied or divided later.

    Numbers that are put together into a tensor, as losses of several tasks are, are looked at each.
    """
    below, seen = [(node, False) for node in roots], set()
    while below:
        node, scaled = below.pop()
        if node in seen:
            continue
        seen.add(node)
        scaled = scaled or node.name().startswith(("Mul", "Div"))
        for following, place in node.next_functions:
            shape = _shape(following, place)
            if shape is None:
                continue
            if math.prod(shape) == 1:
                below.append((following, scaled))
                continue
            of_examples, numbers = _walk(following)
            below += [(number, True) for number in numbers]
            yield node, of_examples and not numbers, shape, scaled


def _walk(node: Any) -> tuple[bool, list[Any]]:
    """Return whether a tensor comes from private layers, and the numbers that went into it."""
    below, seen, found = [node], set(), False
    numbers: list[Any] = []
    while below:
        node = below.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.name() in _LAYERS:
            found = True
            continue
        for following, place in node.next_functions:
            shape = _shape(following, place)
            if shape is not None:
                (numbers if math.prod(shape) == 1 else below).append(following)
    return found, numbers


def _shape(node: Any, place: int) -> tuple[int, ...] | None:
    """Return the shape of a node's output; None for leaves, and where it is not known."""
    if node is None or node.name() == "torch::autograd::AccumulateGrad":
        return None
    known = getattr(node, "_input_metadata", ())
    return tuple(known[place].shape) if place < len(known) else None


def _has_weight(node: Any) -> bool:
    """Return whether a loss has weights for classes, which may be freed already."""
    try:
        return isinstance(node._saved_weight, torch.Tensor)
    except RuntimeError:  # freed
        return True
