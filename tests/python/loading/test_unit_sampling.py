"""Units are what is sampled, what epsilon is stated for, and what ids say they are."""

import collections
import math
import secrets

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import lazydp
from lazydp import PrivacyEngine
from models import build
from unit_runs import by_unit, data, step, values


def sampled(users, batch, epochs=1, **options):
    """The examples of each batch."""
    numbers = torch.arange(len(users))
    raw = nn.Sequential(nn.Embedding(len(users), 2), nn.Flatten())
    dataset = TensorDataset(numbers, users)
    batches = by_unit(raw, dataset=dataset, batch=batch, privacy_unit=1, **options)[-1]
    return [b[0].tolist() for _ in range(epochs) for b in batches]


def test_units_are_poisson_samples_whatever_their_size():
    """300 batches of 100 units x 1/10, one of which has half of all examples.

    A unit is drawn 30 +- 5.2 times: below 4 or above 63 once in 10^8; their sum is as certain.
    """
    users = torch.cat([torch.zeros(99), torch.arange(1, 100)]).long()
    drawn = [{int(users[i]) for i in b} for b in sampled(users, 10, epochs=30)]
    assert len(drawn) == 300
    total = sum(map(len, drawn))
    assert abs(total - 3000) < 6 * (300 * 100 * 0.1 * 0.9) ** 0.5
    counts = collections.Counter(u for units in drawn for u in units)
    assert all(3 < counts[u] < 64 for u in range(100))
    sizes = torch.tensor([float(len(units)) for units in drawn])
    assert float(sizes.var()) == pytest.approx(9.0, rel=0.5)  # of fixed batches it would be 0


