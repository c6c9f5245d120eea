"""A gradient is applied once, with its batch, whatever happens between backward() and step()."""

import copy
import threading

import pytest
import torch
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

from lazydp import PrivacyEngine, UserError
from models import DIM, ROWS, Single, assert_same, build, data, loader, squared_loss
from training import Interrupted, brute_force, private, reference, step


def no_zeroing(model, optimizer):
    """Gradients are never cleared."""


ZEROING = {
    "none": no_zeroing,
    "model": lambda model, optimizer: model.zero_grad(),
    "inner": lambda model, optimizer: model._module.zero_grad(),
    "to_none": lambda model, optimizer: optimizer.zero_grad(set_to_none=True),
    "original": lambda model, optimizer: optimizer.original_optimizer.zero_grad(),
    "by_hand": lambda model, optimizer: [setattr(p, "grad", None) for p in model.parameters()],
}


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
@pytest.mark.parametrize("zero", ZEROING.values(), ids=ZEROING)
@pytest.mark.parametrize("name", ["shared", "shared_norm", "layered_norm"])
def test_a_gradient_is_applied_once_whoever_clears_it(name, zero, mode):
    made = private(build(name), noise_multiplier=0.0, grad_sample_mode=mode, criterion=nn.MSELoss())
    model, optimizer, batches = made[0], made[1], made[-1]
    expected, brute = reference(name, sigma=0.0)
    for batch in batches:
        zero(model, optimizer)
        criterion = made[2] if mode == "ghost" else nn.MSELoss()
        criterion(model(*batch[:2]), batch[2]).backward()
        optimizer.step()
        brute.step(batch)
    assert_same(model, expected, 5e-5)


def test_clearing_between_backward_and_step_drops_the_pass():
    for clear in ("optimizer", "model"):
        model, optimizer, batches = private(build("shared_norm"), noise_multiplier=0.0)
        expected, brute = reference("shared_norm", sigma=0.0)
        first, second, _ = batches
        squared_loss(model, first).backward()
        (optimizer if clear == "optimizer" else model).zero_grad()
        step(model, optimizer, second)
        brute.step(second)
        assert_same(model, expected)


class Checkpointed(Single):
    """Parts of the model are computed again in backward()."""

    def __init__(self, *, reentrant, nested=False, norm=False, whole=False):
        super().__init__()
        self.reentrant, self.nested, self.whole = reentrant, nested, whole
        self.mid = nn.Sequential(nn.Linear(DIM, DIM), nn.Tanh(), nn.Linear(DIM, DIM))
        self.norm = nn.LayerNorm(DIM) if norm else nn.Identity()

    def again(self, part, *inputs):
        return checkpoint(part, *inputs, use_reentrant=self.reentrant)

    def forward(self, dense, ids):
        if not self.whole:
            return super().forward(dense, ids)
        # No layer is outside of a segment, and a segment needs an input with a gradient.
        dense = dense.clone().requires_grad_(True)
        one, two = (self.again(super(Checkpointed, self).forward, dense, ids) for _ in range(2))
        return one - 0.5 * two

    def inner(self, x):
        return self.again(self.mid, x) if self.nested else self.mid(x)

    def look_up(self, ids):
        x = self.table(ids[:, 0])
        x = self.again(self.inner, x) + self.again(
            lambda y: self.norm(self.table(ids[:, 1]) + y), x
        )
        return self.again(self.norm, x)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointed_segments_belong_to_their_pass(reentrant, nested, norm, whole):
    def make():
        torch.manual_seed(0)
        return Checkpointed(reentrant=reentrant, nested=nested, norm=norm, whole=whole)

    raw, expected = make(), make()
    model, optimizer, batches = private(raw, noise_multiplier=0.0)
    brute = brute_force(expected, sigma=0.0)
    for batch in batches:
        step(model, optimizer, batch)
        assert optimizer.accumulated_iterations == 1
        brute.step(batch)
    assert_same(model, expected, 5e-5)


class Flat(nn.Module):
    """Every layer is given look-ups instead of examples."""

    def __init__(self, linear):
        super().__init__()
        self.table = nn.Embedding(ROWS, DIM)
        self.each = nn.Linear(DIM, DIM) if linear else nn.Identity()

    def forward(self, dense, ids):
        return self.each(self.table(ids.reshape(-1))).view(len(ids), -1).sum(1)


