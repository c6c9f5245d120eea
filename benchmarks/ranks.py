#!/usr/bin/env python3
"""One process with two threads beside two ranks with one thread each, on this machine.

Usage: ranks.py PROGRAM [--model NAME] [--scale S] [--steps N] [--batch B] [--algorithm A] [--rounds K]
Needs mpirun. Runs alternate; a row shows the median step of each run and where the time of a step goes.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile

MPIRUN = ["mpirun", "--bind-to", "core", "--mca", "btl", "self,vader"]


def run(args, ranks, threads):
    """The numbers of one run."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "run.json")
        command = [args.program, "train", "--model", args.model, "--scale", str(args.scale)]
        command += ["--batch", str(args.batch), "--steps", str(args.steps), "--seed", "1"]
        command += ["--algorithm", args.algorithm, "--settle", args.settle]
        command += ["--threads", str(threads), "--json", out, "--quiet"]
        if ranks > 1:
            command = [*args.mpirun, "-n", str(ranks), *command]
        allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **allowed})
        with open(out, encoding="utf-8") as file:
            return json.load(file)


def show(name, numbers):
    stages = {stage: ms for stage, ms in numbers["stages_ms"].items() if ms >= 0.05}
    parts = "  ".join(f"{stage} {ms:.1f}" for stage, ms in stages.items())
    sent = numbers.get("exchanged_bytes_per_step", 0.0) / 1e6
    print(f"{name:18} {numbers['step_ms']['median']:8.2f} ms   sent {sent:6.2f} MB   {parts}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--model", default="mlperf")
    parser.add_argument("--scale", type=float, default=0.04)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--algorithm", default="lazydp")
    parser.add_argument("--settle", default="on-read")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--mpirun", type=str.split, default=MPIRUN)
    args = parser.parse_args()
    print(f"{args.algorithm} on {args.model} x {args.scale}, batch {args.batch}")
    medians = {}
    for _ in range(args.rounds):
        for name, ranks, threads in [("1 rank  x 2", 1, 2), ("2 ranks x 1", 2, 1)]:
            numbers = run(args, ranks, threads)
            show(name, numbers)
            medians.setdefault(name, []).append(numbers["step_ms"]["median"])
    one, two = (statistics.median(times) for times in medians.values())
    print(f"2 ranks / 1 rank = {two / one:.2f}")


if __name__ == "__main__":
    main()
