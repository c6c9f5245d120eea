"""What is refused, and with which words."""

import pytest
import torch
from torch import nn

from lazydp import UserError
from models import DIM, ROWS, Bag, Single, build
from training import private, step

REFUSALS = {
    "max_norm": (lambda: Bag(max_norm=1.0), "max_norm 1.0"),
    "frequency": (lambda: Single(scale_grad_by_freq=True), "scale_grad_by_freq"),
    "max": (lambda: Bag(mode="max"), "pools by max"),
    "double": (lambda: Single().double(), "float64"),
}


@pytest.mark.parametrize(("make", "words"), REFUSALS.values(), ids=REFUSALS)
def test_tables_that_are_refused(make, words):
    with pytest.raises(UserError, match=words):
        private(make())


def test_a_table_tied_to_a_linear_is_refused():
    class Tied(Single):
        def __init__(self):
            super().__init__()
            self.back = nn.Linear(DIM, ROWS, bias=False)
            self.back.weight = self.table.weight

    with pytest.raises(UserError, match="tied to 'back'"):
        private(Tied())


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.Adagrad, torch.optim.AdamW])
def test_other_optimizers_on_tables_are_refused(kind):
    model = build("bag_sum")
    with pytest.raises(UserError, match="sgd_group"):
        private(model, optimizer=kind(model.parameters(), lr=0.1))
    assert type(model.table) is nn.EmbeddingBag  # left as it was


def test_other_things_that_are_refused():
    model, optimizer, _ = private(build("bag_sum"))
    for move in (lambda: model.double(), lambda: model.half(), lambda: model.to("meta")):
        with pytest.raises(UserError, match="must stay torch.float32 on cpu"):
            move()
    with pytest.raises(UserError, match="is private already"):
        model._module.table._parameters["weight"].requires_grad_(True)
        private(model._module)
    weights = torch.ones(4, 4, requires_grad=True)
    with pytest.raises(UserError, match="per_sample_weights"):
        model.table(torch.zeros(4, 4, dtype=torch.int64), per_sample_weights=weights)
    with pytest.raises(IndexError):
        model.table(torch.tensor([[ROWS]]))
    with pytest.raises(UserError, match="noise is 'later'"):
        private(build("bag_sum"), noise="later")
    with pytest.raises(UserError, match="settle is 'never'"):
        private(build("bag_sum"), settle="never")
    with pytest.raises(UserError, match="must be a list of 5 bounds"):
        private(build("bag_sum"), clipping="per_layer", max_grad_norm=[1.0] * 4)


def test_make_private_that_fails_leaves_the_model_plain():
    model = build("shared")
    with pytest.raises(ValueError):
        private(model, loss_reduction="median")
    assert type(model.left) is nn.EmbeddingBag and model.left.weight.requires_grad


def test_examples_that_do_not_match_are_refused():
    class Flat(Single):
        def look_up(self, ids):
            return self.table(ids.reshape(-1)).view(len(ids), -1, DIM).sum(1)

    model, optimizer, batches = private(Flat())
    with pytest.raises(UserError, match="'table' 16"):
        step(model, optimizer, next(iter(batches)))
