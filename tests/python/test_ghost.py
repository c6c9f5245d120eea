"""Ghost clipping: losses that are computed with, other shapes, and a bound that moves."""

import pytest
import torch
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
from torch import nn

from lazydp import PrivacyEngineAdaptiveClipping, PrivacyError
from models import assert_same, build, data, squared_loss
from reference import BruteForce, example_gradients
from training import private, reference

MODELS = ["shared", "shared_norm"]  # one pass, and two


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

    sgd = torch.optim.SGD(expected.parameters(), lr=0.5)
    brute = BruteForce(expected, sgd, five_thirds, sigma=0.0, bound=1.3, expected_batch=4)
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


@pytest.mark.parametrize("name", MODELS)
def test_adaptive_clipping_equals_brute_force(name):
    """The bound moves before it clips; the noise of the count comes from torch's generator."""
    options = {
        "target_unclipped_quantile": 0.4,
        "clipbound_learning_rate": 0.3,
        "min_clipbound": 0.1,
    }
    model, optimizer, criterion, batches = ghost(
        name, engine=PrivacyEngineAdaptiveClipping(accountant="rdp"), **options
    )
    expected, bound = build(name), 1.3
    for number, batch in enumerate(batches):
        torch.manual_seed(number)
        dense, ids, target = batch
        optimizer.zero_grad()
        criterion(model(dense, ids), target).backward()
        optimizer.step()

        torch.manual_seed(number)
        parameters, gradients = example_gradients(expected, batch, squared_loss)
        norms = [float(sum(g.square().sum() for g in each)) ** 0.5 for each in gradients]
        unclipped = sum(n <= bound for n in norms) + float(torch.normal(0.0, len(norms) / 20, (1,)))
        bound *= 2.718281828459045 ** (-0.3 * (unclipped / len(norms) - 0.4))
        for k, p in enumerate(parameters):
            for norm, gradient in zip(norms, gradients, strict=True):
                p.data -= 0.5 / 4 * min(1.0, bound / norm) * gradient[k]
        assert optimizer.max_grad_norm == pytest.approx(bound, rel=1e-5)
    assert_same(model, expected)


def test_adaptive_clipping_pays_for_its_count():
    engine = PrivacyEngineAdaptiveClipping(accountant="rdp")
    model, optimizer, criterion, batches = ghost("shared", engine=engine, noise_multiplier=0.3)
    dense, ids, target = next(iter(batches))
    criterion(model(dense, ids), target).backward()
    multiplier = (0.3**-2 - (2 * 4 / 20) ** -2) ** -0.5
    assert optimizer._noise_std() == pytest.approx(multiplier * optimizer.max_grad_norm)
    assert optimizer.noise_multiplier == 0.3  # what the accountant sees


def test_adaptive_clipping_takes_an_empty_batch():
    engine = PrivacyEngineAdaptiveClipping(accountant="rdp")
    model, optimizer, criterion, _ = ghost("shared", engine=engine)
    dense, ids, target = data()[:0]
    before = optimizer.max_grad_norm
    optimizer.zero_grad()
    criterion(model(dense, ids), target).backward()
    optimizer.step()
    assert optimizer.max_grad_norm == before
