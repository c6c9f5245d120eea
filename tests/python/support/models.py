"""Small models that between them use every kind of table."""

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

ROWS, DIM = 12, 4


class Scorer(nn.Module):
    """Dense features and whatever `look_up` makes of ids, through a linear layer."""

    def __init__(self, width):
        super().__init__()
        self.out = nn.Sequential(nn.Linear(3 + width, 5), nn.Tanh(), nn.Linear(5, 1))

    def forward(self, dense, ids):
        return self.out(torch.cat([dense, self.look_up(ids)], 1)).squeeze(1)


class Bag(Scorer):
    def __init__(self, **options):
        super().__init__(DIM)
        self.table = nn.EmbeddingBag(ROWS, DIM, **options)

    def look_up(self, ids):
        return self.table(ids)


class OneRow(Scorer):
    def __init__(self):
        super().__init__(DIM)
        self.table = nn.EmbeddingBag(1, DIM, mode="sum")

    def look_up(self, ids):
        return self.table(ids * 0)


class OffsetBag(Bag):
    """1-D input; ids above 8 are dropped, so bags differ in length and may be empty."""

    def look_up(self, ids):
        keep = ids < 9
        lengths = keep.sum(1)
        ends = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
        return self.table(ids[keep], ends if self.table.include_last_offset else ends[:-1])


class WeightedBag(Bag):
    def look_up(self, ids):
        return self.table(ids, per_sample_weights=(ids % 5).float() - 1.5)


class Single(Scorer):
    def __init__(self, **options):
        super().__init__(DIM)
        self.table = nn.Embedding(ROWS, DIM, **options)

    def look_up(self, ids):
        return self.table(ids[:, 0])


class Sequence(Single):
    def look_up(self, ids):
        return self.table(ids).tanh().sum(1)


class Deep(Single):
    def look_up(self, ids):
        return self.table(ids.view(len(ids), 1, -1, 1)).pow(2).sum((1, 2, 3))


class Twice(Single):
    """One module looked up at two places: its gradients add up before they are squared."""

    def look_up(self, ids):
        return self.table(ids[:, 0]) * self.table(ids[:, 1]).sin() + self.table(ids).mean(1)


class Shared(Scorer):
    """Two modules, one weight; and a table of its own."""

    def __init__(self):
        super().__init__(DIM)
        self.left = nn.EmbeddingBag(ROWS, DIM, mode="sum")
        self.right = nn.Embedding(ROWS, DIM)
        self.right.weight = self.left.weight
        self.other = nn.Embedding(ROWS, DIM)

    def look_up(self, ids):
        return self.left(ids) * self.right(ids[:, 1]) + self.other(ids[:, 2])


class Factors(nn.Module):
    """No dense layer at all."""

    def __init__(self):
        super().__init__()
        self.users, self.items = nn.Embedding(ROWS, DIM), nn.Embedding(ROWS, DIM)

    def forward(self, dense, ids):
        return (self.users(ids[:, 0]) * self.items(ids[:, 1])).sum(1)


class Layered(Scorer):
    """A linear layer over positions, one used twice, and a layer that is left to Opacus."""

    def __init__(self, norm):
        super().__init__(DIM)
        self.table = nn.Embedding(ROWS, DIM)
        self.each = nn.Linear(DIM, DIM)
        self.again = nn.Linear(DIM, DIM, bias=False)
        self.norm = nn.LayerNorm(DIM) if norm else nn.Identity()

    def look_up(self, ids):
        x = self.each(self.table(ids)).sin().sum(1)
        return self.norm(self.again(self.again(x).cos()))


def nn_norm(model):
    """With a layer that is left to Opacus, so that ghost clipping takes its two passes."""
    model.out = nn.Sequential(nn.LayerNorm(3 + DIM), *model.out)
    return model


MODELS = {
    "layered": lambda: Layered(norm=False),
    "shared_norm": lambda: nn_norm(Shared()),
    "layered_norm": lambda: Layered(norm=True),
    "bag_sum": lambda: Bag(mode="sum"),
    "one_row": lambda: OneRow(),
    "bag_mean": lambda: Bag(mode="mean"),
    "bag_sparse": lambda: Bag(mode="sum", sparse=True),
    "bag_padding": lambda: Bag(mode="mean", padding_idx=2),
    "bag_offsets": lambda: OffsetBag(mode="sum"),
    "bag_offsets_mean_last": lambda: OffsetBag(mode="mean", include_last_offset=True),
    "bag_weights": lambda: WeightedBag(mode="sum", padding_idx=3),
    "single": lambda: Single(),
    "single_sparse": lambda: Single(sparse=True),
    "sequence": lambda: Sequence(),
    "sequence_padding": lambda: Sequence(padding_idx=1),
    "deep": lambda: Deep(),
    "twice": lambda: Twice(),
    "shared": lambda: Shared(),
    "factors": lambda: Factors(),
}


def data(examples=12, seed=1):
    g = torch.Generator().manual_seed(seed)
    return TensorDataset(
        torch.randn(examples, 3, generator=g),
        torch.randint(ROWS, (examples, 4), generator=g),
        torch.randn(examples, generator=g) * 3,
    )


def loader(examples=12, batch=4):
    return DataLoader(data(examples), batch_size=batch)


def squared_loss(model, batch):
    dense, ids, target = batch
    return functional.mse_loss(model(dense, ids), target)


def build(name, seed=0):
    torch.manual_seed(seed)
    return MODELS[name]()


def plain_state(model):
    return {k.removeprefix("_module."): v.clone() for k, v in model.state_dict().items()}


def assert_same(a, b, tolerance=2e-5):
    a, b = plain_state(a), plain_state(b)
    assert a.keys() == b.keys()
    for key in a:
        torch.testing.assert_close(
            a[key], b[key], rtol=tolerance, atol=tolerance, msg=lambda m, key=key: f"{key}: {m}"
        )
