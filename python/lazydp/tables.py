"""The private tables of one model: what they owe, what their gradients are, how they step."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from lazydp import _native, embedding
from lazydp._native import PrivacyError, UserError
from lazydp.captures import Calls, Captures
from lazydp.discovery import FoundTable
from lazydp.exchange import Exchange
from lazydp.float_noise import FloatNoise
from lazydp.private_tensor import PrivateTensor, hide, show
from lazydp.secure_sampler import HomeProcess
from lazydp.table_sgd import rule_of

Part = tuple[_native.Bags, Tensor]


_LARGE = 1 << 22  # numbers in a table whose whole settling at every step is worth a word
_OFTEN = 4  # steps in a row after each of which a table was read as a whole


class PrivateTable:
    """One weight, bound to the engine in C++ where it lies."""

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
        self._read_whole = [0, 0]  # last after this step, and after how many steps in a row
        self.group = owner.groups[found.param_group]
        momentum = None
        if owner.has_momentum(found.param_group):
            momentum = torch.zeros_like(self.weight.detach())
        self.memory = self.weight.detach()
        self.address = self.memory.data_ptr()
        self.momentum = None if momentum is None else PrivateTensor(momentum, self)
        self.index = self.group.add(table_id, self.memory, momentum, found.padding)

    def show(self) -> None:
        """From here on the weight is read through PrivateTensor alone."""
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
        """Bring these rows up to date: whoever reads them sees all noise of all steps."""
        if self._waits():
            self.group.settle(self.index, bags)
            self.owner.exchange.note_read(self, bags)

    def settle_ids(self, ids: Tensor) -> None:
        """The same for row numbers as a user writes them; those below 0 count from the end."""
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
        """Whether rows may be owed anything. Raises in a process that was forked."""
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
        """Before a step opens: a weight that no longer requires a gradient takes no steps."""
        if self.frozen == (not self.weight.requires_grad):
            return
        if not self.frozen:
            self.group.settle_table(self.index)
        else:
            self.group.forget_debts(self.index)
        self.frozen = not self.frozen

    def squared_norms(self, calls: Calls, examples: int) -> dict[Any, Tensor]:
        """Rows that several calls or bags name count once, with the sum of what they receive."""
        squared = torch.zeros(examples)
        parts = [(call.bags, call.gradient, call.bags_per_example) for call in calls]
        if _one_bag_each(calls):
            _native.squared_norms(parts[0], squared)
        elif examples:
            calls.formed = _native.merge_rows(parts, squared)
        return {self: squared.double()}

    def add_clipped(self, calls: Calls, factors: Callable[[Any], Tensor]) -> None:
        """Keep the clipped gradient for the next step."""
        each = factors(self).detach().to("cpu", torch.float32)
        if _one_bag_each(calls):
            bags, gradient = calls[0].bags, calls[0].gradient  # ours: it was copied
        elif len(each):
            merged = calls.formed
            bags, gradient = merged.bags, torch.from_numpy(merged.values)
            rows = torch.from_numpy(merged.first.astype("int64")).diff()
            each = each.repeat_interleave(rows)
        else:
            return
        gradient.mul_(each[:, None])
        if bool((each == 0).any()):  # by selection: 0 x NaN would be NaN
            gradient.masked_fill_(each[:, None] == 0, 0.0)
        self.pending.append((bags, gradient))


def _one_bag_each(calls: Calls) -> bool:
    """Whether an example's terms all have one sign, so that nothing can cancel."""
    return len(calls) == 1 and calls[0].bags_per_example == 1 and not len(calls[0].bags.weights)


