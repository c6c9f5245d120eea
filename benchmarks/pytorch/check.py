"""Before anything is timed: both sides compute the same losses and take the same steps."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from pytorch.net import Net
from pytorch.private import Eager, EagerInBlocks, EagerOnThreads, Eana, Lazy
from pytorch.sgd import SgdByHand, SgdOfModules, SgdOfOneBag
from pytorch.tables import Fused
from shapes import Batch, Shape

TOLERANCE = 2e-5


def native_run(program: Path, algorithm: str) -> dict[str, Any]:
    """Batches, losses and weights of a short run of the native trainer, without noise."""
    return json.loads(subprocess.check_output([program, "timed", algorithm]))


def batches(run: dict[str, Any]) -> list[Batch]:
    def of(b: dict[str, Any]) -> Batch:
        ids = torch.tensor([bags["ids"] for bags in b["bags"]])
        examples = len(b["labels"])
        ids = ids.view(len(run["rows"]), examples, run["pooling"])
        return Batch(torch.tensor(b["dense"]), ids, torch.tensor(b["labels"]))

    return [of(b) for b in run["batches"]]


def dense_parameters(holder: Any) -> list[Tensor]:
    """Weights and biases in the native order."""
    if isinstance(holder, Net):
        pairs = zip(holder.weights, holder.biases, strict=True)
        return [p for pair in pairs for p in pair]
    linears = [m for m in holder.modules() if isinstance(m, nn.Linear)]
    return [p.data for m in linears for p in (m.weight, m.bias)]


def difference(run: dict[str, Any], make: Any) -> float:
    """The largest, over all losses and all weights at the end."""
    shape = Shape(run["rows"], run["dim"], run["bottom"], run["top"], run["pooling"])
    fused = Fused(shape)
    trainer = make(fused, run["table_rate"])
    by_hand = isinstance(trainer, SgdByHand)
    mine = [*dense_parameters(trainer.net if by_hand else trainer.model), fused.weight]
    place = 0
    before = torch.tensor(run["before"])
    for p in mine:
        p.copy_(before[place : place + p.numel()].view_as(p))
        place += p.numel()
    worst = 0.0
    for batch, native_loss in zip(batches(run), run["losses"], strict=True):
        batch = trainer.arrange(batch) if hasattr(trainer, "arrange") else batch
        share = len(batch.labels) / run["expected_batch"]
        if by_hand:
            trainer.divisor = run["expected_batch"]
            loss = float(trainer.step(batch).mean())
        else:  # a mean over the examples of the batch
            logits = trainer.model(batch.dense, batch.ids)
            losses = functional.binary_cross_entropy_with_logits(logits, batch.labels)
            loss = float(losses.detach())
            for group in trainer.optimizer.param_groups:
                group["lr"] = run["table_rate"] * share
            trainer.step(batch)
        worst = max(worst, abs(loss - native_loss))
    after = torch.cat([p.flatten() for p in mine])
    assert float((after - before).abs().max()) > 0.01, "nothing was learnt"
    return max(worst, float((after - torch.tensor(run["after"])).abs().max()))


def check(native: Path) -> str:
    """Raises SystemExit where the sides differ."""
    sgd, private = native_run(native, "sgd"), native_run(native, "lazydp")

    def noiseless(kind: Any) -> Any:
        return lambda fused, rate: kind(fused, rate, bound=private["clip"], sigma=0.0)

    found = {k.__name__: difference(sgd, k) for k in (SgdOfModules, SgdOfOneBag, SgdByHand)}
    for kind in (Eager, EagerInBlocks, EagerOnThreads, Eana, Lazy):
        found[kind.__name__] = difference(private, noiseless(kind))
    for name, value in found.items():
        if not value < TOLERANCE:
            raise SystemExit(f"{name} and the native trainer differ by {value}")
    return (
        f"losses and weights of {len(sgd['losses'])} steps agree with the native trainer to "
        f"{max(found.values()):.1e} ({', '.join(found)})"
    )
