"""Losses that divide by something of the other examples are refused; means over a batch are not."""

import copy

import pytest
import torch
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from lazydp import PrivacyEngine, UserError
from models import assert_same
from training import private

CLASSES, EXAMPLES = 3, 12
WEIGHT = torch.tensor([1.0, 50.0, 1.0])


class Classes(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.EmbeddingBag(20, 4, mode="sum")
        self.norm = nn.LayerNorm(4)
        self.out = nn.Linear(4, CLASSES)

    def forward(self, ids):
        return self.out(self.norm(self.table(ids)))


def labelled(examples=EXAMPLES):
    g = torch.Generator().manual_seed(3)
    ids = torch.randint(20, (examples, 4), generator=g)
    labels = torch.arange(examples) % CLASSES
    return DataLoader(TensorDataset(ids, labels), batch_size=examples)


def some(y):
    return y != 1  # two thirds of a batch


def squares(h, y):
    return (h[:, 0] - y).square()


def multi_task(h, y):
    """A loss of all examples, and one of those for which the second label is known."""
    return squares(h, y).mean() + 0.5 * functional.binary_cross_entropy_with_logits(
        h[some(y), 1], y[some(y)].float().clamp(max=1)
    )


TIED = {
    "weights of classes": lambda h, y: functional.cross_entropy(h, y, weight=WEIGHT),
    "module": lambda h, y: nn.CrossEntropyLoss(weight=WEIGHT)(h, y),
    "scaled": lambda h, y: 3.0 * functional.cross_entropy(h, y, weight=WEIGHT) / 2,
    "smoothed": lambda h, y: functional.cross_entropy(h, y, weight=WEIGHT, label_smoothing=0.1),
    "nll": lambda h, y: functional.nll_loss(h.log_softmax(1), y, weight=WEIGHT),
    "of positions": lambda h, y: functional.cross_entropy(
        h.unsqueeze(2).expand(-1, -1, 2), y[:, None].expand(-1, 2), weight=WEIGHT
    ),
    "targets left out": lambda h, y: functional.cross_entropy(h, y, ignore_index=0),
    "filtered": lambda h, y: functional.cross_entropy(h[some(y)], y[some(y)]),
    "masked": lambda h, y: squares(h, y)[some(y)].mean(),
    "of a task": multi_task,
    "hardest": lambda h, y: squares(h, y).topk(5).values.mean(),
    "stacked": lambda h, y: (
        torch.stack([squares(h, y).mean(), squares(h, y)[some(y)].mean()])
        .mul(torch.tensor([1.0, 0.3]))
        .sum()
    ),
}


@pytest.mark.parametrize("loss", TIED.values(), ids=TIED)
@pytest.mark.parametrize("mode", ["hooks", "functorch"])
def test_a_loss_that_divides_by_other_examples_is_refused(mode, loss):
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(
        Classes(), batches=labelled(), engine=engine, grad_sample_mode=mode
    )
    before = copy.deepcopy(model)
    ids, labels = next(iter(batches))
    with pytest.raises(UserError, match="the loss is a mean"):
        loss(model(ids), labels).backward()
    optimizer.zero_grad()
    functional.cross_entropy(model(ids), labels).backward()
    assert len(optimizer.captures._finished) == 1  # nothing of the other is kept
    assert_same(model, before, 0)


APART = {
    "cross entropy": functional.cross_entropy,
    "weights by example": lambda h, y: functional.cross_entropy(
        h, y, weight=WEIGHT, reduction="none"
    ).mean(),
    "targets left out": lambda h, y: functional.cross_entropy(
        h, y, ignore_index=0, reduction="none"
    ).mean(),
    "masked": lambda h, y: (squares(h, y) * some(y)).mean(),
    "over all values": lambda h, y: h.square().mean(),
    "of pairs": lambda h, y: torch.cat([squares(h, y), h[:, 1]]).mean(),
    "of tasks": lambda h, y: torch.stack([squares(h, y).mean(), h[:, 1].mean()]).mean(),
    "of weighted tasks": lambda h, y: (
        torch.stack([squares(h, y).mean(), h[:, 1].mean(), h[:, 2].mean()]) * WEIGHT
    ).mean(),
    "summed": lambda h, y: functional.mse_loss(h[:, 0], y.float(), reduction="sum") / len(y),
    "by hand": lambda h, y: squares(h, y).sum() / EXAMPLES,
    "probabilities": lambda h, y: functional.cross_entropy(h, h.detach().softmax(1), weight=WEIGHT),
    "divergence": lambda h, y: functional.kl_div(
        h.log_softmax(1), h.detach().softmax(1), reduction="batchmean"
    ),
    "ranking": lambda h, y: functional.margin_ranking_loss(h[:, 0], h[:, 1], torch.ones(len(y))),
    "of no example": lambda h, y: squares(h, y).mean() + torch.ones(5, requires_grad=True).mean(),
}


@pytest.mark.parametrize("loss", APART.values(), ids=APART)
def test_a_loss_of_examples_apart_is_trained_on(loss):
    model, optimizer, batches = private(Classes(), batches=labelled())
    for _ in range(4):
        for ids, labels in batches:
            optimizer.zero_grad()
            loss(model(ids), labels).backward()
            optimizer.step()


def test_a_loss_that_is_not_reduced_as_was_said_is_refused():
    """Gradients would be multiplied by the size of the sample, which is a secret, or divided."""
    ids, labels = next(iter(labelled()))
    losses = {
        ("mean", "sum"): lambda h: functional.cross_entropy(h, labels, reduction="sum"),
        ("mean", "sum of two"): lambda h: squares(h, labels).sum() + 0.1 * h.square().mean(),
        ("sum", "mean"): lambda h: functional.cross_entropy(h, labels),
    }
    for (declared, said), loss in losses.items():
        options = {"batches": labelled(), "loss_reduction": declared}
        model, optimizer, _ = private(Classes(), poisson_sampling=True, **options)
        words = f"a {said[:4].strip()} over examples, and loss_reduction is '{declared}'"
        with pytest.raises(UserError, match=words):
            loss(model(ids)).backward()
        model, optimizer, _ = private(Classes(), **options)
        loss(model(ids)).backward()  # batches of one size have no such secret
    options = {"batches": labelled(), "loss_reduction": "sum", "poisson_sampling": True}
    for loss in (
        lambda h: functional.cross_entropy(h, labels, reduction="sum"),
        lambda h: functional.cross_entropy(h, labels) * len(ids),
    ):
        model, optimizer, _ = private(Classes(), **options)
        loss(model(ids)).backward()


def test_a_later_batch_is_looked_at_too():
    """A mask may leave everything of the first one."""
    model, optimizer, batches = private(Classes(), batches=labelled())
    ids, labels = next(iter(batches))
    seen = []
    with pytest.raises(UserError, match="mean over 8 values, and the batch has 12 examples"):
        for number in range(8):
            kept = some(labels) if number > 1 else labels >= 0
            squares(model(ids), labels)[kept].mean().backward()
            optimizer.zero_grad()
            seen.append(number)
    assert seen == [0, 1, 2]


def test_a_part_of_a_batch_is_looked_at_too():
    model, optimizer, batches = private(Classes(), batches=labelled(), poisson_sampling=True)
    with BatchMemoryManager(
        data_loader=batches, max_physical_batch_size=5, optimizer=optimizer
    ) as parts:
        ids, labels = next(iter(parts))
    with pytest.raises(UserError, match="a mean with weights for classes"):
        functional.cross_entropy(model(ids), labels, weight=WEIGHT).backward()


def test_ghost_clipping_keeps_losses_apart_by_itself():
    """Its criterion weighs examples one by one, and divides by their number."""
    options = {"grad_sample_mode": "ghost", "criterion": nn.CrossEntropyLoss(weight=WEIGHT)}
    raw = Classes()
    expected = copy.deepcopy(raw)
    options |= {"batches": labelled(), "noise_multiplier": 0.0, "max_grad_norm": 1e6}
    model, optimizer, criterion, batches = private(raw, **options)
    sgd = torch.optim.SGD(expected.parameters(), lr=0.5)
    for ids, labels in batches:
        criterion(model(ids), labels).backward()
        optimizer.step()
        functional.cross_entropy(
            expected(ids), labels, weight=WEIGHT, reduction="none"
        ).mean().backward()
        sgd.step()
    assert_same(model, expected)


def test_what_the_refusal_is_for():
    """With and without one example of a heavy class the clipped sums differ by twice the bound."""

    def clipped(h, y, weights):
        each = functional.cross_entropy(h, y, weight=weights, reduction="none")
        scale = len(y) / weights[y].sum()  # what the mean divides by, and the batch undoes
        gradients = torch.autograd.grad(each.sum(), h)[0] * scale
        return (gradients / gradients.norm(dim=1, keepdim=True).clamp(min=1.0)).sum(0)

    labels = torch.tensor([0] * 40 + [1])
    logits = torch.tensor([[-4.0, 0.0, 4.0]]).repeat(41, 1).requires_grad_(True)
    weights = torch.tensor([1.0, 1000.0, 1.0])
    moved = clipped(logits, labels, weights) - clipped(logits[:-1], labels[:-1], weights)
    assert moved.norm() > 20.0