class Tables:
    """All private tables of a model. Their examples are those of the dense layers' gradients."""

    def __init__(
        self,
        found: list[FoundTable],
        param_groups: list[dict[str, Any]],
        *,
        seed: _native.Seed,
        normals_per_sample: int,
        policy: str,
        captures: Captures,
        exchange: Exchange,
    ) -> None:
        """Bind the tables and turn their modules into private ones."""
        self.captures = captures
        self.policy = policy
        self.released = False
        self.home = HomeProcess()
        self.exchange = exchange
        self.after_step: list[Callable[[], None]] = []
        self.on_lookup: Callable[[PrivateTable, Tensor], None] | None = None
        self.noise = _native.NoiseSource(seed, normals_per_sample)
        self._float_noise = {table.param_group: FloatNoise() for table in found}
        self.param_groups = param_groups  # the optimizer's own
        self._first_step: set[int] = {table.param_group for table in found}
        self._momentum = {i: bool(g.get("momentum", 0.0)) for i, g in enumerate(param_groups)}
        self.groups: dict[int, _native.TableGroup] = {}
        for index in sorted(self._first_step):
            decays = bool(param_groups[index].get("weight_decay", 0.0))
            self.groups[index] = _native.TableGroup(
                self.noise, policy, self._momentum[index], decays
            )
        self.all = [PrivateTable(self, table, i) for i, table in enumerate(found)]
        shown: list[PrivateTable] = []
        try:
            for table in self.all:
                self._float_noise[table.param_group].add(table.memory)
                table.show()
                shown.append(table)
        except BaseException:
            for table in shown:
                table.hide()
            raise
        for table in self.all:
            for module in table.modules:
                embedding.make_private(module, table)

    def has_momentum(self, param_group: int) -> bool:
        """Whether tables of this group keep a momentum."""
        return self._momentum[param_group]

    def undo(self) -> None:
        """Give the modules back as they were; only a settled model may leave."""
        self.released = self.captures.ended = True
        for table in self.all:
            for module in table.modules:
                embedding.make_plain(module)
            table.hide()

    def settle_all(self) -> None:
        """Bring every row of every table up to date."""
        for table in self.all:
            table.settle_all()

    def discard_pending(self) -> None:
        """Forget clipped sums that no step has taken."""
        for table in self.all:
            table.pending = []

    def require_open(self) -> None:
        """Raise PrivacyError unless this model may take steps, here."""
        if self.released:
            raise PrivacyError("this model was released; its private training has ended")
        self.home.require("a private model takes a step")
        for table in self.all:
            if table.memory.data_ptr() != table.address:
                raise UserError(
                    f"the memory of table '{table.name}' was moved; it must stay where it was at "
                    "make_private"
                )

    def rules(
        self, param_groups: list[dict[str, Any]], divisor: float, noise_std: float
    ) -> dict[int, _native.Rule]:
        """What the next step does to the tables of each group. Raises UserError if it can't."""
        rules = {}
        for index, group in self.groups.items():
            rules[index] = rule_of(
                param_groups[index],
                first=index in self._first_step,
                divisor=divisor,
                noise_std=noise_std,
            )
            group.require(rules[index])
        return rules

    def step(self, rules: dict[int, _native.Rule]) -> None:
        """Take a step: gradients now, noise when the policy says."""
        try:
            self.exchange.synchronise(self.all)
            for table in self.all:
                table.freeze_or_thaw()
            for index, group in self.groups.items():
                group.open(rules[index])
                self._float_noise[index].note(rules[index].noise_per_step)
            self._first_step = set()
            for table in self.all:
                if not table.frozen:
                    table.group.apply(table.index, table.pending)
        finally:
            self.discard_pending()  # nothing is applied twice, whatever happened
        for call in self.after_step:
            call()

    def put_momentum(self, state: Any) -> None:
        """Show tables' momenta in an optimizer's state, where its state_dict() looks for them."""
        for table in self.all:
            if table.momentum is not None:
                state[table.weight]["momentum_buffer"] = table.momentum

    def require_momentum(self, state_dict: Any) -> None:
        """Raise UserError unless an optimizer's state_dict() fits the tables."""
        for index, has in self._momentum.items():
            group = state_dict["param_groups"][index : index + 1]
            if index in self.groups and not has and group and group[0].get("momentum", 0.0):
                raise UserError(
                    f"the state that is loaded has momentum {group[0]['momentum']} for tables that "
                    "had none at make_private; set it before, so that rows keep a momentum"
                )
        order = [p for group in state_dict["param_groups"] for p in group["params"]]
        mine = [p for group in self.param_groups for p in group["params"]]
        for table in self.all:
            at = next((i for i, p in enumerate(mine) if p is table.weight), len(order))
            state = state_dict["state"].get(order[at], {}) if at < len(order) else {}
            loaded = state.get("momentum_buffer")
            if loaded is not None and loaded.shape != table.weight.shape:
                raise UserError(
                    f"the momentum of table '{table.name}' has shape {list(loaded.shape)} in the "
                    f"state that is loaded; the table has {list(table.weight.shape)}"
                )

    def take_momentum(self, state: Any) -> None:
        """Take momenta that were loaded into an optimizer's state; rows are settled first."""
        for table in self.all:
            if table.momentum is None:
                continue
            loaded = state[table.weight].get("momentum_buffer")
            if loaded is table.momentum:
                continue
            if loaded is None:
                table.momentum.zero_()
                self._first_step.add(table.param_group)
            else:
                table.momentum.copy_(loaded)
                self._first_step.discard(table.param_group)
        self.put_momentum(state)
