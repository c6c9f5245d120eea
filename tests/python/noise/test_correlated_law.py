"""The law of correlated noise: its covariance from read to read, and from step to step.

The loss is linear, so gradients do not depend on weights, and a twin without noise shows what
noise has added. Covariances of 20,480 independent coordinates are compared with those of the
mathematics after both are multiplied by the inverse of a root of the latter: what should be the
identity is then known to 1 % (one sigma). No entry may be off by 5 %, which fails by chance with
probability 1e-4 in all, and catches a standard deviation, or a band, that is off by 5 %.
"""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from lazydp import PrivacyEngine
from stream_runs import bands_of, in_order, of_bands
from training import seeded

STEPS, BATCH, SIGMA = 24, 10, 0.8
RATES = np.linspace(1.0, 0.3, STEPS)
BOUNDS = np.where(np.arange(STEPS) % 5 < 3, 0.5, 0.2)
DIM, ROWS_A_GROUP = 512, 40
# After which steps rows of a group are read: gaps of 1 to 3, of about four bands, and far above.
READS = [
    [1, 2, 3, 4, 6, 8, 11, 24],
    [3, 7, 12, 16, 21, 24],
    [12, 24],
    [24],
    [5, 6, 22, 23, 24],
]
ROWS = ROWS_A_GROUP * len(READS)
CORRELATIONS = ["lambda:0.9", "bisr:4", "bisr:16"]


class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(ROWS, DIM, _weight=torch.zeros(ROWS, DIM))
        self.dense = nn.Linear(1, ROWS_A_GROUP * DIM)
        nn.init.zeros_(self.dense.weight)

    def forward(self, ids):
        ones = torch.ones(len(ids), 1)
        return 0.01 * (self.table(ids).sum(1) + self.dense(ones).sum(1))


def run(correlation, *, noise="lazy", sigma=SIGMA, seed=21):
    """Return what was read of each group of rows, and the dense weights after each step."""
    model = Linear()
    loader = DataLoader(TensorDataset(torch.arange(STEPS * BATCH) % ROWS), batch_size=BATCH)
    private, optimizer, batches = in_order(
        model,
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        batches=loader,
        correlation=correlation,
        noise=noise,
        noise_multiplier=sigma,
        epochs=1,
        **seeded(seed),
    )
    read, dense = [[] for _ in READS], [torch.zeros(ROWS_A_GROUP * DIM, dtype=torch.float64)]
    for t, _ in enumerate(batches, 1):
        optimizer.param_groups[0]["lr"], optimizer.max_grad_norm = RATES[t - 1], BOUNDS[t - 1]
        optimizer.zero_grad()
        due = [g for g, reads in enumerate(READS) if t - 1 in reads]  # a batch is a read, too
        some = [g * ROWS_A_GROUP for g in (due or [0])]
        private(torch.tensor((some * BATCH)[:BATCH])).mean().backward()
        optimizer.step()
        dense.append(model.dense.weight.detach().double().flatten().clone())
        for g, reads in enumerate(READS):
            if t in reads:
                rows = torch.arange(g * ROWS_A_GROUP, (g + 1) * ROWS_A_GROUP)
                with torch.no_grad():
                    read[g].append(private._module.table(rows).double().flatten())
    return [torch.stack(r).numpy() for r in read], torch.stack(dense).numpy()


def noise_of(correlation, **options):
    with_noise, without = run(correlation, **options), run(correlation, sigma=0.0)
    tables = [a - b for a, b in zip(with_noise[0], without[0], strict=True)]
    return tables, np.diff(with_noise[1] - without[1], axis=0)


def step_noise(bands):
    """Return what each step moves a weight by, from the cells of all steps."""
    return (RATES * BOUNDS * SIGMA / BATCH)[:, None] * of_bands(bands, STEPS)


def distance(samples, by_cell):
    """Return how far the samples' covariance is from that of `by_cell`, relative to it."""
    root = np.linalg.cholesky(by_cell @ by_cell.T)
    white = np.linalg.solve(root, samples)
    return np.abs(white @ white.T / samples.shape[1] - np.eye(len(samples))).max()


def worst_of_tables(tables, bands):
    walk = np.cumsum(step_noise(bands), axis=0)
    return [
        distance(samples, walk[np.array(reads) - 1])
        for samples, reads in zip(tables, READS, strict=True)
    ]


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_covariances_are_those_of_eager_noise(correlation):
    tables, dense = noise_of(correlation)
    bands = bands_of(correlation)
    assert max(worst_of_tables(tables, bands)) < 0.05
    assert distance(dense, step_noise(bands)) < 0.05


def test_the_bound_catches_five_per_cent():
    tables, dense = noise_of("lambda:0.9", sigma=SIGMA * 1.05)
    assert min(worst_of_tables(tables, [1.0, -0.9])) > 0.05
    assert distance(dense, step_noise([1.0, -0.9])) > 0.05


def test_the_bound_catches_another_correlation():
    tables, dense = noise_of("lambda:0.855")
    assert max(worst_of_tables(tables, [1.0, -0.9])) > 0.05
    assert distance(dense, step_noise([1.0, -0.9])) > 0.05


def test_another_block_has_other_cells():
    """Noise of two blocks under one key would cancel out; keys are those of the system."""
    engine, noise = PrivacyEngine(), []
    for _ in range(2):
        model = Linear()
        loader = DataLoader(TensorDataset(torch.arange(BATCH)), batch_size=BATCH)
        private, optimizer, batches = in_order(model, engine=engine, batches=loader, epochs=1)
        for (ids,) in batches:
            private(ids * 0).mean().backward()
            optimizer.step()
        weight = private.state_dict()["_module.table.weight"]
        noise.append((weight[1:].flatten(), model.dense.weight.detach().flatten()))
    for first, second in zip(*noise, strict=True):
        correlation = np.corrcoef(first.numpy(), second.numpy())[0, 1]
        assert abs(correlation) < 0.05
