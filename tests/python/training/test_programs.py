"""Random programs hold the plug-in's invariant: whatever users do, tables are as if never late."""

import pytest
import torch

from random_program import Program

PROGRAMS, AT_A_TIME = 500, 25


@pytest.fixture(autouse=True)
def one_thread():
    """Tables are tiny: two threads would mostly wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("first", range(0, PROGRAMS, AT_A_TIME))
def test_programs(first):
    for seed in range(first, first + AT_A_TIME):
        noise = ["lazy_each_step", "lazy_each_step", "every_row", "lazy"][seed % 4]
        program = Program(seed, noise)
        try:
            program.run()
        except BaseException as e:
            raise AssertionError(f"program {seed}: {', '.join(program.log)}") from e
