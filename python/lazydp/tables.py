"""The private tables of one model: what they owe, what their gradients are, how they step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from lazydp import _native, embedding
from lazydp._native import PrivacyError, UserError
from lazydp.discovery import FoundTable
from lazydp.lookup import Lookup
from lazydp.rule import rule_of

Batch = list[Lookup]  # all look-ups of one backward pass
Part = tuple[_native.Bags, Tensor]


class PrivateTable:
    """One weight, bound to the engine in C++ where it lies."""

    def __init__(self, owner: Tables, found: FoundTable, table_id: int) -> None:
        """Bind the weight; nothing is copied."""
        self.owner = owner
        self.name = found.name
        self.weight = found.weight
        self.modules = found.modules
        self.param_group = found.param_group
        self.anchor = torch.zeros((), requires_grad=True)
        self.pending: list[Part] = []  # clipped, not yet applied
        group = owner.groups[found.param_group]
        self.group = group
        self.momentum: Tensor | None = None
        if owner.has_momentum(found.param_group):
            self.momentum = torch.zeros_like(self.weight.detach())
        self._memory = self.weight.data_ptr()
        self.index = group.add(table_id, self.weight.detach(), self.momentum, found.padding)

    def settle(self, bags: _native.Bags) -> None:
        """Bring these rows up to date: whoever reads them sees all noise of all steps."""
        self._require_memory()
        self.group.settle(self.index, bags)
        self.owner.exchange.note_read(self, bags)

    def settle_all(self) -> None:
        """Bring every row up to date."""
        self._require_memory()
        self.group.settle_table(self.index)
        self.owner.exchange.note_read_all(self)

    def forget_debts(self) -> None:
        """Every row counts as settled: the weights have just been replaced."""
        self._require_memory()
        self.group.forget_debts(self.index)

    def capture(self, lookup: Lookup, gradient: Tensor) -> None:
        """Keep the gradient of a look-up; called by autograd."""
        if self.owner.capturing:
            lookup.receive(gradient)
            self.owner.note_capture(lookup)

    def _require_memory(self) -> None:
        if self.owner.released:
            raise PrivacyError("this model was released; its private training has ended")
        if self.weight.data_ptr() != self._memory:
            raise UserError(
                f"the weight of table '{self.name}' lies elsewhere than at make_private; "
                "its memory must stay: copy into it, weight.data.copy_(…)"
            )


class Tables:
    """All private tables of a model. Their examples are those of the dense layers' gradients."""

    def __init__(
        self,
        found: list[FoundTable],
        param_groups: list[dict[str, Any]],
        *,
        seed: _native.Seed,
        policy: str,
        loss_reduction: str,
        batch_first: bool,
        exchange: Any,
    ) -> None:
        """Bind the tables and turn their modules into private ones."""
        self.loss_reduction = loss_reduction
        self.batch_dim = 0 if batch_first else 1
        self.policy = policy
        self.capturing = True
        self.released = False
        self.accumulation_allowed = True
        self.exchange = exchange
        self.after_step: list[Callable[[], None]] = []
        self.on_lookup: Callable[[PrivateTable, Tensor], None] | None = None
        self.noise = _native.NoiseSource(seed)
        self.batches: list[Batch] = []  # finished backward passes
        self._current: Batch = []
        self._first_step: set[int] = {table.param_group for table in found}
        self._momentum = {i: bool(g.get("momentum", 0.0)) for i, g in enumerate(param_groups)}
        self.groups: dict[int, _native.TableGroup] = {}
        for index in sorted(self._first_step):
            decays = bool(param_groups[index].get("weight_decay", 0.0))
            self.groups[index] = _native.TableGroup(
                self.noise, policy, self._momentum[index], decays
            )
        self.all = [PrivateTable(self, table, i) for i, table in enumerate(found)]
        for table in self.all:
            table.weight.requires_grad_(False)  # Opacus leaves it alone
            for module in table.modules:
                embedding.make_private(module, table)

    def has_momentum(self, param_group: int) -> bool:
        """Whether tables of this group keep a momentum."""
        return self._momentum[param_group]

    def undo(self) -> None:
        """Give the modules back as they were; only a settled model may leave."""
        for table in self.all:
            for module in table.modules:
                embedding.make_plain(module)
            table.weight.requires_grad_(True)
        self.released = True

    def settle_all(self) -> None:
        """Bring every row of every table up to date."""
        for table in self.all:
            table.settle_all()

    # Backward passes and their examples.

    def note_capture(self, lookup: Lookup) -> None:
        """Remember a look-up; the first of a backward pass also waits for the pass's end."""
        if not self._current:
            torch.autograd.Variable._execution_engine.queue_callback(self._end_of_backward)  # type: ignore[attr-defined]
        self._current.append(lookup)

    def _end_of_backward(self) -> None:
        self.batches.append(self._current)
        self._current = []
        if len(self.batches) > 1 and not self.accumulation_allowed:
            raise ValueError(
                "Poisson sampling is not compatible with grad accumulation. You need to call "
                "optimizer.step() after every forward/backward pass or consider using "
                "BatchMemoryManager"
            )

    def take_batches(self) -> list[Batch]:
        """The backward passes since the last call."""
        batches, self.batches = self.batches, []
        return batches

    def squared_norms(self, batches: list[Batch], examples: int | None) -> Tensor:
        """Per example, the squared norm of its gradient of all tables."""
        parts = [self._squared_norms(batch) for batch in batches]
        squared = torch.cat(parts) if parts else torch.zeros(examples or 0)
        if examples is not None and len(squared) != examples:
            raise UserError(
                f"tables were asked for {len(squared)} examples, dense layers for {examples}; the "
                "first dimension of every layer's input must be that of the batch"
            )
        return squared

    def _squared_norms(self, batch: Batch) -> Tensor:
        sizes = {lookup.examples for lookup in batch}
        if len(sizes) > 1:
            names = ", ".join(f"'{k.table.name}' {k.examples}" for k in batch)
            raise UserError(
                f"tables were asked for different numbers of examples ({names}); the first "
                "dimension of every table's input must be that of the batch"
            )
        squared = torch.zeros(sizes.pop())
        for table in {lookup.table for lookup in batch}:
            calls = [
                (lookup.bags, lookup.gradient, lookup.bags_per_example)
                for lookup in batch
                if lookup.table is table and lookup.examples
            ]
            if calls:
                _native.squared_norms(calls, squared)
        return squared

    def accumulate(self, batches: list[Batch], factors: Tensor) -> None:
        """Add the clipped gradients to what the next step applies. A factor of 0 leaves out."""
        factors = factors.detach().to("cpu", torch.float32)
        start = 0
        for batch in batches:
            if not batch:
                continue
            here = factors[start : start + batch[0].examples]
            start += batch[0].examples
            for lookup in batch:
                gradient = lookup.gradient
                assert gradient is not None
                if lookup.examples:
                    each = here.repeat_interleave(lookup.bags_per_example)[:, None]
                    gradient = torch.where(each > 0, gradient * each, 0.0)
                lookup.table.pending.append((lookup.bags, gradient.contiguous()))

    def discard(self, *, pending: bool) -> None:
        """Forget backward passes that no step has taken; with `pending`, clipped sums too."""
        self.batches = []
        if pending:
            for table in self.all:
                table.pending = []

    # Steps.

    def step(self, param_groups: list[dict[str, Any]], divisor: float, noise_std: float) -> None:
        """Take a step: gradients now, noise when the policy says."""
        if self.released:
            raise PrivacyError("this model was released; its private training has ended")
        self.exchange.synchronise(self.all)
        for index, group in self.groups.items():
            rule = rule_of(
                param_groups[index],
                first=index in self._first_step,
                divisor=divisor,
                noise_std=noise_std,
            )
            group.open(rule)
        self._first_step = set()
        for table in self.all:
            parts, table.pending = table.pending, []
            table.group.apply(table.index, parts)
        for call in self.after_step:
            call()

    def put_momentum(self, state: Any) -> None:
        """Show tables' momenta in an optimizer's state, where its state_dict() looks for them."""
        for table in self.all:
            if table.momentum is not None:
                state[table.weight]["momentum_buffer"] = table.momentum

    def take_momentum(self, state: Any, param_groups: Iterable[int]) -> None:
        """Take momenta that were loaded into an optimizer's state."""
        for table in self.all:
            if table.momentum is None or table.param_group not in set(param_groups):
                continue
            loaded = state[table.weight].get("momentum_buffer")
            if loaded is None:
                table.momentum.zero_()
                self._first_step.add(table.param_group)
            else:
                table.momentum.copy_(loaded)
                self._first_step.discard(table.param_group)
        self.put_momentum(state)
