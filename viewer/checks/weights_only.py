"""What `torch.load(weights_only=True)` would say, from the names that the file's pickles use. Nothing is loaded.

The table is that of torch 2.13 (torch/_weights_only_unpickler.py: _get_allowed_globals). Files name modules as
Python 2 did (protocol 2), and torch translates them (_compat_pickle).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from viewer.checkpoint.document import Checkpoint, GlobalUse
from viewer.checkpoint.dtypes import DTYPES
from viewer.checks.danger import can_run, modern
from viewer.checks.results import Finding

CHECK: Final = "classes that need weights_only=False"

_LEGACY_TENSORS: Final = ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
_STORAGES: Final = (
    "DoubleStorage", "FloatStorage", "HalfStorage", "LongStorage", "IntStorage", "ShortStorage", "CharStorage",
    "ByteStorage", "BoolStorage", "BFloat16Storage", "ComplexDoubleStorage", "ComplexFloatStorage", "QUInt8Storage",
    "QInt8Storage", "QInt32Storage", "QUInt4x2Storage", "QUInt2x4Storage",
)  # fmt: skip
_REBUILDERS: Final = (
    "_rebuild_parameter", "_rebuild_parameter_with_state", "_rebuild_qtensor", "_rebuild_tensor",
    "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_sparse_tensor", "_rebuild_meta_tensor_no_storage",
    "_rebuild_nested_tensor", "_rebuild_wrapper_subclass", "_rebuild_device_tensor_from_cpu_tensor",
    "_rebuild_device_tensor_from_numpy",
)  # fmt: skip
_SCHEMES: Final = (
    "per_tensor_affine", "per_channel_affine", "per_tensor_symmetric", "per_channel_symmetric",
    "per_channel_affine_float_qparams",
)  # fmt: skip


def _allowed() -> frozenset[str]:
    names = {
        "collections.OrderedDict",
        "collections.Counter",
        "torch.nn.parameter.Parameter",
        "torch.serialization._get_layout",
        "torch.Size",
        "torch.Tensor",
        "torch.device",
        "_codecs.encode",
        "builtins.bytearray",
        "builtins.set",
        "builtins.complex",
        "torch._tensor._rebuild_from_type_v2",
        "torch.storage.UntypedStorage",
        "torch.storage.TypedStorage",
    }
    names |= {f"torch._utils.{name}" for name in _REBUILDERS}
    names |= {f"torch.{dtype.name}" for dtype in DTYPES}
    names |= {f"torch.{name}" for name in _SCHEMES}
    names |= {f"torch.{module}{kind}Tensor" for kind in _LEGACY_TENSORS for module in ("", "cuda.")}
    names |= {
        f"torch.{module}{kind}Tensor"
        for kind in _LEGACY_TENSORS
        for module in ("sparse.", "cuda.sparse.")
        if kind != "Bool"
    }
    names |= {f"torch.{name}" for name in _STORAGES}
    names |= {f"torch.cuda.{name}" for name in _STORAGES if not name.startswith("Q")}
    return frozenset(names)


ALLOWED: Final = _allowed()
"""Dotted names that torch loads without being told to trust them."""

_SHOWN: Final = 5


def is_allowed(module: str, name: str) -> bool:
    return f"{modern(module)}.{name}" in ALLOWED


def refused(names: Iterable[GlobalUse]) -> list[str]:
    """Dotted names that torch refuses, as its message writes them."""
    return sorted({f"{modern(use.module)}.{use.name}" for use in names if not is_allowed(use.module, use.name)})


def weights_only_findings(checkpoint: Checkpoint) -> list[Finding]:
    """What torch says, where it does not simply load the file."""
    container = checkpoint.container.lower()
    if "safetensors" in container:
        return []
    if "torchscript" in container:
        return [_SCRIPT]
    names = refused(checkpoint.globals)
    if not names:
        return []
    listed = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")
    if container == "pickle":
        says = f"torch.load does not read a plain pickle, and pickle.load would import {listed}"
        remedy = "If you trust the file, load it with pickle and save what you need of it with torch.save"
    else:
        says = (
            f"torch.load(weights_only=True) says: Unsupported global: GLOBAL {names[0]} was not an allowed global by "
            f"default (the file names {listed})"
        )
        allowed = ", ".join(names)
        remedy = (
            f"If you trust the file: with torch.serialization.safe_globals([{allowed}])"
            if len(names) <= _SHOWN
            else "If you trust the file: weights_only=False, which runs what the file says"
        )
    if any(can_run(use.module, use.name) for use in checkpoint.globals):
        remedy = "Do not load it"
    return [Finding(CHECK, "warning", says, remedy, (0,), len(names))]


_SCRIPT: Final = Finding(
    CHECK,
    "warning",
    "torch.load(weights_only=True) says: Cannot use ``weights_only=True`` with TorchScript archives",
    "Load it with torch.jit.load, and only if you trust where the file comes from: it is a program",
    (0,),
)
