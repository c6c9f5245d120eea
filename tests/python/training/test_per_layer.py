"""clipping="per_layer": a bound for every parameter tensor, tables among them."""

import pytest
import torch
from opacus import PrivacyEngine as OpacusEngine
from opacus.schedulers import ExponentialGradClip

from lazydp import PrivacyEngine
from models import assert_same, build, data, loader, squared_loss
from reference import example_gradients
from training import private, seeded, step


def bounds_for(model):
    """All different, small enough to matter."""
    return [0.05 * (i + 1) for i, _ in enumerate(model.parameters())]


def brute_force(model, bounds, batches, rate=0.5, expected_batch=4, scale=lambda step: 1.0):
    """SGD on the sum of gradients that were clipped parameter by parameter."""
    for number, batch in enumerate(batches):
        parameters, gradients = example_gradients(model, batch, squared_loss)
        for k, p in enumerate(parameters):
            bound = bounds[k] * scale(number)
            total = sum(
                g[k] * min(1.0, float(bound / g[k].norm().clamp(min=1e-30))) for g in gradients
            )
            p.data -= rate / expected_batch * total
    return model


@pytest.mark.parametrize("name", ["shared", "twice", "factors", "bag_mean", "layered_norm"])
def test_equals_brute_force(name):
    model = build(name)
    bounds = bounds_for(model)
    made, optimizer, batches = private(
        model, clipping="per_layer", max_grad_norm=bounds, noise_multiplier=0.0
    )
    for batch in batches:
        step(made, optimizer, batch)
    assert_same(made, brute_force(build(name), bounds, list(loader())))


@pytest.mark.parametrize("name", ["single", "sequence", "bag_sum"])
def test_equals_opacus(name):
    """Where both can run: ids without repeats, for Opacus miscounts them."""
    results = []
    ids = torch.stack(
        [torch.randperm(12, generator=torch.Generator().manual_seed(i))[:4] for i in range(12)]
    )
    batches = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(data()[:][0], ids, data()[:][2]), batch_size=4
    )
    for engine in (PrivacyEngine(accountant="rdp"), OpacusEngine(accountant="rdp")):
        model = build(name)
        made, optimizer, _ = private(
            model,
            engine=engine,
            batches=batches,
            clipping="per_layer",
            max_grad_norm=bounds_for(model),
            noise_multiplier=0.0,
        )
        for dense, i, target in batches:
            if name == "bag_sum" and isinstance(made.table, torch.nn.EmbeddingBag):
                offsets = torch.arange(len(i)) * i.shape[1]
                made._module.look_up = lambda x, m=made, o=offsets: m.table(x.reshape(-1), o)
            step(made, optimizer, (dense, i, target))
        results.append(made)
    assert_same(*results, tolerance=1e-4)


def test_noise_is_that_of_the_joint_bound():
    model = build("factors")
    made, optimizer, batches = private(
        model, clipping="per_layer", max_grad_norm=[3e-9, 4e-9], noise_multiplier=2.0, **seeded()
    )
    assert optimizer.max_grad_norm == pytest.approx(5e-9)
    assert optimizer._noise_std() == pytest.approx(1e-8)


def test_a_clip_scheduler_moves_every_bound():
    """Opacus would shrink the noise alone, and leave gradients as large as they were."""
    model = build("factors")
    bounds = [0.3, 0.4]
    made, optimizer, batches = private(
        model, clipping="per_layer", max_grad_norm=bounds, noise_multiplier=0.0
    )
    scheduler = ExponentialGradClip(optimizer, gamma=0.5)
    for batch in batches:
        step(made, optimizer, batch)
        scheduler.step()
    expected = brute_force(build("factors"), bounds, list(loader()), scale=lambda t: 0.5**t)
    assert_same(made, expected)


def test_an_example_that_is_not_finite_is_left_out_of_every_layer():
    model = build("shared_norm")
    bounds = bounds_for(model)
    made, optimizer, _ = private(
        model, clipping="per_layer", max_grad_norm=bounds, noise_multiplier=0.0
    )
    dense, ids, target = (x.clone() for x in data()[:4])
    expected = brute_force(build("shared_norm"), bounds, [(dense[1:], ids[1:], target[1:])])
    target[0] = float("nan")
    step(made, optimizer, (dense, ids, target))
    assert_same(made, expected)
