"""The files of a released model: a card, and weights in safetensors. Needs NumPy alone."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lazydp._native import IoError, PrivacyError, UserError

Floats = NDArray[np.float32]
Card = dict[str, Any]

_CARD_IN_WEIGHTS = "lazydp.card"
_LARGEST_HEADER = 100 << 20


def folder_of(model: str | Path) -> Path:
    """Return the folder of a model, given it or the folder of a run that has released one."""
    for folder in (Path(model), Path(model) / "model"):
        if (folder / "card.json").exists():
            return folder
    raise UserError(
        f"'{model}' is neither a released model nor a run that has one (no card.json there); "
        "lazydp release makes one of a run"
    )


def verified_card(folder: Path) -> Card:
    """Return the card, whose copy and hash of the weights have been compared with the file."""
    try:
        card = json.loads((folder / "card.json").read_text())
        inside = weights_header(folder).get("__metadata__", {}).get(_CARD_IN_WEIGHTS)
        said = {key: value for key, value in card.items() if key != "weights"}
        if inside is None or json.loads(inside) != said:
            raise PrivacyError(f"{folder}: the card is not the one that the weights carry")
        digest = card["weights"]["blake2b_256"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, UserError):
            raise
        raise PrivacyError(f"{folder}: card.json was edited: it is no longer a card") from error
    if digest != blake2b(folder / "model.safetensors"):
        raise PrivacyError(
            f"{folder}: model.safetensors was edited; the claim is about the files as they were "
            "released"
        )
    return card  # type: ignore[no-any-return]


def blake2b(path: Path) -> str:
    """Return the BLAKE2b-256 of a file, as `b2sum -l 256` prints it."""
    digest = hashlib.blake2b(digest_size=32)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _header_size(path: Path) -> int:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
    if size > min(_LARGEST_HEADER, path.stat().st_size):
        raise IoError(f"{path} is no safetensors file")
    return size


def weights_header(folder: Path) -> dict[str, Any]:
    """Return the header of the weights' file: metadata, and where each tensor lies."""
    path = folder / "model.safetensors"
    size = _header_size(path)
    with path.open("rb") as file:
        file.seek(8)
        header = json.loads(file.read(size))
    if not isinstance(header, dict):
        raise IoError(f"{path} is no safetensors file")
    return header


class Int8Rows:
    """Rows in eight bits a weight, which become floats when they are looked up."""

    def __init__(self, values: NDArray[np.int8], scales: Floats) -> None:
        """Keep both as they are, mapped perhaps."""
        self._values = values
        self._scales = scales
        self.shape = values.shape

    def __getitem__(self, rows: Any) -> Floats:
        """Return the rows as floats."""
        weights: Floats = self._values[rows].astype(np.float32)
        weights *= self._scales[rows, None]
        return weights

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: ARG002
        """Return all rows as floats."""
        return np.asarray(self[:], dtype)


Rows = Floats | Int8Rows
_BYTES = {"F32": 4, "I8": 1}


def tables_of(weights: dict[str, NDArray[Any]], count: int) -> list[Rows]:
    """Return the tables among a model's tensors."""
    tables: list[Rows] = []
    for k in range(count):
        values, scales = weights[f"tables.{k}.weight"], weights.get(f"tables.{k}.scale")
        tables.append(values if scales is None else Int8Rows(values, scales))
    return tables


def weights_of(folder: Path) -> dict[str, NDArray[Any]]:
    """Return all tensors by name, mapped: a row is read from the disk when it is first needed."""
    path = folder / "model.safetensors"
    start = 8 + _header_size(path)
    file = np.memmap(path, np.uint8, "r")
    tensors = {}
    for name, tensor in weights_header(folder).items():
        if name == "__metadata__":
            continue
        begin, end = (start + int(offset) for offset in tensor["data_offsets"])
        shape = [int(size) for size in tensor["shape"]]
        of_one = _BYTES.get(tensor["dtype"], 0)
        if end - begin != of_one * math.prod(shape) or end > file.size or of_one == 0:
            raise IoError(f"{path}: the tensor {name} is not {shape} floats, or eight-bit numbers")
        kind = np.float32 if of_one > 1 else np.int8
        tensors[name] = file[begin:end].view(kind).reshape(shape).view(np.ndarray)
    return tensors
