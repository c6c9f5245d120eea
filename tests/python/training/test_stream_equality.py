"""Noise that is correlated between steps: late and eager, and by brute force, from the same cells.

Late noise is drawn step by step here, so that all must agree parameter by parameter.
"""

import pytest
import torch

from lazydp import sgd_group
from models import MODELS, assert_same, build, squared_loss
from reference import table_weights
from stream_runs import InOrder, bands_of, in_order
from training import seeded

CORRELATIONS = ["independent", "lambda:0.9", "bisr:4", "bisr:16"]
RATES = [0.5, 0.4, 0.0, 0.6, 0.05, 0.3, 0.2, 0.5, 0.1]
BOUNDS = [1.3, 1.0, 0.3, 1.2, 0.7, 1.3, 0.5, 0.9, 1.1]


def sgd(model, **options):
    return torch.optim.SGD(model.parameters(), **({"lr": 0.5} | options))


class DenseByAdam(torch.optim.Adam):
    """Dense layers by Adam, and tables beside them by SGD: plain torch."""

    def __init__(self, model):
        dense, tables = parts(model)
        super().__init__(dense, lr=0.01)
        self.of_tables = torch.optim.SGD(tables, lr=0.5)

    def step(self):
        super().step()
        self.of_tables.step()


def parts(model):
    tables = [weight for weight, _ in table_weights(model)]
    return [p for p in model.parameters() if all(p is not t for t in tables)], tables


def dense_by_adam(model):
    dense, tables = parts(model)
    return torch.optim.Adam([{"params": dense, "lr": 0.01}, sgd_group(tables, lr=0.5)])


def run(name, *, correlation="lambda:0.9", make_optimizer=sgd, theirs_by=None, passes=3, **options):
    """Train by the plug-in and by brute force; return the two models."""
    ours, theirs = build(name), build(name)
    brute = InOrder(theirs, (theirs_by or make_optimizer)(theirs), bands=bands_of(correlation))
    scheduled = options.pop("scheduled", False)
    options = {"noise": "lazy_each_step"} | seeded() | options
    private, optimizer, batches = in_order(
        ours, optimizer=make_optimizer(ours), epochs=passes, correlation=correlation, **options
    )
    step = 0
    for _ in range(passes):
        for batch in batches:
            if scheduled:
                optimizer.max_grad_norm = brute.bound = BOUNDS[step]
                for group in (*optimizer.param_groups, *brute.optimizer.param_groups):
                    group["lr"] = RATES[step]
            optimizer.zero_grad()
            squared_loss(private, batch).backward()
            optimizer.step()
            brute.step(batch)
            step += 1
            if scheduled and step % 4 == 0:  # an evaluation settles some rows
                with torch.no_grad():
                    private(batch[0][:2], batch[1][:2])
    return private, theirs


@pytest.mark.parametrize("name", MODELS)
def test_every_kind_of_table_and_layer(name):
    assert_same(*run(name))


@pytest.mark.parametrize("correlation", CORRELATIONS)
@pytest.mark.parametrize("noise", ["lazy_each_step", "every_row"])
def test_schedules_of_rate_and_bound(correlation, noise):
    """A cell is scaled by the rate and the bound of the step that uses it, not of its own."""
    assert_same(*run("shared", correlation=correlation, noise=noise, scheduled=True))


@pytest.mark.parametrize("correlation", CORRELATIONS[1:])
def test_weight_decay_shrinks_rows_that_wait(correlation):
    assert_same(
        *run(
            "bag_sum",
            correlation=correlation,
            make_optimizer=lambda m: sgd(m, weight_decay=0.1),
            scheduled=True,
        )
    )


def test_maximising_is_minimising_the_other_way_round():
    assert_same(*run("shared", make_optimizer=lambda m: sgd(m, maximize=True), scheduled=True))


def test_an_optimizer_of_its_own_for_dense_layers():
    assert_same(*run("shared", make_optimizer=dense_by_adam, theirs_by=DenseByAdam))


@pytest.mark.parametrize(
    "options",
    [{"settle": "ahead"}, {"grad_sample_mode": "functorch"}, {"loss_reduction": "mean"}],
    ids=lambda o: next(iter(o.values())),
)
def test_other_ways_to_run(options):
    assert_same(*run("shared", **options))


def test_late_noise_drawn_as_one_is_noise_of_the_same_steps():
    """Not in value, but where nothing waits: every row is read at every step."""
    assert_same(*run("one_row", noise="lazy"))
