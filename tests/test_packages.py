"""What is given away: the source archive, and the list of licences."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

from tools.licences import TARGET, packages

ROOT = Path(__file__).parents[1]


def test_that_the_source_archive_holds_what_a_wheel_is_built_from_and_the_spec_of_the_folder_build(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    for wanted in (
        "viewer/__init__.py",
        "resources/icons/checkpoint-viewer.svg",
        "resources/samples/training-step-0200.pth",
        "packaging/checkpoint-viewer.spec",
        "docs/licences.md",
        "LICENSE",
        "pyproject.toml",
    ):
        assert wanted in names
    assert not [name for name in names if name.startswith((".venv", "build/", "dist/"))]


def test_that_every_package_that_the_program_needs_is_in_the_list_of_licences() -> None:
    text = TARGET.read_text(encoding="utf-8")
    needed = packages()
    assert {"torch", "numpy", "pyqtgraph"} <= {package.name for package in needed}
    for package in needed:
        assert f"| {package.name} | " in text
        assert package.licence != "not said"
