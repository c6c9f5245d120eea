"""No example moves a clipped sum by more than the bound, however its terms cancel."""

import pytest
import torch
from torch import nn

from training import private


class Positions(nn.Module):
    """One linear layer at many positions, and a table beside it."""

    def __init__(self, features, width):
        super().__init__()
        self.each = nn.Linear(features, width)
        self.table = nn.Embedding(4, width)

    def forward(self, x, signs):
        return (self.each(x) * signs[..., None]).sum((1, 2)) + self.table(signs[:, 0].long() * 0)[
            :, 0
        ]


def all_zero(model):
    for p in model.parameters():
        nn.init.zeros_(p)
    return model


def moved_by_one(make, batch, bound, one, autocast=False):
    """How far one example moves the clipped sum, in double precision, relative to the bound."""
    sums = []
    for keep in (slice(None), torch.arange(len(batch[0])) != one):
        torch.manual_seed(0)
        raw = make()
        before = [p.detach().double().clone() for p in raw.parameters()]
        model, optimizer, _ = private(
            raw,
            optimizer=torch.optim.SGD(raw.parameters(), lr=1.0),
            noise_multiplier=0.0,
            max_grad_norm=bound,
            loss_reduction="sum",
        )
        inputs = [t[keep] for t in batch]
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            model(*inputs).sum().backward()
            optimizer.step()
        sums.append(
            [b - p.detach().double() for b, p in zip(before, raw.parameters(), strict=True)]
        )
    difference = sum(((a - b) ** 2).sum() for a, b in zip(*sums, strict=True)).sqrt()
    return float(difference) / bound


@pytest.mark.parametrize("positions", [2, 8, 40])
@pytest.mark.parametrize("scale", [1.0, 300.0, 3e4, 1e6])
@pytest.mark.parametrize("apart", [None, 1e-3, 1e-4, 1e-6])
def test_no_example_moves_the_sum_by_more_than_the_bound(apart, scale, positions):
    """By difference, through the real products. The weights are zero: their rounding is not it."""
    g = torch.Generator().manual_seed(positions)
    x = torch.randn(6, positions, 12, generator=g)
    signs = torch.randn(6, positions, generator=g).sign()
    if apart is not None:  # pairs of positions that are nearly the same, with opposite signs
        signs[:, 1::2], signs[:, ::2] = -1.0, 1.0
        x[:, 1::2] = x[:, ::2] * (1 + apart * torch.randn(6, positions // 2, 12, generator=g))

    def make():
        return all_zero(Positions(12, 7))

    for one in range(3):
        assert moved_by_one(make, (x * scale, signs), 0.5, one) <= 1 + 1e-5


@pytest.mark.parametrize("positions", [1, 8])
def test_autocast_around_the_whole_step_keeps_the_bound(positions):
    """Gradients that are bounded one by one, in a sum that is rounded to three digits, are not."""
    g = torch.Generator().manual_seed(1)
    x = torch.randn(400, positions, 12, generator=g) + 3.0
    signs = torch.ones(400, positions)

    def make():
        return all_zero(Positions(12, 7))

    for one in range(3):
        assert moved_by_one(make, (x, signs), 0.5, one, autocast=True) <= 1 + 1e-5


class Towers(nn.Module):
    """A table that is looked up by two towers whose gradients nearly cancel."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(3, 6)
        self.bags = nn.EmbeddingBag(3, 6, mode="sum")

    def forward(self, ids, left, right, weights):
        a, b = self.table(ids[:, 0]), self.table(ids[:, 1])
        c = self.bags(ids, per_sample_weights=weights)
        return (a * left - b * right).sum(1) + (c * left).sum(1)


@pytest.mark.parametrize("scale", [1.0, 300.0, 1e6])
def test_no_example_moves_a_table_by_more_than_the_bound(scale):
    g = torch.Generator().manual_seed(1)
    ids = torch.zeros(6, 2, dtype=torch.int64)
    left = torch.randn(6, 6, generator=g) * scale
    right = left * (1 + 1e-6 * torch.randn(6, 6, generator=g))
    weights = torch.tensor([[1e4, -1e4 + 0.01]]).repeat(6, 1)

    def make():
        return all_zero(Towers())

    for one in range(3):
        assert moved_by_one(make, (ids, left, right, weights), 0.5, one) <= 1 + 1e-5


def test_norms_of_many_positions_take_little_memory():
    raw = Positions(24, 16)
    model, optimizer, _ = private(raw, loss_reduction="sum")
    signs = torch.ones(1, 20_000)  # pairs of positions would take 6.4 GB
    model(torch.randn(1, 20_000, 24), signs).sum().backward()
    optimizer.step()
