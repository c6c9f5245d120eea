"""The private tables of one model: what they owe, what their gradients are, how they step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from lazydp import _native, embedding
from lazydp._native import PrivacyError, UserError
from lazydp.captures import Captures
from lazydp.discovery import FoundTable
from lazydp.exchange import Exchange
from lazydp.float_noise import FloatNoise
from lazydp.rule import rule_of

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

    def add_squared_norms(self, calls: list[Any], squared: Tensor) -> None:
        """Rows that several calls name count once, with the sum of what they receive."""
        lookups = [(call.bags, call.gradient, call.bags_per_example) for call in calls]
        _native.squared_norms(lookups, squared)

    def add_clipped(self, call: Any, factors: Tensor) -> None:
        """Keep the clipped gradient of a look-up for the next step."""
        gradient = call.gradient  # ours: receive() copied it
        if call.examples:
            each = factors.detach().to("cpu", torch.float32)[:, None, None]
            by_example = gradient.view(call.examples, call.bags_per_example, gradient.shape[1])
            by_example.mul_(each)
            if bool((each == 0).any()):  # by selection: 0 x NaN would be NaN
                by_example.masked_fill_(each == 0, 0.0)
        self.pending.append((call.bags, gradient))

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
        draws: int,
        policy: str,
        captures: Captures,
        exchange: Exchange,
    ) -> None:
        """Bind the tables and turn their modules into private ones."""
        self.captures = captures
        self.policy = policy
        self.released = False
        self.exchange = exchange
        self.after_step: list[Callable[[], None]] = []
        self.on_lookup: Callable[[PrivateTable, Tensor], None] | None = None
        self.noise = _native.NoiseSource(seed, draws)
        self._float_noise = {table.param_group: FloatNoise() for table in found}
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
            self._float_noise[table.param_group].add(table.weight)
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

    def discard_pending(self) -> None:
        """Forget clipped sums that no step has taken."""
        for table in self.all:
            table.pending = []

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
            rate = float(param_groups[index]["lr"])
            self._float_noise[index].note(rate * noise_std / divisor)
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
