"""`make nightly`: one SHA-256 for one content, whichever Python and torch wrote, named or exported it.

Not a part of `make test`: it installs other versions of torch, some GB, into the folder build/versions, and keeps
them there for the next night. Where a version cannot be installed (no wheel for this machine, no network) it says so
and goes on; it fails only where a digest or a loaded value is wrong, or where no two versions could be compared.

For every pair of VERSIONS that can be had,

1. that torch writes a set of contents, as zip and in the old format, with what it knows (`_CONTENTS`);
2. every Python from 3.11 on names the contents of all these files (`checkpoint-viewer digest`), most without torch;
3. all the names of one content must be equal;
4. the files that this checkout exports are loaded by each torch, with `weights_only` where it has that, with and
   without mmap where it has that, and compared with the content.

Python interpreters are looked for on the PATH and in ~/.pyenv/versions. To add a version, add a row to VERSIONS; to
run some only, name them: `python -m benchmarks.versions 3.8:1.6.0 3.11:2.13.0`. `venv:PATH` takes an environment that
is there already.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "build" / "versions"
VERSIONS: Final = (
    ("3.8", "1.6.0"),  # the first that writes zip files
    ("3.9", "1.8.1"),
    ("3.10", "1.13.1"),  # the first with weights_only
    ("3.11", "2.1.2"),
    ("3.12", "2.5.1"),
    ("3.11", "2.13.0"),
    ("3.13", "2.13.0"),
)
_OLDEST_OF_OURS: Final = (3, 11)
_INSTALL_S: Final = 1800

# Runs under any of these versions: no syntax and no function that torch 1.6 and Python 3.8 lack.
_CONTENTS: Final = """
import collections, json, sys
import torch

def contents():
    base = torch.arange(24, dtype=torch.float32)
    state = collections.OrderedDict()
    state["layer.weight"] = base.reshape(4, 6)
    state["layer.bias"] = base[:4] * 0.5
    state._metadata = collections.OrderedDict([("", {"version": 1}), ("layer", {"version": 1})])
    shared = ["x", "x"]
    words = "alpha beta gamma delta epsilon".split()
    yield "state_dict", state
    yield "training", {
        "model": state, "epoch": 3, "lr": 1e-3, "betas": (0.9, 0.999), "big": 2 ** 80, "none": None, "flag": True,
        "optimizer": {"state": {0: {"step": 5, "exp_avg": torch.zeros(4, 6)}}, "param_groups": [{"params": [0]}]},
        "names": shared, "again": shared, "text": "h\\u00e9llo", "bytes": b"\\x00\\xff", "size": torch.Size([2, 3]),
    }
    yield "dtypes", {
        name: torch.tensor([0, 1, 1, 0]).to(getattr(torch, name))
        for name in "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()
    }
    yield "views", {"transposed": base.reshape(4, 6).t(), "part": base[3:9], "strided": base[::2], "whole": base}
    yield "same", {"a": base, "b": base, "parameter": torch.nn.Parameter(torch.ones(2, 2))}
    yield "sets", {"words": set(words), "counter": collections.Counter(words)}
    yield "special", torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 1e-45])
    yield "empty", {"none": torch.zeros(0, 3), "scalar": torch.tensor(2.5), "dict": {}, "list": [], "tuple": ()}
"""

_WRITE: Final = """
folder = sys.argv[1]
for name, content in contents():
    torch.save(content, "%s/%s.zip.pt" % (folder, name), _use_new_zipfile_serialization=True)
    torch.save(content, "%s/%s.old.pt" % (folder, name), _use_new_zipfile_serialization=False)
print(json.dumps([torch.__version__, "%d.%d.%d" % sys.version_info[:3]]))
"""

_LOAD: Final = """
import inspect
def bits(tensor):
    tensor = tensor.detach().contiguous()
    if tensor.dtype == torch.bfloat16:  # numpy has none; every value is one of float32 as well
        tensor = tensor.float()
    return tensor.numpy().tobytes()

def same(a, b):
    if isinstance(a, torch.Tensor):
        return (type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and bits(a) == bits(b)
                and a.requires_grad == b.requires_grad)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a) and getattr(
            a, "_metadata", None) == getattr(b, "_metadata", None)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b

taken = inspect.signature(torch.load).parameters
ways = [{}]
if "weights_only" in taken:
    ways = [{"weights_only": False}, {"weights_only": True}]
if "mmap" in taken:
    ways += [dict(way, mmap=True) for way in ways]
wrong = []
for name, content in contents():
    for way in ways:
        try:
            found = torch.load("%s/%s.pth" % (sys.argv[1], name), **way)
        except Exception as error:
            # Sets and some others were not on the list of weights_only in the versions that brought it.
            if not way.get("weights_only") or "nsupported" not in str(error):
                wrong.append("%s %s: %s" % (name, way, error))
            continue
        if not same(content, found):
            wrong.append("%s %s: another value" % (name, way))
