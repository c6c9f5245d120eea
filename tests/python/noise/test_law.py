"""The law of late noise: its variance, its covariance over time, and that it is Gaussian.

The loss is linear, so gradients do not depend on weights, every coordinate is a Gaussian walk, and
what it should be follows from torch's rule alone. One run has 40 rows x 512 columns = 20,480
independent coordinates of each kind: a variance is then known to 1 % (one sigma). The bound of 5 %
fails by chance with probability 6e-7, and catches a standard deviation that is off by 5 %.
"""

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from lazydp import PrivacyEngine

ROWS, DIM, STEPS, SIGMA, BOUND, BATCH = 120, 512, 30, 0.8, 0.5, 10
TOUCHED, EVALUATED, UNTOUCHED = range(0, 40), range(40, 80), range(80, 120)


class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(ROWS, DIM, _weight=torch.zeros(ROWS, DIM))

    def forward(self, ids):
        return self.table(ids).sum(1) * 0.01


SETTINGS = {
    "decaying_rate": ({"lr": 1.0}, 1e-6),
    "weight_decay": ({"lr": 0.5, "weight_decay": 0.2}, 0.1),
    "momentum": ({"lr": 0.5, "momentum": 0.9}, 0.1),
    "all": ({"lr": 0.5, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1}, 1e-6),
}


def run(options, last, sigma, seed):
    """Returns the final table, and what evaluation read half-way."""
    model = Linear()
    loader = DataLoader(TensorDataset(torch.arange(100)), batch_size=BATCH)
    private, optimizer, _ = PrivacyEngine(accountant="rdp").make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), **options),
        data_loader=loader,
        noise_multiplier=sigma,
        max_grad_norm=BOUND,
        poisson_sampling=False,
        noise_generator=torch.Generator().manual_seed(seed),
    )
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: last ** (t / STEPS))
    for t in range(STEPS):
        if t == STEPS // 2:
            private.eval()
            with torch.no_grad():
                private(torch.tensor(EVALUATED))
            read = private._module.table.weight.detach()[EVALUATED].clone()
            private.train()
        optimizer.zero_grad()
        private(torch.tensor([r for r in TOUCHED if (r + t) % 3 == 0])).sum().backward()
        optimizer.step()
        scheduler.step()
    return private.state_dict()["_module.table.weight"].clone(), read


def expected_variance(options, last, steps):
    """Of one coordinate, from torch's rule: (m, w) -> A (m, w) + b z, step by step."""
    total = np.zeros((2, 2))
    for t in range(steps):
        rate = options["lr"] * last ** (t / STEPS)
        momentum, decay = options.get("momentum", 0.0), options.get("weight_decay", 0.0)
        keep = momentum if t > 0 else 0.0
        new_m = np.array([keep, decay, 1.0])  # of (m, w, z)
        along = new_m
        if options.get("nesterov"):
            along = np.array([0.0, decay, 1.0]) + momentum * new_m
        new_w = np.array([0.0, 1.0, 0.0]) - rate * along
        a = np.array([new_m[:2], new_w[:2]])
        b = np.array([new_m[2], new_w[2]]) * SIGMA * BOUND / BATCH
        total = a @ total @ a.T + np.outer(b, b)
    return total[1, 1]


@pytest.mark.parametrize(("options", "last"), SETTINGS.values(), ids=SETTINGS)
def test_noise_has_its_variance_and_is_gaussian(options, last):
    final, _ = run(options, last, SIGMA, seed=11)
    mean, _ = run(options, last, 0.0, seed=11)
    variance = expected_variance(options, last, STEPS)
    for rows in (TOUCHED, EVALUATED, UNTOUCHED):
        noise = (final - mean)[rows].double().numpy().ravel()
        assert noise.var() == pytest.approx(variance, rel=0.05)
        # False alarm: 1e-4 for each of twelve fixed seeds.
        assert stats.kstest(noise / np.sqrt(variance), "norm").pvalue > 1e-4


def test_what_evaluation_saw_stays_in_the_walk():
    options, last = SETTINGS["decaying_rate"]
    final, read = run(options, last, SIGMA, seed=12)
    early = read.double().numpy().ravel()
    late = final[EVALUATED].double().numpy().ravel()
    until = expected_variance(options, last, STEPS // 2)
    assert early.var() == pytest.approx(until, rel=0.05)
    assert np.mean(early * late) == pytest.approx(until, rel=0.05)  # Cov(W_s, W_t) = V(0, s)


def test_the_bound_catches_five_per_cent():
    options, last = SETTINGS["decaying_rate"]
    final, _ = run(options, last, SIGMA * 1.05, seed=13)
    noise = final[UNTOUCHED].double().numpy()
    assert noise.var() != pytest.approx(expected_variance(options, last, STEPS), rel=0.05)
