"""What stands in everyday loops around step() works, or is refused in words that help."""

import warnings

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from lazydp import PrivacyEngine, UserError
from models import assert_same, build, data, squared_loss
from training import ADAPTIVE, private, reference, step


@pytest.mark.parametrize("unscale", [False, True])
def test_a_grad_scaler_says_what_to_do(unscale):
    """It failed with "No inf checks were recorded for this optimizer"."""
    model, optimizer, batches = private(build("shared"))
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(squared_loss(model, next(iter(batches)))).backward()
    if unscale:
        scaler.unscale_(optimizer)
    with pytest.raises(UserError, match=r"bfloat16 autocast.*enabled=False"):
        scaler.step(optimizer)


def test_a_grad_scaler_that_is_off_steps():
    model, optimizer, batches = private(build("shared"), noise_multiplier=0.0)
    expected, brute = reference("shared", sigma=0.0)
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    for batch in batches:
        optimizer.zero_grad()
        scaler.scale(squared_loss(model, batch)).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1e-3)  # there is nothing to clip yet
        scaler.step(optimizer)
        scaler.update()
        brute.step(batch)
    assert_same(model, expected)


@pytest.fixture
def double_precision():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


class Mixed(nn.Module):
    """A table in single precision, as tables must be, and layers in the default one."""

    def __init__(self, weighted):
        super().__init__()
        self.table = nn.EmbeddingBag(10, 4, mode="sum", dtype=torch.float32)
        self.norm, self.out = nn.LayerNorm(4), nn.Linear(4, 1)
        self.weighted = weighted

    def forward(self, ids):
        weights = torch.ones(ids.shape, dtype=torch.float32) if self.weighted else None
        return self.out(self.norm(self.table(ids, per_sample_weights=weights).double())).squeeze(1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", [{}, ADAPTIVE, {"noise": "every_row"}])
def test_the_default_type_may_be_double(double_precision, options, weighted):
    """It failed with a binding's "incompatible function arguments"."""
    batches = DataLoader(TensorDataset(torch.randint(10, (20, 3)), torch.randn(20)), batch_size=5)
    engine = PrivacyEngine(accountant="rdp", secure_mode=True)
    raw = Mixed(weighted)
    before = raw.out.weight.detach().clone()
    model, optimizer, batches = private(
        raw, batches=batches, engine=engine, poisson_sampling=True, **options
    )
    for ids, target in batches:
        optimizer.zero_grad()
        if len(ids):
            nn.functional.mse_loss(model(ids), target).backward()
        optimizer.step()
    assert raw.out.weight.dtype == torch.float64 and raw.table.weight.dtype == torch.float32
    assert not torch.equal(raw.out.weight, before)
    assert 0 < engine.get_epsilon(1e-5) < float("inf")


def test_a_model_without_tables_in_double_precision(double_precision):
    batches = DataLoader(TensorDataset(torch.randn(20, 4), torch.randn(20)), batch_size=5)
    raw = nn.Sequential(nn.Linear(4, 1), nn.Flatten(0))
    engine = PrivacyEngine(accountant="rdp", secure_mode=True)
    model, optimizer, batches = private(raw, batches=batches, engine=engine, poisson_sampling=True)
    for values, target in batches:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(values), target).backward()
        optimizer.step()


def test_a_loader_without_a_batch_is_refused():
    """It failed with "division by zero"."""
    batches = DataLoader(data(3), batch_size=10, drop_last=True)
    with pytest.raises(UserError, match=r"has no batch: 3 examples, batch_size 10"):
        private(build("shared"), batches=batches, poisson_sampling=True)


def test_a_batch_of_the_whole_data_set_is_a_sample_of_all():
    engine = PrivacyEngine(accountant="rdp")
    batches = DataLoader(data(12), batch_size=50)
    model, optimizer, batches = private(
        build("shared"), batches=batches, engine=engine, poisson_sampling=True
    )
    for batch in batches:
        assert len(batch[0]) == 12
        step(model, optimizer, batch)
    assert engine.accountant.history == [(0.7, 1.0, 1)] and engine.get_epsilon(1e-5) > 0


@pytest.mark.parametrize("noise", [None, "1.0", [1.0]])
def test_noise_that_is_no_number_is_refused(noise):
    with pytest.raises(UserError, match="noise_multiplier is .*must be a finite number"):
        private(build("shared"), noise_multiplier=noise)


def test_only_a_private_model_is_released():
    with pytest.raises(UserError, match="given a Shared; it must be the model that make_private"):
        PrivacyEngine().release(build("shared"))


def test_one_mistake_is_told_once():
    """Gradients by hand on all tables: all are dropped when the first is complained of."""
    model, optimizer, batches = private(build("shared"), noise_multiplier=0.0)
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    squared_loss(model, next(iter(batches))).backward()
    with pytest.raises(UserError, match="by hand"):
        optimizer.step()
    step(model, optimizer, next(iter(batches)))


def test_schedulers_and_averages_stand_around_the_step():
    """Several at once, as loops are put together from recipes."""
    model, optimizer, batches = private(build("shared_norm"))
    schedulers = [
        torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10),
        torch.optim.lr_scheduler.CyclicLR(optimizer, 0.1, 0.5, cycle_momentum=False),
        torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.1),
    ]
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    average = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9), use_buffers=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for batch in batches:
            step(model, optimizer, batch)
            for scheduler in schedulers:
                scheduler.step()
            plateau.step(1.0)
            average.update_parameters(model)
    assert type(average.module) is type(build("shared_norm"))
    assert all(type(p) is nn.Parameter for p in average.parameters())
