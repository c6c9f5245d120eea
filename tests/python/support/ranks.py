"""Runs a program of these tests on two ranks, as torch's own launcher does."""

import os
import subprocess
import sys
from pathlib import Path

SUPPORT = Path(__file__).parent


def run_on_two_ranks(worker, *arguments):
    """Run the program; it fails, or hangs for five minutes, where a rank does."""
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    places = os.pathsep.join([str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": places}
    command = [*run, str(worker), *map(str, arguments)]
    subprocess.run(command, check=True, env=environment, timeout=300)
