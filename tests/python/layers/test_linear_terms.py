"""Sums of outer products: measured as they are applied, or bounded, in each of three forms."""

import pytest
import torch

from lazydp.layers.linear_terms import Matrices, OneTerm, Pairs, terms_of
from lazydp.layers.pass_units import Units

FORMS = [OneTerm, Matrices, Pairs]


def random_terms(terms, m=20, n=14, units=9, seed=0, scale=1.0):
    g = torch.Generator().manual_seed(seed)
    shape = (units, terms)
    return (
        torch.randn(*shape, m, generator=g) * scale,
        torch.randn(*shape, n, generator=g),
    )


def exactly(x, d):
    weights = torch.einsum("utn,utm->unm", d.double(), x.double())
    biases = d.double().sum(1)
    return weights, biases


def test_the_form_that_takes_least_is_taken():
    assert isinstance(terms_of(*random_terms(1)), OneTerm)
    assert isinstance(terms_of(*random_terms(5)), Matrices)
    assert isinstance(terms_of(*random_terms(2, 60, 60)), Pairs)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("terms", [1, 2, 40])
def test_norms_and_sums_are_those_of_matrices_formed_in_full(form, terms):
    if form is OneTerm and terms > 1:
        pytest.skip("one term")
    x, d = random_terms(terms)
    weights, biases = exactly(x, d)
    made = form(x, d)
    of_weight, of_bias = made.norms()
    torch.testing.assert_close(
        of_weight.double(), weights.flatten(1).norm(dim=1), rtol=1e-5, atol=0
    )
    torch.testing.assert_close(of_bias.double(), biases.norm(dim=1), rtol=1e-5, atol=0)
    factors = torch.rand(9, dtype=torch.float64)
    weight, bias = made.sums(factors)
    expected = torch.einsum("u,unm->nm", factors, weights)
    torch.testing.assert_close(weight.double(), expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(bias.double(), factors @ biases, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("spoilt", ["inputs", "gradients"])
def test_a_unit_of_factor_0_is_taken_out(form, spoilt):
    x, d = random_terms(1 if form is OneTerm else 3)
    expected = form(x[1:], d[1:]).sums(torch.ones(8))
    (x if spoilt == "inputs" else d)[0, 0, 0] = float("nan")
    made = form(x, d)
    assert not torch.isfinite(made.norms()[0][0])
    factors = torch.ones(9)
    factors[0] = 0.0
    for ours, theirs in zip(made.sums(factors), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", [Matrices, Pairs])
@pytest.mark.parametrize("scale", [1.0, 3e4, 1e6])
@pytest.mark.parametrize("apart", [1e-2, 1e-5, 1e-7])
def test_no_clipped_sum_is_longer_than_the_bound_where_terms_cancel(apart, scale, form):
    """What a unit adds to the sum is at most factor x its norm, whatever was rounded."""
    for seed in range(3):
        x, d = random_terms(8, seed=seed, scale=scale)
        noise = torch.randn(x[:, 1::2].shape, generator=torch.Generator().manual_seed(seed))
        x[:, 1::2] = x[:, ::2] * (1 + apart * noise)
        d[:, 1::2] = -d[:, ::2]
        of_weight, of_bias = form(x, d).norms()
        factors = 1.0 / torch.hypot(of_weight.double(), of_bias.double())
        for unit in range(len(x)):
            alone = torch.zeros_like(factors)
            alone[unit] = factors[unit]
            weight, bias = form(x, d).sums(alone)
            length = torch.hypot(weight.double().norm(), bias.double().norm())
            assert float(length) <= 1 + 1e-5


def test_the_bound_of_pairs_is_an_upper_one_and_close():
    """Terms that cancel down to rounding: the square of the norm is then all error."""
    x, d = random_terms(2, 64, 64, units=400)
    x[:, 1], d[:, 1] = x[:, 0], -d[:, 0]
    given = 2 * x[:, 0].norm(dim=1) * d[:, 0].norm(dim=1)
    of_weight, _ = Pairs(x, d).norms()
    assert bool((of_weight > 0).all()) and float((of_weight / given).max()) < 1e-6


SIZES = [[1] * 5, [3, 3, 3], [1, 2, 7, 1, 40, 5, 12, 1], []]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_buckets_hold_every_example_once(sizes):
    units = Units(torch.tensor(sizes, dtype=torch.int64))
    seen = {}
    for bucket in units.buckets():
        for row, unit in enumerate(bucket.units.tolist()):
            present = slice(None) if bucket.present is None else bucket.present[row]
            seen[unit] = bucket.examples[row][present].tolist()
            padding = set(bucket.examples[row].tolist()) - set(seen[unit])
            assert not padding  # only the unit's own examples stand in
    starts = [sum(sizes[:u]) for u in range(len(sizes))]
    assert seen == {
        u: list(range(s, s + n)) for u, (s, n) in enumerate(zip(starts, sizes, strict=True))
    }
    assert units.single == (set(sizes) <= {1})
    values = torch.arange(len(sizes))
    assert units.spread(values).tolist() == [u for u, n in enumerate(sizes) for _ in range(n)]
