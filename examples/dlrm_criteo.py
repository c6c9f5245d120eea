"""A DLRM on Criteo-format data: label, 13 integers, 26 categories, separated by tabs.

python examples/dlrm_criteo.py --data day_0.tsv --epochs 1
python examples/dlrm_criteo.py                  # a small made-up file in the same format
"""

import argparse
import random
import zlib
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from lazydp import PrivacyEngine

DENSE, CATEGORIES = 13, 26


def read_tsv(path: Path, rows: int) -> TensorDataset:
    """Negative integers become 0, categories are hashed: nothing is learnt from the data."""
    labels, dense, ids = [], [], []
    with path.open() as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            labels.append(float(fields[0]))
            dense.append([max(0.0, float(x or 0)) for x in fields[1 : 1 + DENSE]])
            names = fields[1 + DENSE :]
            ids.append([zlib.crc32(f"{k}:{name}".encode()) % rows for k, name in enumerate(names)])
    return TensorDataset(torch.tensor(dense).log1p(), torch.tensor(ids), torch.tensor(labels))


def write_made_up(path: Path, examples: int) -> None:
    """Clicks that depend on a few categories."""
    rng = random.Random(1)
    effect = [[rng.gauss(0, 1.5) for _ in range(8)] for _ in range(4)]
    with path.open("w") as file:
        for _ in range(examples):
            integers = [rng.randint(-1, 50) for _ in range(DENSE)]
            names = [rng.randrange(8) for _ in range(CATEGORIES)]
            logit = sum(effect[k][names[k]] for k in range(4))
            label = int(rng.random() < 1 / (1 + 2.718**-logit))
            fields = [label, *integers, *(f"{name:08x}" for name in names)]
            file.write("\t".join(map(str, fields)) + "\n")


class Dlrm(nn.Module):
    """Bottom MLP, one table a category, dot products of all pairs, top MLP."""

    def __init__(self, rows: int, dim: int = 16) -> None:
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(DENSE, 64), nn.ReLU(), nn.Linear(64, dim), nn.ReLU())
        self.tables = nn.ModuleList(nn.Embedding(rows, dim) for _ in range(CATEGORIES))
        for table in self.tables:
            nn.init.uniform_(table.weight, -(rows**-0.5), rows**-0.5)
        pairs = (CATEGORIES + 1) * CATEGORIES // 2
        self.top = nn.Sequential(nn.Linear(dim + pairs, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, dense: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        x = self.bottom(dense)
        vectors = torch.stack([x, *(t(ids[:, k]) for k, t in enumerate(self.tables))], 1)
        i, j = torch.tril_indices(CATEGORIES + 1, CATEGORIES + 1, -1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))[:, i, j]
        return self.top(torch.cat([x, products], 1)).squeeze(1)


def auc(scores: torch.Tensor, labels: torch.Tensor) -> float:
    ranks = scores.argsort().argsort().double() + 1
    positive = labels > 0.5
    n, m = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * m))


def main(arguments: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--made-up-examples", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=10_000, help="of each table")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=8.0)
    options = parser.parse_args(arguments)

    path = options.data or Path("criteo-made-up.tsv")
    if options.data is None:
        write_made_up(path, options.made_up_examples)
    data = read_tsv(path, options.rows)
    held_out = len(data) // 10
    train = TensorDataset(*(column[held_out:] for column in data.tensors))
    delta = 0.1 / len(train)

    model = Dlrm(options.rows)
    tables = [p for p in model.parameters() if p.shape[0] == options.rows]
    dense = [p for p in model.parameters() if p.shape[0] != options.rows]
    groups = [{"params": tables, "lr": 50.0}, {"params": dense, "lr": 1.0}]
    engine = PrivacyEngine()
    private, optimizer, loader = engine.make_private_with_epsilon(
        module=model,
        optimizer=torch.optim.SGD(groups),
        data_loader=DataLoader(train, batch_size=options.batch),
        target_epsilon=options.epsilon,
        target_delta=delta,
        epochs=options.epochs,
        max_grad_norm=0.3,
    )
    criterion = nn.BCEWithLogitsLoss()
    for _ in range(options.epochs):
        for features, ids, labels in loader:
            optimizer.zero_grad()
            criterion(private(features, ids), labels).backward()
            optimizer.step()

    plain = engine.release(private).eval()
    with torch.no_grad():
        features, ids, labels = (column[:held_out] for column in data.tensors)
        result = auc(plain(features, ids), labels)
    torch.save(plain.state_dict(), "dlrm.pt")
    epsilon = engine.get_epsilon(delta)
    print(f"held-out AUC {result:.3f} at epsilon {epsilon:.2f}, delta {delta:.1e}")
    return result


if __name__ == "__main__":
    main()
