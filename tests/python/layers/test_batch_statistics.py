"""Statistics of a batch reach neither a gradient nor a buffer of what is released."""

import copy

import pytest
import torch
from torch import nn

from lazydp import PrivacyEngine, UserError
from models import ROWS, Single, build, squared_loss
from training import private, step
from unit_runs import by_unit


class Normed(Single):
    """Dense features go through `layer` first."""

    def __init__(self, layer):
        super().__init__()
        self.first = layer

    def forward(self, dense, ids):
        return super().forward(self.first(dense), ids)


class OwnNorm(nn.BatchNorm1d):
    """Opacus looks for exact types."""


def frozen(layer):
    return layer.requires_grad_(False)


BY_BATCH = {
    "no parameters": lambda: nn.BatchNorm1d(3, affine=False),
    "frozen": lambda: frozen(nn.BatchNorm1d(3)),
    "no statistics": lambda: nn.BatchNorm1d(3, affine=False, track_running_stats=False),
    "subclass": lambda: OwnNorm(3),
    "across processes": lambda: frozen(nn.SyncBatchNorm(3)),
}


def trainable(model):
    return torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.5)


@pytest.mark.parametrize("make", BY_BATCH.values(), ids=BY_BATCH)
@pytest.mark.parametrize("run", [private, by_unit])
def test_a_layer_that_normalises_by_the_batch_is_refused(run, make):
    model = Normed(make())
    with pytest.raises((UserError, NotImplementedError), match="(?i)batch|with privacy_unit"):
        run(model, optimizer=trainable(model))
    assert type(model.table) is nn.Embedding and type(model.out[0]) is nn.Linear
    assert not model.first._forward_pre_hooks and not model.first._forward_hooks


def test_statistics_of_public_data_are_used_and_stay():
    model = Normed(frozen(nn.BatchNorm1d(3)))
    model.first.eval()
    model.first.running_mean.fill_(0.5)
    engine = PrivacyEngine(accountant="rdp")
    made, optimizer, batches = private(model, engine=engine, optimizer=trainable(model))
    for batch in batches:
        step(made, optimizer, batch)
    assert torch.equal(model.first.running_mean, torch.full((3,), 0.5))
    made.train()  # switches it, too
    for gradients in (True, False):
        with torch.set_grad_enabled(gradients), pytest.raises(UserError, match="after every"):
            made(*batch[:2])
    assert torch.equal(model.first.running_mean, torch.full((3,), 0.5))
    plain = engine.release(made)
    squared_loss(plain, batch).backward()  # what it does then is its user's business


class Counting(Single):
    """Remembers how often each row was asked for."""

    def __init__(self, write):
        super().__init__()
        self.write = write
        self.register_buffer("counts", torch.zeros(ROWS))
        self.register_buffer("longest", torch.zeros(1), persistent=False)

    def look_up(self, ids):
        self.longest = torch.tensor([float(len(ids))])  # not part of state_dict()
        self.write(self, ids[:, 0])
        return super().look_up(ids)


class Quantised(nn.Module):
    """As observers of quantisation do, it keeps the range of what goes through."""

    def __init__(self):
        super().__init__()
        self.register_buffer("largest", torch.zeros(()))

    def forward(self, x):
        self.largest = torch.maximum(self.largest, x.detach().abs().max())
        return x


def add(model, ids):
    model.counts.index_add_(0, ids, torch.ones(len(ids)))


def replace(model, ids):
    model.counts = model.counts + torch.bincount(ids, minlength=ROWS)


def tracked():
    return nn.InstanceNorm1d(3, track_running_stats=True)


class Channels(nn.Module):
    def forward(self, x):
        return x.unsqueeze(2).expand(-1, -1, 2)


WRITES = {
    "in place": lambda: Counting(add),
    "replaced": lambda: Counting(replace),
    "in a layer": lambda: Normed(Quantised()),
    "running statistics": lambda: Normed(
        nn.Sequential(Channels(), tracked(), nn.Flatten(), nn.Linear(6, 3))
    ),
}


@pytest.mark.parametrize("gradients", [True, False])
@pytest.mark.parametrize("make", WRITES.values(), ids=WRITES)
def test_a_forward_that_writes_to_a_buffer_is_refused(make, gradients):
    made, optimizer, batches = private(make())
    batch = next(iter(batches))
    with torch.set_grad_enabled(gradients), pytest.raises(UserError, match="changed its buffer"):
        made(*batch[:2])


def test_what_is_no_statistic_of_a_batch_is_allowed():
    """A buffer that is only read, one outside of state_dict(), and one that is loaded or set."""
    model = Counting(lambda m, ids: None)
    made, optimizer, batches = private(model)
    for number, batch in enumerate(batches):
        step(made, optimizer, batch)
        with torch.no_grad():
            model.counts.fill_(number)
        made.load_state_dict(made.state_dict())
    assert float(model.longest) == len(batch[0])
    twin, optimizer, batches = by_unit(Counting(lambda m, ids: None))
    for batch in batches:
        twin(*batch[:2])


def test_a_copy_is_free_of_this():
    made, _, batches = private(Counting(add))
    model = Normed(frozen(nn.BatchNorm1d(3)))
    model.first.eval()
    other, _, _ = private(model, optimizer=trainable(model))
    for one in (made, other, made._module, other._module):
        twin = copy.deepcopy(one)
        squared_loss(twin.train(), next(iter(batches))).backward()


def test_a_compiled_model_is_watched():
    made, optimizer, batches = private(Counting(add))
    batch = next(iter(batches))
    with pytest.raises(UserError, match="changed its buffer"):
        torch.compile(made, backend="eager")(*batch[:2])
    shared = private(build("shared"))
    step(shared[0], shared[1], batch)
