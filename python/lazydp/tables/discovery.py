"""Finds the tables of a model, and refuses those that can't be trained as asked."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn, optim
from torch.nn.parallel import DistributedDataParallel

from lazydp._native import UserError
from lazydp.tables.embedding import PrivateEmbeddingBase
from lazydp.tables.private_tensor import PrivateTensor
from lazydp.tables.table_sgd import require_sgd

_KINDS = (nn.EmbeddingBag, nn.Embedding)


@dataclass
class FoundTable:
    """One weight, all modules that hold it, and the parameter group that trains it."""

    name: str
    weight: nn.Parameter
    param_group: int
    modules: list[nn.Module] = field(default_factory=list)

    @property
    def padding(self) -> int | None:
        """The row that receives neither gradients nor noise."""
        return self.modules[0].padding_idx  # type: ignore[union-attr, return-value]


def find_tables(model: nn.Module, optimizer: optim.Optimizer) -> list[FoundTable]:
    """Return trainable tables in the model's order. Raises UserError if one is not supported."""
    groups = {
        parameter: index
        for index, group in enumerate(optimizer.param_groups)
        for parameter in group["params"]
    }
    found: dict[nn.Parameter, FoundTable] = {}
    for name, module in model.named_modules():
        if not isinstance(module, _KINDS):
            continue
        if isinstance(module, PrivateEmbeddingBase):
            raise UserError(f"table '{name}' is private already; release the model first")
        if "weight" not in module._parameters:
            raise UserError(
                f"the weight of table '{name}' is computed from other parameters (weight_norm, a "
                "parametrization); every row would depend on all of them: remove that first"
            )
        weight: nn.Parameter = module._parameters["weight"]  # type: ignore[assignment]
        if isinstance(weight, PrivateTensor):
            raise UserError(
                f"the weight of table '{name}' is private already, in another model; make one "
                "module of both models, with one optimizer, or release that one first"
            )
        _require_unchanged_by_reads(name, module)
        if not weight.requires_grad:
            continue
        if weight not in groups:
            raise UserError(
                f"table '{name}' requires a gradient but is in no parameter group; add it to the "
                "optimizer, or freeze it: weight.requires_grad_(False)"
            )
        _require_supported(name, module)
        require_sgd(name, optimizer, optimizer.param_groups[groups[weight]])
        table = found.setdefault(weight, FoundTable(name, weight, groups[weight]))
        table.modules.append(module)
        if table.padding != module.padding_idx:
            raise UserError(
                f"tables '{table.name}' and '{name}' share a weight but not padding_idx "
                f"({table.padding} and {module.padding_idx}); give both the same"
            )
    for name, module in model.named_modules():
        for parameter in module.parameters(recurse=False):
            if parameter in found and not isinstance(module, _KINDS):
                raise UserError(
                    f"table '{found[parameter].name}' is tied to '{name}', a "
                    f"{type(module).__name__} that reads all of it; untie them: every row would be "
                    "read, and hence noised, at every step"
                )
    return list(found.values())


def _require_unchanged_by_reads(name: str, module: nn.Embedding | nn.EmbeddingBag) -> None:
    """Raise UserError for a table, frozen or not, whose rows show which of them were read."""
    if module.max_norm is not None:
        raise UserError(
            f"table '{name}' has max_norm {module.max_norm}; it changes rows as they are read: set "
            "it to None"
        )


def _require_supported(name: str, module: nn.Embedding | nn.EmbeddingBag) -> None:
    def refuse(what: str, instead: str) -> None:
        raise UserError(f"table '{name}' {what}; {instead}")

    weight = module.weight
    if module.scale_grad_by_freq:
        refuse(
            "has scale_grad_by_freq",
            "a gradient would depend on other examples and have no bound: set it to False",
        )
    if isinstance(module, nn.EmbeddingBag) and module.mode not in ("sum", "mean"):
        refuse(f"pools by {module.mode}", "it must pool by sum or mean")
    if weight.dtype != torch.float32:
        refuse(
            f"is of {weight.dtype}",
            "a row is rounded as often as it is read, so that released rows would show who was "
            "read: it must be of torch.float32",
        )
    if weight.device.type != "cpu":
        refuse(f"is on {weight.device}", "it must be on cpu; dense layers may be anywhere")
    if not weight.is_contiguous():
        refuse("is not contiguous", "make it so: weight.data = weight.data.contiguous()")
    if weight.shape[1] > 4096:
        refuse(f"has {weight.shape[1]} columns", "it may have 4096 at most")
    own = type(module).forward
    if own is not nn.Embedding.forward and own is not nn.EmbeddingBag.forward:
        refuse(
            f"is a {type(module).__name__} with a forward of its own", "move that into the model"
        )


