"""Values that are written or loaded into tables and momenta owe nothing; a load that fails changes
nothing."""

import pytest
import torch
from torch import nn
from torch.nn.utils import vector_to_parameters

from lazydp import UserError
from models import DIM, ROWS, assert_same, build
from training import private, reference, saved, seeded, step, trained

WRITES = {
    "load_state_dict": lambda m, new: m.load_state_dict(
        {k: new if "left" in k or "right" in k else v for k, v in m.state_dict().items()}
    ),
    "data": lambda m, new: setattr(m._module.left.weight, "data", new),
    "copy": lambda m, new: m._module.left.weight.data.copy_(new),
    "rows": lambda m, new: [m._module.left.weight.data[i].copy_(new[i]) for i in range(ROWS)],
    "assigned": lambda m, new: m._module.left.weight.data.__setitem__(slice(None), new),
    "init": lambda m, new: nn.init.zeros_(m._module.left.weight).data.add_(new),
    "vector": lambda m, new: vector_to_parameters(new.flatten(), [m._module.left.weight]),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_what_is_written_is_there_and_owes_nothing(write):
    model, optimizer, batches = private(build("shared"))
    for batch in batches:
        step(model, optimizer, batch)
    new = torch.randn(ROWS, DIM)
    write(model, new)
    assert torch.equal(model._module.left.weight.detach().clone(), new)
    assert torch.equal(model._module.right(torch.arange(ROWS)).detach(), new)


@pytest.mark.parametrize("spoil", ["shape", "missing", "unexpected"])
def test_a_load_that_fails_changes_nothing(spoil):
    model, optimizer, expected = trained(steps=2)
    state = {k: torch.zeros_like(v) for k, v in model.state_dict().items()}
    if spoil == "shape":
        state["_module.right.weight"] = torch.zeros(ROWS + 1, DIM)
    elif spoil == "missing":
        del state["_module.out.0.bias"]
    else:
        state["_module.another"] = torch.zeros(1)
    with pytest.raises(RuntimeError, match="Error.s. in loading state_dict"):
        model.load_state_dict(state)
    assert_same(model, expected)
    model.load_state_dict(model.state_dict())  # itself
    assert_same(model, expected)


def test_loading_weights_leaves_momenta_right_and_the_other_way_round():
    def make():
        raw = build("shared")
        optimizer = torch.optim.SGD(raw.parameters(), lr=0.2, momentum=0.9)
        return private(raw, optimizer=optimizer, noise="lazy_each_step", **seeded())

    model, optimizer, batches = make()
    expected, brute = reference("shared")
    brute.optimizer = torch.optim.SGD(expected.parameters(), lr=0.2, momentum=0.9)
    for number, batch in enumerate([*batches, *batches]):
        step(model, optimizer, batch)
        brute.step(batch)
        if number == 1:  # momenta are behind: few rows were read
            kept = {k: v.clone() for k, v in expected.state_dict().items()}
            model.load_state_dict({f"_module.{k}": v for k, v in kept.items()})
        if number == 3:
            optimizer.load_state_dict(saved(brute.optimizer.state_dict()))
    assert_same(model, expected, 5e-5)


def test_momenta_of_another_shape_are_refused_and_change_nothing():
    raw = build("shared")
    optimizer = torch.optim.SGD(raw.parameters(), lr=0.2, momentum=0.9)
    model, optimizer, batches = private(raw, optimizer=optimizer)
    step(model, optimizer, next(iter(batches)))
    state = saved(optimizer.state_dict())
    for one in state["state"].values():
        one["momentum_buffer"] = one["momentum_buffer"][:1]
    before = optimizer.state[raw.left.weight]["momentum_buffer"].clone()
    with pytest.raises(UserError, match="has shape"):
        optimizer.load_state_dict(state)
    assert torch.equal(optimizer.state[raw.left.weight]["momentum_buffer"].clone(), before)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("noise", ["lazy", "lazy_each_step"])
def test_settling_ahead_leaves_the_padding_row_alone(noise, momentum):
    raw = build("sequence_padding")
    optimizer = torch.optim.SGD(raw.parameters(), lr=0.5, momentum=momentum)
    before = raw.table.weight[1].detach().clone()
    model, optimizer, batches = private(raw, optimizer=optimizer, settle="ahead", noise=noise)
    for _ in range(3):
        for batch in batches:
            step(model, optimizer, batch)
            assert torch.equal(optimizer.tables.all[0].memory[1], before)
    assert torch.equal(raw.table.weight[1].detach(), before)


def test_a_move_that_is_refused_moves_nothing():
    model, _, _ = private(build("shared"))
    for move in (lambda: model.double(), lambda: model.half(), lambda: model.to("meta")):
        with pytest.raises(UserError, match="must stay"):
            move()
        assert all(p.dtype == torch.float32 and not p.is_meta for p in model.parameters())


def test_assign_and_things_that_are_no_tensors_are_refused_before_anything_changes():
    model, optimizer, expected = trained()
    held = list(model.parameters())
    zeros = {k: torch.zeros_like(v) for k, v in model.state_dict().items()}
    with pytest.raises(UserError, match="assign"):
        model.load_state_dict(zeros, assign=True)
    with pytest.raises(RuntimeError, match="not a tensor"):
        model.load_state_dict(zeros | {"_module.out.0.bias": zeros["_module.out.0.bias"].numpy()})
    assert all(a is b for a, b in zip(held, model.parameters(), strict=True))
    assert_same(model, expected)
