"""The parts that Opacus' make_private asks for: model, optimizer, criterion and loader."""

from __future__ import annotations

import secrets
import warnings
from typing import Any

import torch
from opacus import PrivacyEngine as OpacusEngine
from opacus.optimizers import get_optimizer_class
from torch import nn, optim
from torch.utils.data import DataLoader

from lazydp import _native
from lazydp._native import PrivacyError, UserError
from lazydp.accounting.accountant import claiming, reasons_against_a_claim
from lazydp.accounting.initial_model import InitialModel
from lazydp.loading.batch_record import BatchRecord
from lazydp.loading.collate_order import OrderedCollate
from lazydp.loading.empty_batches import CollateWithEmpty
from lazydp.loading.recording_loader import record_batches
from lazydp.loading.secure_sampler import secure_loader
from lazydp.loading.unit_sampler import UnitSampler, population
from lazydp.noise.dense_noise import NORMALS_PER_SAMPLE, DenseNoise
from lazydp.tables.exchange import shared_bytes
from lazydp.tables.lookahead_loader import LookaheadLoader
from lazydp.tables.model_tables import Tables
from lazydp.training import model
from lazydp.training.ghost import PrivateCriterion
from lazydp.training.per_layer import optimizer_class, split_bounds
from lazydp.training.stream_steps import Stream


