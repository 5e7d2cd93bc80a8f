"""Small contents to write, and files that hold them in several ways."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
import warnings
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import torch

from viewer.export.digest import digest_task
from viewer.export.options import Digest, ExportOptions, ExportResult
from viewer.export.save import export_task
from viewer.task import run

ROOT = Path(__file__).resolve().parents[2]


def save(value: object, path: Path, *, legacy: bool = False) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=not legacy)
    return path


def exported(source: Path, target: Path | None = None, **options: Any) -> ExportResult:
    """Export with these options; the result says of itself what the file says of it."""
    flavour = options.get("flavour", "pth")
    target = source.with_name(f"{source.stem}.out.{flavour}") if target is None else target
    result = run(export_task(source, target, ExportOptions(**options), force=True))
    assert result.sha256 == sha256(target)
    assert result.nbytes == target.stat().st_size == result.plan.nbytes
    return result


def digest(source: Path, **options: Any) -> str:
    return named(source, **options).sha256


def named(source: Path, *, tensors: bool = False, **options: Any) -> Digest:
    return run(digest_task(source, ExportOptions(**{"objects": "keep", **options}), tensors=tensors))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def loaded(path: Path, **options: Any) -> Any:
    return torch.load(path, **{"weights_only": True, **options})


def same(a: Any, b: Any) -> bool:
    """Whether two loaded values are equal in type, order and every bit."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return type(a) is type(b) and a.requires_grad == b.requires_grad and same_bits(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        attributes = getattr(a, "_metadata", None), getattr(b, "_metadata", None)
        return (
            len(a) == len(b)
            and all(same(x, y) and same(a[x], b[y]) for x, y in zip(a, b, strict=True))
            and same(*attributes)
        )
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return pickle.dumps(a) == pickle.dumps(b)
    return bool(a == b)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether shapes, dtypes and all bits of the elements are equal."""
    if a.shape != b.shape or a.dtype != b.dtype or a.layout != b.layout:
        return False
    if a.is_quantized:
        return bool(torch.equal(a.int_repr(), b.int_repr())) and a.qscheme() == b.qscheme()
    if a.layout == torch.sparse_coo:
        return same_bits(a._indices(), b._indices()) and same_bits(a._values(), b._values())
    if a.layout != torch.strided:
        return same_bits(a.to_dense(), b.to_dense())
    return raw(a) == raw(b)


def raw(tensor: torch.Tensor) -> bytes:
    """The bits of the elements in row-major order."""
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if not plain.numel():  # whose strides torch leaves as they are
        return b""
    return plain.reshape(-1).view(torch.uint8).numpy().tobytes()


def training_content() -> dict[str, Any]:
    """A small training checkpoint with most of what those hold."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model(torch.randn(5, 3)).sum().backward()
    optimizer.step()
    shared = torch.arange(6.0)
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "epoch": 3,
        "best": 0.125,
        "history": [{"loss": float("nan"), "step": step} for step in range(3)],
        "tied": [shared, shared],
        "names": ("a", b"\x00\xff", None, True, 1 << 70, -5, 1 + 2j),
        "tags": {"x", "y", 3},
        "counts": Counter("hello"),
        "parameter": torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16)),
        "size": torch.Size([2, 3]),
        "dtype": torch.float16,
        "empty": OrderedDict(),
    }


def many_dtypes() -> dict[str, torch.Tensor]:
    """Every dtype that this torch can fill, the odd layouts, and the lazy bits."""
    names = [
        *("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "uint16"),
        *("uint32", "uint64", "complex64", "complex128", "complex32", "float8_e4m3fn", "float8_e5m2"),
        *("float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"),
    ]
    values = torch.arange(24) % 7 - 3
    made: dict[str, torch.Tensor] = {}
    for name in names:
        dtype = getattr(torch, name)
        source = values.abs() if name.startswith("uint") else values
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that complex32 is experimental
            made[name] = source.to(torch.float32).to(dtype) if name.startswith("float8") else source.to(dtype)
    base = torch.arange(24.0)
    made["transposed"] = base.reshape(4, 6).t()
    made["channels_last"] = base.reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)
    made["expanded"] = torch.tensor([1.0, 2.0]).expand(5, 2)
    made["every_third"] = base[1::3]
    made["scalar"] = torch.tensor(7)
    made["empty"] = torch.empty(0, 3)
    made["conjugate"] = torch.tensor([1 + 2j, float("nan") - 0j]).conj()
    made["imaginary"] = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
    made["float4"] = torch.arange(6, dtype=torch.uint8).reshape(2, 3).view(torch.float4_e2m1fn_x2)
    return made


def in_process(code: str, *arguments: object, executable: str = sys.executable, **environment: str) -> str:
    """What a Python process of its own prints."""
    import os

    done = subprocess.run(
        [executable, "-c", code, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
