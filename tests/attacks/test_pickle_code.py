"""Pickles that try to run code, by every opcode that could: nothing runs, and the attempt is there to be seen.

Each would leave a file named `canary` beside it; an audit hook hears any import, open, exec or subprocess.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from tests.attacks.pickle_attack import open_hostile
from tests.formats.pickle.helpers import get, load, named, put, text

CODE = "open('canary','w')"
SYSTEM = text("touch canary")

ATTACKS: dict[str, bytes] = {
    "reduce": named("os", "system") + b"(" + SYSTEM + b"tR.",
    "reduce eval": named("builtins", "eval") + b"(" + text(CODE) + b"tR.",
    "reduce exec of python 2": named("__builtin__", "execfile") + b"(" + text(CODE) + b"tR.",
    "instance": b"(" + SYSTEM + b"ios\nsystem\n.",
    "object": b"(" + named("os", "system") + SYSTEM + b"o.",
    "new object": b"\x80\x02" + named("subprocess", "Popen") + b"(" + SYSTEM + b"t\x81.",
    "new object with keywords": b"\x80\x04"
    + named("subprocess", "Popen")
    + b")}("
    + text("args")
    + SYSTEM
    + text("shell")
    + b"\x88u\x92.",
    "build with a state": named("builtins", "object")
    + b")R}"
    + text("__setstate__")
    + named("os", "system")
    + b"sb"
    + SYSTEM
    + b"b.",
    "build on a class": named("m", "C")
    + put(0)
    + b"N}"
    + text("__new__")
    + named("os", "system")
    + b"s\x86b0"
    + get(0)
    + b"("
    + SYSTEM
    + b"tR.",
    "build with slots": named("m", "C")
    + b")RN}("
    + text("__class__")
    + named("os", "system")
    + text("__call__")
    + named("os", "system")
    + b"u\x86b("
    + SYSTEM
    + b"tR.",
    "stack global": b"\x80\x04" + text("os") + text("system") + b"\x93(" + SYSTEM + b"tR.",
    "dotted stack global": b"\x80\x04" + text("os") + text("path.os.system") + b"\x93(" + SYSTEM + b"tR.",
    "attribute of a module": named("builtins", "getattr")
    + b"("
    + named("builtins", "__import__")
    + b"("
    + text("os")
    + b"tR"
    + text("system")
    + b"tR("
    + SYSTEM
    + b"tR.",
    "extension": b"\x80\x02\x82\x01(" + SYSTEM + b"tR.",
    "nested pickle": named("pickle", "loads")
    + b"(B"
    + b"\x20\x00\x00\x00"
    + b"cos\nsystem\n(U\x0ctouch canarytR.    "
    + b"tR.",
    "torch's nested bytes": named("torch.storage", "_load_from_bytes")
    + b"(C\x20cos\nsystem\n(U\x0ctouch canarytR.    tR.",
    "partial": named("functools", "partial") + named("os", "system") + SYSTEM + b"\x86R)R.",
    "methodcaller": named("_operator", "methodcaller")
    + text("system")
    + SYSTEM
    + b"\x86R"
    + named("os", "sys")
    + b"\x85R.",
    "apply of map": named("builtins", "list")
    + named("builtins", "map")
    + named("os", "system")
    + b"]"
    + SYSTEM
    + b"a\x86R\x85R.",
    "code object": named("types", "FunctionType") + named("types", "CodeType") + b")R}\x86R)R.",
    "reconstructor": named("copy_reg", "_reconstructor")
    + b"("
    + named("os", "system")
    + named("builtins", "object")
    + b"NtR("
    + SYSTEM
    + b"tR.",
    "type with a method": named("builtins", "type")
    + b"("
    + text("X")
    + b")}"
    + text("__del__")
    + named("os", "system")
    + b"stR)R.",
    "torch hub": named("torch.hub", "load") + b"(" + text("a/b") + text("c") + b"tR.",
    "numpy": named("numpy.testing._private.utils", "runstring") + b"(" + text(CODE) + b"}tR.",
    "rebuild by a foreign function": named("torch._tensor", "_rebuild_from_type_v2")
    + b"("
    + named("os", "system")
    + named("torch", "Tensor")
    + b"("
    + SYSTEM
    + b"tNtR.",
    "device rebuild of a foreign object": named("torch._utils", "_rebuild_device_tensor_from_numpy")
    + b"("
    + named("os", "system")
    + b"NNNtR.",
    "persistent id": named("os", "system") + b"Q(" + SYSTEM + b"tR.",
    "persistent id with a storage class": b"("
    + text("storage")
    + named("os", "system")
    + text("0")
    + text("cpu")
    + b"K\x01tQ("
    + SYSTEM
    + b"tR.",
    "persistent module": b"("
    + text("module")
    + named("os", "system")
    + text("f")
    + text("s")
    + b"tQ("
    + SYSTEM
    + b"tR.",
    "unicode name": b"\x80\x04" + text("o\u017f") + text("system") + b"\x93(" + SYSTEM + b"tR.",
    "relative name": named("..os", "system") + b"(" + SYSTEM + b"tR.",
    "empty name": named("", "") + b"(" + SYSTEM + b"tR.",
    "key with a hash method": b"}" + named("m", "C") + b")R}" + text("__hash__") + named("os", "system") + b"sbNs.",
}


class Reduced:
    """What an attacker's own pickler writes."""

    def __reduce__(self) -> tuple[object, ...]:
        return eval, (CODE,)


ATTACKS |= {f"protocol {protocol}": pickle.dumps({"model": [Reduced()]}, protocol) for protocol in range(6)}


@pytest.mark.parametrize("name", ATTACKS)
def test_that_nothing_runs(name: str, tmp_path: Path) -> None:
    report = open_hostile(ATTACKS[name], tmp_path)
    assert report.nodes > 0 or report.outcome.startswith("LimitExceeded")


@pytest.mark.parametrize("name", [name for name in ATTACKS if name != "extension"])
def test_that_the_attempt_is_listed(name: str) -> None:
    session, _ = load(ATTACKS[name], partial=True)
    assert [use.dotted for use in session.globals() if not use.harmless]
