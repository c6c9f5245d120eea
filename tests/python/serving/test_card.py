"""A card validates against its schema, and its claim against another accountant."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import served_models

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "src/lazydp/release/card.schema.json").read_text())


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    return served_models.train(tmp_path_factory.mktemp("card"), "--private-metrics", "on")


def cards(run_folder, tmp_path):
    yield json.loads((run_folder / "model/card.json").read_text())
    yield json.loads((ROOT / "tests/golden/model-0.1/card.json").read_text())
    data = run_folder.parent / "log.ldp"
    few = ["--quiet", "--steps", 5, "--batch", 64, "--data", data]
    units = ["--privacy-unit", "user", "--table-optimizer", "momentum"]
    served_models.run("train", *few, *units, "--out", tmp_path / "units")
    yield json.loads((tmp_path / "units/model/card.json").read_text())
    for sampling in ("stream", "balls-in-bins"):
        steps = ["--quiet", "--epochs", 1, "--batch", 64, "--data", data]
        blocks = ["--sampling", sampling, "--correlation", "lambda:0.5", "--noise-multiplier", 3]
        served_models.run("train", *steps, *blocks, "--out", tmp_path / sampling)
        yield json.loads((tmp_path / sampling / "model/card.json").read_text())
    served_models.run("train", *few, "--algorithm", "sgd", "--out", tmp_path / "sgd")
    yield json.loads((tmp_path / "sgd/model/card.json").read_text())


def test_cards_validate_and_edited_ones_do_not(run_folder, tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for card in cards(run_folder, tmp_path):
        validator.validate(card)
        for key in SCHEMA["required"]:
            assert not validator.is_valid({k: v for k, v in card.items() if k != key}), key
        assert not validator.is_valid(card | {"claim": {"epsilon": -1}})
        assert not validator.is_valid(card | {"claims": 1})
        assert not validator.is_valid(card | {"weights": {"blake2b_256": "x"}})


def test_the_card_says_what_a_consumer_must_do(run_folder):
    card = json.loads((run_folder / "model/card.json").read_text())
    assert card["program"].startswith("lazydp ")
    assert "XXH3" in card["input"]["preprocessing"]
    assert "row 0" in card["input"]["missing_value"]


def verify(folder):
    program = ROOT / "examples/verify_card.py"
    return subprocess.run([sys.executable, program, folder], capture_output=True, text=True)


@pytest.fixture(scope="module")
def streamed_folder(run_folder):
    folder = run_folder.parent / "streamed"
    data = ["--data", run_folder.parent / "log.ldp", "--batch", 64, "--epochs", 2]
    blocks = ["--sampling", "stream", "--correlation", "lambda:0.9", "--noise-multiplier", 20]
    served_models.run("train", "--quiet", *data, *blocks, "--out", folder)
    return folder


@pytest.mark.parametrize("folder", ["run_folder", "streamed_folder"])
def test_dp_accounting_agrees_and_a_smaller_claim_is_found_out(folder, request, tmp_path):
    pytest.importorskip("dp_accounting", reason="dp-accounting can't be had here")
    run_folder = request.getfixturevalue(folder)
    said = verify(run_folder / "model")
    assert said.returncode == 0, said.stderr
    claimed, found = (
        float(part.split()[0])
        for part in said.stdout.replace("epsilon", "")
        .replace("claimed:", "")
        .split("; dp-accounting: ")
    )
    assert abs(claimed - found) < 0.01 * claimed
    card = json.loads((run_folder / "model/card.json").read_text())
    card["claim"]["epsilon"] *= 0.9
    (tmp_path / "card.json").write_text(json.dumps(card))
    said = verify(tmp_path)
    assert said.returncode == 1
    assert "claims less" in said.stderr
