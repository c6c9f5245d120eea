"""Short runs that take the data in its order, and their twins by brute force."""

import numpy as np
import pytest
import torch

from lazydp import PrivacyEngine, _native
from models import loader, squared_loss
from reference import BruteForce, clipped_sums

DENSE_ROW = 1024  # weights that share a row of cells


def in_order(model, *, engine=None, optimizer=None, batches=None, **options):
    """Return what make_private does, for two passes over twelve examples with three steps each."""
    chosen = {
        "noise_multiplier": 0.7,
        "max_grad_norm": 1.3,
        "sampling": "stream",
        "correlation": "lambda:0.9",
        "epochs": 2,
    }
    return (engine or PrivacyEngine()).make_private(
        module=model,
        optimizer=optimizer or torch.optim.SGD(model.parameters(), lr=0.5),
        data_loader=loader() if batches is None else batches,
        **(chosen | options),
    )


def bands_of(correlation):
    """Return the bands that a text names, from the mathematics."""
    kind, _, value = correlation.partition(":")
    if kind == "independent":
        return [1.0]
    if kind == "lambda":
        return [1.0, -float(value)]
    bands = [1.0]
    for j in range(1, int(value)):
        bands.append(bands[-1] * (j - 1.5) / j)
    return bands


def of_bands(bands, steps):
    """Return the matrix with these bands: the noise of each step, from the cells of all."""
    return sum(band * np.eye(steps, k=-j) for j, band in enumerate(bands))


class InOrder(BruteForce):
    """The same training as lazydp's in the order of the data, with noise from single cells.

    `bands` weigh the cells of the latest steps. A cell is scaled by the bound of the step that uses
    it, which is self.bound.
    """

    def __init__(self, model, optimizer, *, bands, seed=5, bound=1.3):
        super().__init__(model, optimizer, squared_loss, sigma=0.7, bound=bound, expected_batch=4)
        generator = torch.Generator().manual_seed(seed)
        dense, tables = (int(torch.randint(2**62, (1,), generator=generator)) for _ in range(2))
        self.dense_cells = _native.NoiseSource(_native.Seed.fixed(dense))
        self.cells = _native.NoiseSource(_native.Seed.fixed(tables))
        self.bands = bands
        self.table_of = {weight: i for i, (weight, _) in enumerate(self.tables)}
        self.row_of, row = {}, 0
        for p in model.parameters():
            if p.requires_grad and p not in self.table_of:
                self.row_of[p] = row
                row += -(-p.numel() // DENSE_ROW)

    def cell(self, p, step):
        """Return the normals of a parameter's cells of one step."""
        normals = torch.empty(p.shape)
        if p in self.row_of:
            flat = normals.view(-1)
            self.dense_cells.dense_normals(flat, step, self.row_of[p])
            return normals
        self.cells.table_normals(normals, self.table_of[p], step)
        padding = self.tables[self.table_of[p]][1]
        if padding is not None:
            normals[padding] = 0
        return -normals * self.sign  # a cell moves the weight itself

    def step(self, batch):
        self.step_number += 1
        cells = [(d, self.step_number - j) for j, d in enumerate(self.bands)]
        for p, total in zip(
            *clipped_sums(self.model, batch, self.loss_of, self.bound), strict=True
        ):
            noise = sum(d * self.cell(p, k) for d, k in cells if k > 0)
            p.grad = (total + self.sigma * self.bound * noise) / self.expected_batch
        self.optimizer.step()


def claims_nothing(engine, reason):
    with pytest.warns(UserWarning, match=reason):
        assert engine.get_epsilon(1e-5) == float("inf")
