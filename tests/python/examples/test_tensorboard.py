"""TensorBoard's own reader opens what a run leaves for it."""

import json
import subprocess
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

PROGRAM = Path(__file__).parents[3] / "build/dev/src/lazydp/cli/lazydp"


def lazydp(*words):
    subprocess.run([PROGRAM, *map(str, words), "--quiet"], check=True, stdout=subprocess.DEVNULL)


def scalars(events, tag):
    return {event.step: event.value for event in events.Scalars(tag)}


@pytest.fixture(name="run")
def run_that_was_resumed(tmp_path):
    if not PROGRAM.exists():
        pytest.skip("the program is not built")
    run = tmp_path / "run"
    sizes = ["--batch", 512, "--eval-every", 4, "--eval-examples", 1000]
    lazydp("train", *sizes, "--steps", 10, "--out", run, "--no-release")
    lazydp("resume", run, "--steps", 14, "--branch")
    return run


def test_tensorboard_reads_every_number(run):
    events = EventAccumulator(str(run / "tensorboard"))
    events.Reload()
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    losses = {line["step"]: line["loss"] for line in lines if "loss" in line}
    assert sorted(losses) == list(range(1, 15))
    assert scalars(events, "train/loss") == pytest.approx(losses, rel=1e-6)
    aucs = {line["step"]: line["auc"] for line in lines if "auc" in line}
    assert sorted(aucs) == [4, 8, 10, 12, 14]
    assert scalars(events, "test/auc") == pytest.approx(aucs, rel=1e-6)
    epsilons = scalars(events, "privacy/epsilon_if_released")
    assert epsilons[14] > epsilons[10] > 0
    for tag in ("test/logloss", "test/normalised_entropy", "test/calibration", "speed/step_ms"):
        assert scalars(events, tag), tag
