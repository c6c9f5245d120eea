"""The batches that a private run's loader handed out: what a step must have seen."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch.utils.data import DataLoader, IterableDataset, Sampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from lazydp._native import UserError

_AT_MOST = 4096  # batches that wait: an evaluation over the loader takes none of its own


@dataclass
class Waiting:
    """A batch that was handed out, and that no step has taken."""

    size: int | None  # None: the loader can't tell
    source: Any  # refers weakly to the iterator that it came from
    drawn: bool  # not handed out by our loader: drawn from its sampler by another one
    used: bool = False  # a forward came before the next batch was handed out

    @property
    def left_behind(self) -> bool:
        """Whether the iterator that it came from has ended."""
        return self.source() is None or bool(self.source().ended)


class BatchRecord:
    """Sizes of the batches that were handed out and that no step has taken.

    A layer that is given flattened ids sees each look-up as an example; where all layers do, only
    the loader knows better. And examples of two batches in one backward pass would be clipped as
    one: a clock, the number of batches that were handed out so far, tells forwards of one batch
    from those of another.
    """

    def __init__(self, *, rand_on_empty: bool = False, ahead: int = _AT_MOST) -> None:
        """Before the first batch; other loaders draw at most `ahead` before a step takes one."""
        self._clock = 0
        self._rand_on_empty = rand_on_empty
        self._ahead = ahead
        self._waiting: list[Waiting] = []

    def add(self, size: int | None, source: Any, *, drawn: bool = False) -> None:
        """A batch is handed out. What iterators that have ended left behind is forgotten."""
        self._clock += 1
        kept = [w for w in self._waiting if w.source() is source or not w.left_behind]
        kept.append(Waiting(size, weakref.ref(source), drawn))
        self._waiting = kept[-(self._ahead if drawn else _AT_MOST) :]

    def at_forward(self) -> int:
        """The clock at a forward, which is taken to be that of the latest batch."""
        if self._waiting:
            self._waiting[-1].used = True
        return self._clock

    @property
    def empty(self) -> bool:
        """Whether a batch without an example waits for its step."""
        return any(w.size == 0 for w in self._waiting)

    def forget(self) -> None:
        """No step will take the batches that wait."""
        self._waiting = []

    def require_one_each(self, passes: list[Any]) -> None:
        """Raise UserError if one of these backward passes went through several batches.

        Either a batch was handed out between its forwards; or batches were fetched first, so that
        more of them wait than there are passes, and every layer was called once for each. A batch
        that had its forward, and was then passed over, does not count.
        """
        fetched = sum(
            bool(w.size) and not w.drawn and (not w.used or w is self._waiting[-1])
            for w in self._waiting
        )
        for one in passes:
            if len(one.clocks) > 1:
                self.forget()
                raise UserError(
                    "a batch was fetched between the forwards of one backward pass, so that it has "
                    "examples of several batches, which would be clipped as one; nothing of it was "
                    "kept: call backward() and step() for each batch before fetching the next"
                )
            if fetched > len(passes) and one.fewest_calls > 1:
                self.forget()
                raise UserError(
                    f"{fetched} batches were fetched for this step and every layer was called "
                    f"{one.fewest_calls} times, as for several batches in one backward pass, whose "
                    "examples would be clipped as one; nothing of it was kept: fetch one batch at "
                    "a time, and call backward() and step() for it"
                )

    def take(self, examples: int, batches: int) -> bool:
        """A step saw so many examples of at most so many batches; whether any was handed out.

        Raises UserError if they were others. Batches that no step took (an interrupted pass, an
        empty batch that was passed over, an epoch that was left early) are forgotten.
        """
        if not self._waiting:
            return False
        sizes = [self._seen(w.size, examples) for w in self._waiting]
        for first in range(len(sizes)):
            for last in range(first + 1, min(first + batches, len(sizes)) + 1):
                if sum(sizes[first:last]) == examples:
                    del self._waiting[:last]
                    return True
        raise UserError(
            f"the layers saw {examples} examples, and the loader drew {sizes[-1]}; every layer's "
            "first dimension must be that of the batch: keep ids as [batch, length] instead of "
            "flattening them, and give every example to the model"
        )

    def _seen(self, size: int | None, examples: int) -> int:
        """How many examples layers see in a batch of this size."""
        if size is None:
            return examples
        return 1 if size == 0 and self._rand_on_empty else size


class Drawing:
    """One iteration over a sampler of batches, which tells how large they are."""

    ended = False

    def __init__(self, batches: Iterator[Any], record: BatchRecord | None) -> None:
        """With a record, what is drawn counts as handed out; else sizes wait for the loader."""
        self._batches = batches
        self._record = record
        self.sizes: deque[int] = deque()

    def __iter__(self) -> Drawing:
        """Itself."""
        return self

    def __next__(self) -> Any:
        """The next batch of indices."""
        try:
            batch = next(self._batches)
        except StopIteration:
            self.ended = True
            raise
        if self._record is None:
            self.sizes.append(len(batch))
        else:
            self._record.add(len(batch), self, drawn=True)
        return batch


class Mixed:
    """What is mixed into the class of a user's object. Copies of it are plain, as it was."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Without what belongs to the run. A class may refuse, as secure samplers do."""
        plain = type(self).__mro__[2]  # after the mixed class, and what was mixed in
        state = {k: v for k, v in self.__dict__.items() if not k.startswith("_lazydp")}
        return _plain, (plain, state)

    def __copy__(self) -> Any:
        """Another one of the same run."""
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied


