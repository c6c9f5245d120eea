"""Runs on every rank of test_audit.py: one audit with all the noise, one with half of it."""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from opacus.distributed import DifferentiallyPrivateDistributedDataParallel as DPDDP

import lazydp
from audited import OTHERS, train
from test_audit import EVERY_STEP, halved, noise_for

CANARIES, STEPS = EVERY_STEP["canaries"], EVERY_STEP["epochs"]
SIGMA = noise_for(1.0, STEPS)


def coins(count):
    tossed = torch.rand(count) < 0.5
    dist.broadcast(tossed, 0)  # every rank takes the first rank's
    return tossed


def main():
    dist.init_process_group("gloo")
    verdicts = []
    for change in (None, halved):

        def make_run(included, change=change):
            options = {"batches": 1, "epochs": STEPS, "wrap": DPDDP, "change": change}
            return train(included, noise_multiplier=SIGMA, **options)[0]

        found = lazydp.audit_one_run(
            make_run,
            claim=[(1.0, SIGMA, STEPS)],
            canaries=CANARIES,
            rows={"table.weight": OTHERS + torch.arange(CANARIES)},
            coins=coins,
        )
        verdicts.append(found.verdict)
    if dist.get_rank() == 0:
        Path(sys.argv[1]).write_text(" ".join(verdicts))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
