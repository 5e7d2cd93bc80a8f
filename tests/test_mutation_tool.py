"""The mutation test changes and runs what there is: a module or a test that was renamed must not drop out unseen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.mutation import GROUPS, Mutant

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("group", GROUPS)
def test_that_what_is_changed_and_run_is_there(group: str) -> None:
    changed, tests = GROUPS[group]
    for pattern in changed:
        assert list(ROOT.glob(pattern)), pattern
    for name in tests:
        assert (ROOT / name).is_file(), name


def test_that_the_page_tells_of_every_group() -> None:
    page = (ROOT / "docs" / "mutation.md").read_text("utf-8")
    for group in GROUPS:
        assert re.search(rf"tools/mutation.py {group}\b", page), group


def test_that_a_change_is_shown_as_a_diff() -> None:
    mutant = Mutant("viewer.x.f__mutmut_1", "def f():\n    return 1", "def f():\n    return 2")
    assert mutant.diff().splitlines()[0] == "# viewer.x.f__mutmut_1"
    assert "-    return 1\n+    return 2" in mutant.diff()
