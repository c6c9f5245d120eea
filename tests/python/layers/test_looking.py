"""A program that looks at gradients trains nothing by it: only backward() does."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

from lazydp import UserError
from models import assert_same, build, squared_loss
from training import brute_force, private, reference, step
from unit_runs import by_unit, loss_of

MODELS = ["layered", "layered_norm", "shared_norm", "twice"]


def saliency(loss, dense, hidden):
    torch.autograd.grad(loss, [dense, hidden], allow_unused=True)


def of_the_input(loss, dense, hidden):
    loss.backward(inputs=[dense])


def of_a_norm(loss, dense, hidden):
    """The layer that comes last is not asked for the gradient of its own anchor."""
    torch.autograd.grad(loss, hidden)


LOOKS = {"saliency": saliency, "inputs": of_the_input, "hidden": of_a_norm}


def look_at(model, batch, look):
    dense = batch[0].clone().requires_grad_(True)
    seen = []
    handle = model._module.out[-1].register_forward_hook(lambda *a: seen.append(a[2]))
    loss = squared_loss(model, (dense, *batch[1:]))
    handle.remove()
    look(loss, dense, seen[0])


@pytest.mark.parametrize("poisson", [False, True])
@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("name", MODELS)
def test_a_look_at_gradients_is_no_backward_pass(name, look, poisson):
    """It was taken for one: a step applied it, or was refused as one of two passes."""
    options = {"noise_multiplier": 0.0, "poisson_sampling": poisson}
    model, optimizer, batches = private(build(name), **options)
    expected, brute = reference(name, sigma=0.0)
    for batch in batches:
        if not len(batch[0]):
            continue
        look_at(model, batch, look)
        squared_loss(model, batch).backward()  # and nothing is cleared
        look_at(model, batch, look)
        optimizer.step()
        brute.step(batch)
    assert_same(model, expected, 5e-5)


def test_adversarial_examples_are_trained_on():
    """The fast gradient sign method: a gradient by the input, then a step on what it makes."""

    def moved(model, batch):
        dense = batch[0].clone().requires_grad_(True)
        (by_input,) = torch.autograd.grad(squared_loss(model, (dense, *batch[1:])), dense)
        return (batch[0] + 0.3 * by_input.sign(), *batch[1:])

    model, optimizer, batches = private(build("layered_norm"), noise_multiplier=0.0)
    expected, brute = reference("layered_norm", sigma=0.0)
    for batch in batches:
        harder = moved(model, batch)
        step(model, optimizer, harder)
        brute.step(moved(expected, batch))
    assert_same(model, expected, 5e-5)


def test_a_jacobian_by_the_input_leaves_nothing_behind():
    model, optimizer, batches = private(build("shared_norm"), noise_multiplier=0.0)
    expected, brute = reference("shared_norm", sigma=0.0)
    for batch in batches:
        torch.autograd.functional.jacobian(lambda d, ids=batch[1]: model(d, ids), batch[0])
        squared_loss(model, batch).backward()
        optimizer.step()
        brute.step(batch)
    assert_same(model, expected, 5e-5)


def test_a_look_at_units_is_no_backward_pass():
    raw = build("shared")
    model, optimizer, batches = by_unit(raw, batch=10)
    for batch in batches:
        dense = batch[0].clone().requires_grad_(True)
        torch.autograd.grad(loss_of(model, (dense, *batch[1:])), dense)
        loss_of(model, batch).backward()
        optimizer.step()


def penalised(model, batch):
    dense = batch[0].clone().requires_grad_(True)
    (slope,) = torch.autograd.grad(model(dense, batch[1]).sum(), dense, create_graph=True)
    return (slope.norm(2, 1) - 1).square().mean()


@pytest.mark.parametrize("name", MODELS)
def test_a_gradient_of_a_gradient_is_refused(name):
    """The penalty's own gradient by the weights would be lost without a word."""
    model, optimizer, batches = private(build(name), noise_multiplier=0.0)
    expected, brute = reference(name, sigma=0.0)
    batch = next(iter(batches))
    with pytest.raises(UserError, match=r"create_graph=True.*copy.deepcopy"):
        penalised(model, batch).backward()
    with warnings.catch_warnings(), pytest.raises(UserError, match="create_graph=True"):
        warnings.simplefilter("ignore")
        squared_loss(model, batch).backward(create_graph=True)
    step(model, optimizer, batch)  # a loop that goes on does so as if nothing had been
    brute.step(batch)
    assert_same(model, expected, 5e-5)


def test_a_copy_may_be_looked_into_twice():
    import copy

    model, optimizer, batches = private(build("layered_norm"))
    batch = next(iter(batches))
    penalised(copy.deepcopy(model), batch).backward()
    step(model, optimizer, batch)


def test_passes_that_are_cleared_again_and_again_are_warned_of_once():
    """As where another optimizer steps: a private model has no gradients that it could apply."""
    model, optimizer, batches = private(build("shared"))
    other = torch.optim.SGD(model.parameters(), lr=0.5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(30):
            for batch in batches:
                model.zero_grad()
                squared_loss(model, batch).backward()
                other.step()
    assert sum("no step took them" in str(w.message) for w in caught) == 1


def test_passes_that_are_cleared_now_and_then_are_not_warned_of():
    model, optimizer, batches = private(build("shared"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            for batch in batches:
                squared_loss(model, batch).backward()  # a metric
                step(model, optimizer, batch)


class Layer(nn.Module):
    """The last layer forms gradients one by one, so that no anchor of its own is in the graph."""

    def __init__(self):
        super().__init__()
        self.table = nn.EmbeddingBag(12, 4, mode="sum")
        self.norm = nn.LayerNorm(4)

    def forward(self, dense, ids):
        return self.norm(self.table(ids)).square().sum(1)


def test_a_layer_without_an_anchor_of_its_own():
    def make():
        torch.manual_seed(0)
        return Layer()

    raw, expected = make(), make()
    model, optimizer, batches = private(raw, noise_multiplier=0.0)
    brute = brute_force(expected, sigma=0.0)
    for batch in batches:
        seen = []
        handle = raw.table.register_forward_hook(lambda *a, seen=seen: seen.append(a[2]))
        loss = functional.mse_loss(model(*batch[:2]), batch[2])
        handle.remove()
        torch.autograd.grad(loss, seen[0])
        squared_loss(model, batch).backward()
        optimizer.step()
        brute.step(batch)
    assert_same(model, expected, 5e-5)
