"""Layers of every kind beside tables: the clipped sum is that of examples taken one by one."""

import pytest
import torch
from opacus.layers import DPLSTM
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader, TensorDataset

from lazydp import UserError
from models import assert_same, build
from training import brute_force, private, reference, step

ROWS, DIM, EXAMPLES = 20, 8, 6


class Stack(nn.Module):
    """A table, and layers on top of it."""

    def __init__(self, *layers):
        super().__init__()
        self.table = nn.EmbeddingBag(ROWS, DIM, mode="sum")
        self.layers = nn.Sequential(*layers)

    def forward(self, ids):
        return self.layers(self.table(ids)).flatten(1).sum(1)


class Recurrent(nn.Module):
    """Packed, the first id of an example is its length, too."""

    def __init__(self, packed):
        super().__init__()
        self.packed = packed
        self.table = nn.Embedding(ROWS, DIM)
        self.rnn = DPLSTM(DIM, 5, batch_first=True, num_layers=2)
        self.out = nn.Linear(5, 1)

    def forward(self, ids):
        x = self.table(ids)
        if self.packed:
            x = pack_padded_sequence(x, ids[:, 0], batch_first=True, enforce_sorted=False)
        _, (hidden, _) = self.rnn(x)
        return self.out(hidden[-1]).squeeze(1)


class Shift(nn.Module):
    """A module of the user's, with a parameter of its own."""

    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.randn(DIM))

    def forward(self, x):
        return (x + self.shift).tanh()


class Columns(nn.Module):
    def forward(self, x):
        return x.unsqueeze(1)


def tied():
    one, two = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM, bias=False)
    two.weight = one.weight
    return Stack(one, nn.Tanh(), two)


STACKS = {
    "norms": lambda: Stack(nn.LayerNorm(DIM), nn.RMSNorm(DIM), nn.Linear(DIM, 4)),
    "in_place": lambda: Stack(
        nn.ReLU(inplace=True), nn.LayerNorm(DIM), nn.ReLU(inplace=True), nn.Linear(DIM, 4)
    ),
    "convolutions": lambda: Stack(Columns(), nn.Conv1d(1, 3, 3), nn.ReLU(), nn.Conv1d(3, 2, 2)),
    "groups": lambda: Stack(nn.Linear(DIM, 4), nn.GroupNorm(2, 4), nn.PReLU()),
    "own": lambda: Stack(Shift(), nn.Linear(DIM, 4)),
    "twice": lambda: Stack(*[nn.LayerNorm(DIM)] * 2),
    "tied": tied,
    "recurrent": lambda: Recurrent(packed=False),
}


def loss_of(model, batch):
    return functional.mse_loss(model(batch[0]), batch[1])


def batch_of(seed=1):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(ROWS, (EXAMPLES, 4), generator=g), torch.randn(EXAMPLES, generator=g)


def both(make):
    """The private model, its optimizer, and brute force."""
    torch.manual_seed(0)
    ours = make()
    torch.manual_seed(0)
    theirs = make()
    model, optimizer, _ = private(
        ours,
        optimizer=torch.optim.SGD(ours.parameters(), lr=0.1),
        noise_multiplier=0.0,
        batches=DataLoader(TensorDataset(*batch_of()), batch_size=EXAMPLES),
    )
    sgd = torch.optim.SGD(theirs.parameters(), lr=0.1)
    twin = brute_force(theirs, optimizer=sgd, loss=loss_of, sigma=0.0, expected_batch=EXAMPLES)
    return model, optimizer, twin


def take_steps(model, optimizer, brute, batch):
    for _ in range(3):
        optimizer.zero_grad()
        loss_of(model, batch).backward()
        optimizer.step()
        brute.step(batch)
    assert_same(model, brute.model)


@pytest.mark.parametrize("make", STACKS.values(), ids=STACKS)
def test_layers_equal_brute_force(make):
    take_steps(*both(make), batch_of())


def test_packed_sequences_in_the_batchs_order():
    ids, target = batch_of()
    ids[:, 0] = torch.tensor([4, 4, 3, 2, 2, 1])
    model, optimizer, brute = both(lambda: Recurrent(packed=True))
    take_steps(model, optimizer, brute, (ids, target))
    for one in (model._module, brute.model):
        one.packed = False
    take_steps(model, optimizer, brute, (ids[:3], target[:3]))  # and then unpacked ones


def test_packed_sequences_in_another_order_are_refused():
    ids, target = batch_of()
    ids[:, 0] = torch.tensor([1, 4, 3, 2, 2, 1])
    model, optimizer, _ = both(lambda: Recurrent(packed=True))
    with pytest.raises(UserError, match="another order than the batch's"):
        loss_of(model, (ids, target))


def test_layers_that_see_positions_as_examples_are_named():
    class Turned(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.norm = nn.Embedding(ROWS, DIM), nn.LayerNorm(DIM)

        def forward(self, ids):
            return self.norm(self.table(ids).transpose(0, 1)).sum((0, 2))

    model, optimizer, _ = both(Turned)
    with pytest.raises(UserError, match="'norm' 4, 'table' 6"):
        loss_of(model, batch_of()).backward()
        optimizer.step()


@pytest.mark.parametrize("result", [lambda x: (x, x), lambda x: {"x": x}])
def test_a_layer_of_several_outputs_is_refused(result):
    class Many(Shift):
        def forward(self, x):
            return result(x + self.shift)

    class Model(Stack):
        def forward(self, ids):
            out = self.layers(self.table(ids))
            return (out["x"] if isinstance(out, dict) else out[0]).sum(1)

    model, _, _ = both(lambda: Model(Many()))
    with pytest.raises(UserError, match=r"'layers.0' \(Many\) returns a"):
        model(batch_of()[0])


def test_a_layer_of_several_inputs_is_refused():
    class Two(Shift):
        def forward(self, x, y):
            return x * self.shift + y

    class Model(Stack):
        def forward(self, ids):
            x = self.table(ids)
            return self.layers[0](x, x).sum(1)

    model, _, _ = both(lambda: Model(Two()))
    with pytest.raises(UserError, match="called with 2 positional tensors"):
        model(batch_of()[0])


def test_a_compiled_model_is_compiled_once():
    """Steps change weights, rows and batches; none of it is what a compiled graph is guarded by."""
    compiles = []

    def backend(graph, inputs):
        compiles.append(graph)
        return graph.forward

    torch._dynamo.reset()
    model, optimizer, batches = private(build("shared_norm"))
    compiled = torch.compile(model, backend=backend)
    counts = []
    for _ in range(2):
        for batch in batches:
            step(compiled, optimizer, batch)
            counts.append(len(compiles))
    assert len(set(counts[1:])) == 1, counts


def test_a_compiled_model_trains():
    model, optimizer, batches = private(build("shared_norm"), noise_multiplier=0.0)
    expected, brute = reference("shared_norm", sigma=0.0)
    compiled = torch.compile(model, backend="eager")
    for batch in batches:
        step(compiled, optimizer, batch)
        brute.step(batch)
    assert_same(model, expected)
