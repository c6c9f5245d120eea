"""A record of the batches that the loader handed out, with which steps are compared."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from lazydp._native import UserError

_AT_MOST = 4096  # batches that wait; an evaluation over the loader takes none of them


@dataclass
class Waiting:
    """A batch that was handed out and that no step has taken."""

    size: int | None  # None where the loader can't tell
    source: Any  # a weak reference to the iterator that it came from
    drawn: bool  # another loader drew it from our loader's sampler
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

    def add(self, size: int | None, source: Any, *, drawn: bool = False) -> None:
        """Record a batch that is handed out; forget the batches of iterators that have ended."""
        self._clock += 1
        kept = [w for w in self._waiting if w.source() is source or not w.left_behind]
        kept.append(Waiting(size, weakref.ref(source), drawn))
        self._waiting = kept[-(self._ahead if drawn else _AT_MOST) :]

    def at_forward(self) -> int:
        """Return the clock at a forward, which is taken to be a forward of the latest batch."""
        if self._waiting:
            self._waiting[-1].used = True
        return self._clock

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

    def take(self, examples: int, batches: int) -> bool:
        """Take a step's batches, with so many examples; return False if none was handed out.

        Raises UserError if the examples of at most `batches` batches do not add up to that number.
        Batches that no step took (an interrupted pass, an empty batch that was passed over, an
        epoch that was left early) are forgotten.
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
        """Return how many examples layers see in a batch of this size."""
        if size is None:
            return examples
        return 1 if size == 0 and self._rand_on_empty else size
