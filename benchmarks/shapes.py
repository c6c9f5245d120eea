"""The paper's models, and look-ups for them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

MLPERF_ROWS = [
    39884406, 39043, 17289, 7420, 20263, 3, 7120, 1543, 63, 38532951, 2953546, 403346, 10,
    2208, 11938, 155, 4, 976, 14, 39979771, 25641295, 39664984, 585935, 12972, 108, 36,
]  # fmt: skip


@dataclass
class Shape:
    rows: list[int]
    dim: int
    bottom: list[int]  # empty: pooled vectors go side by side into the top layers
    top: list[int]  # after the interaction
    pooling: int

    def widths_of_top(self) -> list[int]:
        n = len(self.rows) + 1
        if not self.bottom:
            return [len(self.rows) * self.dim, *self.top]
        return [n * (n - 1) // 2 + self.dim, *self.top]

    def parameters(self) -> int:
        """Returns the number of parameters of dense layers."""
        widths = [self.bottom, self.widths_of_top()]
        return sum((a + 1) * b for w in widths for a, b in zip(w, w[1:], strict=False))

    def scale(self, gigabytes: float) -> float:
        """Returns the factor of rows for tables of so many gigabytes; 1 for 0 gigabytes."""
        return gigabytes * 1e9 / (sum(self.rows) * self.dim * 4) if gigabytes else 1.0

    def scaled(self, gigabytes: float) -> Shape:
        factor = self.scale(gigabytes)
        rows = [math.ceil(n * factor) for n in self.rows]
        return Shape(rows, self.dim, self.bottom, self.top, self.pooling)


SHAPES = {
    "mlperf": Shape(MLPERF_ROWS, 128, [13, 512, 256, 128], [1024, 1024, 512, 256, 1], 1),
    "rmc1": Shape([75_000_000] * 10, 32, [13, 256, 128, 32], [256, 64, 1], 80),
    "bags": Shape([1_000_000] * 10, 32, [], [1], 20),
    "small": Shape([1_000] * 200, 16, [], [1], 1),
    "opacus": Shape([100] * 26, 128, [13, 512, 256, 128], [1024, 1024, 512, 256, 1], 1),
    "tiny": Shape([1000] * 4, 8, [13, 16, 8], [16, 1], 3),
}


@dataclass
class Batch:
    dense: Tensor  # examples x features
    ids: Tensor  # tables x examples x pooling
    labels: Tensor


def draw_batch(shape: Shape, examples: int, seed: int) -> Batch:
    """Uniform accesses, as in the paper."""
    import torch  # shapes alone are wanted where it is not installed

    g = torch.Generator().manual_seed(seed)
    dense = torch.rand(examples, shape.bottom[0] if shape.bottom else 0, generator=g)
    ids = torch.stack(
        [torch.randint(n, (examples, shape.pooling), generator=g) for n in shape.rows]
    )
    return Batch(dense, ids, torch.rand(examples, generator=g).round())