print(json.dumps([wrong, len(ways)]))
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """An interpreter with a torch.

    Attributes
    ----------
    name
        Of its Python and torch.
    """

    name: str
    python: Path

    def run(self, code: str, *arguments: object, env: dict[str, str] | None = None) -> str:
        """What a piece of Python prints; raises RuntimeError with what it said where it failed."""
        command = [str(self.python), "-W", "ignore", "-c", code, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})})
        if done.returncode:
            raise RuntimeError(f"{self.name}: {done.stderr.strip()[-2000:]}")
        return done.stdout


def find_python(version: str) -> Path | None:
    """An interpreter of a version such as "3.8"; None where there is none."""
    on_path = shutil.which(f"python{version}")
    candidates = [Path(on_path)] if on_path is not None else []
    candidates += sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"), reverse=True)
    for candidate in candidates:
        # Asked, since a name on the PATH may be a script that finds no such version.
        command = [str(candidate), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return candidate
    return None


def environment(version: str, torch: str = "") -> Environment | None:
    """A virtual environment with this Python, numpy and torch if one is given, made unless it is there.

    None where it cannot be had.
    """
    name = f"Python {version}" + (f", torch {torch}" if torch else "")
    folder = FOLDER / f"{version}-{torch or 'numpy'}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        interpreter = find_python(version)
        if interpreter is None:
            print(f"{name}: no such Python here", flush=True)
            return None
        print(f"{name}: installing", flush=True)
        packages = ["numpy<2" if torch.startswith(("1.", "2.0", "2.1")) else "numpy"]
        packages += [f"torch=={torch}"] if torch else []
        try:
            subprocess.run([interpreter, "-m", "venv", "--clear", folder], check=True, capture_output=True, text=True)
            install = [str(python), "-m", "pip", "install", "-q", *packages]
            subprocess.run(install, check=True, capture_output=True, text=True, timeout=_INSTALL_S)
        except (subprocess.SubprocessError, OSError) as error:
            said = str(getattr(error, "stderr", "") or error).strip().splitlines()
            print(f"{name}: cannot be installed ({said[-1] if said else error})", flush=True)
            return None
        (folder / "complete").touch()
    return Environment(name, python)


def environments(wanted: list[str]) -> list[Environment]:
    """Those that can be had, this one first."""
    made = [Environment("this environment", Path(sys.executable))]
    pairs = [(one.partition(":")[0], one.partition(":")[2]) for one in wanted] or list(VERSIONS)
    for version, torch in pairs:
        is_there = version == "venv"
        found = Environment(torch, Path(torch) / "bin" / "python") if is_there else environment(version, torch)
        if found is not None:
            made.append(found)
    return made


def namers() -> list[Environment]:
    """Every Python here that this program runs on, with numpy, which packs views, and nothing else."""
    found = [Environment("this environment", Path(sys.executable))]
    for minor in range(_OLDEST_OF_OURS[1], _OLDEST_OF_OURS[1] + 10):
        made = environment(f"3.{minor}") if find_python(f"3.{minor}") is not None else None
        if made is not None:
            found.append(made)
    return found


_DIGEST: Final = """
import sys
from viewer.cli.main import main
sys.exit(main(["digest", *sys.argv[1:]]))
"""


def main(arguments: list[str]) -> int:
    """Run all of it; 0 where every name and every value is right."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    work = FOLDER / "work"
    shutil.rmtree(work, ignore_errors=True)
    names: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    wrong: list[str] = []
    there = environments(arguments)
    readers = namers() + [one for one in there[1:] if _is_new_enough(one)]
    for number, writer in enumerate(there):
        folder = work / str(number)
        folder.mkdir(parents=True)
        torch, python = json.loads(writer.run(_CONTENTS + _WRITE, folder))
        files = sorted(folder.iterdir())
        for seed, reader in enumerate(readers):
            env = {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": str(seed), "PYTHONDONTWRITEBYTECODE": "1"}
            for line in reader.run(_DIGEST, *files, env=env).splitlines():
                sha256, path = line.split("  ", 1)
                content, form, _ = Path(path).name.split(".")
                names[content][sha256].append(f"torch {torch} on {python}, {form}, named by {reader.name}")
        print(f"{writer.name}: {len(files)} files of torch {torch} named by {len(readers)} interpreters", flush=True)
    for content, found in names.items():
        print(f"{content:12} {' '.join(found)}")
        if len(found) > 1:
            wrong += [f"{content} has the name {sha256} for {', '.join(who)}" for sha256, who in found.items()]
    exported = _export(work / "0", work / "exported")
    for one in there:
        found_wrong, ways = json.loads(one.run(_CONTENTS + _LOAD, exported))
        wrong += [f"{one.name}: {what}" for what in found_wrong]
        print(f"{one.name}: the exports load in {ways} ways", flush=True)
    shutil.rmtree(work)
    if len(there) < 2 and len(readers) < 2:
        wrong.append("only one version could be had: nothing was compared")
    print("\n".join(wrong) or "one name for each content, and every value as it was")
    return 1 if wrong else 0


def _is_new_enough(one: Environment) -> bool:
    return one.run("import sys; print(sys.version_info[:2] >= (3, 11))").strip() == "True"


def _export(source: Path, target: Path) -> Path:
    from viewer import export_canonical

    target.mkdir()
    for path in source.glob("*.zip.pt"):
        export_canonical(path, target / f"{path.name.split('.')[0]}.pth")
    return target


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
