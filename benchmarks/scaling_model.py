#!/usr/bin/env python3
"""What a step of LazyDP costs on R ranks: docs/scaling.md's model, with its coefficients.

Usage: scaling_model.py    prints the tables of docs/scaling.md
"""

import dataclasses
import math

from ranks import least_bytes
from shapes import SHAPES


@dataclasses.dataclass
class Machine:
    """What one rank has; seconds, with all its threads."""

    flop: float  # of dense layers
    row: dict[int, float]  # to settle, read and update a row of so many floats, for each look-up
    draw: float  # one example of the sample; every rank draws all of them
    byte: float  # sent to another rank
    packed: float  # a byte put into a message, and taken out of one
    message: float  # beside its bytes
    memory: float = 0.0  # bytes


def parts(shape, machine, ranks, batch):
    """Seconds of a step of `batch` examples over all ranks, by what they go to."""
    here = batch / ranks
    dense_sum = 8.0 * shape.parameters() * (1 - 1 / ranks)
    vectors = least_bytes(shape, batch, ranks) - dense_sum if ranks > 1 else 0.0
    messages = 4 * (ranks - 1) + 2 * math.ceil(math.log2(ranks)) if ranks > 1 else 0
    return {
        "dense": here * 6.0 * shape.parameters() * machine.flop,
        "rows": here * len(shape.rows) * shape.pooling * machine.row[shape.dim],
        "sample": batch * machine.draw,
        "packing": vectors * machine.packed,
        "vectors": vectors * machine.byte,
        "dense sums": dense_sum * machine.byte,
        "messages": messages * machine.message,
    }


def row_of(shape, machine, ranks, batch, measured=None):
    """A line of a table."""
    cost = parts(shape, machine, ranks, batch)
    total = 1e3 * sum(cost.values())
    cells = [f"{ranks}", f"{batch:,}"]
    if measured is not None:
        cells.append(f"{measured:.1f}")
    cells.append(f"{total:.1f}")
    return "| " + " | ".join(cells + [f"{1e3 * seconds:.1f}" for seconds in cost.values()]) + " |"


def head(*names):
    columns = [*names, *parts(SHAPES["mlperf"], HERE, 1, 1)]
    return "| " + " | ".join(columns) + " |\n|" + "---|" * len(columns)
