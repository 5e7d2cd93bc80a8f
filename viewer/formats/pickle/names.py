"""Names under which files know the same thing, and names that stand for a value of torch."""

from __future__ import annotations

from typing import Final

from viewer.checkpoint.dtypes import DTYPES, STORAGE_CLASS_DTYPE
from viewer.formats.pickle.standins import StandInType

_MODULES: Final = {
    # Python 2 (Lib/_compat_pickle.py)
    "__builtin__": "builtins",
    "copy_reg": "copyreg",
    "UserDict": "collections",
    # numpy 1 (numpy/_core was numpy/core before 2.0)
    "numpy.core.multiarray": "numpy._core.multiarray",
    "numpy.core.numeric": "numpy._core.numeric",
    # Python 3.13 (Lib/pathlib/__init__.py)
    "pathlib._local": "pathlib",
    # torch before 1.0 and after
    "torch.tensor": "torch._tensor",
}

_STORAGE_MODULES: Final = ("torch", "torch.cuda", "torch.storage", "torch.xpu", "torch.mps")

STORAGE_CLASSES: Final = frozenset(
    f"{module}.{name}" for module in _STORAGE_MODULES for name in (*STORAGE_CLASS_DTYPE, "TypedStorage")
)
"""Dotted names of torch's storage classes. None of them runs anything but an allocation."""


def plain_name(module: str, name: str) -> str:
    """The dotted name under which the tables of this room list it."""
    return f"{_MODULES.get(module, module)}.{name}"


def modern_name(dotted: str) -> str:
    """A dotted name that protocols 0 to 2 write as Python 2 called it: "builtins.list" of "__builtin__.list"."""
    return f"builtins.{dotted[12:]}" if dotted.startswith("__builtin__.") else dotted


def _constants() -> dict[str, tuple[str, str]]:
    table = {f"torch.{dtype.name}": ("torch.dtype", f"torch.{dtype.name}") for dtype in DTYPES}
    for old, new in (("float", "float32"), ("double", "float64"), ("half", "float16"), ("long", "int64")):
        table[f"torch.{old}"] = ("torch.dtype", f"torch.{new}")
    for old, new in (("int", "int32"), ("short", "int16"), ("cfloat", "complex64"), ("cdouble", "complex128")):
        table[f"torch.{old}"] = ("torch.dtype", f"torch.{new}")
    for kind, names in {
        "torch.layout": "strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged _mkldnn",
        "torch.memory_format": "contiguous_format channels_last channels_last_3d preserve_format",
        "torch.qscheme": "per_tensor_affine per_channel_affine per_tensor_symmetric per_channel_symmetric "
        "per_channel_affine_float_qparams",
    }.items():
        for name in names.split():
            table[f"torch.{name}"] = (kind, f"torch.{name}")
    return table


CONSTANTS: Final = _constants()
"""Names that are pickled by name alone and stand for a value of torch: its type and how torch prints it."""


def constant_of(item: object) -> tuple[str, str] | None:
    """The type and text of a stand-in class that stands for a value of torch; None for any other object."""
    return CONSTANTS.get(item.dotted) if isinstance(item, StandInType) else None
