"""Likes, predicted from what a user liked before, with every user protected as a whole.

Epsilon holds for a user with all examples, however many they are. The users who judge the model are
none of those it was trained on, and it is judged twice: over all examples, where it helps to know
which items everybody likes, and within each user, where only an order of the user's own counts.

    python examples/by_user.py                    # made-up users
    python examples/by_user.py --data u.data      # user, item, rating[, time], by tabs
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from lazydp import PrivacyEngine

HISTORY = 10  # liked items that are known of a user; 0 stands for none


class Likes(nn.Module):
    """Does an item fit what the user liked before, and is it liked in general?"""

    def __init__(self, items: int, dim: int = 8) -> None:
        super().__init__()
        self.history = nn.EmbeddingBag(items, dim, mode="mean", padding_idx=0)
        self.item, self.quality = nn.Embedding(items, dim), nn.Embedding(items, 1)
        for table in (self.history, self.item):
            nn.init.normal_(table.weight, std=0.5)
        nn.init.zeros_(self.quality.weight)

    def forward(self, history: Tensor, item: Tensor) -> Tensor:
        fits = (self.history(history) * self.item(item)).sum(1)
        return fits + self.quality(item).squeeze(1)


def made_up(users: int, items: int = 60, groups: int = 4) -> tuple[Tensor, Tensor, Tensor]:
    """Users, items and likes: everyone has a favourite group, some items are better than others."""
    g = torch.Generator().manual_seed(0)
    each = torch.randint(HISTORY + 10, 60, (users,), generator=g)
    user = torch.arange(users).repeat_interleave(each)
    item = torch.randint(1, items, (len(user),), generator=g)
    favourite = torch.randint(groups, (users,), generator=g)[user]
    logit = 3.0 * (item % groups == favourite) - 1.5 + torch.randn(items, generator=g)[item]
    return user, item, (torch.rand(len(user), generator=g) < logit.sigmoid()).float()


def read(path: Path) -> tuple[Tensor, Tensor, Tensor]:
    """Users, items and likes (a rating of 4 or more), in the order of the file."""
    fields = [line.split("\t")[:3] for line in path.read_text().splitlines()]
    user, item, rating = (torch.tensor([int(float(f[k])) for f in fields]) for k in range(3))
    return user, item, (rating >= 4).float()


def with_history(user: Tensor, item: Tensor, liked: Tensor) -> TensorDataset:
    """What a user liked first becomes the history of the user's other examples."""
    histories: dict[int, list[int]] = {}
    kept, rows = [], []
    triples = zip(user.tolist(), item.tolist(), liked.tolist(), strict=True)
    for place, (who, what, like) in enumerate(triples):
        history = histories.setdefault(who, [])
        if len(history) < HISTORY and like:
            history.append(what)
            continue
        kept.append(place)
        rows.append(history + [0] * (HISTORY - len(history)))
    return TensorDataset(torch.tensor(rows), item[kept], liked[kept], user[kept])


def auc(scores: Tensor, liked: Tensor) -> float:
    """How often an example that was liked has the higher score of a pair."""
    positive, negative = scores[liked > 0], scores[liked == 0].sort().values
    ranks = torch.searchsorted(negative, positive) + torch.searchsorted(
        negative, positive, right=True
    )
    return float(ranks.double().mean() / 2 / len(negative))


def auc_within_users(scores: Tensor, liked: Tensor, user: Tensor) -> float:
    """The AUC of each user's own examples, averaged over examples (GAUC)."""
    total, examples = 0.0, 0
    for who in user.unique():
        own = user == who
        if 0 < liked[own].sum() < own.sum():  # else there is no pair
            total += auc(scores[own], liked[own]) * int(own.sum())
            examples += int(own.sum())
    return total / examples


def main(arguments: list[str] | None = None) -> tuple[float, float]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--made-up-users", type=int, default=6000)
    parser.add_argument("--epochs", type=int, default=20)
    options = parser.parse_args(arguments)

    torch.manual_seed(0)
    log = made_up(options.made_up_users) if options.data is None else read(options.data)
    examples = with_history(*log)
    held_out = examples.tensors[3] % 10 == 0  # users, not examples: chosen without a look at them
    train = TensorDataset(*(column[~held_out] for column in examples.tensors))
    model = Likes(int(log[1].max()) + 1)
    users = len(train.tensors[3].unique())
    delta = 0.1 / users
    engine = PrivacyEngine()
    private, optimizer, loader = engine.make_private_with_epsilon(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=60.0),
        data_loader=DataLoader(train, batch_size=users // 6),  # users a step, not examples
        target_epsilon=8.0,
        target_delta=delta,
        epochs=options.epochs,
        max_grad_norm=0.3,
        privacy_unit=3,  # the column of an example that says whose it is
    )
    for _ in range(options.epochs):
        for history, item, liked, _ in loader:
            optimizer.zero_grad()
            functional.binary_cross_entropy_with_logits(private(history, item), liked).backward()
            optimizer.step()

    plain = engine.release(private).eval()
    history, item, liked, user = (column[held_out] for column in examples.tensors)
    with torch.no_grad():
        scores = plain(history, item)
    overall, within = auc(scores, liked), auc_within_users(scores, liked, user)
    print(
        f"held-out users: AUC {overall:.3f}, within users {within:.3f} at epsilon "
        f"{engine.get_epsilon(delta):.2f} for {engine.accountant.unit}"
    )
    return overall, within


if __name__ == "__main__":
    main()
