"""A forked process can neither read tables nor step; workers of a loader go on."""

import os
import pickle
import signal

from torch.utils.data import DataLoader

from lazydp import PrivacyEngine
from models import build, data
from training import private, step


def in_child(work):
    """Returns what `work` raises in a forked process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # where it is not refused, it may wait for threads that were not forked
        try:
            work()
            os.write(writing, b"nothing")
        except BaseException as e:
            os.write(writing, f"{type(e).__name__}: {e}".encode())
        os._exit(0)
    os.close(writing)
    said = os.read(reading, 10_000).decode()
    os.close(reading)
    os.waitpid(child, 0)
    return said


def test_a_forked_process_can_neither_read_nor_step():
    model, optimizer, batches = private(build("shared"), poisson_sampling=True)
    batch = data()[:4]
    step(model, optimizer, batch)
    weight = model._module.left.weight
    for work in (
        lambda: model(*batch[:2]),
        lambda: weight.clone(),
        lambda: pickle.dumps(model.state_dict()),
        lambda: optimizer.step(),
        lambda: PrivacyEngine().release(model),
        lambda: next(iter(batches)),
    ):
        assert in_child(work).startswith("PrivacyError")
    assert in_child(lambda: weight.shape) == "nothing"
    step(model, optimizer, batch)


def test_workers_of_a_loader_go_on():
    batches = DataLoader(data(40), batch_size=5, num_workers=2, persistent_workers=True)
    model, optimizer, loaded = private(build("shared"), poisson_sampling=True, batches=batches)
    for _ in range(2):
        for batch in loaded:
            step(model, optimizer, batch)
