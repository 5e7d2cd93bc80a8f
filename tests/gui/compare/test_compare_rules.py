"""Renames are offered and never applied by themselves; rules and tolerances are chosen, shown and taken back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from pytestqt.qtbot import QtBot

from tests.gui.compare.pages import PATIENCE_MS, compared, verdicts
from viewer.compare.results import RenameOffer, RenameRule, Tolerance
from viewer.gui.compare.bars import offer_words
from viewer.gui.compare.page import ComparePage
from viewer.gui.compare.rules_dialog import RulesDialog
from viewer.gui.compare.session import Side
from viewer.gui.compare.tolerance_dialog import ToleranceDialog
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.theme import Theme

OFFER = "“module.” in front of 3 names on the left explains the mismatch"


@pytest.fixture
def page(qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, tmp_path: Path) -> Iterator[ComparePage]:
    """A model as DistributedDataParallel saves it, and the plain one with one value a little off."""
    plain = {"fc.weight": torch.ones(2, 3), "fc.bias": torch.arange(2.0), "out.weight": torch.full((2,), 0.5)}
    torch.save({f"module.{name}": value for name, value in plain.items()}, tmp_path / "ddp.pth")
    torch.save({**plain, "fc.bias": torch.tensor([0.0, 1.0000001])}, tmp_path / "plain.pth")
    page = compared(qtbot, engine_bridge, theme, Side(tmp_path / "ddp.pth"), Side(tmp_path / "plain.pth"))
    yield page
    page.close_document()


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        (RenameOffer(RenameRule(r"^module\.", "", "a"), 62, 62, ("", "")), OFFER.replace("3", "62")),
        (
            RenameOffer(RenameRule(r"_orig_mod\.", ""), 1, 1, ("", "")),
            "“_orig_mod.” inside one name on either side explains the mismatch",
        ),
        (
            RenameOffer(RenameRule(r"^backbone\.", "model.", "a"), 2, 2, ("", "")),
            "“model.” in place of “backbone.” on the left would pair 2 names",
        ),
    ],
)
def test_that_an_offer_says_what_it_would_do(offer: RenameOffer, words: str) -> None:
    assert offer_words(offer) == words


def test_that_a_rename_is_offered_applied_and_taken_back(qtbot: QtBot, page: ComparePage) -> None:
    assert page.bars.texts() == [OFFER]
    assert verdicts(page)["module"] == "− 3 only left"
    with qtbot.waitSignal(page.finished, timeout=PATIENCE_MS):
        page.bars.button("Apply").click()
    assert page.bars.texts() == ["Renamed:", r"left: ^module\. → nothing"]
    assert verdicts(page)["module"] == "≠ 1 changed"
    with qtbot.waitSignal(page.finished, timeout=PATIENCE_MS):
        page.bars.button(r"left: ^module\. → nothing").click()
    assert page.bars.texts() == [OFFER]


def test_that_a_rule_that_cannot_be_applied_leaves_what_was_compared_before(qtbot: QtBot, page: ComparePage) -> None:
    double = RenameRule("(.*)", r"\1\1")
    with qtbot.waitSignal(page.said, timeout=PATIENCE_MS) as said:
        page._set_rules((double,) * 30)
    assert "more than 100,000 characters" in said.args[0].text
    assert page.sentence.text().startswith(
        "<b>Stopped</b>; what is shown was compared before: 0 tensors on both sides"
    )
    assert page.again.isVisible()
    with qtbot.waitSignal(page.finished, timeout=PATIENCE_MS):
        page._set_rules(())
    assert page.sentence.text().startswith("<b>0 tensors on both sides")


def test_that_an_offer_is_ignored(page: ComparePage) -> None:
    page.bars.button("Ignore").click()
    assert not page.bars.isVisible()
    assert page.session.options.rules == ()


def test_that_the_editor_says_what_rules_would_do_and_warns_of_collisions(qtbot: QtBot, page: ComparePage) -> None:
    page.edit_rules()
    dialog = page.findChild(RulesDialog)
    assert dialog is not None
    dialog.editor.setPlainText("a:^module.(=>")
    assert not dialog.go.isEnabled()
    assert "is not a regular expression" in dialog.told.text()
    dialog.editor.setPlainText(r"a:^module\.\w+\.weight=>w")
    qtbot.waitUntil(lambda: "several entries at once" in dialog.told.text(), timeout=20_000)
    dialog.editor.setPlainText(r"a:^module\.=>")
    qtbot.waitUntil(lambda: dialog.told.text().startswith("With these rules 3 entries stand on both sides"))
    with qtbot.waitSignal(page.finished, timeout=PATIENCE_MS):
        dialog.accept()
    assert page.session.options.rules == (RenameRule(r"^module\.", "", "a"),)


def test_that_a_rule_for_one_side_goes_with_it_when_sides_are_swapped(qtbot: QtBot, page: ComparePage) -> None:
    with qtbot.waitSignal(page.finished, timeout=PATIENCE_MS):
        page.bars.button("Apply").click()
    with qtbot.waitSignal(page.finished, timeout=PATIENCE_MS):
        page.swap()
    assert page.session.options.rules == (RenameRule(r"^module\.", "", "b"),)
    assert page.comparison is not None
    assert page.comparison.overview is not None
    assert page.comparison.overview.sentence.startswith("same 3 tensors, 1 changed, 2 bit-identical")


def test_that_a_tolerance_makes_small_changes_close(qtbot: QtBot, page: ComparePage) -> None:
    with qtbot.waitSignal(page.finished, timeout=PATIENCE_MS):
        page.bars.button("Apply").click()
    page.choose_tolerance()
    dialog = page.findChild(ToleranceDialog)
    assert dialog is not None
    dialog.rtol.setText("-1")
    dialog.rtol.textEdited.emit("-1")
    assert not dialog.go.isEnabled()
    dialog.rtol.setText("0.001")
    dialog.atol.setText("0")
    dialog.rtol.textEdited.emit("0.001")
    with qtbot.waitSignal(page.finished, timeout=PATIENCE_MS):
        dialog.accept()
    assert page.session.options.tolerance == Tolerance(0.001, 0.0)
    assert page.header.tolerance.text() == "Tolerance: rtol 0.001, atol 0"
    assert verdicts(page)["module"] == "≈ 1 close"
