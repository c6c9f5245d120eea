"""Noise for dense layers of which each step takes back what the steps before it added, in part."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lazydp import _native
from lazydp.noise.dense_noise import _ROW, DenseNoise


class CorrelatedDenseNoise(DenseNoise):
    """Adds sum_j d_j zeta_{i-j} at step i: d are the bands, zeta_k the normals of the cells of k.

    Nothing is remembered: cells are drawn again at each step that uses them. So a parameter's cells
    have one place, whichever other parameters are frozen.
    """

    def __init__(
        self,
        seed: _native.Seed,
        normals_per_sample: int,
        bands: Sequence[float],
        parameters: list[Tensor],
    ) -> None:
        """Draw for these parameters. The cells of the steps before the first are zero."""
        super().__init__(seed, normals_per_sample)
        self._bands = bands
        self._parameters = parameters
        self._first_row: dict[int, int] = {}
        for p in parameters:
            self._first_row[id(p)] = self._next_row
            self._next_row += -(-p.numel() // _ROW)
        self._rows = self._next_row

    def open_step(self) -> None:
        """Begin the next step. Noise of what is no parameter has cells behind theirs."""
        super().open_step()
        self._next_row = self._rows

    def of(self, parameter: Tensor, reference: Tensor, std: float) -> Tensor:
        """Return the open step's noise: `std` is what it would be if it were independent."""
        if std == 0:
            return torch.zeros_like(reference)
        total = torch.zeros(reference.numel(), dtype=torch.float32)
        normals = torch.empty_like(total)
        for j, band in enumerate(self._bands[: self._step]):
            self._source.dense_normals(normals, self._step - j, self._first_row[id(parameter)])
            total.add_(normals, alpha=std * band)
        return total.view(reference.shape).to(reference.device, reference.dtype)
