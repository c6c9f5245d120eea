"""The dense half of the model, forward and backward by hand, in memory that is kept.

As fast as PyTorch gets on a CPU: no autograd, no allocation, and every layer's input and output
gradient at hand, so that clip factors can be applied after the only backward pass and the update
of a weight is one product that adds to it in place.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from shapes import Shape


class Net:
    def __init__(self, shape: Shape) -> None:
        self.dim, self.tables = shape.dim, len(shape.rows)
        self.bottom = len(shape.bottom) - 1  # layers
        pairs = [*_pairs(shape.bottom), *_pairs(shape.widths_of_top())]
        self.weights = [torch.empty(b, a).uniform_(-(a**-0.5), a**-0.5) for a, b in pairs]
        self.biases = [torch.empty(b).uniform_(-(a**-0.5), a**-0.5) for a, b in pairs]
        n = self.tables + 1
        i, j = torch.tril_indices(n, n, -1)
        self.below, self.above = i * n + j, j * n + i  # of a pair's product, and of its mirror
        self._kept: dict[tuple[str, int], Tensor] = {}

    def _room(self, name: str, *shape: int) -> Tensor:
        key = (name, shape[0])
        if key not in self._kept:
            self._kept[key] = torch.zeros(shape)
        return self._kept[key]

    def features(self, examples: int) -> Tensor:
        """Where pooled rows go, [:, 1:], before forward(): examples x (1 + tables) x dim."""
        return self._room("features", examples, self.tables + 1, self.dim)

    def forward(self, dense: Tensor, labels: Tensor) -> Tensor:
        """The loss of each example. Keeps every layer's input."""
        b, n = len(dense), self.tables + 1
        self.inputs = [dense]
        for layer in range(self.bottom):
            self.inputs.append(self._layer(layer, self.inputs[-1]).relu_())
        x = self.inputs.pop()
        features = self.features(b)
        features[:, 0] = x
        products = torch.bmm(features, features.mT, out=self._room("products", b, n, n))
        joined = self._room("joined", b, self.dim + len(self.below))
        joined[:, : self.dim] = x
        joined[:, self.dim :] = products.view(b, -1).index_select(1, self.below)
        self.inputs.append(joined)
        for layer in range(self.bottom, len(self.weights) - 1):
            self.inputs.append(self._layer(layer, self.inputs[-1]).relu_())
        self.labels = labels
        self.logits = self._layer(len(self.weights) - 1, self.inputs[-1]).squeeze(1)
        return functional.binary_cross_entropy_with_logits(self.logits, labels, reduction="none")

    def _layer(self, layer: int, x: Tensor) -> Tensor:
        w, bias = self.weights[layer], self.biases[layer]
        return torch.addmm(bias, x, w.T, out=self._room(f"output {layer}", len(x), len(w)))

    def backward(self) -> Tensor:
        """Of the sum of losses. Keeps every layer's output gradient; returns that of features()."""
        b, n = len(self.labels), self.tables + 1
        self.gradients: list[Tensor] = [torch.empty(0)] * len(self.weights)
        d = (self.logits.sigmoid() - self.labels)[:, None]
        for layer in range(len(self.weights) - 1, self.bottom, -1):
            self.gradients[layer] = d
            d = _through_relu(self._before(layer, d), self.inputs[layer])
        self.gradients[self.bottom] = d
        joined = self._before(self.bottom, d)
        of_pairs = joined[:, self.dim :]
        square = self._room("square", b, n, n)  # its diagonal stays 0
        square.view(b, -1).index_copy_(1, self.below, of_pairs)
        square.view(b, -1).index_copy_(1, self.above, of_pairs)
        features = self.features(b)
        of_features = torch.bmm(square, features, out=self._room("of features", b, n, self.dim))
        d = torch.add(of_features[:, 0], joined[:, : self.dim], out=self._room("x", b, self.dim))
        d = _through_relu(d, features[:, 0])
        for layer in range(self.bottom - 1, 0, -1):
            self.gradients[layer] = d
            d = _through_relu(self._before(layer, d), self.inputs[layer])
        self.gradients[0] = d
        return of_features

    def _before(self, layer: int, d: Tensor) -> Tensor:
        w = self.weights[layer]
        return torch.mm(d, w, out=self._room(f"before {layer}", len(d), w.shape[1]))

    def squared_norms(self) -> Tensor:
        """Of each example's gradient over all layers: |d|^2 (|x|^2 + 1)."""
        squared = torch.zeros(len(self.labels))
        for x, d in zip(self.inputs, self.gradients, strict=True):
            of_x = torch.linalg.vector_norm(x, dim=1).square_()
            squared.addcmul_(torch.linalg.vector_norm(d, dim=1).square_(), of_x.add_(1))
        return squared

    def descend(self, rate: float, factors: Tensor | None = None) -> None:
        """weight -= rate x sum over examples of factor x gradient."""
        for w, bias, x, d in zip(
            self.weights, self.biases, self.inputs, self.gradients, strict=True
        ):
            if factors is not None:
                d.mul_(factors[:, None])
            w.addmm_(d.T, x, alpha=-rate)
            bias.sub_(d.sum(0), alpha=rate)


def _pairs(widths: list[int]) -> list[tuple[int, int]]:
    return list(zip(widths, widths[1:], strict=False))


def _through_relu(d: Tensor, output: Tensor) -> Tensor:
    return torch.ops.aten.threshold_backward.grad_input(d, output, 0, grad_input=d)
