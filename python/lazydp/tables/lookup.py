"""A look-up is one call of a table: the rows of each example, and the gradient that came back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from lazydp import _native

Part = tuple[_native.Bags, Tensor]  # bags, and a gradient for each


@dataclass
class Lookup:
    """Holds the rows of one call. Bags of an example lie one after the other."""

    table: Any  # a PrivateTable
    bags: _native.Bags
    examples: int
    batch_dim: int  # the dimension of the output along which examples lie
    scale: float  # undoes a mean over the batch
    lengths: Tensor | None = None  # numbers of bags of each example, where they differ
    gradient: Tensor | None = None  # bags x dim; None until backward

    @property
    def layer(self) -> Any:
        """The table that was called."""
        return self.table

    @property
    def name(self) -> str:
        """The table's name in messages."""
        return str(self.table.name)

    @property
    def bags_per_example(self) -> int | Tensor:
        """The number of bags of each example; of all examples, if it is the same."""
        if self.lengths is not None:
            return self.lengths
        return self.bags.bags // self.examples if self.examples else 1

    @property
    def of_the_core(self) -> _native.Call:
        """The look-up and its gradient, as the core takes them."""
        of_each = self.bags_per_example
        if isinstance(of_each, Tensor):  # the first bag of each, and the end
            of_each = torch.cat([of_each.new_zeros(1), of_each.cumsum(0)])
        return self.bags, self.gradient, of_each

    def with_gradient(self, gradient: Tensor) -> Lookup:
        """Return the look-up with a copy of the gradient of its output, one row a bag."""
        if self.batch_dim:
            gradient = gradient.movedim(self.batch_dim, 0)
        rows = gradient.detach().to("cpu", torch.float32).reshape(-1, gradient.shape[-1])
        return replace(self, gradient=(rows * self.scale).contiguous())


def _without(
    ids: Tensor, offsets: Tensor | None, padding: int | None
) -> tuple[Tensor, Tensor | None]:
    """Leave out the padding row, which receives neither gradients nor noise."""
    if padding is None:
        return ids, offsets
    kept = ids != padding
    if bool(kept.all()):
        return ids, offsets
    before = torch.zeros(len(ids) + 1, dtype=torch.int64)
    torch.cumsum(kept, 0, out=before[1:])
    return ids[kept], before if offsets is None else before[offsets]


def embedding_bags(module: nn.Embedding, ids: Tensor, batch_dim: int) -> tuple[_native.Bags, int]:
    """Return bags of one id each, and the number of examples."""
    if ids.dim() == 0:
        raise ValueError(
            "an embedding was asked for a single id; its input needs a batch dimension"
        )
    if batch_dim and ids.dim() > batch_dim:
        ids = ids.movedim(batch_dim, 0)
    flat = ids.detach().to("cpu", torch.int64).reshape(-1).contiguous()
    flat, offsets = _without(flat, None, module.padding_idx)
    bags = _native.make_bags(flat, offsets, None, False, module.num_embeddings)
    return bags, ids.shape[0]


def _require_bags(
    module: nn.EmbeddingBag, ids: Tensor, offsets: Tensor | None, weights: Tensor | None
) -> None:
    """Refuse what torch refuses."""
    if ids.dim() not in (1, 2):
        raise ValueError(f"input has {ids.dim()} dimensions; an EmbeddingBag takes 1 or 2")
    if ids.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"ids are of {ids.dtype}; an EmbeddingBag takes torch.int64 or torch.int32")
    if ids.dim() == 2 and offsets is not None:
        raise ValueError("offsets were given with 2-D input, each row of which is a bag")
    if weights is not None and module.mode != "sum":
        raise NotImplementedError("per_sample_weights are for mode 'sum' alone")
    if weights is not None and weights.shape != ids.shape:
        raise ValueError(
            f"per_sample_weights have shape {list(weights.shape)} and ids {list(ids.shape)}; "
            "there must be a weight for each id"
        )


def pooled_bags(
    module: nn.EmbeddingBag, ids: Tensor, offsets: Tensor | None, weights: Tensor | None
) -> tuple[_native.Bags, int]:
    """Return a bag for each example, as torch reads the arguments of an EmbeddingBag."""
    _require_bags(module, ids, offsets, weights)
    flat = ids.detach().to("cpu", torch.int64).reshape(-1).contiguous()
    if ids.dim() == 2:
        ends = torch.arange(ids.shape[0] + 1) * ids.shape[1]
    else:
        if offsets is None:
            raise ValueError("offsets is None; with 1-D input an EmbeddingBag needs offsets")
        ends = offsets.detach().to("cpu", torch.int64)
        if len(ends) == 0 or not module.include_last_offset:
            ends = torch.cat([ends, torch.tensor([len(flat)])])
        if int(ends[0]) != 0 or bool((ends[1:] < ends[:-1]).any()):
            raise ValueError("offsets must ascend from 0")
        if int(ends[-1]) != len(flat):  # torch leaves the rest out
            flat = flat[: int(ends[-1])]
    factors = None
    if weights is not None:
        factors = weights.detach().to("cpu", torch.float32).reshape(-1)[: len(flat)]
        if module.padding_idx is not None:
            factors = factors[flat != module.padding_idx]
        factors = factors.contiguous()
    flat, kept = _without(flat, ends, module.padding_idx)
    ends = ends if kept is None else kept
    bags = _native.make_bags(
        flat, ends.contiguous(), factors, module.mode == "mean", module.num_embeddings
    )
    return bags, len(ends) - 1
