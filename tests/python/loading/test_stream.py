"""Steps of a stream take its windows in their order, whatever the loop does; else they raise.

Twelve examples make three windows of four, or 200 four passes of 50 windows.
"""

import itertools
import math
import random

import numpy as np
import pytest
import torch
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch.utils.data import (
    DataLoader,
    IterableDataset,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)
from torch.utils.data.distributed import DistributedSampler

from lazydp import PrivacyEngine, UserError
from models import assert_same, build, data, loader, plain_state, squared_loss
from stream_runs import claims_nothing, in_order, of_bands
from training import Interrupted, checkpoint_of, seeded, step

WRONG = "takes batch .* and was given"


def trained(loop, **options):
    """Return the model that a loop over (model, optimizer, batches) leaves."""
    model, optimizer, batches = in_order(build("shared"), **(seeded() | options))
    loop(model, optimizer, batches)
    return model


def plain_loop(model, optimizer, batches):
    for _ in range(2):
        for batch in batches:
            step(model, optimizer, batch)


def unmoved(model, optimizer, engine, *, words, call):
    """Expect `call` to raise before anything moved."""
    before, steps = plain_state(model), len(engine.accountant)
    with pytest.raises(UserError, match=words) as refused:
        call()
    assert "\n" not in str(refused.value)
    assert len(engine.accountant) == steps
    after = plain_state(model)
    assert all(torch.equal(before[key], after[key]) for key in before)


# Habits that take every batch at its step.


def evaluated(model, batches):
    model.eval()
    with torch.no_grad():
        for batch in batches:
            squared_loss(model, batch)
    model.train()


def evaluating(model, optimizer, batches):
    for _ in range(2):
        for number, batch in enumerate(batches):
            if number == 1:  # between hand-out and step
                evaluated(model, batches)
            step(model, optimizer, batch)
            evaluated(model, itertools.islice(batches, 2))


def peeking(model, optimizer, batches):
    next(iter(batches))
    held = iter(batches)
    next(held)
    plain_loop(model, optimizer, batches)
    next(held)


def fetching_ahead(model, optimizer, batches):
    for _ in range(2):
        iterator = iter(batches)
        batch = next(iterator)
        while batch is not None:
            following = next(iterator, None)
            step(model, optimizer, batch)
            batch = following


def as_a_list(model, optimizer, batches):
    for _ in range(2):
        for batch in list(batches):
            step(model, optimizer, batch)


def two_halves(model, optimizer, batches):
    """Each loop passes over what was taken before."""
    for begin, end in [(0, 2), (2, 3), (0, 3)]:
        for batch in itertools.islice(batches, begin, end):
            step(model, optimizer, batch)


def in_parts(model, optimizer, batches):
    for _ in range(2):
        with BatchMemoryManager(
            data_loader=batches, max_physical_batch_size=2, optimizer=optimizer
        ) as parts:
            for batch in parts:
                step(model, optimizer, batch)


def one_and_endless(model, optimizer, batches):
    endless = itertools.chain.from_iterable(itertools.repeat(batches))
    for batch in itertools.islice(endless, 6):
        step(model, optimizer, batch)


FINE = [evaluating, peeking, fetching_ahead, as_a_list, two_halves, one_and_endless]


def settled_alike(loop, **options):
    expected = trained(plain_loop, noise="lazy_each_step")
    assert_same(trained(loop, noise="lazy_each_step", **options), expected)


