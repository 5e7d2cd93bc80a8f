"""The Overview page: every kind of node says what it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from tests.gui.details.handmade import CheckpointBuilder, Tree
from viewer.checkpoint.document import Checkpoint, GlobalUse
from viewer.checkpoint.nodes import Kind
from viewer.gui.details.overview import OverviewPage
from viewer.gui.theme import Theme


@pytest.fixture
def page(qtbot: QtBot, theme: Theme) -> OverviewPage:
    page = OverviewPage(theme)
    qtbot.addWidget(page)
    page.resize(800, 700)
    page.show()
    return page


def facts(page: OverviewPage) -> dict[str, str]:
    return dict(page.facts.texts())


def test_that_the_whole_file_is_summed_up(page: OverviewPage, checkpoint: Checkpoint) -> None:
    page.show_node(checkpoint, 0)
    shown = facts(page)
    assert shown["type"] == "dict"
    assert shown["entries"] == "10"
    assert shown["tensors"] == "12"
    assert shown["further names of them"] == "1"
    assert dict(page.file.texts())["size on disk"] == "44.7 MB"  # type: ignore[arg-type]
    assert page.warnings.text() == "⚠ The record data/5 is shorter than its tensor needs"
    assert [row[0] for row in page.globals.texts()] == [
        "models.net.TinyNet",
        "collections.OrderedDict",
        "torch._utils._rebuild_tensor_v2",
    ]
    assert page.globals.texts()[0][2].startswith("⚠")
    assert page.faults.paths() == ["lost", "model/broken"]
    assert [row[0] for row in page.dtypes.texts()] == ["float32", "bool", "complex64", "qint8", "int64"]


def test_that_a_container_shows_its_own_part_and_not_the_file(page: OverviewPage, checkpoint: Checkpoint) -> None:
    page.show_node(checkpoint, checkpoint.find("model"))
    assert facts(page)["entries"] == "13"
    assert page.file.isHidden()
    assert page.globals.isHidden()
    assert page.warnings.isHidden()


def test_that_the_values_in_a_container_stand_in_a_table(page: OverviewPage) -> None:
    betas = (Kind.SEQUENCE, "tuple", None, {0: (Kind.SCALAR, "float", 0.9), 1: (Kind.SCALAR, "float", 0.999)})
    params = (Kind.SEQUENCE, "list", None, {number: (Kind.SCALAR, "int", number) for number in range(1200)})
    make = CheckpointBuilder(Path("/x/a.pth"))
    group: Tree = {
        "lr": (Kind.SCALAR, "float", 1e-05),
        "betas": betas,
        "note": (Kind.SCALAR, "str", "x" * 1000),
        "params": params,
        "weight": make.tensor_leaf("float32", (4,)),
    }
    page.show_node(make.build(group), 0)
    assert page.values.texts() == [
        ("lr", "1e-05", "float"),
        ("betas", "[0.9, 0.999]", "tuple"),
        ("note", "'" + "x" * 120 + "' … 1,000 characters", "str"),
        ("params", "[0, 1, 2, 3, 4, 5, … 1,200 in all]", "list"),
    ]
    many: Tree = {number: (Kind.SCALAR, "int", number) for number in range(4000)}
    page.show_node(CheckpointBuilder(Path("/x/b.pth")).build(many), 0)
    assert len(page.values.texts()) == 101
    assert page.values.texts()[-1][0] == "… and 3,900 more"
    page.show_node(CheckpointBuilder(Path("/x/c.pth")).build({}), 0)
    assert page.values.isHidden()


def test_that_warnings_stand_above_the_facts(page: OverviewPage, checkpoint: Checkpoint) -> None:
    page.show_node(checkpoint, 0)
    page.grab()
    assert page.warnings.y() < page.facts.y()


def test_that_a_group_of_the_tree_is_summed_up(page: OverviewPage, checkpoint: Checkpoint) -> None:
    nodes = [checkpoint.find(f"model/{name}") for name in ("fc.weight", "fc.top")]
    page.show_group(checkpoint, "fc", nodes)
    assert facts(page)["entries"] == "2"
    assert facts(page)["elements"] == "563,200"
    assert page.lead.text() == "Entries whose names begin with fc"


def test_that_a_scalar_shows_its_exact_value_and_copies_it(
    page: OverviewPage, checkpoint: Checkpoint, qtbot: QtBot
) -> None:
    page.show_node(checkpoint, checkpoint.find("lr"))
    assert page.value.shown == "1e-05"
    page.show_node(checkpoint, checkpoint.find("seed"))
    assert page.value.shown == "1,208,925,819,614,629,174,706,176"
    page.value.copy()
    assert int(QGuiApplication.clipboard().text()) == 2**80
    assert page.value.facts.texts()[0] == ("type", "int")


def test_that_a_text_with_markup_in_it_is_shown_as_it_is(page: OverviewPage, checkpoint: Checkpoint) -> None:
    page.show_node(checkpoint, checkpoint.find("note"))
    assert page.value.is_long
    assert page.value.shown == "first line\nsecond <b>line</b>"


def test_that_a_source_text_keeps_its_lines(page: OverviewPage, checkpoint: Checkpoint) -> None:
    page.show_node(checkpoint, checkpoint.find("source"))
    assert page.value.shown.startswith("class TinyNet(Module):\n")


def test_that_an_object_says_that_its_class_was_not_imported(page: OverviewPage, checkpoint: Checkpoint) -> None:
    page.show_node(checkpoint, checkpoint.find("net"))
    assert "models.net.TinyNet. Not imported: shown from its saved state." in page.lead.text()
    assert page.value.isHidden()


def test_that_a_class_that_is_only_named_says_so(page: OverviewPage, checkpoint: Checkpoint) -> None:
    page.show_node(checkpoint, checkpoint.find("maker"))
    assert page.lead.text().startswith("torch.nn.modules.conv.Conv2d\n")
    assert "not imported" in page.lead.text()


def test_that_a_link_leads_to_its_target(page: OverviewPage, checkpoint: Checkpoint, qtbot: QtBot) -> None:
    page.show_node(checkpoint, checkpoint.find("again"))
    assert page.jump.text() == "→ model"
    with qtbot.waitSignal(page.node_requested) as asked:
        qtbot.mouseClick(page.jump, Qt.MouseButton.LeftButton)
    assert asked.args == [checkpoint.find("model")]


def test_that_what_cannot_be_read_says_why_and_what_to_do(page: OverviewPage, checkpoint: Checkpoint) -> None:
    page.show_node(checkpoint, checkpoint.find("lost"))
    assert page.problem.text().startswith("✕ the pickle asks for object 5, which is not there.")
    assert "fetch it again" in page.problem.text()
    page.show_node(checkpoint, checkpoint.find("model/broken"))
    assert "data/5" in page.problem.text()
    page.show_node(checkpoint, checkpoint.find("epoch"))
    assert page.problem.isHidden()


def test_that_a_tensor_lists_its_other_names(page: OverviewPage, checkpoint: Checkpoint, qtbot: QtBot) -> None:
    page.show_node(checkpoint, checkpoint.find("model/tied"))
    assert facts(page)["shape"] == "64"
    assert page.names.paths() == ["model/layer1.0.bn1.weight"]
    with qtbot.waitSignal(page.node_requested) as asked:
        page.names.setFocus()
        page.names.setCurrentIndex(page.names.model().index(0, 0))
        qtbot.keyClick(page.names, Qt.Key.Key_Return)
    assert asked.args == [checkpoint.find("model/layer1.0.bn1.weight")]


def test_that_a_file_with_endless_names_and_warnings_shows_the_first_and_counts_the_rest(
    page: OverviewPage, checkpoint: Checkpoint
) -> None:
    checkpoint.warnings = [f"warning {number}" for number in range(5000)]
    checkpoint.globals = [GlobalUse("m", f"n{number}", True) for number in range(5000)]
    page.show_node(checkpoint, 0)
    assert page.warnings.text().endswith("\n… and 4,700 more")
    assert page.globals.texts()[-1][0] == "… and 4,700 more"


def test_that_giant_texts_of_a_hostile_file_are_cut_on_screen_and_whole_in_copies(
    page: OverviewPage, checkpoint: Checkpoint
) -> None:
    giant = "x" * 300_000
    checkpoint.nodes.value[checkpoint.find("note")] = giant
    page.show_node(checkpoint, checkpoint.find("note"))
    assert len(page.value.shown) == 100_000
    page.value.copy()
    assert QGuiApplication.clipboard().text() == giant
    checkpoint.nodes.value[checkpoint.find("lost")] = giant
    page.show_node(checkpoint, checkpoint.find("lost"))
    assert len(page.problem.text()) < 21_000
