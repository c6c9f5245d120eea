"""Batches in the order of the data: each is the next places of the data set; none is drawn."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, Sampler, SequentialSampler

from lazydp._native import UserError
from lazydp.accounting.blocks import Block
from lazydp.loading.batch_record import BatchRecord
from lazydp.loading.secure_sampler import with_batch_sampler

_REMEMBERED = 256  # batches that are alive at once and are told apart


class Window(list[int]):
    """The examples of one step."""

    window = 0  # its place in the pass


class StreamSampler(Sampler[Window]):
    """Cuts a data set into windows of equal length, but for the last, and goes through them."""

    def __init__(self, places: int, batch: int, windows: int) -> None:
        """Take so many windows of `batch` examples."""
        self.places, self.batch, self.windows = places, batch, windows

    def __len__(self) -> int:
        """Return the number of windows."""
        return self.windows

    def __iter__(self) -> Iterator[Window]:
        """Yield every window once."""
        for number in range(self.windows):
            first = number * self.batch
            window = Window(range(first, min(first + self.batch, self.places)))
            window.window = number
            yield window


def in_order(loader: DataLoader[Any]) -> DataLoader[Any]:
    """Return a loader as `loader` is, whose batches are known by their places.

    Raises UserError unless `loader` goes through its data set once, from its beginning to its end.
    """
    sampler: Any = loader.batch_sampler
    if isinstance(sampler, StreamSampler):  # of an earlier run
        return _with_windows(loader, sampler.places, sampler.batch, sampler.windows)
    dataset: Any = loader.dataset
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__len__"):
        raise UserError(
            f"the data set is a {type(dataset).__name__}, whose examples have no places; with "
            "sampling='stream' epsilon rests on which step has which place of the data: use a "
            "map-style Dataset, with __getitem__ and __len__"
        )
    if loader.batch_size is None:
        raise UserError(
            f"the loader has a {type(sampler).__name__} of its own; with sampling='stream' each "
            "step takes the next batch_size examples: give a plain DataLoader with batch_size"
        )
    if type(loader.sampler) is not SequentialSampler or len(loader.sampler) != len(dataset):
        raise UserError(
            f"the loader has a {type(loader.sampler).__name__} (shuffle=True, or one of its own); "
            "with sampling='stream' an example must come back at the same place of each pass, and "
            "at no other: give a plain DataLoader, which goes through the data set in its order"
        )
    batch = int(loader.batch_size)
    windows = len(dataset) // batch if loader.drop_last else -(-len(dataset) // batch)
    if windows == 0:
        raise UserError(
            f"the loader has no batch: {len(dataset)} examples, batch_size {batch}"
            f"{' and drop_last' if loader.drop_last else ''}"
        )
    return _with_windows(loader, len(dataset), batch, windows)


def tensors_in(batch: Any) -> Iterator[Tensor]:
    """Yield all tensors in a batch, or in the inputs of a layer."""
    if isinstance(batch, Tensor):
        yield batch
    elif isinstance(batch, Mapping):
        for value in batch.values():
            yield from tensors_in(value)
    elif isinstance(batch, (list, tuple)):
        for value in batch:
            yield from tensors_in(value)


def _with_windows(
    loader: DataLoader[Any], places: int, batch: int, windows: int
) -> DataLoader[Any]:
    return with_batch_sampler(loader, StreamSampler(places, batch, windows))


class StreamRecord(BatchRecord):
    """A record that also knows which window each batch is, and which one the next step must take.

    Examples that come back sooner than was declared, or more often, are worth more to an attacker
    than is accounted for: four passes of 50 steps with lambda = 0.9 have the sensitivity 4.61, and
    7.01 if they begin anew every 5 steps. So steps take the windows in their order.

    A step has the batch whose memory its layers were given. Where none of them was given any (ids
    that are computed, other devices), it has the batch that was handed out last before its forward.
    """

    def __init__(self, block: Block) -> None:
        """Start empty, at the beginning of a block."""
        super().__init__()
        self._block = block
        self._memory: dict[int, list[Any]] = {}  # by number, weak references to a batch's tensors
        self._given: int | None = None  # the number of the batch that the latest layer was given
        self._of_step: set[int] = set()  # numbers of the batches of this step's passes
        self._told = False  # whether that is known from the memory of the last of them

    def remember(self, batch: Any) -> None:
        """Remember where the tensors of the latest batch lie, while they are alive."""
        tensors = [weakref.ref(t) for t in tensors_in(batch) if _extent(t)]
        alive = {
            n: refs for n, refs in self._memory.items() if any(ref() is not None for ref in refs)
        }
        self._memory = dict([*alive.items(), (self._clock, tensors)][-_REMEMBERED:])

    def look_at(self, inputs: tuple[Any, ...]) -> None:
        """Find the one batch of whose memory these inputs are part."""
        places = [_extent(t).start for t in tensors_in(inputs) if _extent(t)]
        found = {
            number
            for number, tensors in self._memory.items()
            for tensor in (ref() for ref in tensors)
            if tensor is not None and any(place in _extent(tensor) for place in places)
        }
        self._given = found.pop() if len(found) == 1 else None

    def at_forward(self) -> int:
        """Return the number of the batch of a forward; negative where its memory does not tell."""
        latest = super().at_forward()
        return -latest if self._given is None else self._given

    def require_one_each(self, passes: list[Any]) -> None:
        """Raise UserError if one of these backward passes went through several batches."""
        for one in passes:
            known = {number for number in one.clocks if number > 0}
            self._told = bool(known)
            one.clocks = known or {-number for number in one.clocks}
        super().require_one_each(passes)
        for one in passes:
            self._of_step |= one.clocks or {self._clock}

    def drop_step(self) -> None:
        """Forget the passes of a step that was refused."""
        self._of_step = set()

    def take(self, examples: int, batches: int) -> int | None:
        """Take the next window; return how many examples it has, None if none was handed out.

        Raises UserError if the batch of these examples was another one.
        """
        numbers, self._of_step = self._of_step, set()
        if not self._waiting:
            return None
        waiting, self._waiting = self._waiting, []
        mine = next((w for w in waiting if {w.number} == numbers), None)
        if mine is not None and mine.size != examples:
            raise self.unlike(examples, mine.size)
        if mine is None or mine.window != self._block.next_window:
            raise self._wrong_window(None if mine is None else mine.window)
        others = [w for w in waiting if w.source is not mine.source and w.window != mine.window]
        if not self._told and others:
            raise UserError(
                "batches of several iterations over the loader wait for a step, and the layers "
                "were given none of their tensors, so that it can't be told which one this step "
                "has; nothing was kept: evaluate after step(), before the next batch is fetched"
            )
        self._waiting = [w for w in waiting if w.number > mine.number]
        return examples

    def _wrong_window(self, given: int | None) -> UserError:
        block = self._block
        first = block.next_window * block.batch
        last = min(first + block.batch, block.places) - 1
        was = "no batch, or one that has had its step" if given is None else f"batch {given + 1}"
        return UserError(
            f"step {block.steps + 1} takes batch {block.next_window + 1} of the "
            f"{block.separation} of a pass (examples {first} to {last}), and was given {was}: a "
            "batch was passed over, a pass began before the last one had ended, or batches were "
            "fetched early; examples that come back early cost more than epsilon says: iterate "
            "over the loader up to that batch, and call step() for every batch from there on"
        )


def _extent(tensor: Tensor) -> range:
    """Return the addresses from a tensor's first value to its last one; none if it has none."""
    if tensor.layout != torch.strided or not tensor.numel():
        return range(0)
    try:
        first = tensor.data_ptr()
    except RuntimeError:  # a tensor without memory, as tracing has
        return range(0)
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return range(first, first + last * tensor.element_size() + 1)
