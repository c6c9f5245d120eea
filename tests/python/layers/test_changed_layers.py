"""Layers that freeze, thaw, or are replaced after make_private: trained rightly, or refused."""

import pytest
import torch
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.nn.utils import prune

from lazydp import PrivacyEngine, UserError
from models import DIM, ROWS, assert_same, build, data, loader, plain_state, squared_loss
from training import private, reference, seeded, step


def test_training_in_eval_mode_learns():
    for mode in (lambda m: m.eval(), lambda m: m._module.left.eval(), lambda m: m.out.eval()):
        model, optimizer, batches = private(build("shared_norm"), noise_multiplier=0.0)
        expected, brute = reference("shared_norm", sigma=0.0)
        mode(model)
        for batch in batches:
            step(model, optimizer, batch)
            brute.step(batch)
        assert_same(model, expected)


@pytest.mark.parametrize("noise", ["lazy", "lazy_each_step", "every_row"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_table_that_is_frozen_stops_and_thaws(noise, momentum):
    raw = build("shared")
    optimizer = torch.optim.SGD(raw.parameters(), lr=0.5, momentum=momentum)
    model, optimizer, batches = private(raw, optimizer=optimizer, noise=noise)
    one, two, three = batches
    step(model, optimizer, one)
    raw.left.weight.requires_grad_(False)
    step(model, optimizer, two)
    frozen = raw.left.weight.clone()
    step(model, optimizer, three)
    assert torch.equal(raw.left.weight, frozen)
    raw.left.weight.requires_grad_(True)
    assert torch.equal(raw.left.weight, frozen)
    step(model, optimizer, one)
    assert bool((raw.left.weight != frozen).any(1).all())  # every row, by noise


def test_a_frozen_table_owes_the_noise_of_the_steps_it_took():
    model, optimizer, batches = private(build("shared"), noise="lazy_each_step", **seeded())
    expected, brute = reference("shared")
    one, two, _ = batches
    step(model, optimizer, one)
    brute.step(one)
    model._module.left.weight.requires_grad_(False)
    step(model, optimizer, two)
    torch.testing.assert_close(
        model._module.left.weight.detach(), expected.left.weight.detach(), rtol=1e-5, atol=1e-5
    )


def test_a_layer_that_becomes_trainable_later_is_refused():
    raw = build("shared_norm")
    raw.other.weight.requires_grad_(False)
    raw.out[0].weight.requires_grad_(False)
    model, optimizer, batches = private(raw)
    for late in (raw.other.weight, raw.out[0].weight):
        late.requires_grad_(True)
        with pytest.raises(UserError, match="became trainable after make_private"):
            step(model, optimizer, next(iter(batches)))
        late.requires_grad_(False)
        late.grad = None
    step(model, optimizer, next(iter(batches)))


def test_a_dense_layer_stays_in_its_parameter_group():
    """Its clipped sums waited, and a step after it came back applied those of all steps at once."""
    raw = build("bag_sum")
    groups = [{"params": [raw.table.weight]}, {"params": [*raw.out.parameters()]}]
    sgd = torch.optim.SGD(groups, lr=0.5)
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(raw, optimizer=sgd, noise_multiplier=0.0, engine=engine)
    expected, brute = reference("bag_sum", sigma=0.0)
    one, two, _ = batches
    group = sgd.param_groups.pop()
    for _ in range(4):
        with pytest.raises(UserError, match="not in the parameter group"):
            step(model, optimizer, one)
    assert len(engine.accountant) == 0
    sgd.param_groups.append(group)
    step(model, optimizer, two)
    brute.step(two)
    assert_same(model, expected)


def test_a_layer_that_freezes_between_virtual_steps_leaves_nothing_behind():
    raw = build("bag_sum")
    model, optimizer, batches = private(raw, noise_multiplier=0.0, batches=loader(12, 12))
    (whole,) = batches
    with BatchMemoryManager(
        data_loader=batches, max_physical_batch_size=4, optimizer=optimizer
    ) as small:
        for number, batch in enumerate(small):
            raw.out[0].requires_grad_(number == 0)
            step(model, optimizer, batch)
    raw.out[0].requires_grad_(True)
    expected, brute = reference("bag_sum", sigma=0.0, expected_batch=12)
    expected.load_state_dict(plain_state(model))
    assert raw.out[0].weight.summed_grad is None
    whole = next(iter(batches))
    step(model, optimizer, whole)
    brute.step(whole)
    assert_same(model, expected)


def test_per_layer_bounds_stay_with_their_parameters():
    raw = build("shared_norm")
    bounds = [0.1 * (1 + i) for i in range(len(list(raw.parameters())))]
    model, optimizer, batches = private(
        raw, noise_multiplier=0.0, clipping="per_layer", max_grad_norm=bounds
    )
    raw.out[0].requires_grad_(False)  # the first of the list
    before = plain_state(model)
    step(model, optimizer, next(iter(batches)))
    of = dict(zip((name for name, _ in raw.named_parameters()), bounds, strict=True))
    for name, value in plain_state(model).items():
        length = float((value - before[name]).norm()) / 0.5
        assert length <= (0.0 if name.startswith("out.0.") else of.get(name, 9.0) * (1 + 1e-4))


def test_parameters_of_a_linear_layer_may_freeze_and_thaw():
    raw, (expected, brute) = build("shared"), reference("shared", sigma=0.0)
    for model in (raw, expected):
        model.out[0].bias.requires_grad_(False)
    model, optimizer, batches = private(raw, noise_multiplier=0.0)
    for batch, (bias, weight) in zip(batches, [(0, 1), (1, 0), (1, 1)], strict=True):
        for one in (raw, expected):
            one.out[0].bias.requires_grad_(bool(bias))
            one.out[0].weight.requires_grad_(bool(weight))
        step(model, optimizer, batch)
        brute.optimizer.zero_grad()
        brute.step(batch)
    assert_same(model, expected)


def test_another_weight_is_refused():
    model, optimizer, batches = private(build("shared"))
    with pytest.raises(UserError, match="can't be replaced"):
        model._module.left.weight = nn.Parameter(torch.zeros(ROWS, DIM))
    held = model._module.left._parameters["weight"]
    model._module.left._parameters["weight"] = nn.Parameter(torch.zeros(ROWS, DIM))
    with pytest.raises(UserError, match="was replaced"):
        step(model, optimizer, next(iter(batches)))
    model._module.left._parameters["weight"] = held
    zeros = {"left.weight": torch.zeros(ROWS, DIM)}
    with pytest.raises(UserError, match="was replaced|can't be replaced"):
        torch.func.functional_call(model._module, zeros, tuple(data()[:4][:2]))
    step(model, optimizer, next(iter(batches)))


@pytest.mark.parametrize("name", ["shared", "layered_norm"])
def test_a_layer_that_is_called_with_other_parameters_is_refused(name):
    """Gradients would be those of the other ones, and move its own."""
    model, optimizer, batches = private(build(name))
    own = dict(model._module.named_parameters())
    key = "norm.weight" if name == "layered_norm" else "out.2.bias"
    with pytest.raises(UserError, match="was replaced after make_private"):
        torch.func.functional_call(
            model._module, {key: own[key].detach() * 2}, tuple(data()[:4][:2])
        )
    torch.func.functional_call(model._module, {key: own[key]}, tuple(data()[:4][:2]))
    step(model, optimizer, next(iter(batches)))


REPLACEMENTS = {
    "layer": lambda m: m.out.__setitem__(2, nn.Linear(5, 1)),
    "parameter": lambda m: setattr(m.out[2], "weight", nn.Parameter(torch.zeros(1, 5))),
    "pruned": lambda m: prune.l1_unstructured(m.out[2], "weight", 0.5),
    "added": lambda m: m.register_parameter("more", nn.Parameter(torch.zeros(1))),
}


@pytest.mark.parametrize("replace", REPLACEMENTS.values(), ids=REPLACEMENTS)
def test_layers_that_changed_since_make_private_are_refused(replace):
    model, optimizer, batches = private(build("shared"))
    replace(model._module)
    with pytest.raises(UserError, match="make_private|another way"):
        step(model, optimizer, next(iter(batches)))


@pytest.mark.parametrize("name", ["shared", "shared_norm"])
def test_an_input_that_is_written_to_before_the_step_is_refused(name):
    model, optimizer, batches = private(build(name))
    dense, ids, target = (x.clone() for x in data()[:4])
    layer = model._module.out[0]
    squared_loss(model, (dense, ids, target)).backward()
    kept = optimizer.captures._finished[0].calls
    inputs = next(c.inputs for calls in kept.values() for c in calls if c.name == "out.0")
    (inputs[0] if isinstance(inputs, list) else inputs).zero_()
    with pytest.raises(UserError, match="changed in place"):
        optimizer.step()
    assert layer is model._module.out[0]


def test_an_input_that_is_written_to_before_backward_is_refused():
    """Torch itself sees it where a parameter needs the input; here parameters are detached."""

    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.table, self.out = (
                nn.LayerNorm(3),
                nn.Embedding(ROWS, 3),
                nn.Linear(3, 1),
            )

        def forward(self, dense, ids):
            normed = self.norm(dense)
            dense.mul_(0.0)
            return self.out(normed + self.table(ids[:, 0])).squeeze(1)

    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(Normed(), engine=engine)
    with pytest.raises((UserError, RuntimeError), match="changed in place|inplace operation"):
        step(model, optimizer, tuple(x.clone() for x in next(iter(batches))))
    assert len(engine.accountant) == 0
