"""A gradient that private layers would not see is refused, and so is a step without one."""

import copy
import warnings

import pytest
import torch
from torch import nn

from lazydp import PrivacyEngine, PrivacyError, UserError
from models import DIM, Single, assert_same, build, data, squared_loss
from training import private, step


def test_the_original_optimizer_may_not_step_by_itself():
    raw = build("shared_norm")
    original = torch.optim.SGD(raw.parameters(), lr=0.5)
    model, optimizer, batches = private(raw, optimizer=original)
    before = copy.deepcopy(model)
    squared_loss(model, next(iter(batches))).backward()
    with pytest.raises(PrivacyError, match="the one that make_private returned"):
        original.step()
    assert_same(model, before, 0)


def test_parameters_outside_the_optimizer_are_refused():
    model = build("bag_sum")
    with pytest.raises(UserError, match=r"'out\.0\.weight' requires a gradient but is in no"):
        private(model, optimizer=torch.optim.SGD([model.table.weight], lr=0.1))
    dense = [p for p in model.parameters() if p is not model.table.weight]
    with pytest.raises(UserError, match="table 'table' requires a gradient but is in no"):
        private(model, optimizer=torch.optim.SGD(dense, lr=0.1))
    assert type(model.table) is nn.EmbeddingBag


def apply_in_backward(p):
    from torch.distributed.optim import _apply_optimizer_in_backward

    _apply_optimizer_in_backward(torch.optim.SGD, [p], {"lr": 0.1})


IN_BACKWARD = {
    "hook": lambda p: p.register_post_accumulate_grad_hook(lambda p: p.data.sub_(p.grad)),
    "apply_optimizer_in_backward": apply_in_backward,
}


@pytest.mark.parametrize("which", ["table.weight", "out.0.weight"])
@pytest.mark.parametrize("fuse", IN_BACKWARD.values(), ids=IN_BACKWARD)
def test_updates_inside_of_backward_are_refused(fuse, which):
    model = build("bag_sum")
    fuse(model.get_parameter(which))
    with pytest.raises(UserError, match="inside of backward"):
        private(model)


def test_gradient_hooks_are_refused():
    model = build("bag_sum")
    model.out[0].weight.register_hook(lambda g: 2 * g)
    with pytest.raises(UserError, match="has a gradient hook"):
        private(model)


AROUND = {
    "linear": ("shared_norm", lambda m, x: nn.functional.linear(x, m.out[1].weight[:, :3])),
    "norm": ("shared_norm", lambda m, x: m.out[0].weight[:3] * x),
    "table": (
        "shared_norm",
        lambda m, x: nn.functional.embedding(x[:, 0].long() * 0, m.left.weight),
    ),
    "regulariser": ("shared_norm", lambda m, x: m.left.weight.square()),
    "dense_regulariser": ("shared_norm", lambda m, x: m.out[1].weight.square()),
    "functional_bag": (
        "bag_sum",
        lambda m, x: nn.functional.embedding_bag(x[:, :1].long() * 0, m.table.weight, mode="sum"),
    ),
}


@pytest.mark.parametrize(("name", "around"), AROUND.values(), ids=AROUND)
def test_gradients_that_go_around_a_layer_are_refused(name, around):
    model, optimizer, batches = private(build(name))
    batch = next(iter(batches))
    with pytest.raises(UserError, match="by another way than"):
        (squared_loss(model, batch) + around(model._module, batch[0]).sum()).backward()
    step(model, optimizer, batch)  # a loop that goes on does so privately


def test_a_parameter_beside_layers_is_refused():
    class Biased(Single):
        def __init__(self):
            super().__init__()
            self.offset = nn.Parameter(torch.zeros(1))

        def forward(self, dense, ids):
            return super().forward(dense, ids) + self.offset

    with pytest.raises(UserError, match="parameter 'offset' belongs to 'Biased'"):
        private(Biased())


def test_a_module_with_a_parameter_of_its_own_trains():
    class Offset(nn.Module):
        def __init__(self):
            super().__init__()
            self.offset = nn.Parameter(torch.zeros(DIM))

        def forward(self, x):
            return x + self.offset

    class Biased(Single):
        def __init__(self):
            super().__init__()
            self.bias = Offset()

        def look_up(self, ids):
            return self.bias(super().look_up(ids))

    torch.manual_seed(0)
    raw = Biased()
    model, optimizer, batches = private(raw, noise_multiplier=0.0)
    step(model, optimizer, next(iter(batches)))
    assert raw.bias.offset.abs().sum() > 0


def test_a_step_without_a_gradient_is_refused():
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(build("shared_norm"), engine=engine)
    before = copy.deepcopy(model)
    with torch.no_grad():
        squared_loss(model, next(iter(batches)))
    with pytest.raises(UserError, match="no gradient reached"):
        optimizer.step()
    assert len(engine.accountant) == 0
    assert_same(model, before, 0)


def test_losses_that_are_not_finite_are_warned_of_once():
    model, optimizer, batches = private(build("shared"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for dense, ids, target in batches:
            step(model, optimizer, (dense * float("nan"), ids, target))
    assert sum("noise alone" in str(w.message) for w in caught) == 1


def test_the_original_optimizer_is_free_after_release():
    raw = build("shared")
    original = torch.optim.SGD(raw.parameters(), lr=0.5)
    model, optimizer, batches = private(raw, optimizer=original)
    step(model, optimizer, next(iter(batches)))
    plain = PrivacyEngine().release(model)
    original.zero_grad()
    squared_loss(plain, data()[:4]).backward()
    original.step()
    again, optimizer, batches = private(plain, optimizer=original)
    step(again, optimizer, next(iter(batches)))


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_parameters_of_less_than_single_precision_are_refused(kind):
    """The rounding of a sum depends on all of it: one example moved it by 2.9 times the bound."""
    raw = build("shared_norm")
    raw.out[0].to(kind)
    with pytest.raises(UserError, match=rf"'out\.0\.weight' is of {kind}"):
        private(raw)
    raw.out[0].requires_grad_(False)  # a frozen one is not added up
    raw.out[0].float()
    model, optimizer, batches = private(raw)
    batch = next(iter(batches))
    step(model, optimizer, batch)
    raw.out[1].to(kind)
    before = copy.deepcopy(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = squared_loss(model, batch)
    loss.backward()
    with pytest.raises(UserError, match=rf"'out\.1\.weight' is of {kind}"):
        optimizer.step()
    assert_same(model, before, 0)
