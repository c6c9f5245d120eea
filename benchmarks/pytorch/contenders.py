"""The contenders of make bench-torch, by name."""

from __future__ import annotations

from typing import Any

from pytorch.private import Eager, EagerInBlocks, EagerOnThreads, Eana, Lazy
from pytorch.sgd import SgdByHand, SgdCompiled, SgdOfModules, SgdOfOneBag

SGD: dict[str, Any] = {
    "SGD, an EmbeddingBag a table": SgdOfModules,
    "SGD, one EmbeddingBag": SgdOfOneBag,
    "SGD, torch.compile": SgdCompiled,
    "SGD, by hand": SgdByHand,
}
PRIVATE: dict[str, Any] = {"EANA": Eana, "LazyDP in PyTorch": Lazy}
EAGER: dict[str, Any] = {
    "DP-SGD(F), fresh tensors": Eager,
    "DP-SGD(F), in blocks": EagerInBlocks,
    "DP-SGD(F), in blocks on two threads": EagerOnThreads,
}
ALL = SGD | PRIVATE | EAGER