@pytest.mark.parametrize("poisson", [False, True])
@pytest.mark.parametrize("linear", [False, True])
def test_flattened_ids_are_refused(linear, poisson):
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(Flat(linear), engine=engine, poisson_sampling=poisson)
    before = copy.deepcopy(model)
    batch = next(b for b in batches if len(b[0]))
    with pytest.raises(UserError, match=rf"saw {4 * len(batch[0])} examples, and the loader drew"):
        step(model, optimizer, batch)
    assert len(engine.accountant) == 0
    assert_same(model, before, 0)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("settle", ["on_read", "ahead"])
def test_batches_of_the_loader_are_told_from_others(settle, workers):
    batches = DataLoader(data(40), batch_size=5, num_workers=workers)
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, loaded = private(
        build("shared"), engine=engine, poisson_sampling=True, batches=batches, settle=settle
    )
    for epoch in range(3):
        for number, batch in enumerate(loaded):
            if number == 6 and epoch == 0:
                break  # an epoch that is left early
            if len(batch[0]) == 0 and epoch == 1:
                continue  # as many loops do
            step(model, optimizer, batch)
    with BatchMemoryManager(
        data_loader=loaded, max_physical_batch_size=2, optimizer=optimizer
    ) as small:
        for batch in small:
            step(model, optimizer, batch)
    assert engine.get_epsilon(1e-5) < float("inf")


@pytest.mark.parametrize("name", ["shared", "shared_norm", "layered_norm"])
def test_training_goes_on_after_an_interrupted_backward(name):
    model, optimizer, batches = private(build(name), noise_multiplier=0.0)
    expected, brute = reference(name, sigma=0.0)
    for number, batch in enumerate([*batches, *batches]):
        if number % 2 == 0:
            handle = model._module.out[-1].register_forward_pre_hook(
                lambda _, inputs: Interrupted.apply(inputs[0])
            )
            with pytest.raises(KeyboardInterrupt):
                squared_loss(model, batch).backward()
            handle.remove()
            if number == 2:  # and one that steps all the same
                with pytest.raises(UserError, match="did not reach its end"):
                    optimizer.step()
        squared_loss(model, batch).backward()  # nothing is cleared
        optimizer.step()
        brute.step(batch)
    assert_same(model, expected)


def test_a_forward_without_backward_leaves_nothing_behind():
    model, optimizer, batches = private(build("shared_norm"), noise_multiplier=0.0)
    expected, brute = reference("shared_norm", sigma=0.0)
    for batch in batches:
        first = squared_loss(model, batch)
        squared_loss(model, data(seed=7)[:3])  # a metric, in training mode, with gradients on
        optimizer.zero_grad()
        first.backward()
        optimizer.step()
        brute.step(batch)
    assert_same(model, expected)


def test_two_losses_of_one_forward_are_two_passes():
    model, optimizer, batches = private(build("shared"), poisson_sampling=True)
    out = model(*data()[:4][:2])
    out.square().mean().backward(retain_graph=True)
    with pytest.raises(ValueError, match="not compatible with grad accumulation"):
        out.mean().backward()


def test_half_of_a_logical_batch_does_not_join_the_next_one():
    """A loop over physical batches that is left early."""
    model, optimizer, batches = private(
        build("shared"), noise_multiplier=0.0, batches=loader(12, 12)
    )
    expected, brute = reference("shared", sigma=0.0, expected_batch=12)
    with BatchMemoryManager(
        data_loader=batches, max_physical_batch_size=5, optimizer=optimizer
    ) as small:
        for batch in small:
            step(model, optimizer, batch)
            break
    whole = next(iter(batches))
    optimizer._step_skip_queue.clear()
    with pytest.raises(UserError, match="saw 16 examples"):
        step(model, optimizer, whole)
    step(model, optimizer, next(iter(batches)))
    brute.step(whole)
    assert_same(model, expected)


def test_an_evaluation_in_another_thread_leaves_a_pass_alone():
    model, optimizer, batches = private(build("shared"), noise_multiplier=0.0)
    expected, brute = reference("shared", sigma=0.0)
    batch = next(iter(batches))

    def evaluate(gradient):
        def read():
            with torch.no_grad():
                model(*data(seed=3)[:4][:2])

        thread = threading.Thread(target=read)
        thread.start()
        thread.join()

    hidden = model._module.out[0].register_full_backward_hook(lambda *_: evaluate(None))
    step(model, optimizer, batch)
    hidden.remove()
    brute.step(batch)
    assert_same(model, expected)
