"""The order of a batch says whose its examples are: a collate_fn that changes it is refused."""

import random

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, default_collate

from lazydp import PrivacyEngine, UserError
from lazydp.loading.collate_order import OrderedCollate
from models import build
from training import private
from unit_runs import data, step


def examples(count=20, seed=3):
    g = torch.Generator().manual_seed(seed)
    return [
        (torch.randn(3, generator=g), torch.randint(12, (1 + i % 4,), generator=g), i % 2)
        for i in range(count)
    ]


def padded(batch):
    return (
        torch.stack([e[0] for e in batch]),
        pad_sequence([e[1] for e in batch], batch_first=True),
        torch.tensor([e[2] for e in batch]),
    )


def in_place(batch):
    batch.sort(key=lambda e: len(e[1]), reverse=True)
    return padded(batch)


def shuffled(batch):
    random.shuffle(batch)
    return padded(batch)


def numbered(batch):
    """With a column that does not depend on the examples, and one that is no column."""
    return {"x": padded(batch), "place": torch.arange(len(batch)), "sum": batch[0][0].sum()}


def jagged(batch):
    """All ids one after the other; where each example's begin tells nothing."""
    lengths = torch.tensor([0] + [len(e[1]) for e in batch[:-1]])
    return torch.cat([e[1] for e in batch]), lengths.cumsum(0)


def noisy(batch):
    dense, ids, label = padded(batch)
    return dense + torch.randn_like(dense) + float(np.random.rand()), ids + random.randrange(3)


def listed(batch):
    """The values of a batch, which may have strings, that == compares."""
    if isinstance(batch, dict):
        return {key: listed(value) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [listed(value) for value in batch]
    return batch.tolist() if isinstance(batch, torch.Tensor) else batch


REORDER = {
    "sorted by length": lambda b: padded(sorted(b, key=lambda e: -len(e[1]))),
    "sorted in place": in_place,
    "reversed": lambda b: padded(b[::-1]),
    "rotated": lambda b: padded([*b[3:], *b[:3]]),
    "halves": lambda b: padded([*b[::2], *b[1::2]]),
    "last two": lambda b: padded([*b[:-2], b[-1], b[-2]]),
    "shuffled": shuffled,
    "by label": lambda b: {"y": [e[2] for e in sorted(b, key=lambda e: e[2])], "n": len(b)},
    "time first": lambda b: padded(sorted(b, key=lambda e: len(e[1])))[1].T,
}
KEEP = {
    "default": lambda b: default_collate([(e[0], e[2]) for e in b]),
    "padded": padded,
    "time first": lambda b: padded(b)[1].T,
    "numbered": numbered,
    "jagged": jagged,
    "strings": lambda b: {"name": [f"user {e[2]}" for e in b], "x": padded(b)},
    "noisy": noisy,
    "all alike": lambda b: torch.zeros(len(b), 2),
    "fails": lambda b: padded(b) if len({id(e[0]) for e in b}) else 1 / 0,
}


@pytest.mark.parametrize("collate", REORDER.values(), ids=REORDER)
def test_an_order_that_changes_is_refused(collate):
    with pytest.raises(UserError, match="changes the order of a batch's examples"):
        OrderedCollate(collate)(examples())


@pytest.mark.parametrize("collate", KEEP.values(), ids=KEEP)
@pytest.mark.parametrize("count", [2, 8, 20, 200])
def test_an_order_that_stays_is_not(count, collate):
    for seed in range(5):
        torch.manual_seed(seed), random.seed(seed), np.random.seed(seed)
        given = examples(count, seed)
        ours = OrderedCollate(collate)(given)
        torch.manual_seed(seed), random.seed(seed), np.random.seed(seed)
        assert listed(ours) == listed(collate(given))


def test_examples_are_copied_for_the_trial():
    def popping(batch):
        return torch.stack([e.pop("x") for e in batch])

    given = [{"x": torch.full((2,), float(i))} for i in range(9)]
    assert OrderedCollate(popping)(given)[:, 0].tolist() == list(range(9))


def sorting(batch):
    return default_collate(sorted(batch, key=lambda e: float(e[0][0])))


def keeping(batch):
    return default_collate(batch)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_by_unit_stops_before_its_first_step(workers):
    def run(collate, **options):
        engine, model = PrivacyEngine(accountant="rdp"), build("shared")
        batches = DataLoader(data(), batch_size=10, num_workers=workers, collate_fn=collate)
        made = engine.make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            data_loader=batches,
            noise_multiplier=1.0,
            max_grad_norm=1.0,
            **options,
        )
        for batch in made[2]:
            step(made[0], made[1], batch)
        return engine

    with pytest.raises(UserError, match=r"collate_fn \(sorting\) changes the order"):
        run(sorting, privacy_unit=3)
    assert len(run(keeping, privacy_unit=3).accountant) > 0
    assert len(run(sorting).accountant) > 0  # of single examples each layer sees the same order


def test_a_late_batch_is_tried_too():
    """Where the first ones have nothing to sort by."""
    collate = OrderedCollate(lambda b: padded(sorted(b, key=lambda e: len(e[1]))))
    alike = [(torch.randn(3), torch.zeros(2, dtype=torch.int64), 0) for _ in range(10)]
    for _ in range(3):
        collate(alike)
    with pytest.raises(UserError, match="changes the order"):
        collate(examples())


def test_runs_by_example_are_left_alone():
    _, _, batches = private(build("shared"), poisson_sampling=True)
    assert not isinstance(batches.collate_fn._collate, OrderedCollate)
