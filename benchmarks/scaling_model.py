#!/usr/bin/env python3
"""What a step of LazyDP costs on R ranks: docs/scaling.md's model, with its coefficients.

Usage: scaling_model.py    prints the tables of docs/scaling.md
"""

import dataclasses
import math


@dataclasses.dataclass
class Machine:
    """What one rank has."""

    flops: float  # of dense layers, all its threads
    row: float  # seconds: settle, read and update one row, all its threads
    byte: float  # seconds to send one byte to another rank
    message: float  # seconds that a message costs beside its bytes
    draw: float  # seconds to draw one example of the sample; every rank draws all of them
    memory: float  # bytes


@dataclasses.dataclass
class Model:
    """What is trained."""

    parameters: float  # of dense layers
    tables: int  # that are cut
    dim: int
    pooling: int


MLPERF = Model(parameters=2.37e6, tables=16, dim=128, pooling=1)


def parts(model, machine, ranks, batch):
    """Seconds of a step of `batch` examples over all ranks, by what they go to."""
    here = batch / ranks
    away = 1.0 - 1.0 / ranks
    others = (
        (ranks - 1) * (1.0 - away**model.pooling) if ranks > 1 else 0.0
    )  # that own some of a bag
    ids = here * model.tables * model.pooling * away * 4.0
    vectors = here * model.tables * others * 8.0 * model.dim
    dense = 8.0 * model.parameters * away
    messages = (4 * (ranks - 1) + 2 * math.ceil(math.log2(ranks))) if ranks > 1 else 0
    return {
        "dense": here * 6.0 * model.parameters / machine.flops,
        "rows": here * model.tables * model.pooling * machine.row,
        "sample": batch * machine.draw,
        "vectors": (ids + vectors) * machine.byte,
        "dense sums": dense * machine.byte,
        "messages": messages * machine.message,
    }


def table(title, machine, cases):
    """Prints a table of the model's parts."""
    print(title)
    names = list(parts(MLPERF, machine, 1, 1))
    print("| ranks | batch | step, ms | " + " | ".join(names) + " |")
    print("|" + "---|" * (len(names) + 3))
    for ranks, batch in cases:
        cost = parts(MLPERF, machine, ranks, batch)
        row = " | ".join(f"{1e3 * seconds:.1f}" for seconds in cost.values())
        print(f"| {ranks} | {batch:,} | {1e3 * sum(cost.values()):.1f} | {row} |")
    print()


# A node of 64 cores with a 100 Gb/s network. Dense layers: 80 GFLOP/s a core, as measured, times 64
# at 70 %. All others are assumptions: a row as its bytes and its noise suggest, a network as sold.
NODE = Machine(
    flops=64 * 0.7 * 80e9,
    row=1.1e-6 / (64 * 0.7),
    byte=1 / 11e9,
    message=4e-6,
    draw=2.5e-8,
    memory=512e9,
)


def main():
    """Prints predictions."""
    sizes = [1, 8, 64, 512]
    table("Strong: 65,536 examples a step, however many ranks", NODE, [(r, 65536) for r in sizes])
    table("Weak: 8,192 examples a step for each rank", NODE, [(r, 8192 * r) for r in sizes])
    print("| tables | ranks that hold them (512 GB each, history beside) |\n|---|---|")
    for terabytes in (1, 10, 100):
        print(f"| {terabytes} TB | {math.ceil(terabytes * 1e12 * 1.01 / (0.9 * NODE.memory))} |")


if __name__ == "__main__":
    main()
