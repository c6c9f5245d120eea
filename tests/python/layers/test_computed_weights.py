"""Weights that are no parameters of their layer, and loaders that are no Poisson samples of all."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn.utils import prune
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from lazydp import UserError
from models import build, data
from training import private, step


def quietly(change):
    def changed(model):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            change(model)

    return changed


def attribute(model):
    model.out[0].scale = torch.ones(1, requires_grad=True)


COMPUTED = {
    "weight_norm": (quietly(lambda m: nn.utils.weight_norm(m.out[0])), "'weight' of layer 'out.0'"),
    "spectral_norm": (lambda m: nn.utils.spectral_norm(m.out[0]), "'weight' of layer 'out.0'"),
    "pruned": (lambda m: prune.l1_unstructured(m.out[0], "bias", 0.5), "'bias' of layer 'out.0'"),
    "attribute": (attribute, "'scale' of layer 'out.0', a Linear, is no parameter"),
    "lazy": (lambda m: m.out.__setitem__(0, nn.LazyLinear(5)), "'out.0.weight' has no shape yet"),
    "parametrization": (
        lambda m: nn.utils.parametrizations.weight_norm(m.out[0]),
        "parameter 'bias' belongs to 'out.0', a ParametrizedLinear",
    ),
}


@pytest.mark.parametrize(("change", "words"), COMPUTED.values(), ids=COMPUTED)
def test_layers_whose_weight_is_computed_are_refused(change, words):
    model = build("shared")
    change(model)
    with pytest.raises(UserError, match=words) as refused:
        private(model)
    assert "\n" not in str(refused.value)
    assert type(model.left) is nn.EmbeddingBag


def test_a_tensor_that_does_not_train_may_be_an_attribute():
    model = build("shared")
    model.out[0].scale = torch.ones(1)
    model.last = model.out[2].weight * 2  # as models do that keep a loss
    del model.last
    made, optimizer, batches = private(model)
    step(made, optimizer, next(iter(batches)))


TRACED = {
    "script": lambda m, x: torch.jit.script(m),
    "fx": lambda m, x: torch.fx.symbolic_trace(m),
    "fx of a layer": lambda m, x: torch.fx.symbolic_trace(m.out),
    "export of a layer": lambda m, x: torch.export.export(m.out, (torch.zeros(4, 7),)),
}


@pytest.mark.parametrize("trace", TRACED.values(), ids=TRACED)
def test_tracing_says_what_to_do(trace):
    model, _, _ = private(build("shared"))
    with warnings.catch_warnings(), pytest.raises(UserError, match="can't be traced, scripted"):
        warnings.simplefilter("ignore")
        trace(model._module, data()[:4][:2])


def weighted(d):
    return {"batch_size": 2, "sampler": WeightedRandomSampler([1.0] * 12, 12)}


SAMPLERS = {
    "subset": lambda d: {"batch_size": 2, "sampler": SubsetRandomSampler([0, 1, 2, 3])},
    "weighted": weighted,
    "with replacement": lambda d: {"batch_size": 2, "sampler": RandomSampler(d, replacement=True)},
    "part": lambda d: {"batch_size": 2, "sampler": RandomSampler(d, num_samples=6)},
    "buckets": lambda d: {"batch_sampler": BatchSampler(SequentialSampler(d), 2, False)},
    "no batches": lambda d: {"batch_size": None},
}


@pytest.mark.parametrize("options", SAMPLERS.values(), ids=SAMPLERS)
def test_a_sampler_that_poisson_samples_would_replace_is_refused(options):
    """It would train on what the sampler left out: a validation part, say."""
    dataset = data()
    batches = DataLoader(dataset, **options(dataset))
    with pytest.raises(UserError, match=r"the loader has .*; Poisson .*data\.Subset"):
        private(build("shared"), batches=batches, poisson_sampling=True)


def test_plain_loaders_and_parts_of_a_data_set_are_sampled():
    dataset = data()
    for plain in (
        DataLoader(dataset, batch_size=2, shuffle=True),
        DataLoader(Subset(dataset, range(6)), batch_size=2, drop_last=True),
    ):
        model, optimizer, batches = private(build("shared"), batches=plain, poisson_sampling=True)
        for batch in batches:
            step(model, optimizer, batch)
        again = private(build("shared"), batches=batches, poisson_sampling=True)[2]
        assert len(again) == len(batches)
