"""One private table: the noise that its rows are owed, and the gradients of its examples."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lazydp import _native
from lazydp._native import UserError
from lazydp.layers.captures import Calls, Layer
from lazydp.tables.discovery import FoundTable
from lazydp.tables.lookup import Part
from lazydp.tables.private_tensor import PrivateTensor, hide, show

if TYPE_CHECKING:
    from lazydp.tables.model_tables import Tables

_LARGE = 1 << 22  # numbers in a table from which settling all of it at every step is slow
_OFTEN = 4  # steps in a row, each followed by a read of the whole table, that are warned of


class PrivateTable(Layer):
    """Binds one weight to the engine in C++, where it lies."""

    def __init__(self, owner: Tables, found: FoundTable, table_id: int) -> None:
        """Bind the weight; nothing is copied."""
        self.owner = owner
        self.name = found.name
        self.weight = found.weight
        self.rows, self.dim = self.weight.shape
        self.modules = found.modules
        self.param_group = found.param_group
        self.pending: list[Part] = []  # clipped, not yet applied
        self.frozen = False
        self._read_whole = [0, 0]  # the last step after which that was so, and how many in a row
        self.group = owner.groups[found.param_group]
        momentum = None
        if owner.has_momentum(found.param_group):
            momentum = torch.zeros_like(self.weight.detach())
        self.memory = self.weight.detach()
        self.address = self.memory.data_ptr()
        self.momentum = None if momentum is None else PrivateTensor(momentum, self)
        self.index = self.group.add(table_id, self.memory, momentum, found.padding)

    def show(self) -> None:
        """Let the weight be read through PrivateTensor alone from here on."""
        show(self.weight, self)
        name = self.name

        def refuse(weight: Tensor) -> None:
            weight.grad = None
            raise UserError(
                f"a gradient reached the weight of table '{name}' by another way than its forward; "
                "it belongs to no example and can't be clipped: look rows up through the module, "
                "and leave the weight out of the loss"
            )

        self._refusal = self.weight.register_post_accumulate_grad_hook(refuse)  # type: ignore[no-untyped-call]

    def hide(self) -> None:
        """Undo show()."""
        self._refusal.remove()
        plain = hide(self.weight)
        for module in self.modules:
            module._parameters["weight"] = plain
        for group in self.owner.param_groups:
            group["params"] = [plain if p is self.weight else p for p in group["params"]]

    def settle(self, bags: _native.Bags) -> None:
        """Bring these rows up to date, so that reading them shows all noise of all steps."""
        if self._waits():
            self.group.settle(self.index, bags)
            self.owner.exchange.note_read(self, bags)

    def settle_and_pool(self, bags: _native.Bags) -> Tensor | None:
        """Return the pooled rows, settled while they are read; None where no row is owed noise."""
        if not self._waits():
            return None
        pooled = torch.empty(bags.bags, self.dim, dtype=torch.float32)
        self.group.settle_and_pool(self.index, bags, pooled)
        self.owner.exchange.note_read(self, bags)
        return pooled

    def settle_ids(self, ids: Tensor) -> None:
        """Settle rows by number, as a user writes them: numbers below 0 count from the end."""
        flat = ids.detach().to("cpu", torch.int64).reshape(-1)
        flat = torch.where(flat < 0, flat + self.rows, flat).contiguous()
        self.settle(_native.make_bags(flat, None, None, False, self.rows))

    def settle_all(self) -> None:
        """Bring every row up to date."""
        if self._waits():
            self._warn_if_often()
            self.group.settle_table(self.index)
            self.owner.exchange.note_read_all(self)

    def _waits(self) -> bool:
        """Return whether rows may be owed anything. Raises PrivacyError in a forked process."""
        if self.owner.released:
            return False
        self.owner.home.require("a private table is read")
        return not self.frozen

    def _warn_if_often(self) -> None:
        now = self.group.now
        last, streak = self._read_whole
        if now == last:
            return
        self._read_whole = [now, streak + 1 if now == last + 1 else 1]
        if self._read_whole[1] == _OFTEN and self.rows * self.dim >= _LARGE:
            warnings.warn(
                f"table '{self.name}' is read as a whole after every step, so that every row "
                "receives its noise at every step, which is slow; read rows through the module, "
                "copy the table less often, or save it with engine.save(path, model)",
                stacklevel=4,
            )

    def freeze_or_thaw(self) -> None:
        """Stop a weight that requires no gradient any more, or let it go on, before a step."""
        if self.frozen == (not self.weight.requires_grad):
            return
        if not self.frozen:
            self.group.settle_table(self.index)
        else:
            self.group.forget_debts(self.index)
        self.frozen = not self.frozen

    def squared_norms(self, calls: Calls) -> dict[Any, Tensor]:
        """Measure each row once, with the sum of what a unit's bags and calls give it."""
        units = calls.units
        parts = [call.of_the_core for call in calls]
        squared = torch.zeros(len(units), dtype=torch.float64)
        calls.formed = _native.merge_rows(parts, units.starts, squared)
        return {self: squared * units.shares**2}

    @classmethod
    def all_squared_norms(cls, calls: dict[Any, Calls]) -> dict[Any, Tensor]:
        """Measure the tables that have one bag for each example in one loop."""
        plain = {table: c for table, c in calls.items() if _one_bag_each(c)}
        others = {table: c for table, c in calls.items() if table not in plain}
        squared = super().all_squared_norms(others)
        if plain:
            single = torch.empty(
                len(plain), len(next(iter(plain.values())).units), dtype=torch.float32
            )
            bags = [c[0].of_the_core for c in plain.values()]
            _native.squared_norms(bags, list(single))
            squared |= zip(plain, single.double(), strict=True)
        return squared

    @classmethod
    def add_all_clipped(cls, calls: dict[Any, Calls], factors: Callable[[Any], Tensor]) -> None:
        """Keep the clipped gradients of all tables for the next step, scaled in one loop."""
        scaled = []
        for table, of_table in calls.items():
            for bags, gradient, each in table._clipped(of_table, factors):
                if len(bags.ids):
                    scaled.append((gradient, each))
                    table.pending.append((bags, gradient))
        _native.scale_rows(scaled)

    def _clipped(
        self, calls: Calls, factors: Callable[[Any], Tensor]
    ) -> Iterator[tuple[_native.Bags, Tensor, Tensor]]:
        """Yield bags, copies of their gradients, and the factor of each."""
        units = calls.units
        each = factors(self)
        if _one_bag_each(calls):
            yield calls[0].bags, calls[0].gradient, _floats(each)
            return
        each = _floats(each * units.shares)
        rows = torch.from_numpy(calls.formed.first.astype("int64")).diff()
        for place, call in enumerate(calls):
            of_bags = units.spread(each).repeat_interleave(call.bags_per_example)
            yield calls.formed.once(place), call.gradient, of_bags
        merged = torch.from_numpy(calls.formed.values)
        yield calls.formed.merged, merged, each.repeat_interleave(rows)


def _floats(factors: Tensor) -> Tensor:
    return factors.detach().to("cpu", torch.float32)


def _one_bag_each(calls: Calls) -> bool:
    """Return whether a unit's terms all have one sign, so that nothing can cancel."""
    one_call = len(calls) == 1 and calls.units.single
    if not one_call or calls[0].lengths is not None:
        return False
    return calls[0].bags_per_example == 1 and not len(calls[0].bags.weights)
