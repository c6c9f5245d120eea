"""settle="ahead", the paper's two-entry queue: rows of the next batch catch up with the update."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor

from lazydp import _native
from lazydp.loading.batch_record import BatchSize
from lazydp.loading.recording_loader import Fetching, RecordingLoader
from lazydp.tables.model_tables import Tables
from lazydp.tables.private_table import PrivateTable


class LookaheadLoader:
    """A loader that knows the batch after the one it hands out.

    It watches look-ups to learn which tensor of a batch names rows of which table: where a table is
    given a tensor of the batch, or a part of one, the same part of the next batch names the rows
    that will be read next. Rows that can't be foreseen settle when they are read, as always.
    """

    def __init__(self, loader: RecordingLoader, tables: Tables) -> None:
        """Wrap a loader, which stays as it is otherwise."""
        self._loader = loader
        self._tables = tables
        self._now: list[Tensor] = []
        self._next: list[Tensor] = []
        self._places: dict[PrivateTable, set[tuple[int, Any]]] = {}
        tables.after_step.append(self._settle_next)
        tables.on_lookup = self._learn

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the loader."""
        if name.startswith("__") or name == "_loader":
            raise AttributeError(name)
        return getattr(self._loader, name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle the loader alone: a copy knows no tables."""
        return self._loader.__reduce_ex__(protocol)

    def __len__(self) -> int:
        """Return the number of the loader's batches."""
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        """Yield the loader's batches, each when the one after it is known."""
        batches = self._loader.fetching()
        current = _fetched(batches)
        while current is not None:
            following = _fetched(batches)
            self._now = list(_tensors(current[0]))
            self._next = [] if following is None else list(_tensors(following[0]))
            batches.ended = False  # the caller has not seen the end
            batches.hand_out(*current)
            yield current[0]
            current = following
        batches.ended = True
        self._now, self._next = [], []

    def _learn(self, table: PrivateTable, ids: Tensor) -> None:
        for index, tensor in enumerate(self._now):
            if ids.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr():
                self._places.setdefault(table, set()).add((index, _part(tensor, ids)))
                return

    def _settle_next(self) -> None:
        for table, places in self._places.items():
            for index, part in places:
                if index < len(self._next):
                    ids = _take(self._next[index], part).reshape(-1).long().contiguous()
                    rows = len(table.weight)
                    known = ids[(ids >= 0) & (ids < rows)]
                    table.settle(_native.make_bags(known, None, None, False, rows))


def _fetched(batches: Fetching) -> tuple[Any, BatchSize | None] | None:
    """Return the next batch and its size; None at the end."""
    try:
        return batches.fetch()
    except StopIteration:
        return None


def _tensors(batch: Any) -> Iterator[Tensor]:
    """Yield all tensors in a batch, in a fixed order."""
    if isinstance(batch, Tensor):
        yield batch
    elif isinstance(batch, dict):
        for key in batch:
            yield from _tensors(batch[key])
    elif isinstance(batch, (list, tuple)):
        for value in batch:
            yield from _tensors(value)


def _part(whole: Tensor, part: Tensor) -> Any:
    """Return the columns of a [batch, columns, …] tensor that a view covers; None for all."""
    if whole.dim() < 2 or part.numel() == whole.numel() or whole.stride(1) == 0:
        return None
    offset = part.storage_offset() - whole.storage_offset()
    column = offset // whole.stride(1)
    width = part.shape[1] if part.dim() == whole.dim() else 1
    return (column, width)


def _take(whole: Tensor, part: Any) -> Tensor:
    return whole if part is None else whole.narrow(1, *part)
