"""A record of the batches that the loader handed out, with which steps are compared."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from lazydp._native import UserError

_AT_MOST = 4096  # batches that wait; an evaluation over the loader takes none of them


@dataclass(frozen=True)
class BatchSize:
    """The number of a batch's examples, and which of them belong together."""

    examples: int
    units: tuple[int, ...] | None = None  # those of each privacy unit, in order; None if one each
    window: int | None = None  # its place in a pass over the data; None where there are no passes


@dataclass
class Waiting:
    """A batch that was handed out and that no step has taken."""

    size: int | None  # None where the loader can't tell
    units: tuple[int, ...] | None  # as in BatchSize
    source: Any  # a weak reference to the iterator that it came from
    drawn: bool  # another loader drew it from our loader's sampler
    window: int | None = None  # as in BatchSize
    number: int = 0  # of the batches that were handed out, from 1
    used: bool = False  # a forward came before the next batch was handed out

    @property
    def left_behind(self) -> bool:
        """Whether the iterator that it came from has ended."""
        return self.source() is None or bool(self.source().ended)


class BatchRecord:
    """Keeps the sizes of the batches that were handed out and that no step has taken.

    A layer that is given flattened ids sees each look-up as an example; where all layers do, only
    the loader knows better. And examples of two batches in one backward pass would be clipped as
    one: a clock, the number of batches that were handed out so far, tells the forwards of one batch
    from those of another.
    """

    def __init__(self, *, rand_on_empty: bool = False, ahead: int = _AT_MOST) -> None:
        """Start empty. Other loaders draw at most `ahead` batches before a step takes one."""
        self._clock = 0
        self._rand_on_empty = rand_on_empty
        self._ahead = ahead
        self._waiting: list[Waiting] = []

    def add(self, size: BatchSize | None, source: Any, *, drawn: bool = False) -> None:
        """Record a batch that is handed out; forget the batches of iterators that have ended."""
        if drawn and size is not None and size.units is not None:
            raise UserError(
                "another loader (BatchMemoryManager?) draws from the sampler of privacy units, and "
                "may cut a unit's examples apart, which are clipped as one; iterate over the "
                "loader that make_private returned: a smaller batch_size or examples_per_unit "
                "takes less memory"
            )
        self._clock += 1
        kept = [w for w in self._waiting if w.source() is source or not w.left_behind]
        examples, units = (None, None) if size is None else (size.examples, size.units)
        window = None if size is None else size.window
        kept.append(Waiting(examples, units, weakref.ref(source), drawn, window, self._clock))
        self._waiting = kept[-(self._ahead if drawn else _AT_MOST) :]

    def remember(self, batch: Any) -> None:
        """Take note of what the latest batch looks like, where batches are told apart by that."""

    def look_at(self, inputs: tuple[Any, ...]) -> None:
        """Take note of what a layer is given, where batches are told apart by that."""

    def at_forward(self) -> int:
        """Return the clock at a forward, which is taken to be a forward of the latest batch."""
        if self._waiting:
            self._waiting[-1].used = True
        return self._clock

    @property
    def latest(self) -> int | None:
        """The number of examples of the batch that was handed out last; None if it is not known."""
        return self._waiting[-1].size if self._waiting else None

    @property
    def empty(self) -> bool:
        """Whether a batch without an example waits for its step."""
        return any(w.size == 0 for w in self._waiting)

    def forget(self) -> None:
        """Forget the batches that wait: no step will take them."""
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

    def take(self, examples: int, batches: int) -> int | None:
        """Take a step's batches; return how many examples they have, None if none was handed out.

        Layers saw `examples` of them: one more than there are if the loader made an example up,
        because the batch was empty. Raises UserError if the examples of at most `batches` batches
        do not add up to that number. Batches that no step took (an interrupted pass, an empty batch
        that was passed over, an epoch that was left early) are forgotten.
        """
        if not self._waiting:
            return None
        sizes = [self._seen(w.size, examples) for w in self._waiting]
        for first in range(len(sizes)):
            for last in range(first + 1, min(first + batches, len(sizes)) + 1):
                if sum(sizes[first:last]) == examples:
                    made_up = sum(w.size == 0 for w in self._waiting[first:last])
                    del self._waiting[:last]
                    return examples - (made_up if self._rand_on_empty else 0)
        raise self.unlike(examples, sizes[-1])

    @staticmethod
    def unlike(examples: int, drawn: int | None) -> UserError:
        """Return the error of a step whose layers saw another number than the loader drew."""
        return UserError(
            f"the layers saw {examples} examples, and the loader drew {drawn}; every layer's "
            "first dimension must be that of the batch: keep ids as [batch, length] instead of "
            "flattening them, give every example to the model, and where an item of the data set "
            "is a whole batch, let it be one example"
        )

    def take_units(self, examples: int) -> tuple[int, ...]:
        """Take a step's batch, of so many examples; return how many of them each unit sent.

        Raises UserError if none of that size was handed out. Where several wait that have it, the
        step's is that of an iterator that goes on; if their units differ even so, that is an error,
        too: examples of different units would be clipped as one.
        """
        fitting = [w for w in self._waiting if w.size == examples and w.units is not None]
        if not fitting:
            seen = [w.size for w in self._waiting]
            self.forget()
            raise UserError(
                f"the layers saw {examples} examples, and the loader handed out "
                f"{seen[-1] if seen else 'no further batch'}; with privacy_unit a step takes one "
                "batch of the loader that make_private returned, whole and once: it alone knows "
                "whose examples they are"
            )
        fitting = [w for w in fitting if not w.left_behind] or fitting
        if len({w.units for w in fitting}) > 1:
            self.forget()
            raise UserError(
                f"{len(fitting)} batches of {examples} examples were fetched and no step took "
                "them; it can't be told whose examples these are, and nothing of them was kept: "
                "call backward() and step() for each batch before fetching the next"
            )
        del self._waiting[: self._waiting.index(fitting[0]) + 1]
        assert fitting[0].units is not None
        return fitting[0].units

    def _seen(self, size: int | None, examples: int) -> int:
        """Return how many examples layers see in a batch of this size."""
        if size is None:
            return examples
        return 1 if size == 0 and self._rand_on_empty else size
