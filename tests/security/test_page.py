"""docs/security.md says what the code and the tests say."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from viewer.compare import rewriting
from viewer.desktop import handover, state
from viewer.engine import child, framing
from viewer.formats.limits import GIB, KIB, LIMITS, MIB, Limits
from viewer.tensors import scan_cache

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "security.md"


def size(value: float) -> str:
    """A number as the page has it."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if isinstance(value, int) and value >= unit and value % unit == 0:
            return f"{value:,} ({value // unit} {name})"
    return f"{value:,}"


def limits_table() -> str:
    """The numbers of Limits and their origins, from its docstring."""
    rows = ["| limit | number | origin |", "|---|---|---|"]
    documented = re.findall(r"^    (\w[\w, ]*)\n((?: {8}.*\n)+)", Limits.__doc__ or "", re.MULTILINE)
    for names, text in documented:
        values = [size(getattr(LIMITS, name)) for name in names.split(", ")]
        names = " ".join(f"`{name}`" for name in names.split(", "))
        rows.append(f"| {names} | {', '.join(values)} | {' '.join(text.split())} |")
    return "\n".join(rows)


def other_limits_table() -> str:
    """Numbers that stand elsewhere in the code."""
    rows = [
        ("a frame between engine and window", framing.FRAME_LIMIT, "bytes"),
        ("what an engine may print before it speaks", child.NOISE_LIMIT, "bytes"),
        ("what is kept of what it prints", child.LOG_NBYTES, "bytes"),
        ("a message of a second start", handover.MOST_NBYTES, "bytes"),
        ("the log", state.LOG_NBYTES, "bytes, and two older ones"),
        ("the cache of statistics", scan_cache.MAX_NBYTES, "bytes"),
        ("rename rules on all names", rewriting.CPU_SECONDS, "seconds of a processor"),
    ]
    return "\n".join(
        ["| what | at most |", "|---|---|", *(f"| {what} | {size(value)} {unit} |" for what, value, unit in rows)]
    )


def known_tests() -> set[str]:
    names: set[str] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        names.update(re.findall(r"^def (test_\w+)\(", path.read_text("utf-8"), re.MULTILINE))
    return names


def claims() -> list[str]:
    """The bullets of the sections that claim something."""
    text = PAGE.read_text("utf-8").partition("## Not defended")[0]
    return [" ".join(bullet.split()) for bullet in re.findall(r"^- (.*\n(?:  .*\n)*)", text, re.MULTILINE)]


@pytest.mark.parametrize(("mark", "made"), [("limits", limits_table), ("other limits", other_limits_table)])
def test_that_the_tables_are_the_numbers_of_the_code(mark: str, made: object) -> None:
    assert callable(made)
    found = re.search(rf"<!-- {mark}: begin -->\n(.*)<!-- {mark}: end -->", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    assert found[1].strip() == made(), "replace the table by what the function returns"


def test_that_every_limit_has_an_origin() -> None:
    table = limits_table()
    for field in fields(Limits):
        assert f"`{field.name}`" in table, field.name


def test_that_every_claim_names_tests_and_every_test_is_there() -> None:
    there = known_tests()
    assert len(claims()) > 35
    for claim in claims():
        named = re.findall(r"`(test_\w+)`", claim)
        assert named, claim
        assert set(named) <= there, (claim, set(named) - there)


def test_that_the_page_of_the_users_and_this_one_lead_to_each_other() -> None:
    assert "(safety.md)" in PAGE.read_text("utf-8")
    assert "(security.md)" in (ROOT / "docs" / "safety.md").read_text("utf-8")
