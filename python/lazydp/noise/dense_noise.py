"""Noise for dense layers from the engine's own generator: AES under a secret key."""

from __future__ import annotations

import torch
from torch import Tensor

from lazydp import _native
from lazydp.noise.fork_guard import HomeProcess

# As in Opacus: a sum of four normals hides what the gaps of floating point give away.
NORMALS_PER_SAMPLE = 4
_ROW = 1024


class DenseNoise:
    """Draws noise for dense layers. Each step has its own cells; every call takes further ones."""

    def __init__(self, seed: _native.Seed, normals_per_sample: int) -> None:
        """Draw from this seed; `normals_per_sample` normals add up to one."""
        self._home = HomeProcess()
        self._source = _native.NoiseSource(seed, normals_per_sample)
        self._step = 0
        self._next_row = 0

    def of(self, parameter: Tensor, reference: Tensor, std: float) -> Tensor:
        """Return the open step's noise of a parameter, in the shape of `reference`."""
        return self.like(reference, std)

    def open_step(self) -> None:
        """Begin the next step: all noise from here on belongs to it."""
        self._home.require("noise is drawn")
        self._step += 1
        self._next_row = 0

    def like(self, reference: Tensor, std: float) -> Tensor:
        """Return normals of this standard deviation, in the shape of `reference`."""
        if std == 0:
            return torch.zeros_like(reference)
        normals = torch.empty(reference.numel(), dtype=torch.float32)
        self._source.dense_normals(normals, self._step, self._next_row)
        self._next_row += -(-len(normals) // _ROW)
        return normals.mul_(std).view(reference.shape).to(reference.device, reference.dtype)
