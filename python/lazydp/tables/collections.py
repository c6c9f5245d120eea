"""Private twins of TorchRec's collections of tables, whose features are jagged.

The tables in a collection are nn.EmbeddingBag and nn.Embedding, and become private by themselves. A
collection tells an nn.Embedding, which is given the ids of a whole batch as one list, how many of
them each example has; and it takes batches without examples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

from lazydp._native import UserError
from lazydp.layers.linear import plain_copy
from lazydp.layers.tracing import Untraceable
from lazydp.loading.jagged import without_examples

if TYPE_CHECKING:
    from lazydp.layers.captures import Captures

_KINDS = {
    f"torchrec.modules.embedding_modules.{name}"
    for name in ("EmbeddingBagCollection", "EmbeddingCollection")
}


def _forward(self: Any, features: Any) -> Any:
    """Look features up as the plain collection does."""
    from torchrec.sparse.tensor_dict import maybe_td_to_kjt

    features = maybe_td_to_kjt(features, None)
    if features.variable_stride_per_key() or features.inverse_indices_or_none() is not None:
        raise UserError(
            "features of a KeyedJaggedTensor have batches of their own (stride_per_key or "
            "inverse_indices), so that examples share look-ups and can't be clipped one by one; "
            "give every feature a place for every example of the batch"
        )
    if features.stride() == 0:
        features = without_examples(features)
    captures: Captures = self._lazydp_captures
    parts = features.to_dict().values()  # which keeps them: the plain forward has the same
    captures.lengths = {id(part.values()): part.lengths() for part in parts}
    try:
        return self._lazydp_plain.forward(self, features)
    finally:
        captures.lengths = {}


def _plain_copy(self: Any, memo: dict[int, Any]) -> nn.Module:
    """Return a plain, settled copy."""
    return plain_copy(self, self._lazydp_plain, memo)


# An object changes to no class that has a mixin where its own begins with abc.ABC.
_PRIVATE = {
    "forward": _forward,
    "__deepcopy__": _plain_copy,
    "__reduce_ex__": Untraceable.__reduce_ex__,
    "__prepare_scriptable__": Untraceable.__prepare_scriptable__,
}


def find_collections(model: nn.Module) -> list[nn.Module]:
    """Return the collections of a model."""
    return [module for module in model.modules() if _is_collection(type(module))]


def make_private(module: nn.Module, captures: Captures) -> None:
    """Turn a collection into its private twin, in place."""
    plain = type(module)
    module.__dict__["_lazydp_captures"] = captures
    module.__dict__["_lazydp_plain"] = plain
    module.__class__ = type(f"Private{plain.__name__}", (plain,), dict(_PRIVATE))


def make_plain(module: nn.Module) -> None:
    """Undo make_private()."""
    module.__class__ = module.__dict__.pop("_lazydp_plain")
    module.__dict__.pop("_lazydp_captures")


def _is_collection(kind: type) -> bool:
    return any(f"{k.__module__}.{k.__qualname__}" in _KINDS for k in kind.__mro__)
