"""PrivacyEngine: Opacus' engine, with embedding tables handled by LazyDP."""

from __future__ import annotations

import os
from typing import Any

from opacus.distributed import DifferentiallyPrivateDistributedDataParallel as DPDDP
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from lazydp._native import UserError
from lazydp.accounting.accountant import ONE_EXAMPLE, core_events, warn_of_budget
from lazydp.accounting.checkpoint import load_checkpoint
from lazydp.accounting.initial_model import noise_for_rest, read_initial_model
from lazydp.accounting.mechanism import require_mechanism
from lazydp.layers.captures import Captures
from lazydp.loading.batch_record import BatchRecord
from lazydp.loading.secure_sampler import require_all_examples, require_map_style
from lazydp.loading.unit_sampler import by_unit, population, sampler_of_units
from lazydp.noise.dense_noise import NORMALS_PER_SAMPLE
from lazydp.tables.collections import find_collections
from lazydp.tables.discovery import (
    FoundTable,
    find_tables,
    require_clipped_by_example,
    require_seen,
)
from lazydp.tables.exchange import exchange_for
from lazydp.tables.model_tables import Tables
from lazydp.tables.table_memory import require_memory_of_its_own
from lazydp.training import model
from lazydp.training.preparation import Preparation, new_seed, require_one_of
from lazydp.training.stream_steps import plan_stream
from lazydp.training.unit_clipping import require_clipped_by_unit

POLICIES = ("lazy", "lazy_each_step", "every_row", "touched_rows")
SCHEDULES = ("on_read", "ahead")


