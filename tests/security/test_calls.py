"""Where the code calls what could run what it is given: in the places listed here, each with its reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

RUNS = {
    "eval", "exec", "compile", "__import__", "pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.loads",
    "marshal.load", "torch.load", "torch.jit.load", "np.load", "numpy.load", "np.lib.format.read_array",
    "shelve.open",
    "os.system", "os.popen", "os.execv", "os.execvp", "runpy.run_path", "runpy.run_module", "importlib.import_module",
    "import_module", "QDesktopServices.openUrl", "webbrowser.open", "subprocess.run", "subprocess.Popen",
    "ctypes.CDLL", "copy.deepcopy",
}  # fmt: skip

ALLOWED = {
    # Our own modules, by names that stand in our own code; the engine's list of admitted modules is one of them.
    ("cli/commands.py", "importlib.import_module"), ("engine/admitted.py", "importlib.import_module"),
    ("gui/compare/ahead.py", "importlib.import_module"), ("gui/preload.py", "importlib.import_module"),
    # Unpicklers that find no class (the file's, the pipe's), or those of a list (a helper's pipe).
    ("formats/pickle/unpickler.py", "pickle.Unpickler"), ("engine/framing.py", "pickle.Unpickler"),
    ("helper_process.py", "pickle.Unpickler"),
    # Our own interpreters, and the tools of the desktop when it is told of the program.
    ("helper_process.py", "subprocess.Popen"), ("compare/rewriting.py", "subprocess.run"),
    ("engine/child.py", "subprocess.Popen"), ("roundtrip/twice.py", "subprocess.Popen"),
    ("desktop/linux.py", "subprocess.run"),
    # The C library, for prctl.
    ("engine/host.py", "ctypes.CDLL"), ("interpreter.py", "ctypes.CDLL"),
    # The round trip reads back what it has written a moment ago, of plain data and tensors.
    ("roundtrip/ways.py", "copy.deepcopy"), ("roundtrip/ways.py", "np.load"), ("roundtrip/ways.py", "pickle.loads"),
    ("roundtrip/ways.py", "torch.load"),
    # The folder of a file, in the person's file manager.
    ("gui/habits/properties.py", "QDesktopServices.openUrl"),
}  # fmt: skip


def name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}".lstrip(".")
    return node.id if isinstance(node, ast.Name) else ""


def calls() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "viewer").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = name_of(node.func) if isinstance(node, ast.Call) else ""
            bases = [name_of(base) for base in node.bases] if isinstance(node, ast.ClassDef) else []
            for each in (name, *bases):
                if each in RUNS:
                    yield path.relative_to(ROOT / "viewer").as_posix(), each
            if isinstance(node, ast.keyword) and node.arg == "shell":
                yield path.as_posix(), "shell="


def test_that_what_could_run_a_file_is_called_in_known_places_alone() -> None:
    assert set(calls()) == ALLOWED
