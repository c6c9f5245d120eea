"""Released models in NumPy: their files, scores, recommendations and ONNX graphs; no torch."""
