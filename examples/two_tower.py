"""Two-tower retrieval: users and items meet in a dot product; made-up purchases.

An example is one purchase with negatives of its own, drawn without looking at the data. (Negatives
taken from other examples of the batch would tie examples together: no clipping bounds that.)

    python examples/two_tower.py
"""

import argparse

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from lazydp import PrivacyEngine, privacy

NEGATIVES = 8


class Tower(nn.Module):
    """The ids that describe one thing, pooled, through a small MLP."""

    def __init__(self, rows: int, dim: int) -> None:
        super().__init__()
        self.ids = nn.EmbeddingBag(rows, dim, mode="mean")
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        pooled = self.ids(ids)
        return pooled + self.mlp(pooled)


class TwoTowers(nn.Module):
    def __init__(self, users: int, items: int, dim: int = 16) -> None:
        super().__init__()
        self.user = Tower(users, dim)
        self.item = nn.Embedding(items, dim)
        nn.init.normal_(self.item.weight, std=0.1)
        nn.init.normal_(self.user.ids.weight, std=0.1)

    def forward(self, history: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        """Scores of [batch, candidates] items."""
        return (self.item(items) @ self.user(history).unsqueeze(2)).squeeze(2)


def made_up(examples: int, items: int, groups: int = 10) -> TensorDataset:
    """Everyone stays within one group of items."""
    group = torch.randint(groups, (examples, 1))
    inside = torch.randint(items // groups, (examples, 6)) * groups + group
    negatives = torch.randint(items, (examples, NEGATIVES))
    return TensorDataset(inside[:, 1:], torch.cat([inside[:, :1], negatives], 1))


def loss_of(scores: torch.Tensor) -> torch.Tensor:
    target = torch.zeros(len(scores), dtype=torch.int64)  # the first candidate was bought
    return functional.cross_entropy(scores, target)


def main(arguments: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=20_000)
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--epochs", type=int, default=6)
    options = parser.parse_args(arguments)

    torch.manual_seed(0)
    data, test = made_up(options.examples, options.items), made_up(2_000, options.items)
    model = TwoTowers(options.items, options.items)
    tables = [model.user.ids.weight, model.item.weight]
    groups = [{"params": tables, "lr": 100.0}, {"params": model.user.mlp.parameters(), "lr": 0.5}]
    batches = DataLoader(data, batch_size=1024)
    delta = 0.1 / options.examples
    sigma = privacy.noise_multiplier(
        target_epsilon=8.0,
        target_delta=delta,
        sampling_rate=1 / len(batches),
        steps=options.epochs * len(batches),
    )
    engine = PrivacyEngine()
    private, optimizer, loader = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(groups),
        data_loader=batches,
        noise_multiplier=sigma,
        max_grad_norm=0.5,
    )
    for _ in range(options.epochs):
        for history, candidates in loader:
            optimizer.zero_grad()
            loss_of(private(history, candidates)).backward()
            optimizer.step()

    plain = engine.release(private).eval()
    with torch.no_grad():
        best = plain(*test.tensors).argmax(1)
    accuracy = float((best == 0).float().mean())
    print(
        f"the bought item comes first in {accuracy:.1%} (by chance {1 / (1 + NEGATIVES):.1%}) "
        f"at epsilon {engine.get_epsilon(delta):.2f}"
    )
    return accuracy


if __name__ == "__main__":
    main()