class PrivacyEngine(Preparation):
    """Makes a model, an optimizer and a data loader private, as Opacus does.

    nn.Embedding and nn.EmbeddingBag tables are trained in C++ on their own memory: no gradient of a
    table is ever formed, and its noise comes when a row is next read. Everything else is Opacus.
    """

    def __init__(self, *, accountant: str = "prv", secure_mode: bool = False) -> None:
        """Take Opacus' arguments; secure_mode needs no further package here."""
        super().__init__(accountant=accountant, secure_mode=secure_mode)

    def make_private(
        self,
        *,
        module: nn.Module,
        optimizer: optim.Optimizer,
        data_loader: DataLoader[Any],
        noise: str | None = None,
        settle: str | None = None,
        privacy_unit: Any = None,
        examples_per_unit: int | str | None = None,
        initial_model: Any = None,
        sampling: str = "poisson",
        correlation: str | None = None,
        epochs: int | None = None,
        **arguments: Any,
    ) -> Any:
        """Do what Opacus' make_private does, with the same returns and eight further arguments.

        noise: when rows of tables receive their noise. "lazy" (the default) is when they are next
            read, and all noise that they missed is drawn as one; "lazy_each_step" is the same but
            drawn step by step, so that values do not depend on when rows are read; "every_row" is
            at every step, as in Opacus; "touched_rows" is only with a gradient (EANA): no claim.
        settle: "on_read", or "ahead": rows of the next batch catch up with the update, as in the
            paper, where the loader shows which rows those are. The model is the same.
        privacy_unit: whose examples are protected together: ids, one for each example of the data
            set, or the name or the place of the column that has them. Units are sampled, batch_size
            is their expected number a step, and a unit's mean gradient is clipped as a whole.
        examples_per_unit: how many of its examples a unit sends at most, by default 32; "all".
        initial_model: what the module's weights, which were loaded before, say of anyone: "public",
            or the folder of a released model, whose ledger then counts. If it is left out, the
            claim is about the steps from here on alone.
        sampling: "poisson", or "stream": batches are the data in its order, and none is drawn. The
            loader is a plain one, and every pass over it goes from its beginning to its end.
        correlation: of a stream's noise from step to step: "lambda" (the default: the best one for
            the planned steps), "lambda:0.9", "bisr:16" or "independent".
        epochs: how many passes over the data a stream makes at most.
        """
        begins_with = read_initial_model(initial_model)
        noise, settle = noise or self._choices[0], settle or self._choices[1]
        require_one_of("noise", noise, POLICIES)
        require_one_of("settle", settle, SCHEDULES)
        generator = arguments.get("noise_generator")
        if generator is not None and self.secure_mode:
            raise ValueError("Passing seed is prohibited in secure mode")
        stream = self._stream = plan_stream(
            sampling=sampling,
            correlation=correlation,
            epochs=epochs,
            noise=noise,
            privacy_unit=privacy_unit,
            data_loader=data_loader,
            arguments=arguments | {"module": module},
        )
        passed = arguments
        if stream is not None:
            data_loader = stream.loader
            passed = arguments | {"poisson_sampling": False}
        data_loader = by_unit(data_loader, privacy_unit, examples_per_unit)
        units = self._units = sampler_of_units(data_loader)
        protected = ONE_EXAMPLE if units is None else units.protected
        self.accountant.require_unit(protected, begins_with)
        found = self._find_tables(module, optimizer, data_loader, passed)
        ours = bool(found) or units is not None or stream is not None
        poisson = passed.get("poisson_sampling", True)
        distributed = isinstance(module, (DPDDP, DDP))
        # Without tables, units and streams everything is Opacus; with them, its generator is left
        # alone only if the user brings one: ours is secure, and some times faster.
        own = self.secure_mode or (ours and generator is None)
        self._dense_seed = new_seed(None, distributed) if own else None
        if stream is not None:  # its cells are drawn again, as no generator of the user's can
            self._dense_seed = new_seed(generator, distributed)
        fetched = (data_loader.num_workers or 0) * (data_loader.prefetch_factor or 2)
        self._batch_record = BatchRecord(
            rand_on_empty=arguments.get("rand_on_empty", False),
            ahead=fetched + 2 if poisson else 4096,
        )
        if stream is not None:
            self._batch_record = stream.record
        if not ours:
            made = super().make_private(
                module=module, optimizer=optimizer, data_loader=data_loader, **arguments
            )
            self._account_for(protected, begins_with, noise, data_loader, arguments)
            return made
        self._choices = (noise, settle)
        self._factored = arguments.get("clipping") != "per_layer"
        self._tables = Tables(
            found,
            getattr(optimizer, "original_optimizer", optimizer),
            seed=new_seed(generator, distributed),
            normals_per_sample=NORMALS_PER_SAMPLE if self.secure_mode else 1,
            policy=noise,
            captures=Captures(
                loss_reduction=arguments.get("loss_reduction", "mean"),
                batch_first=arguments.get("batch_first", True),
                batch_record=self._batch_record,
            ),
            exchange=exchange_for(distributed),
            collections=find_collections(module),
            bands=(1.0,) if stream is None else stream.block.bands,
        )
        try:
            made = super().make_private(
                module=module, optimizer=optimizer, data_loader=data_loader, **passed
            )
        except BaseException:
            self._tables.undo()
            if self._wrapper is not None:
                self._wrapper._lazydp_layers.undo()
                module.__dict__.pop("autograd_grad_sample_hooks", None)
            raise
        finally:
            self._tables = self._wrapper = self._units = self._stream = None
            self._choices = ("lazy", "on_read")
        self._began = True
        if stream is not None:
            self.accountant.blocks.add(stream.block)
        self._account_for(protected, begins_with, noise, data_loader, arguments)
        return made

    def _find_tables(
        self,
        module: nn.Module,
        optimizer: optim.Optimizer,
        data_loader: DataLoader[Any],
        arguments: dict[str, Any],
    ) -> list[FoundTable]:
        """Return the module's tables. Raises UserError for what can't be trained as asked."""
        model.require_plain(module)
        if self._units is not None:
            require_clipped_by_unit(module, arguments)
        require_clipped_by_example(module)
        poisson = arguments.get("poisson_sampling", True)
        if poisson:
            require_map_style(data_loader)
        found = find_tables(module, optimizer)
        if self._stream is not None:
            self._stream.require_linear(found, optimizer.param_groups)
        if found or self._units is not None or self._stream is not None:
            require_seen(module, optimizer)
            require_memory_of_its_own(module, found)
            if poisson:
                require_all_examples(data_loader)
            require_mechanism(
                arguments.get("noise_multiplier", 0.0), arguments.get("max_grad_norm", 1.0)
            )
        return found

    def make_private_with_epsilon(
        self,
        *,
        data_loader: DataLoader[Any],
        target_epsilon: float,
        target_delta: float,
        epochs: int,
        noise: str = "lazy",
        settle: str = "on_read",
        privacy_unit: Any = None,
        examples_per_unit: int | str | None = None,
        initial_model: Any = None,
        sampling: str = "poisson",
        correlation: str | None = None,
        **arguments: Any,
    ) -> Any:
        """Do what Opacus' method does, with the further arguments of make_private.

        The budget pays for the initial model, too, if that has spent something. With
        sampling="stream" the noise is the least, exactly, that pays for all steps of the epochs.
        """
        planned = plan_stream(
            sampling=sampling,
            correlation=correlation,
            epochs=None if sampling == "poisson" else epochs,
            noise=noise,
            privacy_unit=privacy_unit,
            data_loader=data_loader,
            arguments=arguments,
        )
        data_loader = by_unit(data_loader, privacy_unit, examples_per_unit)
        warn_of_budget(target_delta, target_epsilon, population(data_loader))
        begins_with = read_initial_model(initial_model)
        arguments |= {"data_loader": data_loader, "initial_model": initial_model}
        budget = {"target_epsilon": target_epsilon, "target_delta": target_delta, "epochs": epochs}
        if planned is not None:
            arguments["noise_multiplier"] = planned.block.noise_for(
                core_events(list(begins_with.spent)) if begins_with is not None else [],
                target_epsilon=target_epsilon,
                target_delta=target_delta,
                mechanism=self.accountant.mechanism(),
            )
            return self.make_private(
                noise=noise,
                settle=settle,
                sampling=sampling,
                correlation=correlation,
                epochs=epochs,
                **arguments,
            )
        if begins_with is not None and begins_with.spent:
            arguments["noise_multiplier"] = noise_for_rest(
                begins_with.spent,
                self.accountant.mechanism(),
                sample_rate=1 / len(data_loader),
                **budget,
            )
            return self.make_private(noise=noise, settle=settle, **arguments)
        self._choices = (noise, settle)
        try:
            return super().make_private_with_epsilon(**budget, **arguments)
        finally:
            self._choices = ("lazy", "on_read")

    def get_epsilon(self, delta: float) -> float:
        """Return the budget spent so far; infinity, with a warning, where nothing can be claimed.

        docs/privacy.md#habits lists when that is so. engine.accountant returns the same, and its
        attribute `unit` says what is protected: one example, or one user with all its examples.
        """
        return float(super().get_epsilon(delta))

    def load_checkpoint(self, **arguments: Any) -> Any:
        """Do what Opacus' method does. A ledger that can't be taken over is refused, and then
        nothing is loaded: that of another accountant, or of steps that protect another unit.
        """
        return load_checkpoint(self.accountant, **arguments)

    def save(self, path: str | os.PathLike[str], private: Any) -> None:
        """Write the weights of a private model: settled, as torch.save(module.state_dict()) would.

        Tables are written from where they lie, without a copy; the file appears when it is whole.
        Keys are those of the plain module.
        """
        model.save(private, path)

    def release(self, private: Any) -> nn.Module:
        """Return the plain nn.Module, settled and free of hooks. Its private training ends here."""
        if not hasattr(private, "to_standard_module"):
            raise UserError(
                f"release() was given a {type(private).__name__}; it must be the model that "
                "make_private returned"
            )
        if not isinstance(private, model.PrivateModel):
            plain: nn.Module = private.to_standard_module()
            return plain
        return model.release(private)
