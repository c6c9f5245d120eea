"""A model that is made private again; and what would be private twice, or by halves."""

import pytest
import torch
from torch import nn

from lazydp import PrivacyEngine, UserError
from models import DIM, ROWS, build, data
from training import private, reference, seeded, step

KEPT = {
    "state_dict": lambda raw, model: model.state_dict()["_module.left.weight"],
    "detached": lambda raw, model: raw.left.weight.detach(),
    "part": lambda raw, model: raw.left.weight.detach()[2:],
    "row": lambda raw, model: raw.left.weight.detach()[5],
}


def of(kept, weight):
    return {"part": weight[2:], "row": weight[5]}.get(kept, weight)


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("kept", KEPT)
def test_a_tensor_that_was_kept_over_a_release_is_settled_when_it_is_read(kept, write):
    engine = PrivacyEngine(accountant="rdp")
    raw = build("shared")
    model, optimizer, batches = private(raw, engine=engine)
    step(model, optimizer, next(iter(batches)))
    shown = KEPT[kept](raw, model)
    plain = engine.release(model)
    expected, brute = reference("shared")
    expected.load_state_dict({k: v.clone() for k, v in plain.state_dict().items()})
    model, optimizer, batches = private(plain, noise="lazy_each_step", **seeded())
    for batch in batches:
        step(model, optimizer, batch)
        brute.step(batch)
    if write:
        with torch.no_grad():
            shown[...] = 3.0
            of(kept, expected.left.weight)[...] = 3.0
    seen, wanted = shown.clone(), of(kept, expected.left.weight.detach())
    torch.testing.assert_close(seen, wanted, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(
        plain.left.weight.detach().clone(), expected.left.weight.detach(), rtol=1e-4, atol=1e-4
    )


def test_tables_in_one_memory_are_told_apart():
    """A released table settles nothing; the others that share its storage do."""
    flat = torch.randn(2 * ROWS, DIM)
    engine = PrivacyEngine(accountant="rdp")

    def pair():
        model = build("factors")
        model.users.weight, model.items.weight = (
            nn.Parameter(part) for part in (flat[:ROWS], flat[ROWS:])
        )
        return model

    model, optimizer, batches = private(pair(), engine=engine)
    kept = model.state_dict()["_module.users.weight"]
    step(model, optimizer, next(iter(batches)))
    engine.release(model)
    model, optimizer, batches = private(pair(), engine=engine)
    step(model, optimizer, next(iter(batches)))
    before = kept.clone()
    assert torch.equal(before, model.state_dict()["_module.users.weight"].clone())
    assert optimizer.tables.groups[0].all_settled()


def test_memory_is_not_given_to_another_tensor():
    model, optimizer, batches = private(build("shared"))
    step(model, optimizer, next(iter(batches)))
    for shown in (model.left.weight.detach(), model.left.weight.detach()[3:]):
        with pytest.raises(UserError, match="can't be replaced or shared"):
            torch.empty(0).set_(shown)
    with pytest.raises(UserError, match="can't be replaced or shared"):
        model.left.weight.detach().set_(torch.zeros(ROWS, DIM))


def test_a_table_of_two_models_is_refused():
    one, other = build("shared"), build("single")
    other.table.weight = one.left.weight
    model, optimizer, batches = private(one)
    with pytest.raises(UserError, match="weight of table 'table' is private already"):
        private(other)
    other.table = nn.Embedding.from_pretrained(one.left.weight.detach(), freeze=False)
    with pytest.raises(UserError, match="weight of table 'table' is private already"):
        private(other)
    other = build("single")
    other.out = one.out
    with pytest.raises(UserError, match="layer 'out.0' is private already"):
        private(other)
    step(model, optimizer, next(iter(batches)))


CHANGES = {
    "padding_idx": ("padding_idx", 3),
    "max_norm": ("max_norm", 1.0),
    "scale_grad_by_freq": ("scale_grad_by_freq", True),
    "mode": ("mode", "max"),
}


@pytest.mark.parametrize(("key", "value"), CHANGES.values(), ids=CHANGES)
def test_a_private_table_keeps_its_way_of_pooling(key, value):
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(build("bag_mean"), engine=engine)
    with pytest.raises(UserError, match=f"{key} of table 'table' can't become"):
        setattr(model._module.table, key, value)
    setattr(model._module.table, key, getattr(model._module.table, key))
    step(model, optimizer, next(iter(batches)))
    plain = engine.release(model)
    setattr(plain.table, key, value)


def test_a_gradient_that_is_written_to_a_table_is_not_applied():
    """As programs do that change gradients by hand; dense ones are replaced by the clipped sum."""
    model, optimizer, batches = private(build("shared"), noise_multiplier=0.0)
    before = model.left.weight.detach().clone()
    for p in model.parameters():
        p.grad = torch.full_like(p, 100.0)
    with pytest.raises(UserError, match="written to table 'left' by hand"):
        step_without_zeroing(model, optimizer, next(iter(batches)))
    assert torch.equal(model.left.weight.detach(), before)
    assert model.left.weight.grad is None
    step(model, optimizer, data()[:4])


def step_without_zeroing(model, optimizer, batch):
    nn.functional.mse_loss(model(*batch[:2]), batch[2]).backward()
    optimizer.step()


REGROUPINGS = {
    "reversed": lambda optimizer: optimizer.param_groups.reverse(),
    "left out": lambda optimizer: optimizer.param_groups[0].update(params=[]),
    "gone": lambda optimizer: optimizer.param_groups.clear(),
}


@pytest.mark.parametrize("regroup", REGROUPINGS.values(), ids=REGROUPINGS)
def test_a_table_stays_in_its_parameter_group(regroup):
    raw = build("single")
    groups = [{"params": [raw.table.weight], "lr": 0.5}, {"params": raw.out.parameters()}]
    optimizer = torch.optim.SGD(groups, lr=0.1)
    model, optimizer, batches = private(raw, optimizer=optimizer)
    regroup(optimizer)
    with pytest.raises(UserError, match="not in the parameter group"):
        step(model, optimizer, next(iter(batches)))
