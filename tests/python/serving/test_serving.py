"""lazydp.load() scores values as `lazydp predict` scores their text."""

import datetime
import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lazydp
import served_models
from lazydp import _native

ROOT = Path(__file__).parents[3]
TEXTS = [served_models.example(i) for i in range(100)]


@pytest.fixture(scope="module", params=["dot sum", "cat+dot mean", "linear+cat+dot sum"])
def run_folder(request, tmp_path_factory):
    interaction, pooling = request.param.split()
    flags = ["--interaction", interaction, "--pooling-mode", pooling]
    return served_models.train(tmp_path_factory.mktemp("served"), *flags)


@pytest.fixture(scope="module")
def expected(run_folder):
    return np.array(served_models.predicted(run_folder, run_folder.parent / "log.csv")[:100])


def close(scores, expected):
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-6)


def test_texts_score_as_predict_does(run_folder, expected):
    model = lazydp.load(run_folder)
    assert np.ptp(expected) > 0.01
    close(model.score(TEXTS), expected)
    close(model.score({name: [e[name] for e in TEXTS] for name in TEXTS[0]}), expected)
    close([model.score_one(e) for e in TEXTS[:5]], expected[:5])
    unread = [{k: v for k, v in e.items() if k not in ("y", "note")} for e in TEXTS]
    close(lazydp.load(run_folder / "model").score(unread), expected)
    assert model.score([]).shape == (0,)
    close(model.score(TEXTS * 50), np.tile(expected, 50))  # more than one block
    assert model.card["claim"]["epsilon"] > 0


def as_values(text):
    """Return what a program would have in the place of a line's text."""
    nothing = ("", "?")
    tags = [t.strip() for t in text["tags"].split("|")]
    return {
        "age": None if text["age"] in nothing else int(text["age"]),
        "balance": float("nan") if text["balance"] in nothing else float(text["balance"]),
        "user": None if text["user"] in nothing else int(text["user"]),
        "tags": [t for t in tags if t not in nothing],
        "ad": text["ad"],
        "time": np.float32(text["time"]),
    }


def test_numbers_lists_and_none_score_as_their_text(run_folder, expected):
    model = lazydp.load(run_folder)
    close(model.score([as_values(e) for e in TEXTS]), expected)


def test_data_frames_score(run_folder, expected):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([as_values(e) for e in TEXTS])
    assert frame["user"].dtype == float  # whole numbers beside missing ones
    close(lazydp.load(run_folder).score(frame), expected)


def test_arrow_tables_score(run_folder, expected):
    arrow = pytest.importorskip("pyarrow")
    close(lazydp.load(run_folder).score(arrow.Table.from_pylist(TEXTS)), expected)


def test_times_and_truth_values_score_where_the_schema_has_a_number(run_folder):
    model = lazydp.load(run_folder)
    when = datetime.datetime(2024, 2, 29, 12, 30, 15, tzinfo=datetime.timezone.utc)
    berlin = when.astimezone(datetime.timezone(datetime.timedelta(hours=1)))
    moments = [when, berlin, when.replace(tzinfo=None), np.datetime64("2024-02-29T12:30:15")]
    scores = model.score([TEXTS[0] | {"time": t} for t in [*moments, "1709209815", 1709209815]])
    close(scores, np.full(len(scores), scores[0]))
    truths = model.score([TEXTS[0] | {"age": age} for age in (True, 1, np.False_, "0")])
    close(truths[::2], truths[1::2])


def test_the_module_with_the_hash_inside_scores_the_same(run_folder, expected):
    """Its hash is another implementation of XXH3, its forward pass is PyTorch's."""
    pytest.importorskip("xxhash")
    example = runpy.run_path(str(ROOT / "examples/load_released_model.py"))
    scorer = example["Scorer"](*example["load"](run_folder / "model"))
    np.testing.assert_allclose(scorer(TEXTS).detach(), expected, rtol=0, atol=1e-5)


def test_torch_is_not_needed(run_folder, expected):
    program = f"""
import sys
sys.modules["torch"] = None
import lazydp
print(*lazydp.load({str(run_folder)!r}).score({TEXTS[:3]!r}))
"""
    said = subprocess.check_output([sys.executable, "-c", program], text=True)
    close([float(x) for x in said.split()], expected[:3])


