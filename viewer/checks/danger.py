"""Names with which a pickle can run programs, read or write files, or reach what does.

A checkpoint needs none of them. The list is that of what attacks on pickles use (the deny lists of picklescan and
fickling, and builtins that reach further); a name that is not in it is not thereby harmless.
"""

from __future__ import annotations

from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checks.results import Finding

CHECK: Final = "names that can run programs"

_PACKAGES: Final = frozenset({
    "asyncio", "cloudpickle", "ctypes", "dill", "ensurepip", "http", "importlib", "multiprocessing", "os", "pip",
    "requests", "subprocess", "urllib", "venv",
})  # fmt: skip
"""With everything below them."""

_MODULES: Final = frozenset({
    "_ctypes", "_pickle", "bdb", "cProfile", "code", "codeop", "commands", "doctest", "ftplib", "imp", "marshal",
    "nt", "pdb", "pickle", "popen2", "posix", "profile", "pty", "pydoc", "runpy", "shutil", "signal", "smtplib",
    "socket", "sys", "timeit", "trace", "webbrowser",
})  # fmt: skip
"""Themselves alone: a program may have a package of its own called code."""

_NAMES: Final = frozenset({
    "builtins.__import__", "builtins.apply", "builtins.breakpoint", "builtins.compile", "builtins.eval",
    "builtins.exec", "builtins.execfile", "builtins.input", "builtins.open", "functools.reduce", "numpy.load",
    "torch.hub.load", "torch.jit.load", "torch.load", "types.CodeType", "types.FunctionType",
})  # fmt: skip

_REACHING: Final = frozenset({
    "_operator.attrgetter", "_operator.methodcaller", "builtins.delattr", "builtins.getattr", "builtins.globals",
    "builtins.setattr", "builtins.vars", "operator.attrgetter", "operator.methodcaller",
})  # fmt: skip
"""These alone run nothing, and sound files use them for enum members and methods; attacks go on from there."""

_PYTHON_2: Final = {"__builtin__": "builtins", "copy_reg": "copyreg"}
_SHOWN: Final = 5


def modern(module: str) -> str:
    """The module under its name in Python 3."""
    return _PYTHON_2.get(module, module)


def can_run(module: str, name: str) -> bool:
    """Whether a name is among those that attacks use."""
    module = modern(module)
    return (
        module.partition(".")[0] in _PACKAGES
        or module in _MODULES
        or f"{module}.{name}" in _NAMES
        or f"{module}.{name}" in _REACHING
    )


def danger_findings(checkpoint: Checkpoint) -> list[Finding]:
    """One finding where the file names any of them."""
    names = sorted(
        {f"{modern(use.module)}.{use.name}" for use in checkpoint.globals if can_run(use.module, use.name)}
    )
    if not names:
        return []
    listed = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")
    only_reaching = all(name in _REACHING for name in names)
    return [
        Finding(
            CHECK,
            "warning" if only_reaching else "error",
            f"the file names {listed}, with which a pickle can run programs or reach other files",
            "Do not load it with pickle or weights_only=False; ask whoever made it for a file without them",
            (0,),
            len(names),
        )
    ]