class Preparation(OpacusEngine):  # type: ignore[misc]
    """Opacus' engine, whose extension points prepare models with tables."""

    _began = False  # whether private training of a model with tables or units has begun
    _told = False  # whether the accountant is told of a model's steps

    def __init__(self, *, accountant: str, secure_mode: bool) -> None:
        """Take Opacus' arguments."""
        with warnings.catch_warnings():
            if secure_mode:
                warnings.simplefilter("ignore")
            super().__init__(accountant=accountant, secure_mode=False)
        self.secure_mode = secure_mode
        self._tables: Tables | None = None  # this and the next five: of a make_private under way
        self._wrapper: Any = None
        self._units: UnitSampler | None = None
        self._stream: Stream | None = None
        self._expected_batch = 0
        self._batch_record = BatchRecord()
        self._choices = ("lazy", "on_read")
        self._factored = True  # whether linear layers are kept as factors
        self._dense_seed: _native.Seed | None = None

    @property
    def accountant(self) -> Any:
        """The accountant, one of Opacus', which knows why nothing may be claimed."""
        return self._accountant

    @accountant.setter
    def accountant(self, accountant: Any) -> None:
        """Take another one. Optimizers tell the one that was there when make_private was called."""
        if self._told:
            raise UserError(
                "the accountant was replaced after make_private; the steps of that model are told "
                "to the one it had: choose it before, PrivacyEngine(accountant=…)"
            )
        self._accountant = claiming(accountant)

    def _prepare_model(self, module: nn.Module, **arguments: Any) -> Any:
        if self._tables is None:
            return super()._prepare_model(module, **arguments)
        self.validate(module=module, optimizer=None, data_loader=None)
        self._wrapper = model.wrap(module, self._tables, factored=self._factored, **arguments)
        return self._wrapper

    def _prepare_optimizer(self, *, optimizer: optim.Optimizer, **arguments: Any) -> Any:
        if self._tables is None and not self.secure_mode:
            return super()._prepare_optimizer(optimizer=optimizer, **arguments)
        clipping = arguments.pop("clipping", "flat")
        base = get_optimizer_class(
            clipping=clipping,
            distributed=arguments.pop("distributed", False),
            grad_sample_mode=arguments.pop("grad_sample_mode", "hooks"),
        )
        optimizer = getattr(optimizer, "original_optimizer", optimizer)
        by_layer = clipping == "per_layer" and self._tables is not None
        if by_layer:
            assert self._tables is not None
            bounds = split_bounds(arguments["max_grad_norm"], optimizer, self._tables)
        if self._units is not None:
            arguments["expected_batch_size"] = self._units.expected_units
        elif self._tables is not None:
            ranks = self._tables.exchange.world_size
            arguments["expected_batch_size"] = self._expected_batch / ranks
        prepared: Any = optimizer_class(
            base,
            clipping,
            tables=self._tables is not None,
            units=self._units is not None,
            stream=self._stream is not None,
        )(
            optimizer=optimizer,
            generator=arguments.pop("noise_generator", None),
            secure_mode=self.secure_mode,
            **arguments,
        )
        if self._tables is not None:
            if by_layer:
                prepared.take_bounds(*bounds)
            prepared.join(
                self._tables,
                self._wrapper._lazydp_layers,
                batch_record=self._batch_record,
                void=self.accountant.void,
            )
        normals = NORMALS_PER_SAMPLE if self.secure_mode else 1
        if self._dense_seed is not None and self._stream is not None:
            prepared.follow(self._stream, self._dense_seed, normals)
        elif self._dense_seed is not None:
            prepared.dense_noise = DenseNoise(self._dense_seed, normals)
        return prepared

    def _prepare_criterion(self, *, module: Any, **arguments: Any) -> Any:
        if self._tables is None:
            return super()._prepare_criterion(module=module, **arguments)
        return PrivateCriterion(
            module, arguments["optimizer"], arguments["criterion"], arguments["loss_reduction"]
        )

    def _prepare_data_loader(
        self,
        data_loader: DataLoader[Any],
        *,
        poisson_sampling: bool,
        distributed: bool,
        **rest: Any,
    ) -> Any:
        # Amplification by sampling needs samples that can't be predicted.
        secure = self.secure_mode or (
            self._tables is not None
            and self._dense_seed is not None
            and data_loader.generator is None
        )
        if poisson_sampling and secure:
            if self.dataset is None:  # type: ignore[has-type]
                self.dataset = data_loader.dataset
            loader: Any = data_loader  # which samples units in secret already
            if self._units is None:
                loader = secure_loader(
                    data_loader,
                    seed=new_seed(None, False),  # ranks draw independently of each other
                    distributed=distributed,
                )
        else:
            secure_mode, self.secure_mode = self.secure_mode, False  # the loader's own batches
            try:
                loader = super()._prepare_data_loader(
                    data_loader,
                    poisson_sampling=poisson_sampling,
                    distributed=distributed,
                    **rest,
                )
            finally:
                self.secure_mode = secure_mode
        if poisson_sampling and (secure or self._tables is not None):
            collate = data_loader.collate_fn
            loader.collate_fn = CollateWithEmpty(
                collate if self._units is None else OrderedCollate(collate),
                loader.dataset,
                rand_on_empty=rest["rand_on_empty"],
            )
        if self._tables is None:
            return loader
        # Exactly; Opacus rounds 49 x (1 / 49) down to 0.
        self._expected_batch = len(loader.dataset) // len(loader)
        if self._stream is not None:
            self._expected_batch = self._stream.block.batch
        record_batches(loader, self._batch_record)
        if self._choices[1] == "ahead":
            loader = LookaheadLoader(loader, self._tables)
        return loader

    def __getstate__(self) -> Any:
        """Refuse a copy once there is something that it would not follow."""
        if self._began or self._dense_seed is not None:
            raise PrivacyError(
                "an engine can't be copied or pickled once it has made a model private: it holds "
                "secrets, and a copy would not see further steps; use engine.save_checkpoint(), or "
                "accountant.state_dict() for the ledger alone"
            )
        return self.__dict__

    def _account_for(
        self,
        unit: str,
        begins_with: InitialModel | None,
        noise: str,
        data_loader: Any,
        arguments: dict[str, Any],
    ) -> None:
        """Tell the accountant what the steps protect, and whether these choices allow a claim."""
        self._told = True
        self.accountant.unit = unit
        if begins_with is not None:
            self.accountant.begin_with(begins_with)
        self.accountant.population = max(self.accountant.population, population(data_loader))
        for reason in reasons_against_a_claim(
            noise=noise,
            noise_generator=arguments.get("noise_generator"),
            poisson_sampling=arguments.get("poisson_sampling", True),
            sample_generator=None if self.secure_mode else getattr(data_loader, "generator", None),
        ):
            self.accountant.void(reason)


def new_seed(generator: torch.Generator | None, distributed: bool) -> _native.Seed:
    """Return a secret from the operating system; with a generator, a seed that repeats with it."""
    if generator is not None:
        return _native.Seed.fixed(int(torch.randint(2**62, (1,), generator=generator)))
    return _native.Seed.from_bytes(shared_bytes(secrets.token_bytes(16), distributed))


def require_one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise UserError unless the argument of this name has one of these values."""
    if value not in allowed:
        raise UserError(
            f"{name} is '{value}'; it must be {', '.join(allowed[:-1])} or {allowed[-1]}"
        )
