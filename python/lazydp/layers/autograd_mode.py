"""Tells a backward() that trains from a grad() that looks, and turns modes off for a step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

_MARK = "_lazydp_anchor"


def new_anchor() -> Tensor:
    """Return a leaf that makes an output part of a graph, and whose gradient no program reads."""
    anchor = torch.zeros((), requires_grad=True)
    setattr(anchor, _MARK, True)
    return anchor


def gradients_are_kept() -> bool:
    """Return whether the graph that runs leaves gradients to the leaves of the current node.

    torch.autograd.grad(), and backward(inputs=…), compute those that were asked for, and leave the
    others as they were: an attack on inputs, a saliency map or a Jacobian is no training.
    """
    leaf = _leaf_below(torch._C._current_autograd_node())  # type: ignore[attr-defined]
    if leaf is None:
        return True
    try:
        return bool(torch._C._will_engine_execute_node(leaf))  # type: ignore[attr-defined]
    except RuntimeError:  # grad() was asked for this very leaf
        return False


def _leaf_below(node: Any) -> Any:
    """Return the leaf of an anchor, or else any other one; None where there is none."""
    other, seen, below = None, set(), [node]
    while below:
        node = below.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.name() == "torch::autograd::AccumulateGrad":
            if hasattr(node.variable, _MARK):
                return node
            other = other or node
        below += [following for following, _ in node.next_functions]
    return other


@contextmanager
def arithmetic_of_steps() -> Iterator[None]:
    """Turn gradients off, and autocast.

    A step may be called inside of autocast, which would round the products that are summed: the
    rounding depends on all examples, and one of them would move the sum by more than the bound.
    """
    on_cpu, on_gpu = (torch.autocast(device, enabled=False) for device in ("cpu", "cuda"))
    with torch.no_grad(), on_cpu, on_gpu:
        yield
