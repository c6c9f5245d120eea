"""make bench-torch and make bench-plugin run, in small, and their baselines are what they claim."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[3]
STEPS = ROOT / "build/dev/benchmarks/native_steps"
NATIVE = ROOT / "build/dev/tests/native_run"


@pytest.fixture(autouse=True)
def benchmarks_are_importable(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")


def run(script, *arguments):
    words = [sys.executable, ROOT / "benchmarks" / script, *arguments]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_native_bench_in_small(tmp_path):
    if not NATIVE.exists() or not STEPS.exists():
        pytest.skip("the C++ tests are not built")
    places = ["--native-steps", STEPS, "--native-run", NATIVE, "--json", tmp_path / "numbers.json"]
    said = run("native.py", "--smoke", *places)
    assert "agree with the native trainer" in said
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    names = {result["name"] for result in numbers["tiny"]["results"]}
    assert {"native lazydp", "SGD, by hand", "LazyDP in PyTorch", "EANA"} <= names
    assert any(name.startswith("DP-SGD(F)") for name in names)
    assert {r["name"] for r in numbers["opacus"]["results"]} == {"native lazydp", "Opacus (hooks)"}
    peaks = numbers["tiny"]["peak_bytes"]
    assert len(peaks) == 2 and all(peak > 1e6 for peak in peaks.values())
    for result in numbers["tiny"]["results"]:
        ratio = result["ratio"]
        assert 0 < ratio["low"] <= ratio["median"] <= ratio["high"]


def test_the_check_sees_a_wrong_gradient(monkeypatch):
    if not NATIVE.exists():
        pytest.skip("the C++ tests are not built")
    from pytorch import check, private

    assert "agree" in check.check(NATIVE)
    # Bags of repeated rows counted as if all were distinct: a norm that is too small.
    ones = lambda ids: torch.full(ids.shape[:2], float(ids.shape[2]))  # noqa: E731
    monkeypatch.setattr(private, "squared_counts", ones)
    with pytest.raises(SystemExit, match="differ by"):
        check.check(NATIVE)


def test_plugin_bench_in_small(tmp_path):
    kinds = "sgd,lazydp,lazydp-ghost,eager,eager-blocks,eager-threads,opacus,lazydp-units"
    arguments = f"--shape tiny --gigabytes 0 --batch 16 --rounds 2 --kinds {kinds}".split()
    arguments += ["--examples-per-unit", "4"]
    run("plugin.py", *arguments, "--json", tmp_path / "numbers.jsonl")
    numbers = json.loads((tmp_path / "numbers.jsonl").read_text())
    assert [result["name"] for result in numbers["results"]] == kinds.split(",")


def test_squared_counts_count_repeats():
    from pytorch.private import squared_counts

    ids = torch.tensor([[[7, 7, 3, 7], [1, 2, 3, 4]], [[5, 5, 6, 6], [8, 8, 8, 8]]])
    assert squared_counts(ids).tolist() == [[10.0, 4.0], [8.0, 16.0]]


@pytest.mark.parametrize("kind", ["Eager", "EagerInBlocks", "EagerOnThreads", "Lazy"])
def test_every_row_has_its_noise(kind):
    """30,000 coordinates: their standard deviation is known to 0.4 % (one sigma)."""
    from pytorch import private
    from pytorch.tables import Fused
    from shapes import Shape, draw_batch

    shape = Shape([400, 600], 30, [13, 30], [1], 2)
    fused = Fused(shape)
    rate, sigma, bound, steps = 0.5, 1.0, 1e-6, 7  # gradients clipped to next to nothing
    trainer = getattr(private, kind)(fused, rate, sigma=sigma * 1e6, bound=bound)
    fused.weight.zero_()
    for step in range(steps):
        trainer.step(trainer.arrange(draw_batch(shape, 8, step)))
    if kind == "Lazy":
        trainer.settle(torch.arange(len(fused.weight)))
    expected = rate / 8 * sigma * steps**0.5
    assert float(fused.weight.std()) == pytest.approx(expected, rel=0.02)


def test_threads_of_the_plugin_in_small():
    said = run("plugin_threads.py", *"--shape tiny --batch 16 --rounds 2 --processes 2".split())
    assert said.count("met") == 2 and len(said.splitlines()) == 5


def test_shapes_without_bottom_layers(tmp_path):
    from dlrm import Dlrm
    from shapes import Shape, draw_batch

    shape = Shape([50] * 3, 4, [], [5, 1], 2)
    batch = draw_batch(shape, 6, 1)
    assert Dlrm(shape, sparse=True)(batch.dense, batch.ids).shape == (6,)
