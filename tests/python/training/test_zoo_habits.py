"""Habits of published models and scripts: they train, or one line says what to change."""

import pytest
import torch
from torch import nn

from lazydp import UserError
from models import DIM, Sequence, build, data
from training import private, step


def test_a_data_set_of_whole_batches_is_refused():
    """As DLRM's own script has it: an item is a batch, and the loader draws one of them."""
    items = torch.utils.data.TensorDataset(*(t.view(3, 4, *t.shape[1:]) for t in data().tensors))

    def whole(drawn):
        return drawn[0]

    batches = torch.utils.data.DataLoader(items, batch_size=1, collate_fn=whole)
    model, optimizer, batches = private(build("bag_sum"), batches=batches)
    with pytest.raises(UserError, match="saw 4 examples.* drew 1.*let it be one example"):
        step(model, optimizer, next(iter(batches)))


@pytest.mark.parametrize("expands", [False, True])
def test_positions_are_looked_up_for_every_example(expands):
    class Positions(Sequence):
        def __init__(self):
            super().__init__()
            self.places = nn.Embedding(3, DIM)

        def look_up(self, ids):
            places = torch.arange(3).expand(len(ids), 3) if expands else torch.arange(3)
            return (self.table(ids[:, :3]) + self.places(places)).tanh().sum(1)

    model, optimizer, batches = private(Positions())
    if expands:
        return step(model, optimizer, next(iter(batches)))
    with pytest.raises(UserError, match=r"'places' 3.*arange\(length\)\.expand"):
        step(model, optimizer, next(iter(batches)))
