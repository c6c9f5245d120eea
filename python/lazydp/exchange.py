"""What replicas of tables tell each other, so that they stay equal and noise counts once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from lazydp import _native

if TYPE_CHECKING:
    from lazydp.tables import PrivateTable


class Exchange(Protocol):
    """Between the readers of tables and the other replicas."""

    world_size: int

    def note_read(self, table: PrivateTable, bags: _native.Bags) -> None:
        """Rows were settled here, at the current step."""

    def note_read_all(self, table: PrivateTable) -> None:
        """All rows were settled here, at the current step."""

    def synchronise(self, tables: list[PrivateTable]) -> None:
        """Before a step opens: settle what anyone settled; share clipped gradients."""


class Alone:
    """There is one replica: nobody to tell."""

    world_size = 1

    def note_read(self, table: PrivateTable, bags: _native.Bags) -> None:
        """Tell nobody."""

    def note_read_all(self, table: PrivateTable) -> None:
        """Tell nobody."""

    def synchronise(self, tables: list[PrivateTable]) -> None:
        """Nothing to share."""


class Replicas:
    """Every rank holds every table, under one key.

    Aggregated noise depends on when a row is settled, so ranks must settle the same rows at the
    same steps. Reads stay local (any rank may evaluate or save on its own) but are remembered;
    before the next step opens, all ranks settle the union. Noise is drawn from the same cells
    everywhere and added once to each replica of the sum of all ranks' gradients.
    """

    def __init__(self) -> None:
        """Join the default process group."""
        self.world_size = dist.get_world_size()
        self._read: dict[PrivateTable, list[Tensor]] = {}
        self._read_all: set[PrivateTable] = set()

    def note_read(self, table: PrivateTable, bags: _native.Bags) -> None:
        """Remember rows for the others."""
        self._read.setdefault(table, []).append(torch.from_numpy(bags.ids))

    def note_read_all(self, table: PrivateTable) -> None:
        """Remember that all rows were settled."""
        self._read_all.add(table)

    def synchronise(self, tables: list[PrivateTable]) -> None:
        """Settle the union of all ranks' reads, then put all ranks' gradients together."""
        for table in tables:
            reads = torch.cat([torch.empty(0, dtype=torch.int64), *self._read.get(table, [])])
            mine: dict[str, Any] = {
                "all": table in self._read_all,
                "ids": torch.unique(reads),
                "parts": [_unpack(part) for part in table.pending],
            }
            everyone: list[Any] = [None] * self.world_size
            dist.all_gather_object(everyone, mine)
            if any(rank["all"] for rank in everyone):
                table.group.settle_table(table.index)
            union = torch.cat([rank["ids"] for rank in everyone])
            rows = len(table.weight)
            table.group.settle(table.index, _native.make_bags(union, None, None, False, rows))
            table.pending = [_pack(part, rows) for rank in everyone for part in rank["parts"]]
        self._read = {}
        self._read_all = set()


def _unpack(part: tuple[_native.Bags, Tensor]) -> dict[str, Any]:
    bags, gradient = part
    weights = torch.from_numpy(bags.weights) if len(bags.weights) else None
    return {
        "ids": torch.from_numpy(bags.ids),
        "offsets": torch.from_numpy(bags.offsets.astype("int64")),
        "weights": weights,
        "mean": bags.mean,
        "gradient": gradient,
    }


def _pack(part: dict[str, Any], rows: int) -> tuple[_native.Bags, Tensor]:
    bags = _native.make_bags(part["ids"], part["offsets"], part["weights"], part["mean"], rows)
    return bags, part["gradient"]


def exchange_for(distributed: bool) -> Exchange:
    """Replicas where there are several."""
    return Replicas() if distributed else Alone()


def shared_bytes(value: bytes, distributed: bool) -> bytes:
    """Rank 0's bytes, on every rank."""
    if not distributed:
        return value
    box: list[Any] = [value]
    dist.broadcast_object_list(box, src=0)
    shared: bytes = box[0]
    return shared
