"""Warns where floats are too coarse for the noise of a step."""

from __future__ import annotations

import math
import warnings

import numpy as np
from torch import Tensor

FINE_ENOUGH = 256.0
_SOME = 4096  # rows from which the size of a table's weights is estimated


class FloatNoise:
    """Compares the noise of a step with the rounding of the weights that it is added to.

    Late noise is added to weights that were rounded before. That reveals nothing as long as the
    noise of every step is far coarser than the rounding. Weights are taken to be as large as they
    were at the start and as the noise alone makes them: neither depends on the data.
    """

    def __init__(self) -> None:
        """Start without tables."""
        self._square = 0.0
        self._warned = False

    def add(self, weight: Tensor) -> None:
        """Take a table's weights, as they are now, into account."""
        some = weight.detach()[:: max(1, len(weight) // _SOME)]
        self._square = max(self._square, float(some.double().square().mean()))

    def note(self, std: float) -> None:
        """Add the noise of a step, `std` on every weight; warn, once, if that is too little."""
        if std <= 0 or self._warned:
            return
        self._square += std * std
        rounding = float(np.spacing(np.float32(math.sqrt(self._square))))
        if std < FINE_ENOUGH * rounding:
            self._warned = True
            warnings.warn(
                f"the noise of a step is {std / rounding:.1f} times the rounding of the weights it "
                f"is added to; below {FINE_ENOUGH:.0f} rounding may show through: use a larger "
                "learning rate for tables, or start from smaller weights",
                stacklevel=2,
            )
