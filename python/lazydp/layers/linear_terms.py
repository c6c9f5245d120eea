"""Sums of outer products, one for each unit: measured, and added up with factors.

A unit has a term for each position of each of its examples: the outer product of the output's
gradient and the input. Where it has several they may cancel, and rounding errors are relative to
the terms, not to their sum. So either the very matrix that was measured is added up, or the terms
are multiplied in double precision, and part of the sum of their lengths is added to the norm.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor

_AT_ONCE = 1 << 22  # doubles that are held at a time
_KEPT = 2  # a matrix is kept if it has at most so many times the numbers of its terms


class Terms(Protocol):
    """The terms of some units."""

    def norms(self) -> tuple[Tensor, Tensor]:
        """Return bounds of the lengths of each unit's sums, for weight and bias."""

    def sums(self, factors: Tensor) -> tuple[Tensor, Tensor]:
        """Return the units' sums for weight and bias, times factors, added up.

        A factor of 0 takes a unit out: 0 x NaN would be NaN.
        """


def terms_of(inputs: Tensor, gradients: Tensor) -> Terms:
    """Return the terms of units x terms x features, in the form that takes least."""
    terms, m, n = inputs.shape[1], inputs.shape[2], gradients.shape[2]
    if terms == 1:
        return OneTerm(inputs, gradients)
    if m * n <= _KEPT * terms * (m + n):
        return Matrices(inputs, gradients)
    return Pairs(inputs, gradients)


class OneTerm:
    """A single term a unit, where nothing can cancel."""

    def __init__(self, inputs: Tensor, gradients: Tensor) -> None:
        """Take the terms as they are."""
        self._inputs, self._gradients = inputs, gradients

    def norms(self) -> tuple[Tensor, Tensor]:
        """Return exact lengths."""
        of_bias = torch.linalg.vector_norm(self._gradients, dim=(1, 2))
        return torch.linalg.vector_norm(self._inputs, dim=(1, 2)) * of_bias, of_bias

    def sums(self, factors: Tensor) -> tuple[Tensor, Tensor]:
        """Return one product of matrices, the one that plain training computes too."""
        gradients, inputs = _scaled(self._gradients, self._inputs, factors)
        gradients, inputs = gradients.flatten(0, 1), inputs.flatten(0, 1)
        return gradients.T @ inputs, gradients.sum(0)


class Matrices:
    """Forms the matrix of every unit once: what is measured is what is added up."""

    def __init__(self, inputs: Tensor, gradients: Tensor) -> None:
        """Form the sums."""
        self._weights = torch.bmm(gradients.mT, inputs)
        self._biases = gradients.sum(1)

    def norms(self) -> tuple[Tensor, Tensor]:
        """Return exact lengths of the sums as they were rounded."""
        return _norms(self._weights.flatten(1)), _norms(self._biases)

    def sums(self, factors: Tensor) -> tuple[Tensor, Tensor]:
        """Return a product of the factors and the sums."""
        factors = factors.to(self._weights.device, self._weights.dtype)
        out = factors == 0
        if bool(out.any()):
            self._weights[out] = 0.0
            self._biases[out] = 0.0
        weight = (factors @ self._weights.flatten(1)).view(self._weights.shape[1:])
        return weight, factors @ self._biases


class Pairs:
    """Measures by dot products of pairs of terms, and adds the terms up, in double precision."""

    def __init__(self, inputs: Tensor, gradients: Tensor) -> None:
        """Take the terms as they are."""
        self._inputs, self._gradients = inputs, gradients

    def norms(self) -> tuple[Tensor, Tensor]:
        """Return upper bounds of the lengths."""
        terms, m, n = *self._inputs.shape[1:], self._gradients.shape[2]
        # A norm whose square is a sum of products is off by the root of the square's error. The
        # sums below are off by far less.
        rounding = ((m + n + terms * terms) * 2.0**-53) ** 0.5
        parts = []
        for _, x, d in self._chunks():
            weight = ((x @ x.mT) * (d @ d.mT)).sum((1, 2)).clamp(min=0).sqrt()
            of_d = torch.linalg.vector_norm(d, dim=2)
            given = (torch.linalg.vector_norm(x, dim=2) * of_d).sum(1)
            bias = torch.linalg.vector_norm(d.sum(1), dim=1)
            parts.append((weight + rounding * given, bias + rounding * of_d.sum(1)))
        weights, biases = zip(*parts, strict=True)
        return torch.cat(weights), torch.cat(biases)

    def sums(self, factors: Tensor) -> tuple[Tensor, Tensor]:
        """Return products of matrices, in double precision."""
        shape = (self._gradients.shape[2], self._inputs.shape[2])
        weight = self._inputs.new_zeros(shape, dtype=torch.float64)
        bias = weight.new_zeros(shape[0])
        for units, x, d in self._chunks():
            d, x = _scaled(d, x, factors[units])
            d, x = d.flatten(0, 1), x.flatten(0, 1)
            weight.addmm_(d.T, x)
            bias.add_(d.sum(0))
        return weight, bias

    def _chunks(self) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """Yield some units at a time, in double precision."""
        numbers = self._inputs[:1].numel() + self._gradients[:1].numel()
        step = max(1, _AT_ONCE // max(1, numbers))
        for i in range(0, max(1, len(self._inputs)), step):
            units = slice(i, i + step)
            yield units, self._inputs[units].double(), self._gradients[units].double()


def _norms(rows: Tensor) -> Tensor:
    """Return the lengths of rows, added up in double precision."""
    step = max(1, _AT_ONCE // max(1, rows.shape[1]))
    parts = [
        torch.linalg.vector_norm(rows[i : i + step], dim=1, dtype=torch.float64)
        for i in range(0, max(1, len(rows)), step)
    ]
    return torch.cat(parts)


def _scaled(gradients: Tensor, inputs: Tensor, factors: Tensor) -> tuple[Tensor, Tensor]:
    """Multiply gradients by factors, and take out the units of factor 0."""
    each = factors.to(gradients.device, gradients.dtype)[:, None, None]
    gradients = gradients * each
    if bool((each == 0).any()):
        gradients, inputs = (torch.where(each > 0, t, 0.0) for t in (gradients, inputs))
    return gradients, inputs
