#!/usr/bin/env python3
"""Models what a step of LazyDP costs on R ranks, for docs/measurements/scaling.md.

Usage: scaling_model.py    prints the tables of docs/measurements/scaling.md
"""

import dataclasses
import math


@dataclasses.dataclass
class Machine:
    """The resources of one rank."""

    flops: float  # of dense layers, all its threads
    row: float  # seconds: settle, read and update one row, all its threads
    byte: float  # seconds to send one byte to another rank
    message: float  # seconds that a message costs beside its bytes
    draw: float  # seconds to draw one example of the sample; every rank draws all of them
    memory: float  # bytes


@dataclasses.dataclass
class Model:
    """The sizes of the model that is trained."""

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


# A node of 64 cores with a 100 Gb/s network. Dense layers (69 GFLOP/s a core) and rows of 512 bytes
# (260 ns) as measured, times 64 at 70 %. The network is an assumption: as sold.
NODE = Machine(
    flops=64 * 0.7 * 69e9,
    row=0.26e-6 / (64 * 0.7),
    byte=1 / 11e9,
    message=4e-6,
    draw=2.5e-8,
    memory=512e9,
)


@dataclasses.dataclass
class Seen:
    """One model on two cores: what ranks.py and exchange_costs measured there."""

    name: str
    alone: float  # ms: one rank, one thread
    threads: float  # how many times as fast one rank is with two
    dense: float  # bytes of dense gradients
    sent: dict  # bytes that a rank sends, by ranks
    asked: dict  # look-ups that a rank asks another for
    measured: dict  # ms


SEEN = [
    Seen(
        name="mlperf",
        alone=434.8,
        threads=1.82,
        dense=9.48e6,
        sent={2: 15.92e6, 4: 19.98e6},
        asked={2: 2048 / 2 * 16 / 2, 4: 2048 / 4 * 16 * 3 / 4},
        measured={2: 279.9, 4: 302.6},
    ),
    Seen(
        name="rmc1",
        alone=198.3,
        threads=1.52,
        dense=0.32e6,
        sent={2: 4.66e6, 4: 5.70e6},
        asked={2: 2048 / 2 * 800 / 2, 4: 2048 / 4 * 800 * 3 / 4},
        measured={2: 131.3, 4: 139.8},
    ),
]
PACK, ASK = 0.7e-9, 30e-9  # seconds a byte, and a look-up that another rank answers; one core
BYTE = {2: 0.15e-9, 4: 0.63e-9}  # of parcels, through shared memory
SUMMED = {2: 0.89e-9, 4: 1.31e-9}  # of sums


def predicted(seen, ranks):
    """Ms of a step: the work of one process with two threads, and what ranks do beside it."""
    share = ranks / 2  # ranks that a core has
    beside = share * (PACK * seen.sent[ranks] + ASK * seen.asked[ranks])
    parcels = seen.sent[ranks] - 2 * (1 - 1 / ranks) * seen.dense
    travel = BYTE[ranks] * parcels + SUMMED[ranks] * seen.dense
    return seen.alone / seen.threads + 1e3 * (beside + travel)


def check():
    """Prints what the model says of runs that were measured."""
    print("| a step, ms | predicted | measured | off by |\n|---|---|---|---|")
    for seen in SEEN:
        for ranks, ms in seen.measured.items():
            said = predicted(seen, ranks)
            print(
                f"| `{seen.name}`, {ranks} ranks | {said:.0f} | {ms:.0f} | {said / ms - 1:+.0%} |"
            )
    print()


def main():
    """Prints the check, and predictions."""
    check()
    sizes = [1, 8, 64, 512]
    table("Strong: 65,536 examples a step, however many ranks", NODE, [(r, 65536) for r in sizes])
    table("Weak: 8,192 examples a step for each rank", NODE, [(r, 8192 * r) for r in sizes])
    print("| tables | ranks that hold them (512 GB each, history beside) |\n|---|---|")
    for terabytes in (1, 10, 100):
        print(f"| {terabytes} TB | {math.ceil(terabytes * 1e12 * 1.01 / (0.9 * NODE.memory))} |")


if __name__ == "__main__":
    main()
