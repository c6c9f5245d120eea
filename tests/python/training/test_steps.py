"""Steps count once, virtual steps do not, and a training loop may do other work between them."""

import pytest
import torch
from opacus.schedulers import ExponentialGradClip, ExponentialNoise
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.utils.data import DataLoader

from lazydp import PrivacyEngine
from models import assert_same, build, data, loader, squared_loss
from training import private, reference, seeded, step


def test_virtual_steps_are_no_steps():
    model, optimizer, batches = private(
        build("shared"), noise="lazy_each_step", batches=loader(12, 12), **seeded()
    )
    expected, brute = reference("shared", expected_batch=12)
    for _ in range(3):
        with BatchMemoryManager(
            data_loader=batches, max_physical_batch_size=5, optimizer=optimizer
        ) as small:
            for batch in small:
                step(model, optimizer, batch)
        brute.step(next(iter(batches)))
    assert_same(model, expected)


def test_virtual_steps_of_ghost_clipping():
    model, optimizer, criterion, batches = private(
        build("bag_mean"),
        batches=loader(12, 12),
        noise_multiplier=0.0,
        grad_sample_mode="ghost",
        criterion=nn.MSELoss(),
    )
    expected, brute = reference("bag_mean", expected_batch=12, sigma=0.0)
    for _ in range(2):
        with BatchMemoryManager(
            data_loader=batches, max_physical_batch_size=5, optimizer=optimizer
        ) as small:
            for dense, ids, target in small:
                optimizer.zero_grad()
                criterion(model(dense, ids), target).backward()
                optimizer.step()
        brute.step(next(iter(batches)))
    assert_same(model, expected, 5e-5)


def test_an_empty_batch_is_a_step():
    model, optimizer, batches = private(build("shared"), noise="lazy_each_step", **seeded())
    expected, brute = reference("shared")
    full = next(iter(batches))
    empty = [x[:0] for x in full]
    step(model, optimizer, full)
    brute.step(full)
    optimizer.zero_grad()
    (model(*empty[:2]).sum() * 0).backward()
    optimizer.step()
    brute.step(full[:0] + [x[:0] for x in full])
    step(model, optimizer, full)
    brute.step(full)
    assert_same(model, expected)


def test_accumulation_under_poisson_sampling_is_refused():
    model, _, _ = private(build("factors"), poisson_sampling=True)
    batch = data()[:4]
    squared_loss(model, batch).backward()
    with pytest.raises(ValueError, match="not compatible with grad accumulation"):
        squared_loss(model, batch).backward()


def test_accumulation_without_poisson_sampling_is_one_step_of_both():
    model, optimizer, _ = private(build("factors"), noise_multiplier=0.0)
    expected, brute = reference("factors", sigma=0.0, expected_batch=8)
    first, second = data()[:4], data()[4:8]
    optimizer.zero_grad()
    squared_loss(model, first).backward()
    squared_loss(model, second).backward()
    optimizer.step()
    brute.step(first, second)
    assert_same(model, expected)


def test_noise_and_clip_schedulers_are_priced_step_by_step():
    model, optimizer, batches = private(build("shared"), noise="lazy_each_step", **seeded())
    expected, brute = reference("shared")
    noise, clip = ExponentialNoise(optimizer, gamma=0.5), ExponentialGradClip(optimizer, gamma=0.8)
    for batch in batches:
        brute.sigma, brute.bound = optimizer.noise_multiplier, optimizer.max_grad_norm
        step(model, optimizer, batch)
        brute.step(batch)
        noise.step()
        clip.step()
    assert_same(model, expected)


def test_a_loss_that_is_summed():
    model, optimizer, batches = private(
        build("twice"), noise="lazy_each_step", loss_reduction="sum", **seeded()
    )
    expected, brute = reference("twice", expected_batch=1)
    for batch in batches:
        optimizer.zero_grad()
        dense, ids, target = batch
        nn.functional.mse_loss(model(dense, ids), target, reduction="sum").backward()
        optimizer.step()
        brute.step(batch)
    assert_same(model, expected)


