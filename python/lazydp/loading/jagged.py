"""TorchRec's KeyedJaggedTensor without examples, which TorchRec itself can't take apart."""

from __future__ import annotations

from typing import Any

KIND = "torchrec.sparse.jagged_tensor.KeyedJaggedTensor"


def is_keyed_jagged(value: Any) -> bool:
    """Return whether this is a KeyedJaggedTensor, without importing TorchRec."""
    return any(f"{kind.__module__}.{kind.__qualname__}" == KIND for kind in type(value).__mro__)


def without_examples(features: Any) -> Any:
    """Return features with the same keys, devices and types, and no example in them."""
    from torchrec import JaggedTensor, KeyedJaggedTensor

    values = features.values()[:0]
    weights = features.weights_or_none()
    weights = None if weights is None else weights[:0]
    lengths = features.lengths()[:0]

    def part() -> Any:
        ends = lengths.new_zeros(1)
        return JaggedTensor(values.clone(), weights=weights, lengths=lengths.clone(), offsets=ends)

    keys = list(features.keys())
    return KeyedJaggedTensor(
        keys, values, weights, lengths, stride=0, jt_dict={key: part() for key in keys}
    )


def without_ids(features: Any) -> Any:
    """Return features of as many examples, each without ids."""
    from torchrec import KeyedJaggedTensor

    weights = features.weights_or_none()
    weights = None if weights is None else weights[:0]
    lengths = features.lengths().new_zeros(features.lengths().shape)
    return KeyedJaggedTensor(list(features.keys()), features.values()[:0], weights, lengths)
