"""Batches in the order of the data: each is the next places of the data set; none is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader, IterableDataset, Sampler, SequentialSampler

from lazydp._native import UserError
from lazydp.accounting.blocks import Block
from lazydp.loading.batch_record import BatchRecord, Waiting
from lazydp.loading.secure_sampler import with_batch_sampler


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


def _with_windows(
    loader: DataLoader[Any], places: int, batch: int, windows: int
) -> DataLoader[Any]:
    return with_batch_sampler(loader, StreamSampler(places, batch, windows))


class StreamRecord(BatchRecord):
    """A record that also knows which window each batch is, and which one the next step must take.

    Examples that come back sooner than was declared, or more often, are worth more to an attacker
    than is accounted for: four passes of 50 steps with lambda = 0.9 have the sensitivity 4.61, and
    7.01 if they begin anew every 5 steps. So steps take the windows in their order.
    """

    def __init__(self, block: Block) -> None:
        """Start empty, at the beginning of a block."""
        super().__init__()
        self._block = block
        self._ahead_of: tuple[Any, int] | None = None  # an iterator, and how far it was ahead

    def take(self, examples: int, batches: int) -> int | None:
        """Take the next window; return how many examples it has, None if none was handed out.

        Raises UserError if the batch of these examples was another one, or may have been.
        """
        if not self._waiting:
            return None
        due, waiting = self._block.next_window, self._waiting
        self._waiting = []
        if all(w.size != examples for w in waiting):
            self._waiting = waiting
            return super().take(examples, batches)  # which raises
        places = [i for i, w in enumerate(waiting) if w.window == due and w.size == examples]
        if not places:
            raise UserError(self._wrong_window(waiting[-1].window))
        mine, later = waiting[places[0]], waiting[places[0] + 1 :]
        if any(w.window != due and w.source is not mine.source for w in self._open(later)):
            raise UserError(
                "batches of several passes over the loader wait for a step, and it can't be told "
                "which of them this one has; nothing was kept: call step() for a batch before "
                "another iteration over the loader begins, and evaluate between steps"
            )
        ahead = sum(w.source is mine.source for w in later)
        if not mine.drawn and self._passed_over(mine.source, ahead):
            raise UserError(self._wrong_window(later[-1].window))
        self._waiting = waiting[places[-1] + 1 :]
        return examples

    def _passed_over(self, source: Any, ahead: int) -> bool:
        """Return whether an iterator is further ahead of the steps than it was at its first one.

        A loop that fetches batches early is ahead by as many from its beginning to its end.
        """
        if self._ahead_of is None or self._ahead_of[0] is not source:
            self._ahead_of = source, ahead
        return ahead > self._ahead_of[1]

    def _open(self, waiting: list[Waiting]) -> list[Waiting]:
        """Return those of passes that have not ended. An evaluation's has."""
        last = self._block.separation - 1
        ended = {id(w.source) for w in waiting if w.window == last}
        return [w for w in waiting if id(w.source) not in ended]

    def _wrong_window(self, given: int | None) -> str:
        block = self._block
        step = block.steps + 1
        first = block.next_window * block.batch
        last = min(first + block.batch, block.places) - 1
        was = "a later one" if given is None else f"batch {given + 1}"
        return (
            f"step {step} takes batch {block.next_window + 1} of the {block.separation} of a pass "
            f"(examples {first} to {last}), and the loader handed out {was}: a batch was passed "
            "over, or a pass began before the last one had ended, and examples that come back "
            "early cost more than epsilon says; nothing was kept: iterate over the loader up to "
            "that batch, and call step() for every batch from there on"
        )
