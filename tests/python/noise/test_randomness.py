"""Secrets, noise and samples: fresh where they must be, and never the same twice."""

import secrets

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from lazydp import PrivacyEngine, _native
from training import private

WIDTH = 40


def run(steps=3, **options):
    """The dense noise of some steps, parameter by parameter, and a private table's."""
    raw = nn.Sequential(nn.EmbeddingBag(6, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH))
    ids = torch.zeros(8, 1, dtype=torch.int64)
    model, optimizer, _ = private(
        raw,
        batches=DataLoader(TensorDataset(ids), batch_size=2),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        loss_reduction="sum",
        optimizer=torch.optim.SGD(raw.parameters(), lr=1.0),
        **options,
    )
    noise = []
    for _ in range(steps):
        before = [p.detach().clone() for p in raw.parameters()]
        optimizer.zero_grad()
        (model(ids[:2]) * 0).sum().backward()
        optimizer.step()
        noise.append(
            [a - b.detach().clone() for a, b in zip(before, raw.parameters(), strict=True)]
        )
    return noise


def correlation(a, b):
    a, b = (x.flatten().double()[: min(a.numel(), b.numel())] for x in (a, b))
    return float((a * b).sum() / (a.norm() * b.norm()))


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("noise", ["lazy", "every_row"])
def test_no_two_steps_parameters_or_runs_share_noise(noise, secure):
    """1,600 normals each: a correlation of 0.2 has odds of 1e-15; of biases (40), 0.9 likewise."""
    drawn = [
        x
        for _ in range(2)
        for step in run(noise=noise, engine=PrivacyEngine(secure_mode=secure))
        for x in step
    ]
    for i, a in enumerate(drawn):
        for b in drawn[:i]:
            few = min(a.numel(), b.numel())
            assert abs(correlation(a, b)) < (0.9 if few < 200 else 0.35 if few < 500 else 0.2)


def test_tables_have_noise_that_known_keys_do_not_give():
    """Keys that a slip would leave behind: zeros, ones, a counter, small seeds."""
    (noise, *_), *_ = [step[0] for step in run(noise="every_row", steps=1)], None
    keys = [bytes(16), b"\xff" * 16, bytes(range(16)), b"\0" * 15 + b"\1", b"\1" + b"\0" * 15]
    known = [_native.Seed.from_bytes(key) for key in keys]
    known += [_native.Seed.fixed(value) for value in range(100)]
    for seed in known:
        normals = torch.empty(6, WIDTH)
        _native.NoiseSource(seed).table_normals(normals, 0, 1)
        assert abs(correlation(normals, noise)) < 0.5


def test_every_secret_comes_from_the_operating_system(monkeypatch):
    asked = []
    monkeypatch.setattr(secrets, "token_bytes", lambda n: asked.append(n) or bytes(range(n)))
    run(steps=1, poisson_sampling=True)
    assert asked == [16, 16, 16]  # dense noise, tables, samples
    monkeypatch.setattr(secrets, "token_bytes", lambda n: (_ for _ in ()).throw(OSError("none")))
    with pytest.raises(OSError, match="none"):
        run(steps=1)


def loaded(examples=400, batch=40, **options):
    batches = DataLoader(TensorDataset(torch.arange(examples)), batch_size=batch)
    raw = nn.Sequential(nn.Embedding(examples, 2), nn.Flatten())
    return private(raw, batches=batches, poisson_sampling=True, **options)[2]


@pytest.mark.parametrize("secure", [False, True])
def test_batches_are_poisson_samples_and_never_repeat(secure):
    """300 batches of 400 x 1/10: 12,000 draws within 5 sigma; no example by rank of its number."""
    batches = loaded(engine=PrivacyEngine(secure_mode=secure))
    drawn = [tuple(b[0].tolist()) for _ in range(30) for b in batches]
    assert len(set(drawn)) == len(drawn) == 300
    assert all(len(set(b)) == len(b) for b in drawn)
    sizes = torch.tensor([float(len(b)) for b in drawn])
    assert abs(float(sizes.sum()) - 12_000) < 5 * (300 * 400 * 0.1 * 0.9) ** 0.5
    assert float(sizes.var()) == pytest.approx(36.0, rel=0.5)
    counts = torch.zeros(400)
    for b in drawn:
        counts[list(b)] += 1
    assert float(counts.max()) < 30 + 6 * 27**0.5 and float(counts.min()) > 30 - 5.5 * 27**0.5
    together = sum(0 in b and 1 in b for b in drawn)  # 3 expected
    assert together < 15


def test_two_loaders_draw_different_samples():
    a, b = ([tuple(x[0].tolist()) for x in loaded()] for _ in range(2))
    assert not set(a) & set(b)
