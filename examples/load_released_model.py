"""Load a model that `lazydp train --out DIR` or `lazydp release DIR` wrote, in plain PyTorch.

    python examples/load_released_model.py runs/first/model

Needs torch and safetensors, not lazydp; and xxhash to score values instead of rows.
"""

import bisect
import json
import math
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn


def layers(widths: list[int], *, relu_at_the_end: bool) -> nn.Sequential:
    stack: list[nn.Module] = []
    for width_in, width_out in zip(widths, widths[1:], strict=False):
        stack += [nn.Linear(width_in, width_out), nn.ReLU()]
    return nn.Sequential(*(stack if relu_at_the_end else stack[:-1]))


class Dlrm(nn.Module):
    """The model of a card: bottom MLP, interaction with the tables' bags, top MLP."""

    def __init__(self, card: dict) -> None:
        super().__init__()
        shape = card["model"]
        dim, rows, mode = shape["dim"], shape["table_rows"], shape["pooling_mode"]
        pairs = len(rows) * (len(rows) + 1) // 2
        self.bottom = layers(shape["bottom"], relu_at_the_end=True)
        self.tables = nn.ModuleList(nn.EmbeddingBag(n, dim, mode=mode) for n in rows)
        # The top MLP sees dot products after the bottom's output alone, or after all vectors.
        interaction = shape.get("interaction", "dot")
        self.concatenates = interaction in ("cat+dot", "linear+cat+dot")
        # The first number of every pooled vector also acts on the logit directly.
        self.linear = interaction == "linear+cat+dot"
        copied = dim * (len(rows) + 1) if self.concatenates else dim
        # A calibrated score: scale * logit + shift.
        self.scaling = shape.get("score_scaling", {"scale": 1.0, "shift": 0.0})
        self.top = layers([copied + pairs, *shape["top"]], relu_at_the_end=False)

    def forward(self, dense: Tensor, bags: list[tuple[Tensor, Tensor]]) -> Tensor:
        """Logits of a batch: for each table all ids, and where each example's begin."""
        bottom = self.bottom(dense)
        pooled = [table(*bag) for table, bag in zip(self.tables, bags, strict=True)]
        features = torch.stack([bottom, *pooled], dim=1)
        dots = features @ features.transpose(1, 2)
        below = torch.tril_indices(features.shape[1], features.shape[1], offset=-1)
        copied = features.flatten(1) if self.concatenates else bottom
        logits = self.top(torch.cat([copied, dots[:, below[0], below[1]]], dim=1)).squeeze(1)
        if self.linear:
            logits = logits + features[:, 1:, 0].sum(dim=1)
        return self.scaling["scale"] * logits + self.scaling["shift"]


def number_of(text: str) -> float:
    """Return the number that digits, digits in groups (1,234), or a time in UTC say."""
    if text[4:5] == "-" and text[:4].isdigit():
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).timestamp()
    return float(text.replace(",", ""))


class Column:
    """How the values of one column become rows of a table: docs/serving.md."""

    def __init__(self, column: dict, schema: dict) -> None:
        from xxhash import xxh3_64_intdigest

        self.hash = xxh3_64_intdigest
        self.column, self.missing, self.trim = column, schema["missing"], schema["trim"]
        self.seed = self.hash(column["name"].encode(), int(schema["salt"]))

    def number(self, value: str | None) -> float:
        value = value and value.strip(" ") if self.trim else value
        if value is None or value in self.missing:
            return 0.0
        number = number_of(value)
        if self.column.get("integer"):
            number = float(int(value.replace(",", "")))
        return math.log1p(max(0.0, number)) if self.column["transform"] == "log" else number

    def rows(self, value: str | None) -> list[int]:
        multi = self.column["role"] == "multi"
        parts = value.split(self.column["separator"]) if multi and value is not None else [value]
        if self.trim:
            parts = [part and part.strip(" ") for part in parts]
        rows = [self.row(part) for part in parts if part is not None and part not in self.missing]
        return rows or [0]

    def row(self, value: str) -> int:
        key = value.encode()
        if self.column.get("hexadecimal"):
            key = int(value, 16).to_bytes(8, "little")
        if "bucket" in self.column:
            bucket = math.floor(number_of(value) / self.column["bucket"])
            key = bucket.to_bytes(8, "little", signed=True)
        hashed = self.hash(key, self.seed)
        if "vocabulary" in self.column:
            place = bisect.bisect_left(self.column["vocabulary"], hashed)
            known = self.column["vocabulary"][place : place + 1] == [hashed]
            return 2 + place if known else 1
        rows = self.column["rows"]
        return 0 if rows == 1 else 1 + (hashed * (rows - 1) >> 64)


class Scorer(nn.Module):
    """The model with the schema of its card inside: scores examples, dicts of texts."""

    def __init__(self, model: Dlrm, card: dict) -> None:
        super().__init__()
        self.model = model
        schema = card["data"]["schema"]
        columns = [Column(column, schema) for column in schema["column"]]
        self.dense = [c for c in columns if c.column["role"] == "dense"]
        self.tables = [c for c in columns if c.column["role"] in ("categorical", "multi")]

    def forward(self, examples: Sequence[Mapping[str, str | None]]) -> Tensor:
        """Probabilities of a positive label; None is a missing value."""
        numbers = [[c.number(e[c.column["name"]]) for c in self.dense] for e in examples]
        bags = []
        for column in self.tables:
            rows = [torch.tensor(column.rows(e[column.column["name"]])) for e in examples]
            lengths = torch.tensor([0] + [len(of_example) for of_example in rows[:-1]])
            bags.append((torch.cat(rows), lengths.cumsum(0)))
        dense = torch.tensor(numbers) if self.dense else torch.ones(len(examples), 1)
        return torch.sigmoid(self.model(dense, bags))


def load(folder: Path) -> tuple[Dlrm, dict]:
    card = json.loads((folder / "card.json").read_text())
    with torch.device("meta"):  # no memory for weights that are about to be replaced
        model = Dlrm(card)
    model.load_state_dict(load_file(folder / "model.safetensors"), assign=True)
    return model.eval(), card


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: load_released_model.py FOLDER_OF_THE_MODEL")
    model, card = load(Path(sys.argv[1]))
    claim = card["claim"]
    weights = sum(parameter.numel() for parameter in model.parameters())
    print(f"{card['model']['name']}: {weights:,} weights")
    if "epsilon" in claim:
        print(f"epsilon {claim['epsilon']:.3f} at delta {claim['delta']:g} ({claim['accountant']})")
    else:
        print(f"{claim['statement']}: {claim['reason']}")
    with torch.no_grad():
        dense = torch.zeros(1, card["model"]["bottom"][0])
        bag = (torch.zeros(1, dtype=torch.long), torch.zeros(1, dtype=torch.long))
        score = torch.sigmoid(model(dense, [bag] * len(model.tables)))
        print(f"score of an example of zeros: {score.item():.4f}")


if __name__ == "__main__":
    main()
