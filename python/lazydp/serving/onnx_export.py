"""Released models as ONNX graphs. Needs the package onnx.

A graph takes, beside `dense` (batch x features), two arrays for each table k: `ids_k`, all row
numbers of the batch's bags, and `examples_k`, the example that each of them belongs to. It gives
`logits` and `scores`, one for each example. The batch, and the number of ids, may be any.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazydp._native import UserError
from lazydp.serving.released_files import Floats, Rows
from lazydp.serving.served_model import Bags, Layers, ServedModel, load

_OPSET = 18
_IR = 10  # what runtimes of 2024 read
_INLINE = 1 << 30  # bytes; a protobuf holds two gigabytes, larger weights lie beside the graph


def onnx_inputs(dense: Floats, bags: Bags) -> dict[str, NDArray[Any]]:
    """Return a graph's inputs for what `ServedModel.encode` returns."""
    inputs: dict[str, NDArray[Any]] = {"dense": dense}
    for k, (ids, offsets) in enumerate(bags):
        inputs[f"ids_{k}"] = ids
        inputs[f"examples_{k}"] = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return inputs


def export_onnx(model: ServedModel | str | Path, path: str | Path) -> None:
    """Write a released model as an ONNX graph, its card among the metadata.

    Tables of over a gigabyte go to a second file, `path` with ".data" behind it.
    """
    try:
        import onnx
    except ImportError:
        raise UserError("export_onnx needs the package onnx: pip install lazydp[onnx]") from None
    served = model if isinstance(model, ServedModel) else load(model)
    graph = _Graph(onnx, served)
    proto = onnx.helper.make_model(
        graph.proto(),
        producer_name="lazydp",
        ir_version=_IR,
        opset_imports=[onnx.helper.make_opsetid("", _OPSET)],
    )
    onnx.helper.set_model_props(proto, {"lazydp.card": json.dumps(served.card)})
    outside = sum(weight.nbytes for weight in graph.weights) > _INLINE
    onnx.save(proto, str(path), save_as_external_data=outside, location=Path(path).name + ".data")


class _Graph:
    """The nodes of a model, in the order in which they are computed."""

    def __init__(self, onnx: Any, model: ServedModel) -> None:
        self._onnx = onnx
        self._model = model
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs = [self._input("dense", np.float32, ["batch", model.bottom[0][0].shape[1]])]
        self.weights: list[Floats] = []

    def proto(self) -> Any:
        batch = self._node("Gather", self._node("Shape", "dense"), self._constant([0]))
        vectors = [self._layers("dense", self._model.bottom, relu_at_the_end=True)]
        for k, table in enumerate(self._model.tables):
            vectors.append(self._pooled(k, table, batch))
        logits = self._layers(self._interaction(vectors), self._model.top, relu_at_the_end=False)
        if self._model.adds_first_coordinates:
            first = [
                self._node(
                    "Slice", v, self._constant([0]), self._constant([1]), self._constant([1])
                )
                for v in vectors[1:]
            ]
            linear = self._node("Sum", *first)
            scale = self._floats([float(self._model.linear_scale)])
            logits = self._node("Add", logits, self._node("Mul", linear, scale))
        self._node("Squeeze", logits, self._constant([1]), output="logits")
        self._node("Sigmoid", "logits", output="scores")
        helper, floats = self._onnx.helper, self._onnx.TensorProto.FLOAT
        outputs = [
            helper.make_tensor_value_info(name, floats, ["batch"]) for name in ("logits", "scores")
        ]
        return helper.make_graph(self._nodes, "lazydp", self._inputs, outputs, self._constants)

    def _pooled(self, k: int, table: Rows, batch: str) -> str:
        """Add the rows of each example's bag; a mean divides by how many there are."""
        self._inputs.append(self._input(f"ids_{k}", np.int64, [f"ids_of_{k}"]))
        self._inputs.append(self._input(f"examples_{k}", np.int64, [f"ids_of_{k}"]))
        width = self._constant([table.shape[1]])
        rows = self._node("Gather", self._weight(f"tables.{k}.weight", table), f"ids_{k}")
        places = self._node("Unsqueeze", f"examples_{k}", self._constant([1]))
        pooled = self._sum(rows, places, self._node("Concat", batch, width, axis=0))
        if not self._model.pools_by_mean:
            return pooled
        count = self._node("Shape", f"ids_{k}")
        ones = self._node("Expand", self._floats([1.0]), count)
        lengths = self._node("Max", self._sum(ones, places, batch), self._floats([1.0]))
        return self._node("Div", pooled, self._node("Unsqueeze", lengths, self._constant([1])))

    def _sum(self, values: str, places: str, shape: str) -> str:
        zeros = self._node("Expand", self._floats([0.0]), shape)
        return self._node("ScatterND", zeros, places, values, reduction="add")

    def _interaction(self, vectors: list[str]) -> str:
        ones = self._constant([1])
        stacked = self._node("Concat", *[self._node("Unsqueeze", v, ones) for v in vectors], axis=1)
        turned = self._node("Transpose", stacked, perm=[0, 2, 1])
        dots = self._node("Flatten", self._node("MatMul", stacked, turned), axis=1)
        later, earlier = np.tril_indices(len(vectors), -1)
        pairs = self._node("Gather", dots, self._constant(later * len(vectors) + earlier), axis=1)
        copied = vectors if self._model.copies_all_vectors else vectors[:1]
        return self._node("Concat", *copied, pairs, axis=1)

    def _layers(self, name: str, layers: Layers, *, relu_at_the_end: bool) -> str:
        for i, (weight, bias) in enumerate(layers):
            w, b = self._weight(f"{name}.weight{i}", weight), self._weight(f"{name}.bias{i}", bias)
            name = self._node("Gemm", name, w, b, transB=1)
            if relu_at_the_end or i + 1 < len(layers):
                name = self._node("Relu", name)
        return name

    def _node(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        name = output or f"{kind.lower()}_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def _input(self, name: str, kind: type, shape: list[Any]) -> Any:
        element = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        return self._onnx.helper.make_tensor_value_info(name, element, shape)

    def _weight(self, name: str, values: Rows) -> str:
        weights = np.ascontiguousarray(values, np.float32)
        self.weights.append(weights)
        return self._stored(weights, name)

    def _constant(self, values: Any) -> str:
        return self._stored(np.asarray(values, np.int64))

    def _floats(self, values: list[float]) -> str:
        return self._stored(np.asarray(values, np.float32))

    def _stored(self, values: NDArray[Any], name: str | None = None) -> str:
        name = name or f"constant_{len(self._constants)}"
        self._constants.append(self._onnx.numpy_helper.from_array(values, name))
        return name
