"""Which names are known, which `torch.load(weights_only=True)` accepts, and how each is written."""

from __future__ import annotations

from typing import Final

from viewer.checkpoint.dtypes import DTYPES
from viewer.formats.pickle.known import HARMLESS
from viewer.formats.pickle.names import CONSTANTS, STORAGE_CLASSES, plain_name

_PYTHON_3: Final = {"unicode": "str", "long": "int", "xrange": "range", "basestring": "str"}

_IMMUTABLE_MODULES: Final = ("datetime.", "decimal.", "fractions.", "uuid.", "pathlib.", "numpy.dtype")
_IMMUTABLE: Final = frozenset(
    {
        "torch.Size",
        "torch.device",
        "torch.serialization._get_layout",
        "builtins.slice",
        "builtins.range",
        "builtins.frozenset",
        "numpy.core.multiarray.scalar",
    }
)

_QSCHEMES: Final = {name for name, (kind, _) in CONSTANTS.items() if kind == "torch.qscheme"}
_DTYPE_NAMES: Final = {f"torch.{dtype.name}" for dtype in DTYPES}

WEIGHTS_ONLY: Final = (
    frozenset(
        {
            "collections.OrderedDict",
            "collections.Counter",
            "builtins.bytearray",
            "builtins.set",
            "builtins.complex",
            "_codecs.encode",
            "torch.Size",
            "torch.Tensor",
            "torch.device",
            "torch.nn.parameter.Parameter",
            "torch.serialization._get_layout",
        }
    )
    | _DTYPE_NAMES
    | _QSCHEMES
    | STORAGE_CLASSES
)
"""What torch/_weights_only_unpickler.py lists (torch 2.13); tensors are rebuilt by functions that it lists too."""

_KNOWN_CALLS: Final = frozenset({"numpy.core.multiarray._reconstruct", "numpy.core.multiarray.scalar"})


def written_name(module: str, name: str) -> tuple[str, str]:
    """Module and name as they are written: those of Python 3, and of numpy 1, which numpy 2 reads too."""
    module = plain_name(module, "x").removesuffix(".x")
    if module == "builtins":
        name = _PYTHON_3.get(name, name)
    if module == "numpy._core" or module.startswith("numpy._core."):
        module = "numpy.core" + module.removeprefix("numpy._core")
    if module == "torch" and f"torch.{name}" in CONSTANTS:
        name = CONSTANTS[f"torch.{name}"][1].removeprefix("torch.")
    return module, name


def is_known(module: str, name: str) -> bool:
    """Whether a class or function only makes plain data; the names as they are written."""
    dotted = f"{module}.{name}"
    return plain_name(module.replace("numpy.core", "numpy._core"), name) in HARMLESS or dotted in _KNOWN_CALLS


def is_immutable(module: str, name: str) -> bool:
    """Whether what it makes cannot be changed in place."""
    dotted = f"{module}.{name}"
    return dotted in _IMMUTABLE or dotted.startswith(_IMMUTABLE_MODULES)
