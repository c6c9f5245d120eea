"""Models with rows in eight bits a weight score in Python as in the program."""

import numpy as np
import onnxruntime
import pytest

import lazydp
import served_models

TEXTS = [served_models.example(i) for i in range(100)]


@pytest.fixture(name="folders", scope="module")
def whole_and_small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("int8")
    run = served_models.train(folder, "--interaction", "linear+cat+dot")
    served_models.run("export", "int8", run, folder / "small")
    return run, folder / "small"


def test_scores_are_the_programs(folders):
    whole, small = folders
    log = whole.parent / "log.csv"
    scores = lazydp.load(small).score(TEXTS)
    np.testing.assert_allclose(scores, served_models.predicted(small, log)[:100], rtol=0, atol=1e-6)
    before = lazydp.load(whole).score(TEXTS)
    assert 0 < np.abs(scores - before).max() < 0.02
    card = lazydp.load(small).card
    assert card["claim"] == lazydp.load(whole).card["claim"]
    assert card["rows"]["type"] == "int8"


def test_rows_stay_small_until_they_are_looked_up(folders):
    table = lazydp.load(folders[1]).tables[0]
    assert table.shape == (300, 16)
    assert table[np.array([0, 7])].dtype == np.float32


def test_a_graph_has_the_same_scores(folders, tmp_path):
    model = lazydp.load(folders[1])
    lazydp.export_onnx(model, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    found = session.run(["scores"], lazydp.onnx_inputs(*model.encode(TEXTS)))[0]
    np.testing.assert_allclose(found, model.score(TEXTS), rtol=0, atol=1e-5)
