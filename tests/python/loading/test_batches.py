"""A step is one batch that the loader handed out, taken once."""

import copy

import pytest
import torch
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, IterableDataset

from lazydp import PrivacyEngine, UserError
from models import DIM, ROWS, assert_same, build, data, loader, squared_loss
from training import Interrupted, private, step

EXAMPLES, BATCH = 40, 5
WORKERS = {
    "here": {},
    "workers": {"num_workers": 2},
    "persistent": {"num_workers": 2, "persistent_workers": True},
}


class Pairs(nn.Module):
    """Every layer is called for both items of a pair."""

    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(ROWS, DIM), nn.Linear(DIM, 1)

    def forward(self, dense, ids):
        better, worse = (self.out(self.table(ids[:, i])).squeeze(1) for i in (0, 1))
        return better - worse


STARTED = []


@pytest.fixture(autouse=True)
def workers_end():
    """Torch waits for workers that persist, if their loader is part of a cycle."""
    yield
    for batches in STARTED:
        if batches._iterator is not None:
            batches._iterator._shutdown_workers()
    STARTED.clear()


def made(model=None, workers="here", examples=EXAMPLES, **options):
    """A private run; by default with batches of a fixed size, which can't be told apart by it."""
    engine = PrivacyEngine(accountant="rdp")
    batches = DataLoader(data(examples), batch_size=BATCH, **WORKERS[workers])
    run = private(model or build("shared"), engine=engine, batches=batches, **options)
    STARTED.append(run[-1])
    return engine, *run


def untaken(engine, model, before, optimizer, words):
    """The step is refused, and has moved neither ledger, nor weights, nor noise."""
    with pytest.raises(UserError, match=words):
        optimizer.step()
    assert len(engine.accountant) == 0
    assert all(not table.pending for table in optimizer.tables.all)
    assert_same(model, before, 0)


def sum_of_losses(model, batches):
    """As `total += loss`, which torch's users call gradient accumulation."""
    total = 0
    for number, batch in enumerate(batches):
        total = total + squared_loss(model, batch)
        if number == 2:
            break
    return total


def fetched_first(model, batches):
    it = iter(batches)
    first, second = next(it), next(it)
    return squared_loss(model, first) + squared_loss(model, second)


def zipped(model, batches):
    for first, second in zip(batches, batches, strict=False):
        return squared_loss(model, first) + squared_loss(model, second)


def listed(model, batches):
    return sum(squared_loss(model, batch) for batch in list(batches))


def kept_from_before(model, batches):
    """The loss of one batch is part of the next one's."""
    it = iter(batches)
    kept = squared_loss(model, next(it))
    return kept + squared_loss(model, next(it))


def checkpointed(model, batches):
    """Segments are computed again inside of backward(), when the loader has gone on."""
    total = 0
    for batch, _ in zip(batches, range(2), strict=False):
        dense, ids, target = batch
        score = checkpoint(model, dense.requires_grad_(), ids, use_reentrant=True)
        total = total + nn.functional.mse_loss(score, target)
    return total


SEVERAL = [sum_of_losses, fetched_first, zipped, listed, kept_from_before, checkpointed]


@pytest.mark.parametrize("settle", ["on_read", "ahead"])
@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("several", SEVERAL, ids=lambda f: f.__name__)
def test_several_batches_in_one_backward_are_refused(several, workers, settle):
    if several is zipped and workers == "persistent":
        pytest.skip("torch: the second iterator resets the first")
    engine, model, optimizer, batches = made(workers=workers, settle=settle)
    before = copy.deepcopy(model)
    several(model, batches).backward()
    untaken(engine, model, before, optimizer, "clipped as one; nothing of it was kept")
    for batch in batches:  # and training goes on
        step(model, optimizer, batch)
    assert engine.accountant.history[0][2] == EXAMPLES // BATCH


@pytest.mark.parametrize("mode", ["hooks", "functorch", "ghost"])
@pytest.mark.parametrize("name", ["shared_norm", "layered_norm", "factors"])
def test_several_batches_are_told_apart_at_every_kind_of_layer(name, mode):
    made_so = private(build(name), grad_sample_mode=mode, criterion=nn.MSELoss())
    model, optimizer, batches = made_so[0], made_so[1], made_so[-1]
    sum_of_losses(model, batches).backward()
    with pytest.raises(UserError, match="clipped as one"):
        optimizer.step()


@pytest.mark.parametrize("settle", ["on_read", "ahead"])
@pytest.mark.parametrize("workers", WORKERS)
def test_a_second_step_on_one_batch_claims_nothing(workers, settle):
    """Workers have fetched others of its size, which are not handed out yet."""
    engine, model, optimizer, batches = made(workers=workers, settle=settle)
    engine.accountant.no_claim = None  # of fixed batches, which are needed here
    it = iter(batches)
    for _ in range(2):
        step(model, optimizer, next(it))
    assert engine.accountant.no_claim is None
    batch = next(it)
    step(model, optimizer, batch)
    step(model, optimizer, batch)
    assert "did not come from the loader" in str(engine.accountant.no_claim)


