"""A PyTorch DLRM trained as a native run was, or by Adam: what our SGD is measured against."""

from __future__ import annotations

import runpy
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def examples_of(program: Path, file: Path) -> Iterator[tuple[float, list[float], list[list[int]]]]:
    """Label, numbers and rows of each example of a data file, as `lazydp inspect` tells them."""
    with subprocess.Popen(
        [str(program), "inspect", str(file), "--show", "1000000000"],
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        for line in child.stdout or ():
            if ": label " not in line:
                continue
            label, dense, rows = line.split(": label ", 1)[1].split("; ")
            numbers = [float(x) for x in dense.split()[1:]]
            bags = [
                [int(r) for r in bag.split(",") if r]
                for bag in rows[len("rows ") :].rstrip("\n").split(" ")
            ]
            yield float(label), numbers, bags


def torch_auc(
    program: Path,
    card: dict,
    train_file: Path,
    test_file: Path,
    skip: int,
    seed: int,
    *,
    adam: bool = False,
) -> dict:
    """Trains in PyTorch with the settings of a native SGD run's card, or all weights by Adam.

    `skip` examples of the test file were trained on.
    """
    import torch
    from torch.nn import functional

    torch.manual_seed(seed)

    def tensors(file: Path) -> tuple:
        labels, dense, bags = zip(*examples_of(program, file), strict=True)
        ids = []
        for k in range(len(bags[0])):
            column = [b[k] for b in bags]
            single = all(len(ids_of_one) == 1 for ids_of_one in column)
            ids.append(
                torch.tensor([b[0] for b in column])
                if single
                else [torch.tensor(b, dtype=torch.long) for b in column]
            )
        return torch.tensor(labels), torch.tensor(dense), ids

    def bags_of(ids: list, which: torch.Tensor) -> list:
        out = []
        for column in ids:
            if isinstance(column, torch.Tensor):
                out.append((column[which], torch.arange(len(which))))
            else:
                some = [column[int(i)] for i in which]
                sizes = torch.tensor([len(s) for s in some])
                out.append((torch.cat(some), torch.cumsum(sizes, 0) - sizes))
        return out

    plan = card["plan"]
    model = runpy.run_path(str(ROOT / "examples/load_released_model.py"))["Dlrm"](card)
    for table in model.tables:
        table.sparse = True
        torch.nn.init.uniform_(
            table.weight, -((1 / table.num_embeddings) ** 0.5), (1 / table.num_embeddings) ** 0.5
        )
    dense_layers = [*model.bottom.parameters(), *model.top.parameters()]
    rows = list(model.tables.parameters())
    optimizers: list[torch.optim.Optimizer] = [
        torch.optim.Adam(dense_layers, lr=0.002)
        if adam or plan["dense_optimizer"] == "adam"
        else torch.optim.SGD(dense_layers, lr=plan["dense_rate"]),
        torch.optim.SparseAdam(rows, lr=0.002)
        if adam
        else torch.optim.SGD(rows, lr=plan["table_rate"]),
    ]
    steps, batch = plan["steps"], round(plan["expected_batch"])
    schedulers = [
        torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: max(0.0, 1 - t / steps))
        for optimizer in optimizers
    ]
    assert plan["rate_schedule"] == "poly:1", plan["rate_schedule"]
    labels, dense, ids = tensors(train_file)
    count = round(plan["expected_batch"] / plan["sampling_rate"])
    order = torch.randperm(count)
    for t in range(steps):
        at = t * batch % count
        if at + batch > count:
            order, at = torch.randperm(count), 0
        which = order[at : at + batch]
        model.zero_grad()
        logits = model(dense[which], bags_of(ids, which))
        functional.binary_cross_entropy_with_logits(logits, labels[which]).backward()
        for optimizer, scheduler in zip(optimizers, schedulers, strict=True):
            optimizer.step()
            scheduler.step()
    if test_file != train_file:
        labels, dense, ids = tensors(test_file)
    which = torch.arange(skip, len(labels))
    with torch.no_grad():
        scores = torch.cat([model(dense[w], bags_of(ids, w)) for w in which.split(4096)])
    return {"auc": auc_of(scores.tolist(), labels[which].tolist())}


def auc_of(scores: list[float], labels: list[float]) -> float:
    order = sorted(range(len(scores)), key=scores.__getitem__)
    negatives = right = 0.0
    for i in order:  # ties between floats of a trained model are too rare to matter
        if labels[i] > 0.5:
            right += negatives
        else:
            negatives += 1
    return right / negatives / (len(scores) - negatives)
