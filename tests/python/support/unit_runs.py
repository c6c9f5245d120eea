"""Runs by privacy unit, and what a step of one must be, by brute force."""

import copy

import torch
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from lazydp import PrivacyEngine
from models import ROWS
from reference import example_gradients

BOUND = 1.3
SIZES = [1, 2, 7, 1, 3, 5, 2, 4, 9, 1]  # of ten units
USERS = torch.tensor([u for u, n in enumerate(SIZES) for _ in range(n)])


def data(users=USERS, seed=1):
    """Examples in an order that mixes users. The last two columns: the user, and the number."""
    g = torch.Generator().manual_seed(seed)
    n = len(users)
    users = users[torch.randperm(n, generator=g)]
    return TensorDataset(
        torch.randn(n, 3, generator=g),
        torch.randint(ROWS, (n, 4), generator=g),
        torch.randn(n, generator=g) * 3,
        users,
        torch.arange(n),
    )


def by_unit(model, *, dataset=None, batch=5, engine=None, optimizer=None, workers=0, **options):
    """A private run whose units are the users of column 3."""
    chosen = {"noise_multiplier": 0.0, "max_grad_norm": BOUND, "privacy_unit": 3} | options
    dataset = data() if dataset is None else dataset
    return (engine or PrivacyEngine(accountant="rdp")).make_private(
        module=model,
        optimizer=optimizer or torch.optim.SGD(model.parameters(), lr=1.0),
        data_loader=DataLoader(dataset, batch_size=batch, num_workers=workers),
        **chosen,
    )


def loss_of(model, batch, reduction="mean"):
    return functional.mse_loss(model(batch[0], batch[1]), batch[2], reduction=reduction)


def step(model, optimizer, batch, reduction="mean"):
    optimizer.zero_grad()
    if len(batch[0]):
        loss_of(model, batch, reduction).backward()
    optimizer.step()


def doubled(batch):
    return [x.double() if x.is_floating_point() else x for x in batch]


def unit_sums(model, batch, users, bound=BOUND):
    """The sum over users of their mean gradients, each clipped as a whole; one example at a time.

    In double precision, with torch's own gradients. Also returns the norms before clipping.
    """
    model = copy.deepcopy(model).double()
    parameters, gradients = example_gradients(model, doubled(batch), loss_of)
    sums, norms = [torch.zeros_like(p) for p in parameters], []
    for user in users.unique():
        own = [g for g, u in zip(gradients, users, strict=True) if u == user]
        mean = [sum(parts) / len(own) for parts in zip(*own, strict=True)]
        norms.append(float(sum(g.square().sum() for g in mean)) ** 0.5)
        for total, g in zip(sums, mean, strict=True):
            total += min(1.0, bound / norms[-1]) * g if norms[-1] > 0 else g
    return sums, norms


def moved(before, model):
    """How far each parameter has gone, in double precision."""
    after = [p.detach().clone().double() for p in model.parameters()]
    return [b.double() - a for b, a in zip(before, after, strict=True)]


def values(model):
    return [p.detach().clone() for p in model.parameters()]
