"""Lightning trains a private model as under Opacus: make_private in configure_optimizers()."""

import warnings

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

from lazydp import PrivacyEngine
from models import assert_same, build, data, loader, squared_loss
from training import reference

lightning = pytest.importorskip("pytorch_lightning")


class Classifier(lightning.LightningModule):
    def __init__(self, poisson):
        super().__init__()
        self.inner = build("shared")
        self.engine = PrivacyEngine(accountant="rdp")
        self.poisson = poisson

    def forward(self, dense, ids):
        return self.inner(dense, ids)

    def training_step(self, batch, index):
        return squared_loss(self, batch)

    def configure_optimizers(self):
        self.trainer.fit_loop.setup_data()
        private, optimizer, _ = self.engine.make_private(
            module=self,
            optimizer=torch.optim.SGD(self.parameters(), lr=0.5),
            data_loader=self.trainer.train_dataloader,
            noise_multiplier=0.7 if self.poisson else 0.0,
            max_grad_norm=1.3,
            poisson_sampling=self.poisson,
        )
        self.__dict__["private"] = private  # not a submodule: it holds this very module
        return optimizer


def fit(model, batches, **options):
    chosen = {"max_epochs": 2, "accelerator": "cpu", "logger": False, "barebones": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lightning.Trainer(**(chosen | options)).fit(model, batches)


def test_lightning_steps_are_ours():
    model = Classifier(poisson=False)
    fit(model, loader())
    plain = model.engine.release(model.private)
    assert plain is model and type(model.inner.left) is nn.EmbeddingBag
    expected, brute = reference("shared", sigma=0.0)
    for _ in range(2):
        for batch in loader():
            brute.step(batch)
    assert_same(plain.inner, expected)


def test_a_data_module_of_opacus_samples_by_poisson():
    from opacus.lightning import DPLightningDataModule

    class Plain(lightning.LightningDataModule):
        def train_dataloader(self):
            return DataLoader(data(), batch_size=4)

    model = Classifier(poisson=True)
    fit(model, DPLightningDataModule(Plain()))
    assert len(model.engine.accountant) == 1
    assert model.engine.get_epsilon(1e-5) > 0
    assert model.private is not None and model.engine.release(model.private) is model
