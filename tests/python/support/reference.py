"""DP-SGD by brute force: per-example gradients one by one, dense noise, torch's own optimizers."""

import torch
from torch import nn

from lazydp import _native


def example_gradients(model, batch, loss_of):
    """The gradient of each example alone, over all trainable parameters."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    gradients = []
    for i in range(len(batch[-1])):
        model.zero_grad()
        loss_of(model, [x[i : i + 1] for x in batch]).backward()
        gradients.append(
            [
                torch.zeros_like(p) if p.grad is None else p.grad.to_dense().clone()
                for p in parameters
            ]
        )
    return parameters, gradients


def clipped_sums(model, batch, loss_of, bound):
    parameters, gradients = example_gradients(model, batch, loss_of)
    sums = [torch.zeros_like(p) for p in parameters]
    for gradient in gradients:
        norm = sum(g.double().square().sum() for g in gradient).sqrt()
        factor = min(1.0, float(bound / norm)) if norm > 0 else 1.0
        for total, g in zip(sums, gradient, strict=True):
            total += factor * g
    return parameters, sums


def table_weights(model):
    """Tables in the model's order, once each, with their padding rows."""
    seen = {}
    for module in model.modules():
        if isinstance(module, (nn.Embedding, nn.EmbeddingBag)) and module.weight.requires_grad:
            seen.setdefault(module.weight, module.padding_idx)
    return list(seen.items())


class BruteForce:
    """The same training as lazydp's with noise="lazy_each_step", by other means."""

    def __init__(self, model, optimizer, loss_of, *, sigma, bound, expected_batch, seed=None):
        self.model, self.optimizer, self.loss_of = model, optimizer, loss_of
        self.sigma, self.bound, self.expected_batch = sigma, bound, expected_batch
        self.step_number = 0
        self.generator = torch.Generator().manual_seed(seed) if seed is not None else None
        if self.generator is not None:
            key = int(torch.randint(2**62, (1,), generator=self.generator))
            self.cells = _native.NoiseSource(_native.Seed.fixed(key))
        self.tables = table_weights(model)
        groups = getattr(optimizer, "param_groups", [{}])
        self.sign = -1 if groups[0].get("maximize", False) else 1

    def step(self, *batches):
        """One logical step over one or several physical batches."""
        sums = None
        for batch in batches:
            parameters, here = clipped_sums(self.model, batch, self.loss_of, self.bound)
            sums = here if sums is None else [a + b for a, b in zip(sums, here, strict=True)]
        self.step_number += 1
        std = self.sigma * self.bound
        order = {weight: i for i, (weight, _) in enumerate(self.tables)}
        for p, total in zip(parameters, sums, strict=True):
            if std > 0 and p in order:
                normals = torch.empty_like(p)
                self.cells.table_normals(normals.detach(), order[p], self.step_number)
                padding = self.tables[order[p]][1]
                if padding is not None:
                    normals[padding] = 0
                # A cell moves the weight itself, whatever sign `maximize` gives the gradient.
                total = total - std * normals * self.sign
            elif std > 0:
                total = total + torch.normal(0.0, std, p.shape, generator=self.generator)
            p.grad = total / self.expected_batch
        self.optimizer.step()
