"""The matrix in the documentation names tests that there are, and all of this folder."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def matrix() -> str:
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    return text.partition("\n## Fault matrix\n")[2].partition("\n## ")[0]


def named() -> set[tuple[str, str]]:
    return set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", matrix()))


def test_that_every_test_that_the_matrix_names_exists() -> None:
    assert len(named()) > 20
    missing = [
        f"{file}::{test}"
        for file, test in sorted(named())
        if not (ROOT / file).exists() or f"\ndef {test}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]
    assert missing == []


def test_that_the_matrix_names_every_test_of_a_fault() -> None:
    here = {
        (str(path.relative_to(ROOT)), test)
        for path in Path(__file__).parent.glob("test_*_faults.py")
        for test in re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert here - named() == set()
