"""What the documents say is so."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from viewer import __version__
from viewer.checkpoint.paths import format_path, parse_path

ROOT = Path(__file__).parents[1]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """What stands under a heading, up to the next of the same level."""
    return re.split(rf"^## {re.escape(title)}$", text, flags=re.MULTILINE)[1].partition("\n## ")[0]


def shown(*arguments: str) -> dict[str, Any]:
    """What `checkpoint-viewer show --json` prints."""
    command = [sys.executable, "-m", "viewer", "show", "--json", *arguments]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_that_the_documents_point_at_files_that_are_there() -> None:
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name} points at {target}"


def test_that_the_examples_in_the_readme_run(tmp_path: Path) -> None:
    reading, writing = re.findall(r"```python\n(.*?)```", text_of("README.md"), re.DOTALL)
    lines = output_of(reading).splitlines()
    assert lines[0] == "torch zip"
    assert "model/stem.conv.weight float32 (16, 1, 3, 3) 576" in lines
    assert lines[-1].startswith("['collections.OrderedDict', ")
    lines = output_of(writing.replace('"out.pth"', repr(str(tmp_path / "out.pth")))).splitlines()
    assert lines[0] == "other numbers"
    assert any(line.startswith("model/head.weight ") for line in lines)
    assert lines[-1].split()[0] == hashlib.sha256((tmp_path / "out.pth").read_bytes()).hexdigest()


def output_of(program: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout


def test_that_the_commands_of_make_in_the_documents_are_there() -> None:
    rules = set(re.findall(r"^([a-z]+):", text_of("Makefile"), re.MULTILINE))
    named = {
        name for document in DOCUMENTS for name in re.findall(r"`?make ([a-z]+)\b`", document.read_text("utf-8"))
    }
    assert {"demo", "test"} <= named <= rules


def test_that_the_changelog_tells_about_this_version() -> None:
    text = text_of("CHANGELOG.md")
    assert f"## [{__version__}]" in text or "## [Unreleased]" in text


def test_that_the_paths_in_the_command_line_document_are_paths() -> None:
    cells = re.findall(r"^\| (`.*?) \| ", section(text_of("docs/command-line.md"), "Paths"), re.MULTILINE)
    paths = [path for cell in cells for path in re.findall(r"`([^`]+)`", cell)]
    assert len(paths) == 8
    for path in paths:
        assert format_path(parse_path(path)) == path


def test_that_the_fields_in_the_command_line_document_are_in_the_json(sample_path: Path) -> None:
    document = shown(str(sample_path), "--path", "model/head.bias", "--stats", "--values", "2")
    tables = section(text_of("docs/command-line.md"), "JSON").split("`stats` holds among others:")
    names = [re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for table in tables]
    fields, measures = ({name for cell in cells for name in re.findall(r"`(\w+)`", cell)} for cells in names)
    entry = document["entries"][0]
    assert fields - {"value", "problem", "extra", "target"} <= set(entry)
    assert measures <= set(entry["stats"])
    assert len(fields) == 22
    assert len(measures) == 12
    for name in ("file", "container", "nbytes", "facts", "globals", "warnings"):
        assert name in document
    (leaf,) = shown(str(sample_path), "--path", "optimizer/param_groups[0]/lr")["entries"]
    assert isinstance(leaf["value"], float)


def test_that_the_comparison_in_the_guide_is_what_the_program_prints() -> None:
    (example,) = re.findall(
        r"```\n\$ (checkpoint-viewer diff .*?)```", text_of("docs/comparing-checkpoints.md"), re.DOTALL
    )
    line, _, wanted = example.partition("\n")
    command = [sys.executable, "-m", "viewer", *line.split()[1:]]
    samples = ROOT / "resources" / "samples"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, cwd=samples, capture_output=True, text=True, env=environment, timeout=120)
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout.replace(f"{samples}{os.sep}", "").strip() == wanted.strip()
