"""A unit's mean gradient is clipped as a whole: against brute force."""

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import TensorDataset

from lazydp import PrivacyEngineAdaptiveClipping
from models import MODELS, Bag, assert_same
from training import ADAPTIVE, private
from training import step as one_step
from unit_runs import BOUND, by_unit, data, loss_of, moved, step, unit_sums, values


class Weighted(Bag):
    """As WeightedBag, in any precision."""

    def look_up(self, ids):
        weights = ((ids % 5) - 1.5).to(self.out[0].weight.dtype)
        return self.table(ids, per_sample_weights=weights)


class Dense(nn.Module):
    """No table at all."""

    def __init__(self):
        super().__init__()
        self.out = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))

    def forward(self, dense, ids):
        return self.out(dense).squeeze(1)


CASES = {name: make for name, make in MODELS.items() if "norm" not in name}
CASES["bag_weights"] = lambda: Weighted(mode="sum", padding_idx=3)
CASES["dense"] = Dense


def made(name):
    torch.manual_seed(0)
    return CASES[name]()


def close(ours, theirs, scale):
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a * scale, b, rtol=5e-5, atol=1e-5)


@pytest.mark.parametrize("most", [1, 4, "all"])
@pytest.mark.parametrize("name", CASES)
def test_a_step_is_the_sum_of_clipped_means(name, most):
    raw = made(name)
    model, optimizer, batches = by_unit(raw, examples_per_unit=most)
    clipped = 0
    for _ in range(2):
        for batch in batches:
            before = values(raw)
            expected, norms = unit_sums(made_as(raw, name), batch[:3], batch[3])
            step(model, optimizer, batch)
            close(moved(before, raw), expected, 5.0)  # ten users in two steps
            clipped += sum(norm > BOUND for norm in norms)
    assert clipped  # else the bound was not tested


def made_as(raw, name):
    """A plain model with the same weights."""
    plain = made(name)
    with torch.no_grad():
        for to, value in zip(plain.parameters(), values(raw), strict=True):
            to.copy_(value)
    return plain


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("mode", ["hooks", "ew", "ghost"])
@pytest.mark.parametrize("name", ["layered", "shared"])
def test_modes_and_reductions_are_the_same(name, mode, reduction):
    raw = made(name)
    criterion = nn.MSELoss(reduction=reduction)
    run = by_unit(raw, grad_sample_mode=mode, loss_reduction=reduction, criterion=criterion)
    model, optimizer, batches = run[0], run[1], run[-1]
    for batch in batches:
        if not len(batch[0]):
            continue
        before = values(raw)
        expected, _ = unit_sums(made_as(raw, name), batch[:3], batch[3])
        optimizer.zero_grad()
        if mode == "ghost":
            run[2](model(batch[0], batch[1]), batch[2]).backward()
        else:
            loss_of(model, batch, reduction).backward()
        optimizer.step()
        close(moved(before, raw), expected, 5.0 if reduction == "mean" else 1.0)


