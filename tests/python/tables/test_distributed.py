"""Two ranks end where one does, and their replicas stay equal whoever reads what."""

from pathlib import Path

import pytest
import torch

from ddp_worker import CASES, train
from models import build
from ranks import run_on_two_ranks


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    worker = Path(__file__).with_name("ddp_worker.py")
    run_on_two_ranks(worker, folder)
    return [torch.load(folder / f"{rank}.pt") for rank in range(2)]


@pytest.mark.parametrize("name", [*CASES, "extra_reads", "dense_noise"])
def test_replicas_are_equal(ranks, name):
    for key, value in ranks[0][name].items():
        assert torch.equal(value, ranks[1][name][key]), key


@pytest.mark.parametrize("name", CASES)
def test_two_ranks_end_where_one_does(ranks, name):
    alone = train(build("shared"), batch=4, **CASES[name])
    for key, value in alone.items():
        torch.testing.assert_close(ranks[0][name][key], value, rtol=2e-5, atol=2e-5)


def test_ranks_draw_their_samples_independently(ranks):
    """20 of 200 each, ten times: 20 examples in common are expected, and 200 with one seed."""
    pairs = zip(ranks[0]["samples"], ranks[1]["samples"], strict=True)
    common = sum(len(set(a) & set(b)) for a, b in pairs)
    assert sum(map(len, ranks[0]["samples"])) > 100
    assert common < 60


def test_dense_noise_counts_once_for_all_ranks(ranks):
    """4,096 normals: the variance is within 10 % with odds of 1e-5; two ranks' is 4."""
    assert float(ranks[0]["dense_noise"]["noise"].var()) == pytest.approx(1.0, rel=0.1)
