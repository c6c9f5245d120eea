"""The same model under a PrivacyEngine: LazyDP's, or Opacus' own."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import nn

from dlrm import BOUND, LEARNING_RATE, SIGMA, Dlrm
from shapes import Batch, Shape


class Fixed(torch.utils.data.Dataset):
    """A data set of some size, for make_private to read its length."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.zeros(1)


class UnderEngine:
    """A training loop as users write it."""

    def __init__(
        self, engine: Any, shape: Shape, batch: int, mode: str = "hooks", **options: Any
    ) -> None:
        model = Dlrm(shape, sparse=False)
        loader = torch.utils.data.DataLoader(Fixed(batch * 100), batch_size=batch)
        chosen = {"data_loader": loader, "poisson_sampling": False} | options
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = engine.make_private(
                module=model,
                optimizer=torch.optim.SGD(model.parameters(), lr=LEARNING_RATE),
                noise_multiplier=SIGMA,
                max_grad_norm=BOUND,
                grad_sample_mode=mode,
                criterion=nn.BCEWithLogitsLoss(),
                **chosen,
            )
        self.model, self.optimizer = made[:2]
        self.criterion = made[2] if mode == "ghost" else nn.BCEWithLogitsLoss()

    def step(self, batch: Batch) -> None:
        self.optimizer.zero_grad()
        self.criterion(self.model(batch.dense, batch.ids), batch.labels).backward()
        self.optimizer.step()


class LazyDp(UnderEngine):
    def __init__(self, shape: Shape, batch: int, mode: str = "hooks") -> None:
        from lazydp import PrivacyEngine

        super().__init__(PrivacyEngine(accountant="rdp"), shape, batch, mode)


class LazyDpByUnit(UnderEngine):
    """Units that send `each` examples apiece: as many examples a step as the others take."""

    ended = False  # it hands out batches itself, as an iteration over its loader does

    def __init__(self, shape: Shape, batch: int, each: int) -> None:
        from lazydp import PrivacyEngine
        from lazydp.loading.batch_record import BatchSize

        super().__init__(
            PrivacyEngine(accountant="rdp"),
            shape,
            batch,
            data_loader=torch.utils.data.DataLoader(Fixed(batch * 100), batch_size=batch // each),
            poisson_sampling=True,
            privacy_unit=torch.arange(batch * 100) // each,
            examples_per_unit=each,
        )
        self.size = BatchSize(batch // each * each, (each,) * (batch // each))

    def step(self, batch: Batch) -> None:
        self.optimizer.batch_record.add(self.size, self)  # as its loader does, of random batches
        super().step(batch)


class Opacus(UnderEngine):
    """EmbeddingBag needs offsets there."""

    def __init__(self, shape: Shape, batch: int) -> None:
        from opacus import PrivacyEngine

        super().__init__(PrivacyEngine(accountant="rdp"), shape, batch)

    def arrange(self, batch: Batch) -> Batch:
        tables, examples, pooling = batch.ids.shape
        offsets = torch.arange(examples) * pooling
        ids: Any = [(batch.ids[k].reshape(-1), offsets) for k in range(tables)]
        return Batch(batch.dense, ids, batch.labels)
