"""A random program: a sequence of what training loops do.

It runs on the plug-in, and on a dense model of it: examples one by one, noise on every row at every
step, torch's own optimizer. Both draw the same noise cells, so that every value that is seen must
agree.
"""

import copy
import io
import os
import random

import pytest
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector

from lazydp import PrivacyEngine
from models import ROWS, assert_same, build, data, squared_loss
from reference import BruteForce
from training import Interrupted, private, seeded

NAMES = ["shared", "shared_norm", "layered", "bag_padding", "sequence_padding", "factors", "twice"]
RULES = [
    {"lr": 0.3},
    {"lr": 0.2, "weight_decay": 0.1},
    {"lr": 0.1, "momentum": 0.9},
    {"lr": 0.1, "momentum": 0.7, "nesterov": True, "weight_decay": 0.05},
]
SIGMA, BOUND, BATCH = 0.7, 1.3, 3


class Program:
    """One program, under way."""

    def __init__(self, seed, noise):
        self.random = random.Random(seed)
        self.exact = noise != "lazy"
        name, rule = self.random.choice(NAMES), self.random.choice(RULES)
        self.raw, self.dense = build(name), build(name)
        optimizer = torch.optim.SGD(self.raw.parameters(), **rule)
        self.engine = PrivacyEngine(accountant="rdp")
        self.model, self.optimizer, _ = private(
            self.raw,
            engine=self.engine,
            optimizer=optimizer,
            noise=noise,
            noise_multiplier=SIGMA,
            max_grad_norm=BOUND,
            **seeded(seed),
        )
        self.optimizer.expected_batch_size = BATCH
        self.brute = BruteForce(
            self.dense,
            torch.optim.SGD(self.dense.parameters(), **rule),
            squared_loss,
            sigma=SIGMA,
            bound=BOUND,
            expected_batch=BATCH,
            seed=seed,
        )
        self.kept = None  # a state_dict that was not copied
        self.saved = None  # a checkpoint of both
        self.average = None  # of both
        self.log = [f"{name} {rule} {noise}"]

    # The actions of a user. Each returns nothing, and checks what it sees.

    def batch(self):
        first = self.random.randrange(9)
        return data(seed=self.random.randrange(1000))[first : first + BATCH]

    def clear(self):
        self.random.choice(
            [
                lambda: None,
                self.optimizer.zero_grad,
                self.model.zero_grad,
                self.raw.zero_grad,
                lambda: self.optimizer.zero_grad(set_to_none=True),
            ]
        )()

    def dense_step(self, *batches):
        self.brute.optimizer.zero_grad()
        self.brute.expected_batch = BATCH * len(batches)
        self.brute.step(*batches)

    def train(self):
        for _ in range(self.random.randrange(1, 4)):
            batch = self.batch()
            self.clear()
            squared_loss(self.model, batch).backward()
            self.optimizer.step()
            self.dense_step(batch)

    def accumulate(self):
        batches = [self.batch(), self.batch()]
        self.clear()
        for batch in batches:
            squared_loss(self.model, batch).backward()
        self.optimizer.step()
        self.dense_step(*batches)

    def virtual(self):
        """Two physical batches of one step, as BatchMemoryManager makes them."""
        batches = [self.batch(), self.batch()]
        self.optimizer.zero_grad()
        for batch, last in zip(batches, (False, True), strict=True):
            self.optimizer.signal_skip_step(do_skip=not last)
            squared_loss(self.model, batch).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        self.brute.optimizer.zero_grad()
        self.brute.expected_batch = BATCH
        self.brute.step(*batches)

    def interrupt(self):
        dense, ids, target = self.batch()
        with pytest.raises(KeyboardInterrupt):
            out = self.model(dense, ids)
            table = next(m for m in self.raw.modules() if hasattr(m, "num_embeddings"))
            hidden = table(ids[:, :1]).flatten(1).sum(1)  # beside the model: some layers are done
            last = hidden if hidden.requires_grad else out
            (nn.functional.mse_loss(out, target) + Interrupted.apply(last).sum()).backward()

    def discard(self):
        squared_loss(self.model, self.batch()).backward()
        self.random.choice([self.optimizer.zero_grad, self.model.zero_grad])()

    def evaluate(self):
        self.model.train(self.random.random() < 0.5)
        inputs = self.batch()[:2]
        with torch.set_grad_enabled(self.random.random() < 0.3):
            self.same(self.model(*inputs), self.dense(*inputs))
        self.model.train()

    def read_rows(self):
        ours, theirs = self.tables()
        ids = torch.tensor([self.random.randrange(ROWS) for _ in range(3)])
        self.same(ours[ids], theirs[ids])
        i = self.random.randrange(ROWS)
        self.same(ours[i], theirs[i])

    def keep(self):
        if self.kept is not None:
            for key, value in self.dense.state_dict().items():
                self.same(self.kept[f"_module.{key}"], value)
        self.kept = self.model.state_dict()

    def save(self):
        file = io.BytesIO()
        torch.save([self.model.state_dict(), self.optimizer.state_dict()], file)
        self.settled()
        theirs = [self.dense.state_dict(), self.brute.optimizer.state_dict()]
        self.saved = file.getvalue(), copy.deepcopy(theirs)
        ours = torch.load(io.BytesIO(file.getvalue()), weights_only=True)
        for key, value in self.dense.state_dict().items():
            self.same(ours[0][f"_module.{key}"], value)

    def load(self):
        if self.saved is None:
            return self.save()
        weights, state = torch.load(io.BytesIO(self.saved[0]), weights_only=True)
        self.model.load_state_dict(weights)
        self.dense.load_state_dict(self.saved[1][0])
        if self.random.random() < 0.6:
            self.optimizer.load_state_dict(state)
            self.brute.optimizer.load_state_dict(copy.deepcopy(self.saved[1][1]))
        return None

    def load_wrongly(self):
        state = {k: torch.zeros_like(v) for k, v in self.model.state_dict().items()}
        key = self.random.choice(list(state))
        state[key] = torch.zeros(*state[key].shape, 2)
        with pytest.raises(RuntimeError):
            self.model.load_state_dict(state)

    def write(self):
        ours, theirs = self.tables()
        new = torch.randn(ours.shape, generator=torch.Generator().manual_seed(len(self.log)))
        with torch.no_grad():
            new[1:3] = theirs[1:3]  # padding rows: SGD's weight decay would move what is not zero
            if self.random.random() < 0.5:
                ours.copy_(new), theirs.copy_(new)
            else:
                i = self.random.randrange(ROWS)
                ours[i], theirs[i] = new[i], new[i]

    def copy(self):
        assert_like(copy.deepcopy(self.model), self.dense, self.exact)
        self.settled()

    def averages(self):
        with torch.no_grad():
            now = [parameters_to_vector(m.parameters()).clone() for m in (self.model, self.dense)]
        if self.average is None:
            self.average = now
        self.average = [0.5 * a + 0.5 * b for a, b in zip(self.average, now, strict=True)]
        self.same(*self.average)
        self.settled()

    def freeze(self):
        """Or thaw."""
        names = [
            k
            for k, p in self.raw.named_parameters()
            if p.shape[-1:] == (4,) and "norm" not in k and "each.bias" not in k
        ]
        key = self.random.choice(names)
        ours, theirs = self.raw.get_parameter(key), self.dense.get_parameter(key)
        trains = [p for p in self.raw.parameters() if p.requires_grad]
        if ours.requires_grad and len(trains) <= 2:
            return
        for p in (ours, theirs):
            p.requires_grad_(not p.requires_grad)

    def fork(self):
        child = os.fork()
        if child == 0:
            try:
                self.tables()[0].clone()
            except ValueError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0

    def look(self):
        assert_like(self.model, self.dense, self.exact)
        self.settled()

    # The invariants.

    def tables(self):
        keys = [k for k, p in self.raw.named_parameters() if p.shape[0] == ROWS]
        key = self.random.choice(keys)
        return self.raw.get_parameter(key), self.dense.get_parameter(key)

    def same(self, ours, theirs):
        if self.exact:
            torch.testing.assert_close(ours.detach().clone(), theirs.detach(), rtol=1e-3, atol=1e-3)

    def settled(self):
        tables = self.optimizer.tables
        if not any(table.frozen for table in tables.all):
            assert all(group.all_settled() for group in tables.groups.values())

    def run(self):
        acts = [self.train] * 5 + [
            self.accumulate,
            self.virtual,
            self.interrupt,
            self.discard,
            self.evaluate,
            self.read_rows,
            self.keep,
            self.save,
            self.load,
            self.load_wrongly,
            self.write,
            self.copy,
            self.averages,
            self.freeze,
            self.look,
        ]
        if self.random.random() < 0.1:
            acts.append(self.fork)
        for _ in range(self.random.randrange(5, 12)):
            act = self.random.choice(acts)
            self.log.append(act.__name__)
            act()
        plain = self.engine.release(self.model)
        assert_like(plain, self.dense, self.exact)
        assert all(type(p) is nn.Parameter for p in plain.parameters())


def assert_like(ours, theirs, exact):
    if exact:
        assert_same(ours, theirs, 1e-3)  # rounding grows with the steps
    else:
        assert all(v.clone().isfinite().all() for v in ours.state_dict().values())
