"""The private tables of one model, and how a step moves them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn, optim

from lazydp import _native
from lazydp._native import PrivacyError, UserError
from lazydp.layers.captures import Captures
from lazydp.noise.float_noise import FloatNoise
from lazydp.noise.fork_guard import HomeProcess
from lazydp.tables import embedding
from lazydp.tables.collections import make_plain, make_private
from lazydp.tables.discovery import FoundTable
from lazydp.tables.exchange import Exchange
from lazydp.tables.private_table import PrivateTable
from lazydp.tables.table_sgd import rule_of


class Tables:
    """Holds all private tables of a model. They share their examples with the dense layers."""

    def __init__(
        self,
        found: list[FoundTable],
        optimizer: optim.Optimizer,
        *,
        seed: _native.Seed,
        normals_per_sample: int,
        policy: str,
        captures: Captures,
        exchange: Exchange,
        collections: Sequence[nn.Module] = (),
        bands: Sequence[float] = (1.0,),
    ) -> None:
        """Bind the tables and turn their modules into private ones.

        The noise of a step is that of `bands` over the latest cells; (1.0,) is independent noise.
        """
        self.captures = captures
        self.policy = policy
        self.released = False
        self.home = HomeProcess()
        self.exchange = exchange
        self.after_step: list[Callable[[], None]] = []
        self.on_lookup: Callable[[PrivateTable, Tensor], None] | None = None
        self.noise = _native.NoiseSource(seed, normals_per_sample)
        self._float_noise = {table.param_group: FloatNoise() for table in found}
        self._optimizer = optimizer
        param_groups = self.param_groups
        self._first_step: set[int] = {table.param_group for table in found}
        self._momentum = {i: bool(g.get("momentum", 0.0)) for i, g in enumerate(param_groups)}
        self.groups: dict[int, _native.TableGroup] = {}
        for index in sorted(self._first_step):
            decays = bool(param_groups[index].get("weight_decay", 0.0))
            self.groups[index] = _native.TableGroup(
                self.noise, policy, self._momentum[index], decays, bands
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
        self._collections = collections
        for module in collections:
            make_private(module, captures)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        """The optimizer's own list; load_state_dict() makes another one."""
        return self._optimizer.param_groups

    def has_momentum(self, param_group: int) -> bool:
        """Return whether tables of this group keep a momentum."""
        return self._momentum[param_group]

    def undo(self) -> None:
        """Give the modules back as they were; only a settled model may leave."""
        self.released = self.captures.ended = True
        for module in self._collections:
            make_plain(module)
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
        """Return each group's rule for the next step. Raises UserError if tables can't follow."""
        self._require_groups(param_groups)
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

    def _require_groups(self, param_groups: list[dict[str, Any]]) -> None:
        members = [{id(p) for p in group["params"]} for group in param_groups]
        for table in self.all:
            group = table.param_group
            if group >= len(members) or id(table.weight) not in members[group]:
                raise UserError(
                    f"table '{table.name}' is not in the parameter group that it had at "
                    "make_private, whose rate its rows' noise depends on; keep the groups in their "
                    "order, and freeze a table by weight.requires_grad_(False)"
                )
        written = [table for table in self.all if table.weight.grad is not None]
        for table in written:
            table.weight.grad = None
        if written:
            raise UserError(
                f"a gradient was written to table '{written[0].name}' by hand; it belongs to no "
                "example and can't be clipped, and was dropped"
            )

    def step(self, rules: dict[int, _native.Rule]) -> None:
        """Take a step: gradients are applied now, noise when the policy says."""
        try:
            self.exchange.synchronise(self.all)
            for table in self.all:
                table.freeze_or_thaw()
            for index, group in self.groups.items():
                group.open(rules[index])
                self._float_noise[index].note(rules[index].noise_per_step)
            self._first_step = set()
            for index, group in self.groups.items():
                moved = [t for t in self.all if t.param_group == index and not t.frozen]
                group.apply([(table.index, table.pending) for table in moved])
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
