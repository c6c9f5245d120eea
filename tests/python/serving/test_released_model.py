"""A released model, loaded by the shipped example, scores as the native model does."""

import json
import runpy
import subprocess
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

ROOT = Path(__file__).parents[3]
NATIVE = ROOT / "build/dev/tests/native_run"
PROGRAM = ROOT / "build/dev/src/lazydp/cli/lazydp"
EXAMPLE = ROOT / "examples/load_released_model.py"


@pytest.fixture(name="load")
def load_of_the_example():
    return runpy.run_path(str(EXAMPLE))["load"]


def test_scores_are_the_native_ones(tmp_path, load):
    said = json.loads(subprocess.check_output([NATIVE, "release", tmp_path / "model"]))
    model, card = load(tmp_path / "model")
    bags = [(torch.tensor(b["ids"]), torch.tensor(b["offsets"][:-1])) for b in said["bags"]]
    with torch.no_grad():
        logits = model(torch.tensor(said["dense"]), bags)
    torch.testing.assert_close(logits, torch.tensor(said["logits"]), rtol=1e-5, atol=1e-6)
    assert card["claim"]["statement"] == "no privacy claim"  # its seed is fixed


def test_the_program_and_the_example_fit(tmp_path, load):
    sizes = ["--rows", "50,70,1", "--dim", "4", "--bottom", "13-8-4", "--top", "8-1"]
    run = ["--steps", "5", "--batch", "32", "--quiet", "--out", tmp_path / "run"]
    subprocess.check_call(
        [PROGRAM, "train", *sizes, "--pooling-mode", "mean", *run], stdout=subprocess.DEVNULL
    )
    model, card = load(tmp_path / "run/model")
    assert card["claim"]["epsilon"] > 0
    assert model.tables[1].weight.shape == (70, 4)
    assert model.tables[0].mode == "mean"
    with safe_open(tmp_path / "run/model/model.safetensors", "pt") as file:
        assert json.loads(file.metadata()["lazydp.card"])["claim"] == card["claim"]


@pytest.mark.parametrize("interaction", ["dot", "cat+dot", "linear+cat+dot"])
def test_every_interaction_scores_as_the_program_does(tmp_path, load, interaction):
    data = tmp_path / "some.ldp"
    sizes = ["--rows", "50,70,9", "--examples", "300"]
    subprocess.check_call([PROGRAM, "generate", *sizes, data], stdout=subprocess.DEVNULL)
    run = ["--interaction", interaction, "--steps", "20", "--batch", "64", "--quiet"]
    subprocess.check_call(
        [PROGRAM, "train", "--data", data, *run, "--out", tmp_path / "run"],
        stdout=subprocess.DEVNULL,
    )
    model, card = load(tmp_path / "run/model")
    assert card["model"].get("interaction", "dot") == interaction
    scores = subprocess.check_output([PROGRAM, "predict", tmp_path / "run", data], text=True)
    shown = subprocess.check_output([PROGRAM, "inspect", data, "--show", "300"], text=True)
    examples = [line.split("; ") for line in shown.splitlines() if ": label " in line]
    dense = torch.tensor([[float(x) for x in numbers.split()[1:]] for _, numbers, _ in examples])
    rows = [[int(r) for r in rows.split()[1:]] for _, _, rows in examples]
    columns = torch.tensor(rows).T
    bags = [(column.contiguous(), torch.arange(len(rows))) for column in columns]
    with torch.no_grad():
        probabilities = torch.sigmoid(model(dense, bags))
    expected = torch.tensor([float(x) for x in scores.split()])
    torch.testing.assert_close(probabilities, expected, rtol=1e-4, atol=2e-5)