@pytest.mark.parametrize("loop", FINE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("settle", ["on_read", "ahead"])
def test_habits_that_take_each_batch_in_its_turn(loop, settle):
    settled_alike(loop, settle=settle)


def test_batches_in_physical_parts():
    settled_alike(in_parts)


def test_a_long_evaluation_may_come_between_hand_out_and_step():
    """The batch that waits is known as long as the loop holds it."""
    examples = DataLoader(data(600), batch_size=1)
    model, optimizer, batches = in_order(build("shared"), batches=examples, epochs=1)
    for batch in itertools.islice(batches, 2):
        for _ in batches:
            pass
        step(model, optimizer, batch)
    assert optimizer.block.steps == 2


def test_physical_parts_that_workers_fetch_early_are_refused():
    """They come from a loader of another's making, which tells nothing of their memory."""
    workers = DataLoader(data(), batch_size=4, num_workers=2)
    with pytest.raises(UserError, match="fetched early"):
        trained(in_parts, batches=workers)


def test_a_pass_may_be_one_step():
    model, optimizer, batches = in_order(build("shared"), batches=loader(batch=12), epochs=3)
    for _ in range(3):
        step(model, optimizer, next(iter(batches)))
    with pytest.raises(UserError, match="all 3 steps were taken"):
        step(model, optimizer, next(iter(batches)))


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_fetch_in_order(persistent):
    workers = DataLoader(data(), batch_size=4, num_workers=2, persistent_workers=persistent)
    settled_alike(plain_loop, batches=workers)
    with pytest.raises(UserError, match=WRONG):
        trained(beginning_anew, batches=workers)


# Habits that would bring examples back too soon, too often, or elsewhere.


def beginning_anew(model, optimizer, batches):
    for _ in range(2):
        for batch in batches:
            step(model, optimizer, batch)
            break


def holding_on(model, optimizer, batches):
    """The first pass is left before its second batch has a step, and is not forgotten."""
    held = iter(batches)
    step(model, optimizer, next(held))
    next(held)
    for batch in batches:
        step(model, optimizer, batch)


def the_first_again_and_again(model, optimizer, batches):
    for _ in range(2):
        step(model, optimizer, next(iter(batches)))


def after_a_step_on_a_peek(model, optimizer, batches):
    step(model, optimizer, next(iter(batches)))
    for batch in batches:
        step(model, optimizer, batch)


def passing_over(model, optimizer, batches):
    for number, batch in enumerate(batches):
        if number != 1:
            step(model, optimizer, batch)


def passing_over_after_its_forward(model, optimizer, batches):
    for number, batch in enumerate(batches):
        if number == 1:
            squared_loss(model, batch)
            continue
        step(model, optimizer, batch)


def passing_over_the_last(model, optimizer, batches):
    for _ in range(2):
        for batch in itertools.islice(batches, 2):
            step(model, optimizer, batch)


def shuffled_by_hand(model, optimizer, batches):
    step(model, optimizer, list(batches)[2])
    for batch in batches:
        step(model, optimizer, batch)


def two_at_a_time(model, optimizer, batches):
    for one, two in zip(batches, batches, strict=True):
        step(model, optimizer, one)
        step(model, optimizer, two)


def in_parts_anew(model, optimizer, batches):
    for _ in range(2):
        with BatchMemoryManager(
            data_loader=batches, max_physical_batch_size=2, optimizer=optimizer
        ) as parts:
            for batch in itertools.islice(parts, 3):
                step(model, optimizer, batch)


WRONG_LOOPS = [
    beginning_anew,
    holding_on,
    the_first_again_and_again,
    after_a_step_on_a_peek,
    passing_over,
    passing_over_after_its_forward,
    passing_over_the_last,
    shuffled_by_hand,
    two_at_a_time,
    in_parts_anew,
]


@pytest.mark.parametrize("loop", WRONG_LOOPS, ids=lambda f: f.__name__)
def test_habits_that_do_not_are_refused(loop):
    with pytest.raises(UserError, match=f"{WRONG}|it can't be told|layers saw"):
        trained(loop)


def test_a_refused_step_moves_nothing_and_the_run_can_go_on():
    engine = PrivacyEngine()
    model, optimizer, batches = in_order(
        build("shared"), engine=engine, noise="lazy_each_step", **seeded()
    )
    for batch in itertools.islice(batches, 2):
        step(model, optimizer, batch)
    first = next(iter(batches))
    unmoved(
        model,
        optimizer,
        engine,
        words=r"step 3 takes batch 3 of the 3 of a pass \(examples 8 to 11\), .* given batch 1:",
        call=lambda: step(model, optimizer, first),
    )
    for batch in itertools.islice(batches, 2, 3):
        step(model, optimizer, batch)
    for batch in batches:
        step(model, optimizer, batch)
    assert_same(model, trained(plain_loop, noise="lazy_each_step"))


def test_an_interrupted_pass_is_made_up_for():
    def loop(model, optimizer, batches):
        for number, batch in enumerate(batches):
            if number == 1:
                with pytest.raises(KeyboardInterrupt):
                    Interrupted.apply(squared_loss(model, batch)).backward()
                optimizer.zero_grad()
            step(model, optimizer, batch)
        for batch in batches:
            step(model, optimizer, batch)

    settled_alike(loop)


def farthest(steps_of_an_example, steps):
    """Return how far an example moves a run with lambda = 0.9 by these steps, numbered from 0."""
    decorrelate = np.linalg.inv(of_bands([1.0, -0.9], steps))
    return np.linalg.norm(decorrelate[:, steps_of_an_example].sum(1))


def test_beginning_anew_every_five_steps_would_cost_more_than_is_claimed():
    """Four passes of 50 steps; begun anew every five steps, an example still comes four times."""
    engine, examples = PrivacyEngine(), 200
    ids = TensorDataset(*data(examples).tensors)
    model, optimizer, batches = in_order(
        build("bag_sum"),
        engine=engine,
        batches=DataLoader(ids, batch_size=4),
        epochs=4,
        noise_multiplier=4.0,
    )
    assert optimizer.block.sensitivity(200) == pytest.approx(4.6061, abs=1e-4)
    assert farthest([0, 50, 100, 150], 200) == pytest.approx(4.6061, abs=1e-4)
    assert farthest([0, 5, 10, 15], 200) == pytest.approx(7.01, abs=0.02)
    for batch in itertools.islice(batches, 5):
        step(model, optimizer, batch)
    again = iter(batches)
    unmoved(
        model,
        optimizer,
        engine,
        words="step 6 takes batch 6 of the 50",
        call=lambda: step(model, optimizer, next(again)),
    )


def test_more_passes_than_were_declared():
    engine = PrivacyEngine()
    model, optimizer, batches = in_order(build("shared"), engine=engine)
    plain_loop(model, optimizer, batches)
    unmoved(
        model,
        optimizer,
        engine,
        words=r"all 6 steps were taken that epochs=2 allows \(3 a pass\)",
        call=lambda: plain_loop(model, optimizer, batches),
    )


@pytest.mark.parametrize(("drop_last", "steps", "last"), [(False, 3, 2), (True, 2, 4)])
def test_the_last_window_is_short_or_left_out(drop_last, steps, last):
    """The divisor stays batch_size: it is public, and the same at every step."""
    batches = DataLoader(data(10), batch_size=4, drop_last=drop_last)
    model, optimizer, batches = in_order(build("shared"), batches=batches, epochs=1)
    sizes = [len(batch[-1]) for batch in batches]
    assert len(batches) == len(sizes) == optimizer.block.planned == steps and sizes[-1] == last
    assert optimizer.expected_batch_size == 4
    for batch in batches:
        step(model, optimizer, batch)


def test_a_resume_goes_on_where_the_checkpoint_was_taken():
    engine = PrivacyEngine()
    model, optimizer, batches = in_order(build("shared"), engine=engine)
    for batch in itertools.islice(batches, 2):
        step(model, optimizer, batch)
    file = checkpoint_of(engine, model, optimizer)
    other = PrivacyEngine()
    model, optimizer, batches = in_order(build("shared"), engine=other)
    other.load_checkpoint(path=file, module=model, optimizer=optimizer)
    first = next(iter(batches))
    unmoved(
        model,
        optimizer,
        other,
        words="step 1 takes batch 3 of the 3",
        call=lambda: step(model, optimizer, first),
    )
    for batch in itertools.islice(batches, 2, None):
        step(model, optimizer, batch)
    for batch in batches:
        step(model, optimizer, batch)
    assert len(other.accountant) == 2 + 4


def test_a_resume_on_other_data_begins_at_its_beginning():
    engine = PrivacyEngine()
    model, optimizer, batches = in_order(build("shared"), engine=engine)
    step(model, optimizer, next(iter(batches)))
    file = checkpoint_of(engine, model, optimizer)
    other = PrivacyEngine()
    model, optimizer, batches = in_order(build("shared"), engine=other, batches=loader(20))
    other.load_checkpoint(path=file, module=model, optimizer=optimizer)
    step(model, optimizer, next(iter(batches)))
    assert len(other.accountant) == 2


def test_a_second_run_may_use_the_loader_of_the_first():
    engine = PrivacyEngine()
    model, optimizer, batches = in_order(build("shared"), engine=engine)
    step(model, optimizer, next(iter(batches)))
    plain = engine.release(model)
    model, optimizer, batches = in_order(plain, engine=engine, batches=batches)
    plain_loop(model, optimizer, batches)
    assert len(engine.accountant) == 7


def test_a_second_step_on_a_batch_claims_nothing():
    engine = PrivacyEngine()
    model, optimizer, batches = in_order(build("shared"), engine=engine)
    batch = next(iter(batches))
    step(model, optimizer, batch)
    step(model, optimizer, batch)
    claims_nothing(engine, "did not come from the loader")


class Lines(IterableDataset):
    def __iter__(self):
        return iter(data())


LOADERS = {
    "shuffled": (lambda: DataLoader(data(), batch_size=4, shuffle=True), "a RandomSampler"),
    "sampled": (
        lambda: DataLoader(data(), batch_size=4, sampler=SubsetRandomSampler(range(12))),
        "a SubsetRandomSampler",
    ),
    "weighted": (
        lambda: DataLoader(data(), batch_size=4, sampler=WeightedRandomSampler([1.0] * 12, 12)),
        "a WeightedRandomSampler",
    ),
    "replaced": (
        lambda: DataLoader(data(), batch_size=4, sampler=RandomSampler(data(), replacement=True)),
        "a RandomSampler",
    ),
    "another order": (
        lambda: DataLoader(data(), batch_size=4, sampler=list(reversed(range(12)))),
        "the loader has a list",
    ),
    "padded by repeating": (
        lambda: DataLoader(
            data(), batch_size=4, sampler=DistributedSampler(data(), 5, 0, shuffle=False)
        ),
        "a DistributedSampler",
    ),
    "batches of its own": (
        lambda: DataLoader(data(), batch_sampler=[[0, 1, 2, 3], [4, 5]]),
        "a list of its own",
    ),
    "no batches": (lambda: DataLoader(data(), batch_size=None), "of its own"),
    "without places": (lambda: DataLoader(Lines(), batch_size=4), "whose examples have no places"),
    "too few": (lambda: DataLoader(data(3), batch_size=4, drop_last=True), "has no batch"),
}


@pytest.mark.parametrize(("make", "words"), LOADERS.values(), ids=LOADERS)
def test_loaders_in_another_order_are_refused(make, words):
    with pytest.raises(UserError, match=words) as refused:
        in_order(build("shared"), batches=make())
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("seen", [True, False])
def test_random_loops_never_bring_an_example_back_too_soon(seen):
    """Whatever a loop does, an example that moves the model does so in order, or not at all.

    Targets tell which window a step really had. Where layers are given copies, which tell nothing,
    loops step on what was fetched last; else on anything that they have kept.
    """
    windows, batch = 5, 2
    numbers = torch.arange(windows).repeat_interleave(batch).float()
    dense, ids, _ = data(windows * batch).tensors
    longest = 0
    for seed in range(60):
        engine = PrivacyEngine()
        model, optimizer, batches = in_order(
            build("bag_sum"),
            engine=engine,
            batches=DataLoader(TensorDataset(dense, ids, numbers), batch_size=batch),
            epochs=4,
        )
        taken = a_random_loop(random.Random(seed), engine, model, optimizer, batches, seen)
        assert taken == [i % windows for i in range(len(taken))]
        longest = max(longest, len(taken))
    assert longest > 2 * windows  # some loops get somewhere


def a_random_loop(draw, engine, model, optimizer, batches, seen):
    """Fetch, evaluate, pass over and step at random; return the windows of the steps."""
    taken, iterators, kept = [], [iter(batches)], []
    for _ in range(40):
        habit = draw.random()
        if habit < 0.06:
            iterators = [iter(batches)]
        elif habit < 0.09:
            iterators.insert(0, iter(batches))  # the others are still there
        elif habit < 0.12:
            iterators.append(iterators.pop(0))
        elif habit < 0.16:
            evaluated(model, itertools.islice(batches, draw.randrange(6)))
        batch = next(iterators[0], None)
        if batch is None:
            iterators[0] = iter(batches)
            batch = next(iterators[0])
        if habit > 0.96:
            continue
        if seen:
            kept = [*kept[-3:], batch]
            batch = draw.choice(kept) if habit > 0.9 else batch
        else:
            batch = [x.clone() for x in batch]
            if 0.12 < habit < 0.2:
                evaluated(model, itertools.islice(batches, draw.randrange(6)))
        try:
            step(model, optimizer, batch)
        except UserError:
            continue
        if engine.accountant.no_claim:  # a second step on a batch: nothing is claimed
            break
        taken.append(int(batch[-1][0]))
    return taken


def test_epsilon_of_a_run_that_stopped_early_is_less():
    engine = PrivacyEngine()
    model, optimizer, batches = in_order(build("shared"), engine=engine, noise_multiplier=3.0)
    spent = [0.0]
    for batch in batches:
        step(model, optimizer, batch)
        spent.append(engine.get_epsilon(1e-5))
    assert all(map(math.isfinite, spent)) and spent == sorted(set(spent))


def test_the_subset_of_a_day_is_a_data_set():
    days = Subset(data(), range(4, 12))
    model, optimizer, batches = in_order(
        build("shared"), batches=DataLoader(days, batch_size=4), epochs=1
    )
    assert optimizer.block.places == 8 and len(batches) == 2
