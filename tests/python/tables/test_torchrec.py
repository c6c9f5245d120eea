"""TorchRec's unsharded modules: trained as the same model of plain tables, or refused."""

import warnings

import pytest
import torch
from torch import nn

from lazydp import PrivacyEngine, UserError
from models import DIM, ROWS, Scorer, data, loader, squared_loss
from training import brute_force, private, step

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torchrec = pytest.importorskip("torchrec")
    from torchrec.modules.fused_embedding_modules import FusedEmbeddingBagCollection
    from torchrec.optim.apply_optimizer_in_backward import apply_optimizer_in_backward

FEATURES = {"user": ["clicks"], "item": ["shown", "bought"]}  # by table: one has two features


def jagged(ids):
    """Three features of different lengths, empty ones among them."""
    lengths = {"clicks": ids[:, 0] % 5, "shown": ids[:, 1] % 3, "bought": ids[:, 2] % 2}
    places = torch.arange(ids.shape[1])
    return torchrec.KeyedJaggedTensor.from_lengths_sync(
        keys=list(lengths),
        values=torch.cat([ids[places < n[:, None]] for n in lengths.values()]),
        lengths=torch.cat(list(lengths.values())),
    )


def tables(config):
    return [
        config(name=name, embedding_dim=DIM, num_embeddings=ROWS, feature_names=features)
        for name, features in FEATURES.items()
    ]


class Bags(Scorer):
    def __init__(self, kind=torchrec.EmbeddingBagCollection, **options):
        super().__init__(3 * DIM)
        self.bags = kind(
            tables=tables(torchrec.EmbeddingBagConfig), device=torch.device("cpu"), **options
        )

    def look_up(self, ids):
        return self.bags(jagged(ids)).values()


class Sequences(Scorer):
    def __init__(self):
        super().__init__(DIM)
        self.rows = torchrec.EmbeddingCollection(
            tables=tables(torchrec.EmbeddingConfig), device=torch.device("cpu")
        )

    def look_up(self, ids):
        return self.rows(jagged(ids))["clicks"].to_padded_dense(4).sum(1)


def built():
    torch.manual_seed(0)
    return Bags()


def test_bags_of_torchrec_are_clipped_by_example():
    model, optimizer, batches = private(built(), noise_multiplier=0.0)
    expected = built()
    brute = brute_force(expected, sigma=0.0)
    for batch in batches:
        step(model, optimizer, batch)
        brute.step(batch)
    ours = model._module.state_dict()
    for key, value in expected.state_dict().items():
        torch.testing.assert_close(ours[key].clone(), value, rtol=2e-5, atol=2e-5)


def test_bags_of_torchrec_under_poisson_sampling():
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(
        built(), engine=engine, poisson_sampling=True, batches=loader(12, 1)
    )
    for batch in batches:
        if len(batch[0]):
            step(model, optimizer, batch)
        else:  # a KeyedJaggedTensor of no examples can't be split into its features
            optimizer.zero_grad()
            optimizer.step()
    assert engine.accountant.history[0][2] == 12 and engine.get_epsilon(1e-5) < float("inf")
    assert all(p.isfinite().all() for p in model.parameters())


def test_look_ups_of_a_whole_batch_in_one_list_are_refused():
    """Where their number happens to be the batch's, nothing else would tell."""
    model = Sequences()
    with pytest.raises(UserError, match="'rows' is a torchrec EmbeddingCollection"):
        private(model)
    assert type(model.rows.embeddings["user"]) is nn.Embedding


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
