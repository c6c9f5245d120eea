"""Refuses tensors that lie in a table's memory: they would show rows without their noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn

from lazydp._native import UserError
from lazydp.tables.discovery import FoundTable


def require_memory_of_its_own(model: nn.Module, tables: Iterable[FoundTable]) -> None:
    """Raise UserError if another tensor of the model lies in a table's memory.

    Rows are settled where the table's own weight is read. A parameter, a buffer or an attribute
    that was made from weight.data without a copy reads past that, and goes into state_dict().
    """
    spans = {table.weight: (*_span(table.weight), table.name) for table in tables}
    for name, tensor in _tensors(model):
        if tensor in spans or not _has_memory(tensor):
            continue
        begin, end = _span(tensor)
        for first, last, table in spans.values():
            if begin < last and first < end:
                raise _refusal(name, table)
    ordered = sorted(spans.values())
    for (_, last, one), (first, _, other) in zip(ordered, ordered[1:], strict=False):
        if first < last:
            raise _refusal(other, one)


def _refusal(name: str, table: str) -> UserError:
    return UserError(
        f"'{name}' lies in the memory of table '{table}', and would show rows without the noise "
        "that they are owed; give it a copy, weight.detach().clone(), or tie the parameter itself: "
        "other.weight = table.weight"
    )


def _tensors(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield the parameters, buffers and attributes of all modules that are tensors."""
    for prefix, module in model.named_modules():
        for held in (module._parameters, module._buffers, vars(module)):
            for key, value in held.items():
                if isinstance(value, Tensor):
                    yield f"{prefix}.{key}".lstrip("."), value


def _has_memory(tensor: Tensor) -> bool:
    plain = tensor.layout == torch.strided and tensor.device.type == "cpu"
    return plain and not nn.parameter.is_lazy(tensor) and tensor.numel() > 0


def _span(tensor: Tensor) -> tuple[int, int]:
    """Return the addresses between which a tensor lies."""
    begin = tensor.data_ptr()
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return begin, begin + (last + 1) * tensor.element_size()
