"""Mutation test of what must not be wrong: python tools/mutation.py GROUP [--most N]  (see docs/mutation.md).

Works on a copy of what is committed. mutmut writes a changed version of every function there; a random sample of them
is run against the tests of the group, and the changes that no test notices are printed as diffs. Changes that touch
nothing but a text (a message) or a docstring are left out.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]

GROUPS: Final = {
    "reader": (
        [
            "viewer/formats/zip_*.py", "viewer/formats/safetensors*.py", "viewer/formats/storage_bytes.py",
            "viewer/formats/source.py", "viewer/formats/placing.py",
        ],
        [
            "tests/formats/test_zip_directory.py", "tests/formats/test_zip_heads.py",
            "tests/formats/test_safetensors.py", "tests/formats/test_source.py",
            "tests/formats/test_storage_bytes.py", "tests/formats/test_placing.py",
            "tests/formats/test_archives.py", "tests/formats/test_torch_zip.py", "tests/formats/test_torchscript.py",
            "tests/formats/test_zip_recovered_records.py", "tests/attacks/test_zip_containers.py",
            "tests/formats/test_limits_exact.py", "tests/formats/test_header_edges.py",
        ],
    ),
    "scan": (
        [f"viewer/formats/pickle/{name}.py" for name in ("scan", "cost", "runs", "payload", "flat", "opcodes")],
        [
            "tests/formats/test_limits_exact.py", "tests/formats/pickle/test_scan.py",
            "tests/formats/pickle/test_careful.py", "tests/formats/pickle/test_payload.py",
        ],
    ),
    "diff": (
        [f"viewer/compare/{name}.py" for name in (
            "floats", "integers", "rounding", "steps", "tally", "kernels", "small", "complexes", "tolerance",
            "scalars",
        )],
        [
            "tests/compare/test_measures.py", "tests/compare/test_rewriting.py", "tests/compare/test_structure.py",
            "tests/compare/test_large_singles.py", "tests/compare/test_rounding_ties.py",
            "tests/compare/test_plain_numbers.py",
        ],
    ),
    "writer": (
        [f"viewer/export/{name}.py" for name in (
            "canonical", "order", "pickle_ops", "pickle_writer", "zip_writer", "tensors", "values", "objects",
            "graph_parts", "safetensors_writer",
        )],
        [
            "tests/export/test_golden.py", "tests/export/test_determinism.py", "tests/export/test_round_trip.py",
            "tests/export/test_safetensors.py", "tests/export/test_options.py", "tests/export/test_one_form.py",
            "tests/export/test_properties.py", "tests/export/test_several_files.py", "tests/export/test_verify.py",
        ],
    ),
}  # fmt: skip
"""By name: what is changed, and the tests that are to notice."""

# The test that is left out has backslashes in its ids, which pytest does not find again when mutmut names them.
_SETTINGS: Final = """\
[mutmut]
source_paths=
    viewer
also_copy=
    resources
    docs
pytest_add_cli_args=
    -p
    no:randomly
    -p
    no:cacheprovider
    -p
    no:xdist
    --deselect
    tests/formats/pickle/test_scan.py::test_that_what_is_no_pickle_is_malformed
timeout_constant=20.0
timeout_multiplier=4.0
use_git_change_detection=false
"""


class Mutant(NamedTuple):
    """One change: its name in mutmut, and the function before and after."""

    name: str
    before: str
    after: str

    def diff(self) -> str:
        lines = difflib.unified_diff(self.before.split("\n"), self.after.split("\n"), lineterm="", n=1)
        return "\n".join([f"# {self.name}", *list(lines)[2:]])


def copy_checkout(target: Path, group: str) -> None:
    """What is committed, with mutmut's settings beside it."""
    shutil.rmtree(target, ignore_errors=True)
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(target, filter="data")
    changed, tests = GROUPS[group]
    settings = [_SETTINGS, "only_mutate=", *(f"    {name}" for name in changed)]
    settings += [
        "pytest_add_cli_args_test_selection=",
        *(f"    {name}" for name in tests if (target / name).exists()),
    ]
    (target / "setup.cfg").write_text("\n".join(settings) + "\n", encoding="utf-8")
    # mutmut forks a process for each mutant; the first to end would remove the folder that all of them use.
    conftest = target / "tests" / "conftest.py"
    text = conftest.read_text(encoding="utf-8")
    kept = text.replace("    shutil.rmtree(_FOLDER, ignore_errors=True)\n", "    pass\n")
    assert kept != text
    conftest.write_text(kept, encoding="utf-8")


