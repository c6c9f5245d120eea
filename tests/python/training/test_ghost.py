"""Ghost clipping: losses that are computed with, other shapes, and a bound that moves."""

import math

import pytest
import torch
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
from torch import nn

from lazydp import PrivacyEngineAdaptiveClipping, PrivacyError, UserError
from models import assert_same, build, data, squared_loss
from reference import example_gradients
from training import ADAPTIVE as FLAT
from training import brute_force, private, reference, seeded

MODELS = ["shared", "shared_norm"]  # without a layer of Opacus', and with one


def ghost(name, **options):
    chosen = {"noise_multiplier": 0.0, "grad_sample_mode": "ghost", "criterion": nn.MSELoss()}
    return private(build(name), **(chosen | options))


@pytest.mark.parametrize("name", MODELS)
def test_a_loss_that_was_computed_with_clips_tables_too(name):
    """Opacus' operators give a loss that knows nothing of tables."""
    model, optimizer, criterion, batches = ghost(name)
    twin, other, plain, _ = ghost(name)
    for dense, ids, target in batches:
        for made, by, of, times in (
            (model, optimizer, criterion, lambda loss: -(1 - (2 * loss / 3 + loss))),
            (twin, other, plain, lambda loss: loss * (5 / 3) - 1),
        ):
            by.zero_grad()
            times(of(made(dense, ids), target)).backward()
            by.step()
    assert_same(model, twin)
    expected, _ = reference(name, sigma=0.0)

    def five_thirds(m, batch):
        return squared_loss(m, batch) * (5 / 3)

    brute = brute_force(expected, loss=five_thirds, sigma=0.0)
    for batch in batches:
        brute.step(batch)
    assert_same(model, expected)


@pytest.mark.parametrize("name", MODELS)
def test_a_criterion_of_opacus_is_refused(name):
    model, optimizer, _, batches = ghost(name)
    own = DPLossFastGradientClipping(model, optimizer, nn.MSELoss(), "mean")
    dense, ids, target = next(iter(batches))
    with pytest.raises(PrivacyError, match="criterion that make_private returned"):
        own(model(dense, ids), target).backward()


ADAPTIVE = {
    "target_unclipped_quantile": 0.4,
    "clipbound_learning_rate": 0.3,
    "min_clipbound": 0.1,
}


def adaptive(name, **options):
    """With noise that can be predicted; and a generator that predicts that of the counts."""
    made = ghost(
        name,
        engine=PrivacyEngineAdaptiveClipping(accountant="rdp"),
        **(ADAPTIVE | seeded(7) | options),
    )
    generator = torch.Generator().manual_seed(7)
    torch.randint(2**62, (1,), generator=generator)  # the tables' key
    return made, generator


def moved(bound, centred_count, generator, expected_batch=4):
    noise = float(torch.normal(0.0, expected_batch / 20, (1,), generator=generator))
    fraction = 0.5 + (centred_count + noise) / expected_batch
    return bound * 2.718281828459045 ** (-0.3 * (fraction - 0.4))


@pytest.mark.parametrize("name", MODELS)
def test_adaptive_clipping_equals_brute_force(name):
    """A step clips by the bound it began with; its count moves the next one's."""
    (model, optimizer, criterion, batches), generator = adaptive(name)
    expected, bound = build(name), 1.3
    for batch in batches:
        dense, ids, target = batch
        optimizer.zero_grad()
        criterion(model(dense, ids), target).backward()
        optimizer.step()

        parameters, gradients = example_gradients(expected, batch, squared_loss)
        norms = [float(sum(g.square().sum() for g in each)) ** 0.5 for each in gradients]
        for k, p in enumerate(parameters):
            for norm, gradient in zip(norms, gradients, strict=True):
                p.data -= 0.5 / 4 * min(1.0, bound / norm) * gradient[k]
        bound = moved(bound, sum(0.5 if n <= bound else -0.5 for n in norms), generator)
        assert optimizer.max_grad_norm == pytest.approx(bound, rel=1e-5)
    assert_same(model, expected)


@pytest.mark.parametrize("size", [0, 1, 3, 11])
def test_the_count_is_divided_by_the_expected_batch(size):
    """How many examples were drawn is a secret; all of these are clipped, or there are none."""
    (model, optimizer, criterion, _), generator = adaptive("shared", max_grad_norm=1e-6)
    dense, ids, target = data()[:size]
    optimizer.limits = (0.0, 1.0)
    criterion(model(dense, ids), target).backward()
    optimizer.step()
    assert optimizer.max_grad_norm == pytest.approx(moved(1e-6, -0.5 * size, generator), rel=1e-5)


@pytest.mark.parametrize("size", [1, 4, 9])
def test_without_ghosts_the_count_is_divided_by_the_expected_batch_too(size):
    options = FLAT | {"noise_multiplier": 0.0, "unclipped_num_std": 1e-9}
    options |= {"max_grad_norm": 1e-6, "min_clipbound": 1e-9}
    model, optimizer, _ = private(build("shared"), **options)
    squared_loss(model, data()[:size]).backward()
    optimizer.step()
    excess = 0.5 - 0.5 * size / 4 - FLAT["target_unclipped_quantile"]
    expected = 1e-6 * math.exp(-FLAT["clipbound_learning_rate"] * excess)
    assert optimizer.max_grad_norm == pytest.approx(expected, rel=1e-5)


def test_physical_batches_of_a_step_share_one_bound_and_one_count():
    (model, optimizer, criterion, _), generator = adaptive("shared")
    for part, last in ((data()[:4], False), (data()[4:8], True)):
        dense, ids, target = part
        optimizer.signal_skip_step(do_skip=not last)
        optimizer.zero_grad()
        criterion(model(dense, ids), target).backward()
        assert optimizer.max_grad_norm == 1.3
        optimizer.step()
    parameters, gradients = example_gradients(build("shared"), data()[:8], squared_loss)
    norms = [float(sum(g.square().sum() for g in each)) ** 0.5 for each in gradients]
    count = sum(0.5 if n <= 1.3 else -0.5 for n in norms)
    assert optimizer.max_grad_norm == pytest.approx(moved(1.3, count, generator), rel=1e-5)


def test_a_batch_too_small_to_pay_for_its_count_is_refused():
    with pytest.raises(UserError, match="above 10 x noise_multiplier = 5"):
        adaptive("shared", noise_multiplier=0.5)


def test_adaptive_clipping_pays_for_its_count():
    engine = PrivacyEngineAdaptiveClipping(accountant="rdp")
    model, optimizer, criterion, batches = ghost("shared", engine=engine, noise_multiplier=0.3)
    dense, ids, target = next(iter(batches))
    criterion(model(dense, ids), target).backward()
    multiplier = (0.3**-2 - (2 * 4 / 20) ** -2) ** -0.5
    assert optimizer._noise_std() == pytest.approx(multiplier * optimizer.max_grad_norm)
    assert optimizer.noise_multiplier == 0.3  # what the accountant sees