@pytest.mark.parametrize("model", [Pairs, lambda: build("shared")], ids=["pairs", "shared"])
@pytest.mark.parametrize("settle", ["on_read", "ahead"])
@pytest.mark.parametrize("workers", WORKERS)
def test_what_loops_do_is_no_second_batch(workers, settle, model):
    engine, model, optimizer, batches = made(
        model(), workers=workers, settle=settle, poisson_sampling=True
    )
    peeked = next(iter(batches))
    assert len(peeked) == 3
    for epoch in range(3):
        for number, batch in enumerate(batches):
            if len(batch[0]) == 0 and epoch == 0:
                continue
            if number == 2 and epoch == 1:
                break
            if number == 3:  # an evaluation on private data, in between
                with torch.no_grad():
                    if epoch == 2 and not isinstance(model._module, Pairs):
                        [squared_loss(model, other) for other in batches]
                    squared_loss(model, batch)
            if number == 4 and len(batch[0]):
                with pytest.raises(KeyboardInterrupt):
                    Interrupted.apply(squared_loss(model, batch)).backward()
                continue
            step(model, optimizer, batch)
    next(iter(batches))
    step(model, optimizer, next(iter(batches)))
    assert engine.get_epsilon(1e-5) < float("inf")


@pytest.mark.parametrize("workers", WORKERS)
def test_two_iterators_take_turns(workers):
    if workers == "persistent":
        pytest.skip("torch: the second iterator resets the first")
    engine, model, optimizer, batches = made(workers=workers, poisson_sampling=True)
    for first, second in zip(batches, batches, strict=True):
        step(model, optimizer, first)
        step(model, optimizer, second)
    assert engine.get_epsilon(1e-5) < float("inf")


@pytest.mark.parametrize("workers", ["here", "workers"])
def test_an_example_that_can_not_be_read_does_not_shift_the_sizes(workers):
    class Broken(torch.utils.data.Dataset):
        whole = data(11)

        def __len__(self):
            return 11

        def __getitem__(self, i):
            if i == 1:
                raise ValueError("unreadable")
            return self.whole[i]

    batches = DataLoader(Broken(), batch_size=4, **WORKERS[workers])
    model, optimizer, loaded = private(build("shared"), batches=batches)
    it = iter(loaded)
    with pytest.raises(ValueError, match="unreadable"):
        next(it)
    assert [len(batch[0]) for batch in it if step(model, optimizer, batch) is None] == [4, 3]


@pytest.mark.parametrize("workers", ["here", "workers"])
def test_micro_batches_of_one_draw_are_one_step(workers):
    engine, model, optimizer, batches = made(workers=workers, poisson_sampling=True)
    for _ in range(2):
        with BatchMemoryManager(
            data_loader=batches, max_physical_batch_size=2, optimizer=optimizer
        ) as small:
            for batch in small:
                step(model, optimizer, batch)
    assert engine.accountant.history[0][2] == 2 * EXAMPLES // BATCH
    assert engine.get_epsilon(1e-5) < float("inf")


def test_micro_batches_of_two_draws_in_one_pass_are_refused():
    engine, model, optimizer, batches = made()
    before = copy.deepcopy(model)
    with BatchMemoryManager(
        data_loader=batches, max_physical_batch_size=BATCH, optimizer=optimizer
    ) as small:
        sum_of_losses(model, small).backward()
        untaken(engine, model, before, optimizer, "clipped as one")


def test_pairs_in_micro_batches():
    """Workers draw ahead of what is handed out: that is no sign of several batches."""
    engine, model, optimizer, batches = made(Pairs(), workers="workers", poisson_sampling=True)
    with BatchMemoryManager(
        data_loader=batches, max_physical_batch_size=3, optimizer=optimizer
    ) as small:
        for batch in small:
            step(model, optimizer, batch)
    assert engine.get_epsilon(1e-5) < float("inf")


def test_passes_that_accumulate_are_told_apart():
    engine, model, optimizer, batches = made(Pairs())
    for number, batch in enumerate(batches):
        squared_loss(model, batch).backward()
        if number % 2:
            optimizer.step()
            optimizer.zero_grad()
    assert engine.accountant.history[0][2] == EXAMPLES // BATCH // 2


class Lines(IterableDataset):
    def __len__(self):
        return 8

    def __iter__(self):
        yield from data(8)


@pytest.mark.parametrize("settle", ["on_read", "ahead"])
def test_batches_of_an_iterable_are_told_apart(settle):
    batches = DataLoader(Lines(), batch_size=4)
    model, optimizer, loaded = private(build("shared"), batches=batches, settle=settle)
    for batch in loaded:
        step(model, optimizer, batch)
    sum_of_losses(model, loaded).backward()
    with pytest.raises(UserError, match="clipped as one"):
        optimizer.step()


def test_a_loader_with_its_own_iterator():
    class Shouting(DataLoader):
        def __iter__(self):
            yield from super().__iter__()

    model, optimizer, loaded = private(build("shared"), batches=Shouting(data(), batch_size=4))
    assert len([step(model, optimizer, batch) for batch in loaded]) == 3
    sum_of_losses(model, loaded).backward()
    with pytest.raises(UserError, match="clipped as one"):
        optimizer.step()


def test_a_loader_made_private_twice_tells_the_later_run():
    batches = loader()
    private(build("shared"), batches=batches)
    model, optimizer, loaded = private(build("shared"), batches=batches)
    sum_of_losses(model, loaded).backward()
    with pytest.raises(UserError, match="clipped as one"):
        optimizer.step()