@pytest.mark.parametrize("spoilt", ["input", "target"])
@pytest.mark.parametrize("mode", ["hooks", "functorch", "ghost"])
@pytest.mark.parametrize("name", ["shared", "shared_norm", "bag_mean"])
def test_an_example_that_is_not_finite_is_left_out(name, mode, spoilt):
    """By selection: what is multiplied by 0 and added would still be NaN."""
    made = private(build(name), noise_multiplier=0.0, grad_sample_mode=mode, criterion=nn.MSELoss())
    model, optimizer = made[:2]
    expected, brute = reference(name, sigma=0.0)
    dense, ids, target = (x.clone() for x in data()[:4])
    brute.step((dense[1:], ids[1:], target[1:]))
    (dense if spoilt == "input" else target)[0] = float("nan")
    optimizer.zero_grad()
    criterion = made[2] if mode == "ghost" else nn.MSELoss()
    criterion(model(dense, ids), target).backward()
    optimizer.step()
    assert_same(model, expected)


def test_dict_batches_and_custom_collate():
    def collate(examples):
        dense, ids, target = (torch.stack(column) for column in zip(*examples, strict=True))
        return {"x": {"dense": dense, "ids": ids}, "y": target}

    batches = DataLoader(data(), batch_size=4, collate_fn=collate)
    for settle in ("on_read", "ahead"):
        model, optimizer, loaded = private(
            build("shared"), batches=batches, settle=settle, poisson_sampling=True
        )
        for batch in loaded:
            step(model, optimizer, (batch["x"]["dense"], batch["x"]["ids"], batch["y"]))
        assert torch.isfinite(model.left.weight).all()


def test_ahead_survives_batch_memory_manager():
    results = []
    for settle in ("on_read", "ahead"):
        model, optimizer, batches = private(
            build("shared"), batches=loader(12, 6), settle=settle, **seeded()
        )
        with BatchMemoryManager(
            data_loader=batches, max_physical_batch_size=3, optimizer=optimizer
        ) as small:
            for batch in small:
                step(model, optimizer, batch)
        results.append(model)
    assert_same(*results, tolerance=0)


@pytest.mark.parametrize(("examples", "batch"), [(49, 1), (98, 2), (12, 5)])
def test_the_sum_is_divided_by_the_expected_batch(examples, batch):
    """49 x (1 / 49) is below 1, and was rounded down to a division by 0."""
    model, optimizer, batches = private(
        build("shared"), noise_multiplier=0.0, batches=loader(examples, batch)
    )
    expected_batch = examples // len(batches)
    assert optimizer.expected_batch_size == expected_batch
    expected, brute = reference("shared", sigma=0.0, expected_batch=expected_batch)
    for one, _ in zip(batches, range(3), strict=False):
        step(model, optimizer, one)
        brute.step(one)
    assert_same(model, expected)


def test_hooks_without_a_wrapper():
    raw, expected = build("shared"), build("shared")
    engine = PrivacyEngine(accountant="rdp")
    hooks, optimizer, batches = private(
        raw, engine=engine, wrap_model=False, noise="lazy_each_step", **seeded()
    )
    expected, brute = reference("shared")
    for batch in batches:
        step(raw, optimizer, batch)
        brute.step(batch)
    assert_same(raw, expected)
    hooks.cleanup()  # as Opacus asks its users to, at the end
    assert type(raw.left) is nn.EmbeddingBag and type(raw.out[0]) is nn.Linear
    assert_same(raw, expected)
    assert engine.release(hooks) is raw


def test_frozen_tables_are_left_alone():
    model = build("shared")
    model.other.weight.requires_grad_(False)
    before = model.other.weight.clone()
    wrapped, optimizer, batches = private(model)
    for batch in batches:
        step(wrapped, optimizer, batch)
    assert torch.equal(wrapped.state_dict()["_module.other.weight"], before)
    assert type(model.other) is nn.Embedding
