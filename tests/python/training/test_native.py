"""The plug-in ends where the native trainer does: the same DLRM, data and key."""

import json
import subprocess
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from lazydp import PrivacyEngine, _native, sgd_group

NATIVE = Path(__file__).parents[3] / "build/dev/tests/native_run"
SEED = 5
RULES = {
    "sgd": torch.optim.SGD,
    "momentum": partial(torch.optim.SGD, momentum=0.9),
    "adam": torch.optim.Adam,
    "adagrad": torch.optim.Adagrad,
}


class Dlrm(nn.Module):
    def __init__(self, rows, dim, bottom, top):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(n, dim, mode="sum") for n in rows)
        n = len(rows) + 1
        widths = [dim + n * (n - 1) // 2, *top]
        pairs = zip(bottom, bottom[1:], strict=False)
        self.bottom = nn.Sequential(*(m for a, b in pairs for m in (nn.Linear(a, b), nn.ReLU())))
        pairs = zip(widths, widths[1:], strict=False)
        self.top = nn.Sequential(*(m for a, b in pairs for m in (nn.Linear(a, b), nn.ReLU())))[:-1]

    def forward(self, dense, bags):
        x = self.bottom(dense)
        pooled = [t(*b) for t, b in zip(self.tables, bags, strict=True)]
        vectors = torch.stack([x, *pooled], 1)
        i, j = torch.tril_indices(vectors.shape[1], vectors.shape[1], -1)
        return self.top(torch.cat([x, (vectors[:, i] * vectors[:, j]).sum(2)], 1)).squeeze(1)

    def flat(self):
        """Parameters in the native order: bottom, top, tables."""
        return [*self.bottom.parameters(), *self.top.parameters(), *self.tables.parameters()]


class NativeDenseNoise:
    """Dense noise as the native trainer draws it: one array of all dense weights."""

    def __init__(self, key, size):
        self.source = _native.NoiseSource(_native.Seed.fixed(key))
        self.step, self.size = 0, size

    def open_step(self):
        self.step += 1
        self.normals, self.used = torch.empty(self.size), 0
        self.source.dense_normals(self.normals, self.step, 0)

    def of(self, parameter, reference, std):
        here = self.normals[self.used : self.used + reference.numel()]
        self.used += reference.numel()
        return -std * here.view_as(reference)  # a cell moves the weight, not the gradient


@pytest.mark.parametrize(
    ("algorithm", "noise", "rule"),
    [
        ("dpsgd-f", "every_row", "sgd"),
        ("lazydp-no-ans", "lazy_each_step", "sgd"),
        ("lazydp", "lazy", "sgd"),
        ("lazydp", "lazy", "momentum"),
        ("lazydp", "lazy", "adam"),
        ("lazydp", "lazy", "adagrad"),
    ],
)
def test_equals_the_native_trainer(algorithm, noise, rule):
    if not NATIVE.exists():
        pytest.skip("the C++ tests are not built")
    key = int(torch.randint(2**62, (1,), generator=torch.Generator().manual_seed(SEED)))
    output = subprocess.run(
        [NATIVE, algorithm, str(key), rule], check=True, capture_output=True
    ).stdout
    run = json.loads(output)
    model = Dlrm(run["rows"], run["dim"], run["bottom"], run["top"])
    before, place = torch.tensor(run["before"]), 0
    for p in model.flat():
        p.data.copy_(before[place : place + p.numel()].view_as(p))
        place += p.numel()
    dense = [*model.bottom.parameters(), *model.top.parameters()]
    flat = model.flat()
    private, optimizer, _ = PrivacyEngine(accountant="rdp").make_private(
        module=model,
        optimizer=RULES[rule](
            [
                {"params": dense},
                sgd_group(model.tables.parameters(), lr=run["table_rate"]),
            ],
            lr=run["dense_rate"],
        ),
        data_loader=DataLoader(TensorDataset(torch.zeros(40)), batch_size=4),
        noise_multiplier=run["sigma"],
        max_grad_norm=run["clip"],
        poisson_sampling=False,
        noise=noise,
        noise_generator=torch.Generator().manual_seed(SEED),
    )
    optimizer.expected_batch_size = run["expected_batch"]
    optimizer.dense_noise = NativeDenseNoise(key, sum(p.numel() for p in dense))
    for batch in run["batches"]:
        x = torch.tensor(batch["dense"]).view(-1, run["bottom"][0])
        bags = [
            (torch.tensor(b["ids"], dtype=torch.int64), torch.tensor(b["offsets"][:-1]).long())
            for b in batch["bags"]
        ]
        optimizer.zero_grad()
        labels = torch.tensor(batch["labels"])
        functional.binary_cross_entropy_with_logits(private(x, bags), labels).backward()
        optimizer.step()
    private.state_dict()
    after = torch.cat([p.detach().flatten() for p in flat])
    torch.testing.assert_close(after, torch.tensor(run["after"]), rtol=2e-5, atol=2e-5)
