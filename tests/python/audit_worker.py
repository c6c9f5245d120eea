"""What test_audit.py starts on every rank: one audit with all the noise, one with a third of it."""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from opacus.distributed import DifferentiallyPrivateDistributedDataParallel as DPDDP

import lazydp
from audited import OTHERS, train
from test_audit import CANARIES, CLAIM, SIGMA, third


def coins(count):
    tossed = torch.rand(count) < 0.5
    dist.broadcast(tossed, 0)  # the first rank's are everybody's
    return tossed


def main():
    dist.init_process_group("gloo")
    verdicts = []
    for change in (None, third):

        def make_run(included, change=change):
            return train(included, noise_multiplier=SIGMA, epochs=6, wrap=DPDDP, change=change)[0]

        found = lazydp.audit_one_run(
            make_run,
            claim=CLAIM,
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