BAD = [
    ({"age": "old"}, "example 1: age is 'old'; it must be a number"),
    ({"ad": "xyz"}, "ad is 'xyz'; it must be at most 16 hexadecimal digits"),
    ({"user": True}, "column 'user': True is neither text nor a number"),
    ({"user": ["a"]}, "column 'user': a value is of type list"),
    ({"tags": ["a|b"]}, "column 'tags': the value 'a|b' holds"),
    ({"ad": datetime.date(2024, 1, 1)}, "column 'ad': 2024-01-01 is a time"),
    ({"tags": object()}, "column 'tags': a value is of type object"),
]


@pytest.mark.parametrize("change, message", BAD)
def test_values_that_cannot_be_used_are_named(run_folder, expected, change, message):
    model = lazydp.load(run_folder)
    with pytest.raises(lazydp.UserError, match=re.escape(message)):
        model.score([TEXTS[0], TEXTS[1] | change])
    close(model.score(TEXTS), expected)  # nothing of it was kept


def test_columns_that_are_missing_are_named(run_folder):
    model = lazydp.load(run_folder)
    without = {k: v for k, v in TEXTS[0].items() if k != "tags"}
    with pytest.raises(lazydp.UserError, match="have no 'tags', which the model reads"):
        model.score([without])
    with pytest.raises(lazydp.UserError, match="some examples have no 'tags'"):
        model.score([TEXTS[0], without])
    with pytest.raises(lazydp.UserError, match="different lengths"):
        model.score({name: [""] * (2 if name == "age" else 3) for name in model.columns})
    with pytest.raises(lazydp.UserError, match="score_one"):
        model.score(TEXTS[0])
    with pytest.raises(lazydp.UserError, match="examples must be dicts"):
        model.score(["u1"])


def test_a_model_that_was_edited_is_refused(run_folder, tmp_path):
    for name, old, new in (
        ("card.json", b'"delta": ', b'"delta": 0'),
        ("card.json", b"{", b"("),
        ("model.safetensors", b"lazydp-card", b"lazydp-care"),
    ):
        folder = tmp_path / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(run_folder / "model", folder)
        text = (folder / name).read_bytes()
        assert old in text
        (folder / name).write_bytes(text.replace(old, new, 1))
        with pytest.raises(lazydp.PrivacyError):
            lazydp.load(folder)
    weights = bytearray((run_folder / "model/model.safetensors").read_bytes())
    weights[-1] ^= 1
    shutil.copytree(run_folder / "model", folder, dirs_exist_ok=True)
    (folder / "model.safetensors").write_bytes(weights)
    with pytest.raises(lazydp.PrivacyError, match="was edited"):
        lazydp.load(folder)
    with pytest.raises(lazydp.UserError, match="neither a released model nor a run"):
        lazydp.load(tmp_path)


def test_empty_bags_and_rows_score_too(run_folder):
    model = lazydp.load(run_folder)
    dense, bags = model.encode(TEXTS[:3])
    nothing = [(np.array([], np.int64), np.zeros(4, np.int64)) for _ in bags]
    assert np.isfinite(model.logits(dense, nothing)).all()
    assert model.vectors(dense, nothing)[:, 1:].any() == False  # noqa: E712


def vectors_of_the_page():
    """Return the table of docs/serving.md: column, salt, value, what it becomes."""
    page = (ROOT / "docs/serving.md").read_text()
    rows = re.findall(r"^\| `(\{.*?\})` \| `(\d+)` \| (.*?) \| (.*?) \|$", page, re.M)
    assert len(rows) >= 12
    return rows


@pytest.mark.parametrize("described, salt, value, becomes", vectors_of_the_page())
def test_the_vectors_of_the_page_hold(described, salt, value, becomes):
    """By the encoder of the package, and by the module of the example with another XXH3."""
    pytest.importorskip("xxhash")
    column = json.loads(described)
    text = None if value == "missing" else value.strip("`")
    label = {"name": "y", "role": "label", "positive": ["1"]}
    spare = {"name": "spare", "role": "categorical", "rows": 2}  # a schema has a table
    schema = {"source": "csv", "separator": ",", "header": True, "quotes": True, "trim": True}
    schema |= {"missing": ["", "?"], "salt": salt, "column": [label, column, spare]}
    dense, bags = _native.ExampleEncoder(json.dumps(schema)).encode([None, [text], None], 1)
    example = runpy.run_path(str(ROOT / "examples/load_released_model.py"))
    other = example["Column"](column, schema)
    if column["role"] == "dense":
        assert dense[0, 0] == np.float32(becomes)
        assert np.float32(other.number(text)) == np.float32(becomes)
    else:
        rows = [int(row) for row in becomes.split(", ")]
        assert bags[0][0].tolist() == rows
        assert other.rows(text) == rows
