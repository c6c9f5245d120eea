"""Replicas of tables exchange reads and gradients: they stay equal, and noise counts once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from lazydp import _native
from lazydp.tables.replica_message import ReplicaMessage, unpack

if TYPE_CHECKING:
    from lazydp.tables.private_table import PrivateTable


class Exchange(Protocol):
    """The link between the readers of tables and the other replicas."""

    world_size: int

    def note_read(self, table: PrivateTable, bags: _native.Bags) -> None:
        """Note that these rows were settled here, at the current step."""

    def note_read_all(self, table: PrivateTable) -> None:
        """Note that all rows were settled here, at the current step."""

    def synchronise(self, tables: list[PrivateTable]) -> None:
        """Settle rows that any rank settled, and share clipped gradients, before a step opens."""

    def add_up(self, values: list[float]) -> list[float]:
        """Return sums over all ranks."""

    def of_the_first(self, values: list[float]) -> list[float]:
        """Return the values of rank 0."""


class Alone:
    """The exchange of a single replica, which has no other ranks."""

    world_size = 1

    def note_read(self, table: PrivateTable, bags: _native.Bags) -> None:
        """Do nothing: there is no other rank."""

    def note_read_all(self, table: PrivateTable) -> None:
        """Do nothing: there is no other rank."""

    def synchronise(self, tables: list[PrivateTable]) -> None:
        """Do nothing: there is nothing to share."""

    def add_up(self, values: list[float]) -> list[float]:
        """Return the values: they are the sums."""
        return values

    def of_the_first(self, values: list[float]) -> list[float]:
        """Return the values: this is rank 0."""
        return values


class Replicas:
    """The exchange of ranks that each hold every table, under one key.

    Aggregated noise depends on when a row is settled, so ranks must settle the same rows at the
    same steps. Reads stay local (any rank may evaluate or save on its own) but are remembered;
    before the next step opens, all ranks settle the union. Noise is drawn from the same cells
    everywhere and added once to each replica of the sum of all ranks' gradients.
    """

    def __init__(self) -> None:
        """Join the ranks of the default process group; tables are exchanged on the CPU."""
        self.world_size = dist.get_world_size()
        self._group = dist.new_group(backend="gloo")
        self._read: dict[PrivateTable, list[Tensor]] = {}
        self._read_all: set[PrivateTable] = set()

    def note_read(self, table: PrivateTable, bags: _native.Bags) -> None:
        """Remember rows for the other ranks."""
        self._read.setdefault(table, []).append(torch.from_numpy(bags.ids))

    def note_read_all(self, table: PrivateTable) -> None:
        """Remember that all rows were settled."""
        self._read_all.add(table)

    def synchronise(self, tables: list[PrivateTable]) -> None:
        """Settle the union of all ranks' reads, then put all ranks' gradients together."""
        mine = [self._message_of(table) for table in tables]
        sizes = self._gather(torch.tensor([message.sizes for message in mine]).flatten())
        whole = self._gather(torch.cat([message.whole_numbers() for message in mine]))
        floats = self._gather(torch.cat([message.floats() for message in mine]))
        everyone = [
            unpack(
                tables, each_sizes.view(-1, ReplicaMessage.SIZES).tolist(), each_whole, each_floats
            )
            for each_sizes, each_whole, each_floats in zip(sizes, whole, floats, strict=True)
        ]
        for index, table in enumerate(tables):
            messages = [rank[index] for rank in everyone]
            if any(message.read_all for message in messages):
                table.group.settle_table(table.index)
            union = torch.cat([message.read for message in messages])
            rows = len(table.weight)
            table.group.settle(table.index, _native.make_bags(union, None, None, False, rows))
            table.pending = [message.part(rows) for message in messages if len(message.lengths)]
        self._read = {}
        self._read_all = set()

    def add_up(self, values: list[float]) -> list[float]:
        """Return sums, which are the same on every rank."""
        sums = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(sums, group=self._group)
        return sums.tolist()  # type: ignore[no-any-return]

    def of_the_first(self, values: list[float]) -> list[float]:
        """Return rank 0's values, for random numbers that must be the same on every rank."""
        shared = torch.tensor(values, dtype=torch.float64)
        dist.broadcast(shared, src=0, group=self._group)
        return shared.tolist()  # type: ignore[no-any-return]

    def _message_of(self, table: PrivateTable) -> ReplicaMessage:
        reads = self._read.get(table, [])
        return ReplicaMessage.of(
            read_all=table in self._read_all,
            read=torch.unique(torch.cat([torch.empty(0, dtype=torch.int64), *reads])),
            parts=table.pending,
            dim=table.weight.shape[1],
        )

    def _gather(self, mine: Tensor) -> list[Tensor]:
        """Return every rank's vector; their lengths may differ."""
        length = torch.tensor([len(mine)])
        lengths = [torch.empty_like(length) for _ in range(self.world_size)]
        dist.all_gather(lengths, length, group=self._group)
        longest = int(max(lengths))
        padded = torch.zeros(longest, dtype=mine.dtype)
        padded[: len(mine)] = mine
        everyone = [torch.empty_like(padded) for _ in range(self.world_size)]
        dist.all_gather(everyone, padded, group=self._group)
        return [one[: int(n)] for one, n in zip(everyone, lengths, strict=True)]


def exchange_for(distributed: bool) -> Exchange:
    """Return the exchange of replicas where there are several, else that of one alone."""
    return Replicas() if distributed else Alone()


def shared_bytes(value: bytes, distributed: bool) -> bytes:
    """Return rank 0's bytes, on every rank."""
    if not distributed:
        return value
    box: list[Any] = [value]
    dist.broadcast_object_list(box, src=0)
    shared: bytes = box[0]
    return shared