def mutmut(folder: Path, *arguments: str) -> None:
    """Run mutmut; what it prints goes to a file."""
    with (folder / "mutmut.log").open("ab") as log:
        subprocess.run(
            [sys.executable, "-m", "mutmut", *arguments],
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
            # Forked processes have none of the threads that OpenMP believes to have.
            env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "OMP_NUM_THREADS": "1"},
        )


def mutants_of(folder: Path) -> Iterator[Mutant]:
    """All changes that mutmut has made, those of texts left out."""
    for path in sorted((folder / "mutants" / "viewer").rglob("*.py.meta")):
        module = ".".join(path.relative_to(folder / "mutants").with_suffix("").with_suffix("").parts)
        found: dict[str, ast.AST] = {}
        for node in ast.walk(ast.parse(path.with_suffix("").read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and "__mutmut_" in node.name:
                found[node.name] = node
        for name, node in found.items():
            stem, _, number = name.rpartition("__mutmut_")
            original = found.get(f"{stem}__mutmut_orig")
            if number.isdigit() and original is not None and _shape(node) != _shape(original):
                yield Mutant(f"{module}.{name}", _text(original), _text(node))


def _text(node: ast.AST) -> str:
    return ast.unparse(node).replace(getattr(node, "name", ""), "f")


class _WithoutTexts(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, _node: ast.JoinedStr) -> ast.AST:
        return ast.Constant("")

    def visit_Raise(self, _node: ast.Raise) -> ast.AST:
        return ast.Raise()


def _shape(node: ast.AST) -> str:
    copied = ast.parse(_text(node))
    return ast.dump(_WithoutTexts().visit(copied))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group", choices=sorted(GROUPS))
    parser.add_argument("--most", type=int, default=300, help="how many changes to run (default: %(default)s)")
    parser.add_argument("--again", type=Path, metavar="REPORT", help="only what a former report shows as survivors")
    parser.add_argument("--seed", type=int, default=0, help="of the choice (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutation", help="where the copy is made")
    asked = parser.parse_args()
    folder = asked.folder.resolve() / asked.group
    copy_checkout(folder, asked.group)
    mutmut(folder, "run", "--max-children", "1", "viewer.nothing*")  # makes the mutants, and runs none
    every = list(mutants_of(folder))
    random.Random(asked.seed).shuffle(every)
    if asked.again is not None:
        shown = {line.removeprefix("# ") for line in asked.again.read_text("utf-8").splitlines()}
        every = [mutant for mutant in every if mutant.name in shown]
    sample = {mutant.name: mutant for mutant in every[: asked.most]}
    print(f"{len(every)} changes of code, {len(sample)} of them are run", flush=True)
    mutmut(folder, "run", "--max-children", "1", *sample)
    report(folder, sample)


def report(folder: Path, sample: dict[str, Mutant]) -> None:
    """Counts by module, and the changes that nothing noticed."""
    counts: dict[str, Counter[str]] = {}
    survivors: list[Mutant] = []
    for path in sorted((folder / "mutants" / "viewer").rglob("*.py.meta")):
        codes = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
        for name, code in codes.items():
            if name not in sample or code is None:
                continue
            # 33 and 5: no test touches the function; 0: all passed; 24 and 36: took too long.
            kind = {
                0: "survived",
                5: "untested",
                33: "untested",
                24: "too long",
                36: "too long",
                -24: "too long",
                -9: "too long",
            }
            how = kind.get(code, "noticed")
            counts.setdefault(path.name.removesuffix(".py.meta"), Counter())[how] += 1
            if how in ("survived", "untested"):
                survivors.append(sample[name])
    print("| module | run | noticed | too long | survived | no test |\n|---|---|---|---|---|---|")
    for module, kinds in [*counts.items(), ("all", sum(counts.values(), Counter[str]()))]:
        cells = (kinds[kind] for kind in ("noticed", "too long", "survived", "untested"))
        print(f"| {module} | {kinds.total()} | {' | '.join(map(str, cells))} |")
    for mutant in survivors:
        print("\n" + mutant.diff())


if __name__ == "__main__":
    main()
