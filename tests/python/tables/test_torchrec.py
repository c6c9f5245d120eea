"""TorchRec's unsharded modules: trained as the same model of plain tables, or refused."""

import copy
import warnings

import pytest
import torch

from lazydp import PrivacyEngine, UserError
from lazydp.loading.empty_batches import CollateWithEmpty
from models import DIM, ROWS, Scorer, data, loader, squared_loss
from training import brute_force, private, step

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torchrec = pytest.importorskip("torchrec")
    from torchrec.modules.fused_embedding_modules import FusedEmbeddingBagCollection
    from torchrec.optim.apply_optimizer_in_backward import apply_optimizer_in_backward

FEATURES = {"user": ["clicks"], "item": ["shown", "bought"]}  # by table: one has two features


def jagged(ids, weighted=False):
    """Three features of different lengths, empty ones among them."""
    lengths = {"clicks": ids[:, 0] % 5, "shown": ids[:, 1] % 3, "bought": ids[:, 2] % 2}
    places = torch.arange(ids.shape[1])
    values = torch.cat([ids[places < n[:, None]] for n in lengths.values()])
    return torchrec.KeyedJaggedTensor(
        keys=list(lengths),
        values=values,
        lengths=torch.cat(list(lengths.values())),
        weights=(values % 3).float() - 0.5 if weighted else None,
    )


def tables(config, features=FEATURES):
    return [
        config(name=name, embedding_dim=DIM, num_embeddings=ROWS, feature_names=names)
        for name, names in features.items()
    ]


class Bags(Scorer):
    def __init__(self, kind=torchrec.EmbeddingBagCollection, features=FEATURES, **options):
        super().__init__(sum(map(len, features.values())) * DIM)
        configs = tables(torchrec.EmbeddingBagConfig, features)
        self.bags = kind(tables=configs, device=torch.device("cpu"), **options)

    def look_up(self, ids):
        weighted = self.bags.is_weighted()
        return self.bags(jagged(ids, weighted)).values()


class Sequences(Scorer):
    """Multiplies rows of one example with each other, so that they do not just add up."""

    def __init__(self, features=FEATURES):
        super().__init__(3 * DIM)
        self.rows = torchrec.EmbeddingCollection(
            tables=tables(torchrec.EmbeddingConfig, features), device=torch.device("cpu")
        )

    def look_up(self, ids):
        found = self.rows(jagged(ids))
        rows = [found[key].to_padded_dense(4) for key in sorted(found)[:3]]
        return torch.cat([x.tanh().sum(1) * x.sum(1).cos() for x in rows], 1)


SHARED = {"user": ["clicks", "shown"], "item": ["shown", "bought"]}  # one feature in two tables
BUILT = {
    "bags": Bags,
    "weighted": lambda: Bags(is_weighted=True),
    "shared": lambda: Bags(features=SHARED),
    "sequences": Sequences,
    "shared_sequences": lambda: Sequences(SHARED),
}


def built(kind="bags"):
    torch.manual_seed(0)
    return BUILT[kind]()


@pytest.mark.parametrize("kind", BUILT)
def test_collections_are_clipped_by_example(kind):
    model, optimizer, batches = private(built(kind), noise_multiplier=0.0)
    expected = built(kind)
    brute = brute_force(expected, sigma=0.0)
    for batch in batches:
        step(model, optimizer, batch)
        brute.step(batch)
    ours = model._module.state_dict()
    for key, value in expected.state_dict().items():
        torch.testing.assert_close(ours[key].clone(), value, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("kind", BUILT)
def test_collections_under_poisson_sampling(kind):
    """A batch may be empty, and goes through the model as any other."""
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(
        built(kind), engine=engine, poisson_sampling=True, batches=loader(12, 1)
    )
    sizes = []
    for _ in range(3):
        for batch in batches:
            sizes.append(len(batch[0]))
            step(model, optimizer, batch)
    assert 0 in sizes and engine.accountant.history[0][2] == 36
    assert all(p.isfinite().all() for p in model.parameters())


def test_a_released_collection_is_torchrec_s_own():
    model, _, _ = private(built("sequences"))
    engine = PrivacyEngine(accountant="rdp")
    plain = engine.release(model)
    assert type(plain.rows) is torchrec.EmbeddingCollection
    batch = data()[:4]
    torch.testing.assert_close(
        squared_loss(plain, batch), squared_loss(copy.deepcopy(plain), batch)
    )


class Examples(torch.utils.data.Dataset):
    """Examples that a collate_fn joins to a KeyedJaggedTensor."""

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return data()[index]


def collate(examples):
    dense, ids, target = torch.utils.data.default_collate(examples)
    return dense, jagged(ids), target


@pytest.mark.parametrize("rand_on_empty", [False, True])
def test_loaders_make_keyed_jagged_tensors_without_examples(rand_on_empty):
    emptied = CollateWithEmpty(collate, Examples(), rand_on_empty=rand_on_empty)([])
    model, _, _ = private(built())
    assert emptied[1].stride() == int(rand_on_empty) and emptied[1].keys() == list(
        jagged(data()[:2][1]).keys()
    )
    assert model._module.bags(emptied[1]).values().shape == (int(rand_on_empty), 3 * DIM)


def test_features_with_batches_of_their_own_are_refused():
    """Examples would share look-ups, and be clipped as one."""
    model, _, _ = private(built())
    features = jagged(data()[:4][1])
    shared = torchrec.KeyedJaggedTensor(
        list(features.keys()),
        features.values(),
        lengths=features.lengths(),
        inverse_indices=(list(features.keys()), torch.zeros(3, 4, dtype=torch.int64)),
    )
    with pytest.raises(UserError, match="batches of their own"):
        model._module.bags(shared)


def test_tables_that_are_updated_inside_of_backward_are_refused():
    model = built()
    apply_optimizer_in_backward(torch.optim.SGD, model.bags.parameters(), {"lr": 0.1})
    with pytest.raises(UserError, match="'bags.embedding_bags.user.weight' is updated inside"):
        private(model)
    fused = Bags(
        FusedEmbeddingBagCollection, optimizer_type=torch.optim.SGD, optimizer_kwargs={"lr": 0.1}
    )
    squared_loss(fused, data()[:4]).backward()  # as it is, it trains
    with pytest.raises(UserError, match="'bags' is a FusedEmbeddingBagCollection, which updates"):
        private(fused)
