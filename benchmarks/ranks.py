#!/usr/bin/env python3
"""One process with two threads beside two ranks with one thread each, on this machine.

Usage: ranks.py PROGRAM [--model NAME] [--gigabytes G] [--steps N] [--batch B] [--rounds K]
                [--network SHIM]
Needs mpirun. Runs alternate; a row shows the median step of a run, what a rank sent in a step
beside the least that must travel, how long that was under way and how long a step stood waiting
for it, and where the time of a step goes. With --network, two ranks also run as if 1 ms and
10 Gb/s apart: SHIM is the library slow_network, which lets MPI's calls end no sooner than on such
a network.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile

from shapes import SHAPES

MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,vader"]
NETWORK = "1 10"  # milliseconds, gigabits a second


def least_bytes(shape, batch, ranks):
    """Returns the bytes that a rank must send in a step, on average, for uniform look-ups.

    It sends ids, vectors and their gradients of tables that are cut; ids and sums of gradients of
    tables that are copied; and sums of dense gradients.
    """
    here = batch / ranks
    away = 1 - 1 / ranks
    owners = (ranks - 1) * (1 - away**shape.pooling)  # others that own some of a bag
    dense = 8 * shape.parameters() * away
    total = dense
    for rows in shape.rows:
        if rows > max(1, here):
            total += here * (4 * shape.pooling * away + 2 * 4 * shape.dim * owners)
        else:
            named = [rows * (1 - (1 - 1 / rows) ** (n * shape.pooling)) for n in (here, batch)]
            total += 4 * named[0] * (ranks - 1) + 8 * shape.dim * named[1] * away
    return total


def run(args, scale, ranks, threads, slow=False):
    """The numbers of one run."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "run.json")
        command = [args.program, "train", "--model", args.model, "--scale", str(scale)]
        command += ["--batch", str(args.batch), "--steps", str(args.steps), "--seed", "1"]
        command += ["--algorithm", args.algorithm, "--settle", args.settle]
        command += ["--threads", str(threads), "--json", out, "--quiet"]
        if ranks > 1:
            shim = ["-x", f"LD_PRELOAD={args.network}", "-x", f"LAZYDP_NETWORK={NETWORK}"]
            command = [*args.mpirun, *(shim if slow else []), "-n", str(ranks), *command]
        allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **allowed}
        )
        with open(out, encoding="utf-8") as file:
            return json.load(file)


def show(name, numbers, least):
    stages = {stage: ms for stage, ms in numbers["stages_ms"].items() if ms >= 0.05}
    print(f"{name:20} {numbers['step_ms']['median']:8.2f} ms", end="")
    if "exchanged_bytes_per_step" in numbers:
        sent = numbers["exchanged_bytes_per_step"]
        print(f"   sent {sent / 1e6:.2f} MB, {sent / least:.3f} of the least;", end="")
        print(f" under way {numbers['exchange_under_way_ms']:.1f} ms,", end="")
        print(f" waited {numbers['exchange_waited_ms']:.1f} ms", end="")
    print("\n  " + "  ".join(f"{stage} {ms:.1f}" for stage, ms in stages.items()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--model", default="mlperf")
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--algorithm", default="lazydp")
    parser.add_argument("--settle", default="on-read")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--ranks", type=int, nargs="*", default=[2], help="of one thread each")
    parser.add_argument("--network", help="path of the library slow_network")
    parser.add_argument("--mpirun", type=str.split, default=MPIRUN)
    args = parser.parse_args()
    scale = SHAPES[args.model].scale(args.gigabytes)
    shape = SHAPES[args.model].scaled(args.gigabytes)
    print(f"{args.algorithm} on {args.model}, {args.gigabytes} GB of tables, batch {args.batch}")
    cases = [("1 rank x 2 threads", 1, 2, False)]
    cases += [
        (f"{n} ranks x 1 thread" if n > 1 else "1 rank x 1 thread", n, 1, False) for n in args.ranks
    ]
    if args.network:
        cases.append(("2 ranks, slow network", 2, 1, True))
    medians = {}
    for _ in range(args.rounds):
        for name, ranks, threads, slow in cases:
            numbers = run(args, scale, ranks, threads, slow)
            show(name, numbers, least_bytes(shape, args.batch, ranks))
            medians.setdefault(name, []).append(numbers["step_ms"]["median"])
    first, *others = medians
    for name in others:
        ratio = statistics.median(medians[name]) / statistics.median(medians[first])
        print(f"{name} / {first} = {ratio:.2f}")


if __name__ == "__main__":
    main()
