"""What a comparison says of long texts, long numbers, and values that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from pytestqt.qtbot import QtBot

from tests.gui.compare.pages import cells, compared, go_to, verdicts
from viewer.gui.compare.cells import Column
from viewer.gui.compare.page import ComparePage
from viewer.gui.compare.session import Side
from viewer.gui.compare.word_diff import diff_html
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.theme import Theme


def read(text: str) -> str:
    return re.sub("<[^>]*>", "", text)


def test_that_a_difference_far_down_in_a_long_text_is_shown_with_what_stands_around(theme: Theme) -> None:
    lines = [f"option {number} = {number}" for number in range(2000)]
    a, b = ("\n".join([*lines, f"precision = {value}", *lines]) for value in ("half", "full"))
    shown = read(diff_html(a, b, theme))
    assert "precision = −half+full\noption 0 = 0" in shown
    assert "option 1999 = 1999" in shown
    assert "characters that are the same" in shown
    assert len(shown) < 2_000


def test_that_a_difference_at_the_end_of_a_huge_text_is_shown(theme: Theme) -> None:
    a = "a " * 1_000_000
    shown = read(diff_html(a + "one", a + "two", theme))
    assert "−one+two" in shown
    assert shown.startswith("… 1,999,600 characters that are the same …")


def test_that_a_short_text_is_shown_as_a_whole(theme: Theme) -> None:
    assert read(diff_html("the quick fox", "the slow fox", theme)) == "the −quick+slow fox"


@pytest.fixture
def page(qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, tmp_path: Path) -> Iterator[ComparePage]:
    """Two files of large integers and long texts, and a tensor that breaks off in one of them."""
    long = "a " * 500
    for name, value in (("a", -(2**63)), ("b", 2**63 - 1)):
        torch.save(
            {"note": long + name, "big": torch.tensor([value]), "w": torch.ones(40_000)}, tmp_path / f"{name}.pth"
        )
    whole = (tmp_path / "a.pth").read_bytes()
    (tmp_path / "a.pth").write_bytes(whole[:60_000])
    page = compared(qtbot, engine_bridge, theme, Side(tmp_path / "a.pth"), Side(tmp_path / "b.pth"))
    yield page
    page.close_document()


def test_that_cells_tell_long_numbers_and_texts_apart(page: ComparePage) -> None:
    names = cells(page, Column.NAME)
    assert dict(zip(names, cells(page, Column.MAX_ABS), strict=True))["big"] == "1.845e19"
    left, right = (cells(page, column)[names.index("note")] for column in (Column.LEFT, Column.RIGHT))
    assert left != right
    assert left.endswith("a a'")
    assert right.endswith("a b'")


def test_that_what_cannot_be_read_is_not_said_to_be_compared_later(qtbot: QtBot, page: ComparePage) -> None:
    assert verdicts(page)["w"] == "… cannot be compared"
    assert "1 that cannot be read" in page.sentence.text()
    go_to(page, "w")
    page.next_difference()
    assert page.note.isVisible()
    assert page.note.text() == "No difference below the current row, but 1 entry cannot be compared"
    page.previous_difference()
    qtbot.waitUntil(lambda: not page.note.isVisible())