def test_a_unit_sends_a_uniform_subset_without_replacement():
    """Two units of 5 examples send 2 of 10 pairs: chi-square beyond 45 is one run in 10^6."""
    users = torch.tensor([0, 1] * 5)
    batches = sampled(users, 2, epochs=3000, examples_per_unit=2)
    pairs = [collections.Counter(), collections.Counter()]
    for batch in batches:
        assert len(batch) == len(set(batch)) == 4
        for unit in (0, 1):
            pairs[unit][tuple(i for i in batch if users[i] == unit)] += 1
    for counts in pairs:
        assert len(counts) == 10
        assert sum((n - 300) ** 2 / 300 for n in counts.values()) < 45
    same = sum([i // 2 for i in b[:2]] == [i // 2 for i in b[2:]] for b in batches)
    assert abs(same - 300) < 6 * (3000 * 0.1 * 0.9) ** 0.5  # units choose on their own


def test_a_unit_sends_all_examples_if_it_may():
    for most, expected in ((3, [1, 3, 3]), ("all", [1, 3, 40]), (None, [1, 3, 32])):
        users = torch.tensor([0] + [1] * 3 + [2] * 40)
        (batch,) = sampled(users, 3, examples_per_unit=most)
        assert [sum(int(users[i]) == u for i in batch) for u in range(3)] == expected
        assert batch == sorted(batch)  # a unit's examples are neighbours


def test_samples_of_units_do_not_repeat_under_a_seed():
    runs = []
    for _ in range(2):
        torch.manual_seed(3)
        np.random.seed(3)
        runs.append(sampled(torch.arange(200) // 4, 10, examples_per_unit=2))
    assert runs[0] != runs[1]
    chosen = [sampled(torch.arange(200) // 100, 2, examples_per_unit=10) for _ in range(2)]
    assert chosen[0] != chosen[1]  # both units are in; what they send is secret, too


def test_samples_of_units_come_from_the_operating_system(monkeypatch):
    asked = []
    monkeypatch.setattr(secrets, "token_bytes", lambda n: asked.append(n) or bytes(range(n)))
    users = torch.arange(60) // 6
    first, second = (sampled(users, 5, examples_per_unit=2) for _ in range(2))
    assert asked[:2] == [16, 32] and len(asked) == 8  # units, their examples, dense noise, tables
    assert first == second  # nothing else is drawn from
    monkeypatch.setattr(secrets, "token_bytes", lambda n: (_ for _ in ()).throw(OSError("none")))
    with pytest.raises(OSError, match="none"):
        sampled(users, 5)


@pytest.mark.parametrize("accountant", ["rdp", "prv"])
def test_epsilon_is_that_of_units(accountant):
    """Ten units, of 35 examples, five a step: the rate is 1/2, not 5/35."""
    engine = PrivacyEngine(accountant=accountant)
    model, optimizer, batches = by_unit(build("shared"), engine=engine, noise_multiplier=2.0)
    for _ in range(3):
        for batch in batches:
            step(model, optimizer, batch)
    assert engine.accountant.history == [(2.0, 0.5, 6)]
    exact = lazydp.privacy.epsilon(
        sampling_rate=0.5,
        noise_multiplier=2.0,
        steps=6,
        delta=1e-5,
        accountant="rdp" if accountant == "rdp" else "pld",
    )
    assert engine.get_epsilon(1e-5) == pytest.approx(exact, rel=0.02)
    assert optimizer.expected_batch_size == 5.0 and len(batches) == 2


def test_the_noise_for_a_budget_is_that_of_units():
    model = build("shared")
    engine = PrivacyEngine(accountant="rdp")
    _, optimizer, batches = engine.make_private_with_epsilon(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=DataLoader(data(), batch_size=2),
        target_epsilon=4.0,
        target_delta=1e-5,
        epochs=3,
        max_grad_norm=1.0,
        privacy_unit=3,
        examples_per_unit="all",
    )
    exact = lazydp.privacy.noise_multiplier(
        target_epsilon=4.0, target_delta=1e-5, sampling_rate=0.2, steps=15, accountant="rdp"
    )
    assert optimizer.noise_multiplier == pytest.approx(exact, rel=0.02)
    assert engine.accountant.unit == "one value of column 3 with all its examples"
    assert len(batches) == 5


def test_the_expected_number_of_units_is_exact():
    """Seven units, three a step: in three steps, 7/3 of them each."""
    users = torch.arange(14) // 2
    dataset = TensorDataset(*data(users).tensors[:3], users)
    _, optimizer, batches = by_unit(build("shared"), dataset=dataset, batch=3)
    assert len(batches) == 3 and optimizer.expected_batch_size == pytest.approx(7 / 3)
    assert batches.batch_sampler.sample_rate == pytest.approx(1 / 3)


def test_noise_on_a_sum_of_units_has_its_variance():
    """20,000 normals: the variance is within 5 % but for one run in 10^5."""
    raw = nn.Sequential(nn.Embedding(4, 200), nn.Flatten(), nn.Linear(200, 100))
    dataset = TensorDataset(torch.zeros(12, 1, dtype=torch.int64), torch.arange(12) // 3)
    model, optimizer, batches = by_unit(
        raw, dataset=dataset, batch=2, privacy_unit=1, noise_multiplier=3.0, max_grad_norm=0.5
    )
    before = values(raw)[1]
    (batch, _) = next(iter(batches))
    if len(batch):
        model(batch).sum().mul(0).backward()
    optimizer.step()
    noise = (values(raw)[1] - before) * 2.0  # times the expected number of units
    assert noise.var().item() == pytest.approx(1.5**2, rel=0.05)


@pytest.mark.parametrize("settle", ["on_read", "ahead"])
@pytest.mark.parametrize("workers", [0, 2])
def test_an_empty_sample_is_a_step(workers, settle):
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = by_unit(
        build("shared"),
        engine=engine,
        batch=1,
        noise_multiplier=1.0,
        workers=workers,
        settle=settle,
    )
    sizes = []
    for _ in range(3):
        for batch in batches:
            sizes.append(len(batch[0]))
            step(model, optimizer, batch)
    assert 0 in sizes  # none is, once in 10^5 runs: 0.65^30
    assert engine.accountant.history == [(1.0, 0.1, 30)]
    assert engine.get_epsilon(1e-5) < math.inf
