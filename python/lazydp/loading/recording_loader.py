"""A loader and its sampler record each batch when it is handed out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch.utils.data import DataLoader, IterableDataset, Sampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from lazydp.loading.batch_record import BatchRecord, BatchSize


class Drawing:
    """One iteration over a sampler of batches, which notes their sizes."""

    ended = False

    def __init__(self, batches: Iterator[Any], record: BatchRecord | None) -> None:
        """Record drawn batches as handed out; without a record, keep their sizes for the loader."""
        self._batches = batches
        self._record = record
        self.sizes: deque[BatchSize] = deque()

    def __iter__(self) -> Drawing:
        """Return this iteration."""
        return self

    def __next__(self) -> Any:
        """Return the next batch of indices."""
        try:
            batch = next(self._batches)
        except StopIteration:
            self.ended = True
            raise
        units, window = getattr(batch, "units", None), getattr(batch, "window", None)
        size = BatchSize(len(batch), units, window)
        if self._record is None:
            self.sizes.append(size)
        else:
            self._record.add(size, self, drawn=True)
        return batch


class Mixed:
    """A mixin for the class of a user's object. Pickles and deep copies of it are plain."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Leave out the attributes of the run. A class may refuse, as secure samplers do."""
        plain = type(self).__mro__[2]  # after the mixed class, and what was mixed in
        state = {k: v for k, v in self.__dict__.items() if not k.startswith("_lazydp")}
        return _plain, (plain, state)

    def __copy__(self) -> Any:
        """Return another object of the same run."""
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied


def _plain(kind: Any, state: dict[str, Any]) -> Any:
    one = kind.__new__(kind)
    one.__dict__.update(state)
    return one


class RecordingSampler(Sampler[Any], Mixed):
    """A mixin for samplers of batches.

    Our own loader records each batch when it hands it out. Where another loader is built around the
    sampler (Opacus' BatchMemoryManager), batches are recorded when they are drawn.
    """

    _lazydp_batch_record: BatchRecord
    _lazydp_by_loader = False  # whether our own loader is drawing
    _lazydp_latest: Drawing | None = None  # our own loader's

    def __iter__(self) -> Iterator[Any]:
        """Return an iteration over the sampler's batches."""
        batches = iter(super().__iter__())  # type: ignore[misc]
        drawing = Drawing(batches, None if self._lazydp_by_loader else self._lazydp_batch_record)
        if self._lazydp_by_loader:
            self._lazydp_latest = drawing
        return drawing


class Fetching:
    """One iteration over a loader, which fetches batches with their sizes and hands them out."""

    def __init__(self, loader: Any, record: BatchRecord) -> None:
        """Start to iterate: workers begin to fetch."""
        self.ended = False
        self._record = record
        self._sampler = loader.batch_sampler
        with self._drawing():
            self._inner = loader._lazydp_start()
        if isinstance(self._sampler, RecordingSampler) and _hands_out_in_order(self._inner):
            # Workers that persist are reset, and go on with the same iterator: sizes belong to it.
            self._inner._lazydp_drawing = self._sampler._lazydp_latest

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        """Tell the sampler that batches drawn meanwhile are not handed out yet."""
        if not isinstance(self._sampler, RecordingSampler):
            yield
            return
        self._sampler._lazydp_by_loader = True
        try:
            yield
        finally:
            self._sampler._lazydp_by_loader = False

    def fetch(self) -> tuple[Any, BatchSize | None]:
        """Return the next batch and its size."""
        try:
            with self._drawing():
                batch = next(self._inner)
        except StopIteration:
            self.ended = True
            raise
        except Exception:  # the data set raised, and the batch is lost
            self._size()
            raise
        return batch, self._size()

    def _size(self) -> BatchSize | None:
        drawing = getattr(self._inner, "_lazydp_drawing", None)
        if drawing is None or not drawing.sizes:
            return None
        if self._inner._num_workers:
            return drawing.sizes.popleft()  # type: ignore[no-any-return]
        size: BatchSize = drawing.sizes[-1]  # fetches of earlier ones were interrupted
        drawing.sizes.clear()
        return size

    def hand_out(self, batch: Any, size: BatchSize | None) -> None:
        """Record that this batch, of this size, goes to the user."""
        self._record.add(size, self)
        self._record.remember(batch)

    def __iter__(self) -> Fetching:
        """Return this iteration."""
        return self

    def __next__(self) -> Any:
        """Hand out the next batch."""
        batch, size = self.fetch()
        self.hand_out(batch, size)
        return batch

    def __len__(self) -> int:
        """Return the length of the loader's iterator."""
        return len(self._inner)

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the loader's iterator."""
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)


def _hands_out_in_order(batches: Any) -> bool:
    """Return whether a loader's iterator gives batches in the order in which they were drawn."""
    return isinstance(batches, _BaseDataLoaderIter) and getattr(batches, "_in_order", True)


class RecordingLoader(DataLoader[Any], Mixed):
    """A mixin for the loader that make_private returns."""

    _lazydp_batch_record: BatchRecord

    def _lazydp_start(self) -> Any:
        return super().__iter__()

    def __iter__(self) -> Any:
        """Return an iteration that hands each batch out."""
        return self.fetching()

    def fetching(self) -> Fetching:
        """Return an iteration for a caller that fetches batches before it hands them out."""
        return Fetching(self, self._lazydp_batch_record)


def record_batches(loader: Any, record: BatchRecord) -> None:
    """Let a loader, and its sampler of batches, tell `record` what they hand out."""
    sampler: Any = loader.batch_sampler
    if isinstance(sampler, Sampler) and not isinstance(loader.dataset, IterableDataset):
        _mix(sampler, RecordingSampler, "Recording")
        loader.batch_sampler._lazydp_batch_record = record
    _mix(loader, RecordingLoader, "Recording")
    loader._lazydp_batch_record = record


def _mix(one: Any, mixin: type, name: str) -> None:
    if not isinstance(one, mixin):  # an earlier run may have mixed it in
        plain = type(one)
        one.__class__ = type(f"{name}{plain.__name__}", (mixin, plain), {})