def require_seen(model: nn.Module, optimizer: optim.Optimizer) -> None:
    """Raise UserError for parameters that would train where nothing clips them, or not at all.

    The model has tables, so torch's own DistributedDataParallel is refused, too.
    """
    if isinstance(model, DistributedDataParallel):
        raise UserError(
            "the module is in torch's DistributedDataParallel, which waits for gradients that "
            "tables never form; use Opacus' DifferentiallyPrivateDistributedDataParallel"
        )
    for name, module in model.named_modules():
        _require_plain(name, module)
    trained = {p for group in optimizer.param_groups for p in group["params"]}
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        if isinstance(p, nn.parameter.UninitializedParameter):
            raise UserError(
                f"parameter '{name}' has no shape yet; run the model once, on a made-up batch, "
                "before make_private"
            )
        require_precise(name, p)
        if p not in trained:
            raise UserError(
                f"parameter '{name}' requires a gradient but is in no parameter group; add it to "
                "the optimizer (one optimizer must train all of them), or freeze it: "
                "requires_grad_(False)"
            )
        if getattr(p, "_post_accumulate_grad_hooks", None) or hasattr(p, "_in_backward_optimizers"):
            raise UserError(
                f"parameter '{name}' is updated inside of backward(), before gradients can be "
                "clipped; use a plain optimizer that steps after backward()"
            )
        if p._backward_hooks:
            raise UserError(
                f"parameter '{name}' has a gradient hook; private training forms no gradient of it "
                "that a hook could change: remove the hook"
            )


def require_precise(name: str, p: nn.Parameter) -> None:
    """Raise UserError for a parameter whose gradients can't be added up within the bound.

    The rounding of a sum depends on all of it: one example may move it by a unit in the last place
    of the sum, which for many examples in bfloat16 is many times the bound.
    """
    if p.dtype not in (torch.float32, torch.float64):
        raise UserError(
            f"parameter '{name}' is of {p.dtype}, and one example could move the rounding of a sum "
            "of gradients by more than the bound; it must be of torch.float32 or torch.float64 to "
            "train: compute in bfloat16 by torch.autocast, or freeze it"
        )


def _require_plain(name: str, module: nn.Module) -> None:
    """Raise UserError for a layer that is private, or whose weights are no parameters."""
    if hasattr(module, "_lazydp_layer"):
        raise UserError(
            f"layer '{name}' is private already, in another model; make one module of both models, "
            "with one optimizer, or release that one first"
        )
    for key, value in vars(module).items():
        if not isinstance(value, Tensor):
            continue
        computed = any(f"{key}{end}" in module._parameters for end in ("_g", "_v", "_orig"))
        if computed or (value.is_leaf and value.requires_grad):
            how = "is computed from other parameters" if computed else "is no parameter"
            raise UserError(
                f"'{key}' of layer '{name}', a {type(module).__name__}, {how}, and nothing would "
                "clip its gradient: remove weight_norm, spectral_norm or pruning first, and make a "
                "tensor that trains an nn.Parameter of a layer of its own"
            )


def require_clipped_by_example(model: nn.Module) -> None:
    """Raise UserError for modules of other packages whose examples' gradients are never seen."""
    for name, module in model.named_modules():
        kinds = {f"{kind.__module__}.{kind.__name__}" for kind in type(module).__mro__}
        if hasattr(module, "fused_optimizer") or any(k.startswith("fbgemm_gpu.") for k in kinds):
            raise UserError(
                f"'{name}' is a {type(module).__name__}, which updates its tables inside of "
                "backward(), before gradients can be clipped; use nn.EmbeddingBag or torchrec's "
                "EmbeddingBagCollection"
            )
        if any(k.startswith("torchrec.distributed.") for k in kinds):
            raise UserError(
                f"'{name}' is a {type(module).__name__}, whose tables TorchRec has cut into shards "
                "and updates itself; give make_private the collection as it was before "
                "DistributedModelParallel or shard()"
            )
        if any(k.rpartition(".")[2].startswith("ManagedCollision") for k in kinds):
            raise UserError(
                f"'{name}' is a {type(module).__name__}, which gives rows to ids by what it has "
                "seen of them, and nothing would make that private; hash ids into the rows of an "
                "EmbeddingBagCollection"
            )
