"""An exported graph scores as the model does, under onnxruntime."""

import json

import numpy as np
import pytest

import lazydp
import served_models

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

EXAMPLES = [served_models.example(i) for i in range(50)]


@pytest.mark.parametrize("flags", ["dot sum", "cat+dot mean", "linear+cat+dot mean"])
def test_scores_are_those_of_the_model(tmp_path, flags):
    interaction, pooling = flags.split()
    flags = ["--interaction", interaction, "--pooling-mode", pooling]
    model = lazydp.load(served_models.train(tmp_path, *flags))
    lazydp.export_onnx(model, tmp_path / "model.onnx")
    onnx.checker.check_model(str(tmp_path / "model.onnx"), full_check=True)
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    card = session.get_modelmeta().custom_metadata_map["lazydp.card"]
    assert json.loads(card) == model.card
    for count in (50, 1, 7):  # of one graph
        dense, bags = model.encode(EXAMPLES[:count])
        scores, logits = session.run(["scores", "logits"], lazydp.onnx_inputs(dense, bags))
        np.testing.assert_allclose(scores, model.score(EXAMPLES[:count]), rtol=0, atol=1e-6)
        np.testing.assert_allclose(logits, model.logits(dense, bags), rtol=1e-5, atol=1e-6)
    empty = [(np.array([], np.int64), np.zeros(2, np.int64)) for _ in bags]
    (score,) = session.run(["logits"], lazydp.onnx_inputs(dense[:1], empty))
    np.testing.assert_allclose(score, model.logits(dense[:1], empty), rtol=1e-5, atol=1e-6)


def test_large_weights_lie_beside_the_graph(tmp_path, monkeypatch):
    monkeypatch.setattr("lazydp.serving.onnx_export._INLINE", 1000)
    run = served_models.train(tmp_path)
    lazydp.export_onnx(run, tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx.data").exists()
    model = lazydp.load(run)
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    (scores,) = session.run(["scores"], lazydp.onnx_inputs(*model.encode(EXAMPLES)))
    np.testing.assert_allclose(scores, model.score(EXAMPLES), rtol=0, atol=1e-6)
