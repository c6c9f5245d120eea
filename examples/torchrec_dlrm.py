"""TorchRec's own DLRM on made-up clicks with jagged features, trained privately on a CPU.

The model, its EmbeddingBagCollection and its KeyedJaggedTensor are TorchRec's; private training is
the three lines around make_private. docs/migrating-from-opacus.md says which versions go together.

    python examples/torchrec_dlrm.py
"""

import argparse

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset, default_collate
from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, KeyedJaggedTensor, PoolingType
from torchrec.models.dlrm import DLRM

from lazydp import PrivacyEngine, sgd_group

DENSE, DIM, HISTORY, GROUPS = 4, 16, 6, 5
FEATURES = ["user", "item", "history"]  # the history looks rows of the items' table up, too


class Clicks(Dataset):
    """Users click on items like those they clicked on before; histories differ in length."""

    def __init__(self, examples: int, items: int) -> None:
        self.dense = torch.randn(examples, DENSE)
        self.user = torch.randint(items, (examples,))
        group = torch.randint(GROUPS, (examples, 1))  # what a user likes
        places = torch.randint(items // GROUPS, (examples, HISTORY + 1))
        self.history = places[:, 1:] * GROUPS + group
        liked = torch.rand(examples) < 0.5
        other = torch.randint(GROUPS, (examples,))
        self.item = places[:, 0] * GROUPS + torch.where(liked, group[:, 0], other)
        self.length = torch.randint(1, HISTORY + 1, (examples,))
        score = 4.0 * liked - 2.0 + 0.5 * self.dense[:, 0]
        self.label = (torch.rand(examples) < score.sigmoid()).float()

    def __len__(self) -> int:
        return len(self.label)

    def __getitem__(self, i: int) -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor]:
        ids = [self.user[i : i + 1], self.item[i : i + 1], self.history[i, : self.length[i]]]
        return self.dense[i], ids, self.label[i]


def collate(examples: list) -> tuple[torch.Tensor, KeyedJaggedTensor, torch.Tensor]:
    dense, labels = default_collate([(d, y) for d, _, y in examples])
    ids = [example[k] for k in range(len(FEATURES)) for _, example, _ in examples]
    features = KeyedJaggedTensor.from_lengths_sync(
        FEATURES, torch.cat(ids), torch.tensor([len(one) for one in ids])
    )
    return dense, features, labels


def new_model(items: int) -> nn.Module:
    def table(name: str, features: list[str]) -> EmbeddingBagConfig:
        return EmbeddingBagConfig(
            name=name,
            embedding_dim=DIM,
            num_embeddings=items,
            feature_names=features,
            pooling=PoolingType.SUM,
            init_fn=lambda weight: nn.init.normal_(weight, std=0.1),
        )

    tables = [table("t_user", ["user"]), table("t_item", ["item", "history"])]
    bags = EmbeddingBagCollection(tables=tables, device=torch.device("cpu"))
    return DLRM(bags, DENSE, [32, DIM], [32, 1])


def auc(scores: torch.Tensor, labels: torch.Tensor) -> float:
    ranks = scores.argsort().argsort().double() + 1
    positive = labels.sum()
    wins = ranks[labels == 1].sum() - positive * (positive + 1) / 2
    return float(wins / (positive * (len(labels) - positive)))


def main(arguments: list[str] | None = None) -> float:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=40_000)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=6)
    options = parser.parse_args(arguments)

    torch.manual_seed(0)
    data, test = Clicks(options.examples, options.items), Clicks(4_000, options.items)
    model = new_model(options.items)
    tables = [p for name, p in model.named_parameters() if "embedding_bags" in name]
    dense = [p for name, p in model.named_parameters() if "embedding_bags" not in name]
    optimizer = torch.optim.Adam([{"params": dense, "lr": 0.005}, sgd_group(tables, lr=100.0)])
    engine = PrivacyEngine()
    model, optimizer, loader = engine.make_private_with_epsilon(
        module=model,
        optimizer=optimizer,
        data_loader=DataLoader(data, batch_size=512, collate_fn=collate),
        target_epsilon=8.0,
        target_delta=1e-6,
        epochs=options.epochs,
        max_grad_norm=0.5,
    )
    for _ in range(options.epochs):
        for dense_features, features, labels in loader:
            optimizer.zero_grad()
            logits = model(dense_features, features).squeeze(1)
            functional.binary_cross_entropy_with_logits(logits, labels).backward()
            optimizer.step()
    plain = engine.release(model)
    with torch.no_grad():
        dense_features, features, labels = collate([test[i] for i in range(len(test))])
        reached = auc(plain(dense_features, features).squeeze(1), labels)
    print(f"AUC {reached:.3f} at epsilon {engine.get_epsilon(1e-6):.2f}, delta 1e-6")
    torch.save(plain.state_dict(), "torchrec_dlrm.pt")
    return reached


if __name__ == "__main__":
    main()
