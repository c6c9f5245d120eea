"""Private twins of nn.Embedding and nn.EmbeddingBag settle what they read, and keep gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lazydp._native import PrivacyError, UserError
from lazydp.layers.linear import plain_copy
from lazydp.layers.tracing import Untraceable, require_values
from lazydp.tables.lookup import Lookup, embedding_bags, pooled_bags

if TYPE_CHECKING:
    from lazydp.tables.private_table import PrivateTable


_FIXED = ("padding_idx", "max_norm", "scale_grad_by_freq", "mode", "num_embeddings")


class PrivateEmbeddingBase(Untraceable):
    """A mixin for the class of a table's module; the weight stays the parameter it was."""

    _lazydp_table: PrivateTable
    _lazydp_plain: type[nn.Module]

    def _read(
        self,
        ids: Tensor,
        bags: Any,
        examples: int,
        compute: Callable[[Tensor], Tensor],
        lengths: Tensor | None = None,
    ) -> Tensor:
        """Settle the rows, compute the output, and keep the look-up if a gradient will come.

        `lengths` are the numbers of bags of each example, where they differ.
        """
        if lengths is not None:
            lengths = lengths.detach().to("cpu", torch.int64)
            examples = len(lengths)
        table = self._lazydp_table
        captures = table.owner.captures
        if self._parameters.get("weight") is not table.weight:
            raise UserError(
                f"the weight of table '{table.name}' was replaced by another parameter; its memory "
                "must stay: copy into it, weight.data.copy_(…), or release the model first"
            )
        keeps = captures.begin_forward(ids)
        if table.owner.on_lookup is not None:
            table.owner.on_lookup(table, ids)
        output = self._pool(ids, bags)
        if output is None:
            table.settle(bags)
            with torch.no_grad():
                output = compute(table.memory)
        if not (keeps and table.weight.requires_grad):
            return output
        batch_dim = captures.batch_dim if isinstance(self, nn.Embedding) and ids.dim() > 1 else 0
        lookup = Lookup(table, bags, examples, batch_dim, captures.scale(examples), lengths)
        return captures.attach(output, lookup)

    def _pool(self, ids: Tensor, bags: Any) -> Tensor | None:
        """Return the output, if it is nothing but the bags' rows pooled, settled on the way."""
        return self._lazydp_table.settle_and_pool(bags)

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse another weight or another way of pooling, and say what to do instead."""
        if name in _FIXED and value != getattr(self, name):
            raise UserError(
                f"{name} of table '{self._lazydp_table.name}' can't become {value!r} while it is "
                f"private: gradients are clipped, and rows receive noise, for {name} "
                f"{getattr(self, name)!r}; set it before make_private"
            )
        if name == "weight" and value is not self._parameters.get("weight"):
            raise UserError(
                f"the weight of table '{self._lazydp_table.name}' can't be replaced while it is "
                "private; copy into it, weight.data.copy_(…), or release the model first"
            )
        super().__setattr__(name, value)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, metadata: Any, *args: Any
    ) -> None:
        if metadata.get("assign_to_params_buffers", False):
            raise UserError(
                "assign is True; a private table's memory stays: load with assign=False"
            )
        super()._load_from_state_dict(state_dict, prefix, metadata, *args)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
        probe = fn(torch.empty(1, dtype=torch.float32))
        if probe.is_shared():  # type: ignore[no-untyped-call]
            raise UserError(
                "a private table's memory can't be shared with other processes, which would draw "
                "the same noise; give them state_dict(), or the released model"
            )
        if probe.dtype != torch.float32 or probe.device.type != "cpu":
            raise UserError(
                f"a private table was moved to {probe.dtype} on {probe.device}; it must stay "
                "torch.float32 on cpu: release the model first, or move the dense layers alone"
            )
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> nn.Module:
        """Return a plain, settled copy."""
        return plain_copy(self, self._lazydp_plain, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuse, with the reason."""
        raise PrivacyError(
            "a private module can't be pickled: its table may be waiting for noise, and a copy "
            "that trains on would void the guarantee; save state_dict(), or engine.release(model)"
        )


class PrivateEmbeddingBag(PrivateEmbeddingBase, nn.EmbeddingBag):  # type: ignore[misc]
    """nn.EmbeddingBag, which settles the rows that it pools."""

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """Pool settled rows as nn.EmbeddingBag does."""
        if per_sample_weights is not None and per_sample_weights.requires_grad:
            raise UserError(
                "per_sample_weights require a gradient; detach them: their clipping is not covered"
            )
        require_values(input)
        bags, examples = pooled_bags(self, input, offsets, per_sample_weights)

        def compute(weight: Tensor) -> Tensor:
            if examples == 0:
                return weight.new_zeros(0, self.embedding_dim)
            return functional.embedding_bag(
                input,
                weight,
                offsets,
                mode=self.mode,
                per_sample_weights=per_sample_weights,
                include_last_offset=self.include_last_offset,
                padding_idx=self.padding_idx,
            )

        return self._read(input, bags, examples, compute)


class PrivateEmbedding(PrivateEmbeddingBase, nn.Embedding):  # type: ignore[misc]
    """nn.Embedding, which settles the rows that it looks up."""

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, input: Tensor) -> Tensor:
        """Look settled rows up as nn.Embedding does."""
        require_values(input)
        captures = self._lazydp_table.owner.captures
        lengths = captures.lengths.get(id(input))
        bags, examples = embedding_bags(self, input, captures.batch_dim)

        def compute(weight: Tensor) -> Tensor:
            return functional.embedding(input, weight)

        return self._read(input, bags, examples, compute, lengths)

    def _pool(self, ids: Tensor, bags: Any) -> Tensor | None:
        moved = self._lazydp_table.owner.captures.batch_dim and ids.dim() > 1
        if moved or self.padding_idx is not None or not ids.numel():
            return None
        output = super()._pool(ids, bags)
        return None if output is None else output.view(*ids.shape, self.embedding_dim)


def make_private(module: nn.Module, table: PrivateTable) -> None:
    """Turn a table's module into its private twin, in place."""
    plain = type(module)
    twin: type = PrivateEmbeddingBag if isinstance(module, nn.EmbeddingBag) else PrivateEmbedding
    if plain not in (nn.EmbeddingBag, nn.Embedding):
        twin = type(f"Private{plain.__name__}", (twin, plain), {})
    module.__dict__["_lazydp_table"] = table
    module.__dict__["_lazydp_plain"] = plain
    module.__class__ = twin


def make_plain(module: nn.Module) -> None:
    """Undo make_private()."""
    module.__class__ = module.__dict__.pop("_lazydp_plain")
    module.__dict__.pop("_lazydp_table")
