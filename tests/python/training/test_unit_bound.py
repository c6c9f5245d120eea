"""By difference: no unit moves a clipped sum by more than the bound, however its terms cancel."""

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from unit_runs import by_unit, moved, values


class Positions(nn.Module):
    """A linear layer and a table, whose output gradients are the signs, times what is given."""

    def __init__(self, width):
        super().__init__()
        self.each, self.table = nn.Linear(width, 7 * width // 12), nn.Embedding(4, 7)
        self.bag = nn.EmbeddingBag(4, 7, mode="sum")
        for p in self.parameters():
            nn.init.zeros_(p)

    def forward(self, x, signs, ids):
        looked_up = self.table(ids[:, 0]) + self.bag(ids)
        return (self.each(x) * signs[..., None]).sum((1, 2)) + (looked_up * x[:, 0, :7]).sum(
            1
        ) * signs[:, 0]


def clipped_sum(tensors, users, bound):
    raw = Positions(tensors[0].shape[2])
    model, optimizer, batches = by_unit(
        raw,
        dataset=TensorDataset(*tensors, users),
        batch=len(users.unique()),
        examples_per_unit="all",
        max_grad_norm=bound,
        loss_reduction="sum",
    )
    before = values(raw)
    (batch,) = batches
    model(*batch[:3]).sum().backward()
    optimizer.step()
    return moved(before, raw)


@pytest.mark.parametrize("positions", [1, 3])
@pytest.mark.parametrize("scale", [1.0, 300.0, 3e4, 1e6])
@pytest.mark.parametrize("apart", [None, 1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("width", [12, 72])  # by matrices, and some units by pairs of terms
def test_no_unit_moves_the_sum_by_more_than_the_bound(width, apart, scale, positions):
    """Through the real products. The weights are zero: their rounding is not it."""
    g = torch.Generator().manual_seed(positions)
    users = torch.tensor([0] * 8 + [1] * 2 + [2] * 24 + [3] + [4] * 6)
    n = len(users)
    x = torch.randn(n, positions, width, generator=g)
    signs = torch.randn(n, positions, generator=g).sign()
    ids = torch.randint(4, (n, 2), generator=g)
    if apart is not None:  # pairs of a unit's examples that are nearly the same, of opposite signs
        signs[::2], signs[1::2] = 1.0, -1.0
        half = x[::2][: n // 2]
        x[1::2] = half * (1 + apart * torch.randn(half.shape, generator=g))
        ids[1::2] = ids[::2][: n // 2]
    tensors = (x * scale, signs, ids)
    whole = clipped_sum(tensors, users, 0.5)
    for one in (0, 1, 2, 4):
        rest = users != one
        without = clipped_sum([t[rest] for t in tensors], users[rest], 0.5)
        difference = sum(((a - b) ** 2).sum() for a, b in zip(whole, without, strict=True)).sqrt()
        assert float(difference) / 0.5 <= 1 + 1e-5


def test_units_of_many_examples_take_little_memory():
    users = torch.zeros(20_000, dtype=torch.int64)  # pairs of examples would take 6.4 GB
    users[-1] = 1
    n = len(users)
    tensors = torch.randn(n, 1, 12), torch.ones(n, 1), torch.zeros(n, 2, dtype=torch.int64)
    assert all(torch.isfinite(g).all() for g in clipped_sum(tensors, users, 0.5))