def test_positions_of_a_sequence_first_layout():
    """batch_first=False: examples lie along the second dimension."""

    class Turned(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.each = nn.Embedding(12, 4), nn.Linear(4, 2)

        def forward(self, dense, ids):
            return self.each(self.table(ids.T)).sin().sum((0, 2))

    torch.manual_seed(0)
    raw = Turned()
    model, optimizer, batches = by_unit(raw, batch_first=False)
    for batch in batches:
        before = values(raw)
        plain = Turned()
        with torch.no_grad():
            for to, value in zip(plain.parameters(), before, strict=True):
                to.copy_(value)
        expected, _ = unit_sums(plain, batch[:3], batch[3])
        step(model, optimizer, batch)
        close(moved(before, raw), expected, 5.0)


@pytest.mark.parametrize("name", ["bag_mean", "twice", "layered"])
def test_units_of_one_example_are_examples(name):
    """Bit for bit: the step is the one that clips examples."""
    users = torch.arange(12)
    ours, theirs = made(name), made(name)
    dataset = TensorDataset(*data(users).tensors[:3], users)
    model, optimizer, batches = by_unit(ours, dataset=dataset, batch=12)  # every unit, every step
    options = {"noise_multiplier": 0.0, "max_grad_norm": BOUND}
    other, other_optimizer, _ = private(
        theirs,
        batches=torch.utils.data.DataLoader(dataset, batch_size=12),
        optimizer=torch.optim.SGD(theirs.parameters(), lr=1.0),
        **options,
    )
    for _ in range(3):
        (batch,) = batches
        step(model, optimizer, batch)
        one_step(other, other_optimizer, batch[:3])
    assert_same(model, other, 0)


def test_a_unit_with_a_gradient_that_is_not_finite_is_left_out_whole():
    raw = made("shared")
    dataset = data()
    spoilt = int((dataset.tensors[3] == 4).nonzero()[0])
    dataset.tensors[0][spoilt] = float("nan")
    model, optimizer, batches = by_unit(raw, dataset=dataset, batch=10)  # every unit
    before = values(raw)
    (batch,) = batches
    kept = batch[3] != 4
    assert int((~kept).sum()) == 3
    expected, _ = unit_sums(made("shared"), [x[kept] for x in batch[:3]], batch[3][kept])
    step(model, optimizer, batch)
    close(moved(before, raw), expected, 10.0)


def test_all_units_that_are_not_finite_are_warned_of():
    dataset = data()
    dataset.tensors[0][:] = float("nan")
    model, optimizer, batches = by_unit(made("shared"), dataset=dataset, batch=10)
    with pytest.warns(UserWarning, match="was not finite"):
        step(model, optimizer, next(iter(batches)))


@pytest.mark.parametrize("how", ["hooks", "ghost"])
def test_adaptive_clipping_counts_units(how):
    """Each unit moves the count by a half, however many examples it sends."""
    raw = made("shared")
    options = {"grad_sample_mode": how, "criterion": nn.MSELoss()}
    if how == "hooks":
        options |= ADAPTIVE | {"noise_multiplier": 0.5, "unclipped_num_std": 1.0}
    else:
        options |= {"engine": PrivacyEngineAdaptiveClipping(accountant="rdp")}
        options |= {"max_clipbound": 10.0, "min_clipbound": 0.1, "noise_multiplier": 0.5}
    run = by_unit(raw, batch=10, **options)
    model, optimizer = run[0], run[1]
    counts = []
    count = optimizer.count_unclipped
    optimizer.count_unclipped = lambda factors: counts.append(len(factors)) or count(factors)
    (batch,) = run[-1]
    if how == "ghost":
        run[2](model(batch[0], batch[1]), batch[2]).backward()
    else:
        loss_of(model, batch).backward()
    optimizer.step()
    assert sum(counts) == 10 and optimizer.expected_batch_size == 10.0


def test_a_unit_learns_what_its_examples_share():
    """Users rate items by what all of them see in an item: a user's mean points there."""
    g = torch.Generator().manual_seed(3)
    users, items, each = 400, 30, 12
    quality = torch.randn(items, generator=g)
    user = torch.arange(users).repeat_interleave(each)
    item = torch.randint(items, (len(user),), generator=g)
    taste = torch.randn(users, generator=g)[user] * 0.5
    rated = (quality[item] + taste + torch.randn(len(user), generator=g) * 0.5 > 0).float()

    class Rating(nn.Module):
        def __init__(self):
            super().__init__()
            self.item, self.out = nn.Embedding(items, 4), nn.Linear(4, 1)
            nn.init.normal_(self.item.weight, std=0.1)

        def forward(self, item):
            return self.out(self.item(item)).squeeze(1)

    torch.manual_seed(0)
    raw = Rating()
    model, optimizer, batches = by_unit(
        raw,
        dataset=TensorDataset(item, rated, user),
        privacy_unit=2,
        batch=100,
        noise_multiplier=1.0,
        max_grad_norm=0.3,
        optimizer=torch.optim.SGD(
            [{"params": raw.item.weight, "lr": 20.0}, {"params": raw.out.parameters(), "lr": 2.0}]
        ),
    )
    for _ in range(25):
        for chosen, label, _ in batches:
            optimizer.zero_grad()
            functional.binary_cross_entropy_with_logits(model(chosen), label).backward()
            optimizer.step()
    with torch.no_grad():
        scores = model(torch.arange(items))
    order = torch.corrcoef(torch.stack([scores, quality]))[0, 1]
    assert float(order) > 0.7
