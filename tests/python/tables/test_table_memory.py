"""Tensors that were made from weight.data without a copy, and lie in a table's memory."""

import pytest
import torch
from torch import nn

from lazydp import PrivacyEngine, UserError
from models import DIM, ROWS, Single, build
from training import private, step


def tied_by_data(model):
    """As weights are often tied, in the place of `one.weight = other.weight`."""
    model.other = nn.Embedding(ROWS, DIM)
    model.other.weight.data = model.table.weight.data


def linear(model):
    model.back = nn.Linear(DIM, ROWS, bias=False)
    model.back.weight.data = model.table.weight.data


def frozen(model):
    model.frozen = nn.Embedding.from_pretrained(model.table.weight.data)


def overlapping(model):
    flat = torch.randn(ROWS + 3, DIM)
    model.table.weight.data, model.other = flat[:ROWS], nn.Embedding(ROWS, DIM)
    model.other.weight.data = flat[3:]


ALIASES = {
    "tied_by_data": tied_by_data,
    "linear": linear,
    "frozen": frozen,
    "overlapping": overlapping,
    "buffer": lambda m: m.register_buffer("initial", m.table.weight.data),
    "hidden_buffer": lambda m: m.register_buffer("initial", m.table.weight.data, False),
    "part": lambda m: m.register_buffer("specials", m.table.weight.data[2:3]),
    "transposed": lambda m: m.register_buffer("t", m.table.weight.data.T),
    "attribute": lambda m: setattr(m, "initial", m.table.weight.data),
    "view": lambda m: setattr(m, "first", m.table.weight[0]),
    "other_type": lambda m: m.register_buffer("bytes", m.table.weight.data.view(torch.uint8)),
}


@pytest.mark.parametrize("alias", ALIASES.values(), ids=ALIASES)
def test_another_tensor_in_a_tables_memory_is_refused(alias):
    """It was in state_dict() with rows that had no noise yet."""
    model = Single()
    alias(model)
    with pytest.raises(UserError, match=r"lies in the memory of table '\w+'"):
        private(model)
    assert type(model.table) is nn.Embedding


def neighbours(model):
    flat = torch.randn(2 * ROWS, DIM)
    model.table.weight.data, model.other = flat[:ROWS], nn.Embedding(ROWS, DIM)
    model.other.weight.data = flat[ROWS:]


def tied(model):
    model.other = nn.Embedding(ROWS, DIM)
    model.other.weight = model.table.weight


def copied(model):
    model.register_buffer("initial", model.table.weight.detach().clone())
    model.register_buffer("none", torch.empty(0))
    model.register_buffer("sparse", torch.eye(3).to_sparse())
    model.register_buffer("meta", torch.empty(3, device="meta"))


@pytest.mark.parametrize("harmless", [neighbours, tied, copied])
def test_memory_of_their_own_and_parameters_that_are_tied_are_none(harmless):
    model = build("single")
    harmless(model)
    made, optimizer, batches = private(model)
    step(made, optimizer, next(iter(batches)))


def test_a_group_that_was_loaded_holds_the_released_weight():
    """load_state_dict() gives an optimizer another list of groups."""
    import weakref

    raw = build("shared")
    sgd = torch.optim.SGD(raw.parameters(), lr=0.5)
    model, optimizer, batches = private(raw, optimizer=sgd)
    step(model, optimizer, next(iter(batches)))
    optimizer.load_state_dict(optimizer.state_dict())
    held = weakref.ref(raw.left.weight)  # so that another parameter takes its place
    plain = PrivacyEngine().release(model)
    assert held() is not None
    assert {id(p) for p in plain.parameters()} == {
        id(p) for group in sgd.param_groups for p in group["params"]
    }
    assert all(type(p) is nn.Parameter for group in sgd.param_groups for p in group["params"])