def _plain(kind: Any, state: dict[str, Any]) -> Any:
    one = kind.__new__(kind)
    one.__dict__.update(state)
    return one


class RecordingSampler(Sampler[Any], Mixed):
    """Mixed into a sampler of batches.

    Our own loader says itself when it hands a batch out. Where another one is built around the
    sampler (Opacus' BatchMemoryManager), only the draws are seen.
    """

    _lazydp_batch_record: BatchRecord
    _lazydp_by_loader = False  # our own loader is drawing
    _lazydp_latest: Drawing | None = None  # of our own loader

    def __iter__(self) -> Iterator[Any]:
        """The sampler's batches."""
        batches = iter(super().__iter__())  # type: ignore[misc]
        drawing = Drawing(batches, None if self._lazydp_by_loader else self._lazydp_batch_record)
        if self._lazydp_by_loader:
            self._lazydp_latest = drawing
        return drawing


class Fetching:
    """One iteration over a loader: batches, each with its size, before they are handed out."""

    def __init__(self, loader: Any, record: BatchRecord) -> None:
        """Start it. Workers begin to fetch."""
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
        """What is drawn here is not handed out yet."""
        if not isinstance(self._sampler, RecordingSampler):
            yield
            return
        self._sampler._lazydp_by_loader = True
        try:
            yield
        finally:
            self._sampler._lazydp_by_loader = False

    def fetch(self) -> tuple[Any, int | None]:
        """The next batch, and its size."""
        try:
            with self._drawing():
                batch = next(self._inner)
        except StopIteration:
            self.ended = True
            raise
        except Exception:  # of the data set: the batch is lost
            self._size()
            raise
        return batch, self._size()

    def _size(self) -> int | None:
        drawing = getattr(self._inner, "_lazydp_drawing", None)
        if drawing is None or not drawing.sizes:
            return None
        if self._inner._num_workers:
            return int(drawing.sizes.popleft())
        size = int(drawing.sizes[-1])  # others were drawn, and interrupted
        drawing.sizes.clear()
        return size

    def hand_out(self, size: int | None) -> None:
        """A batch of this size goes to the user."""
        self._record.add(size, self)

    def __iter__(self) -> Fetching:
        """Itself."""
        return self

    def __next__(self) -> Any:
        """The next batch, handed out."""
        batch, size = self.fetch()
        self.hand_out(size)
        return batch

    def __len__(self) -> int:
        """As of the loader's iterator."""
        return len(self._inner)

    def __getattr__(self, name: str) -> Any:
        """Whatever else a loader's iterator has."""
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)


def _hands_out_in_order(batches: Any) -> bool:
    """Whether batches of a loader's iterator come as they were drawn."""
    return isinstance(batches, _BaseDataLoaderIter) and getattr(batches, "_in_order", True)


class RecordingLoader(DataLoader[Any], Mixed):
    """Mixed into the loader that make_private returns."""

    _lazydp_batch_record: BatchRecord

    def _lazydp_start(self) -> Any:
        return super().__iter__()

    def __iter__(self) -> Any:
        """The loader's batches."""
        return self.fetching()

    def fetching(self) -> Fetching:
        """The same, for a caller that hands them out later."""
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
    if not isinstance(one, mixin):  # it may be so since an earlier run
        plain = type(one)
        one.__class__ = type(f"{name}{plain.__name__}", (mixin, plain), {})
