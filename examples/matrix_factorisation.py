"""Matrix factorisation on ratings: a model that is nothing but tables.

python examples/matrix_factorisation.py                    # made-up ratings
python examples/matrix_factorisation.py --data u.data      # user, item, rating[, time], by tabs
"""

import argparse
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from lazydp import PrivacyEngine


class Factors(nn.Module):
    """The rating of an item by a user: product of their vectors, and a bias of each."""

    def __init__(self, users: int, items: int, dim: int = 8) -> None:
        super().__init__()
        self.users, self.items = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)
        for table in (self.users, self.items):
            nn.init.normal_(table.weight, std=0.3)
        for table in (self.user_bias, self.item_bias):
            nn.init.zeros_(table.weight)

    def forward(self, users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        together = (self.users(users) * self.items(items)).sum(1)
        return together + self.user_bias(users).squeeze(1) + self.item_bias(items).squeeze(1)


def read(path: Path | None, examples: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Users, items, and ratings around 0 (3 is the middle of the scale, a public fact)."""
    if path is not None:
        fields = [line.split("\t")[:3] for line in path.read_text().splitlines()]
        users, items, ratings = (torch.tensor([int(f[k]) for f in fields]) for k in range(3))
        return users, items, ratings.float() - 3
    g = torch.Generator().manual_seed(0)
    users = torch.randint(300, (examples,), generator=g)
    items = torch.randint(200, (examples,), generator=g)
    quality = torch.randn(200, generator=g)
    return users, items, (quality[items] + 0.5 * torch.randn(examples, generator=g)).clamp(-2, 2)


def main(arguments: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--made-up-examples", type=int, default=30_000)
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args(arguments)

    users, items, ratings = read(options.data, options.made_up_examples)
    split = len(users) // 10
    train = TensorDataset(users[split:], items[split:], ratings[split:])
    model = Factors(int(users.max()) + 1, int(items.max()) + 1)
    delta = 0.1 / len(train)
    engine = PrivacyEngine()
    private, optimizer, loader = engine.make_private_with_epsilon(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=10.0, momentum=0.5),
        data_loader=DataLoader(train, batch_size=1024),
        target_epsilon=8.0,
        target_delta=delta,
        epochs=options.epochs,
        max_grad_norm=1.0,
    )
    for _ in range(options.epochs):
        for u, i, r in loader:
            optimizer.zero_grad()
            functional.mse_loss(private(u, i), r).backward()
            optimizer.step()

    plain = engine.release(private).eval()
    with torch.no_grad():
        error = functional.mse_loss(plain(users[:split], items[:split]), ratings[:split]).sqrt()
    always = ratings[:split].square().mean().sqrt()
    print(
        f"held-out error {error:.3f} (always 3: {always:.3f}) "
        f"at epsilon {engine.get_epsilon(delta):.2f}"
    )
    return float(error / always)


if __name__ == "__main__":
    main()
