"""Checkpoint files for the command line, and torch's own view of them in the words of the JSON report."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

DTYPES = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128, torch.int64,
    torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.bool,
    torch.float8_e4m3fn, torch.float8_e5m2,
]  # fmt: skip


def training_checkpoint() -> dict[str, Any]:
    """Model, Adam state and scheduler after one step, as `torch.save` users write them."""
    torch.manual_seed(5)
    model = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model(torch.randn(4, 7)).sum().backward()
    optimizer.step()
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "epoch": 3,
        "best": math.inf,
        "note": "a run",
        "views": {"base": (base := torch.arange(24.0)), "t": base.view(4, 6).t(), "tail": base[5:9]},
        "odd": {"nothing": torch.empty(0, 3), "number": torch.tensor(2.5), "expanded": torch.ones(1).expand(3, 4)},
    }


def every_dtype() -> dict[str, torch.Tensor]:
    """A small tensor of each dtype, with special values where the dtype has them."""
    tensors: dict[str, torch.Tensor] = {}
    for dtype in DTYPES:
        values = [0, 1, 3, 100, 2] if not dtype.is_complex else [0, 1 + 2j, -3j, 0.5, 1]
        tensors[str(dtype)] = torch.tensor(values).to(dtype)
    special = torch.tensor([math.nan, math.inf, -math.inf, -0.0, 0.0, 0.1, -2.5, 3e38])
    tensors["special"] = special
    tensors["special.double"] = special.double() * 1e200
    tensors["special.half"] = special.half()
    tensors["special.complex"] = torch.complex(special, special.flip(0))
    tensors["all nan"] = torch.full((3,), math.nan)
    tensors["large"] = torch.tensor([2**63 - 1, -(2**63), 2**53 + 1])
    tensors["empty"] = torch.empty(0)
    return tensors


def save(value: object, path: Path, *, legacy: bool = False) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=not legacy)
    return path


def nodes_of(value: object, keys: tuple[object, ...] = ()) -> Iterator[tuple[str, object]]:
    """What torch loaded, depth first: the keys of each node as JSON text, and the node."""
    yield json.dumps(keys), value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from nodes_of(item, (*keys, key if type(key) in (str, int) else {"key": repr(key)}))
        if hasattr(value, "_metadata"):  # an attribute of the OrderedDict that `Module.state_dict` returns
            yield from nodes_of(value._metadata, (*keys, {"key": "._metadata"}))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from nodes_of(item, (*keys, index))


def jsonable(value: object) -> object:
    """A value as the report writes it."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)
