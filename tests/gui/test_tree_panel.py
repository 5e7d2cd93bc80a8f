"""The tree as a person uses it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from pytestqt.qtbot import QtBot

from tests.gui.checkpoints import Link, Problem, Tensor, experts, make_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.errors import BadPath
from viewer.gui.theme import Theme
from viewer.gui.tree.display import DisplayOptions
from viewer.gui.tree.panel import TreePanel
from viewer.gui.tree.view import MAX_EXPANDED

NAMES = [
    f"layer{layer}.{block}.{part}.weight"
    for layer in (1, 2, 10)
    for block in (0, 1)
    for part in ("conv1", "conv2", "norm")
]
TREE = {
    "model": dict.fromkeys(NAMES, Tensor()),
    "optimizer": {"state": {0: {"exp_avg": Tensor(dtype="float16")}}, "param_groups": [{"lr": 0.1}]},
    "again": Link(1),
    "broken": Problem("the record ends early"),
    "epoch": 12,
}


def make_panel(qtbot: QtBot, theme: Theme, root: object = TREE, former: TreePanel | None = None) -> TreePanel:
    checkpoint = root if isinstance(root, Checkpoint) else make_checkpoint(root)
    panel = TreePanel(theme, checkpoint, DisplayOptions(), former)
    qtbot.addWidget(panel)
    panel.resize(520, 640)
    panel.show()
    with qtbot.waitSignal(panel.shown, timeout=20_000):
        panel.start()
    return panel


@pytest.fixture
def panel(qtbot: QtBot, theme: Theme) -> TreePanel:
    return make_panel(qtbot, theme)


def row_of(panel: TreePanel, *labels: str) -> int:
    row = panel.model.table.row_at(labels)
    assert row is not None, labels
    return row


def is_open(panel: TreePanel, *labels: str) -> bool:
    return panel.view.isExpanded(panel.model.index_of(row_of(panel, *labels)))


def choose(panel: TreePanel, *labels: str) -> None:
    assert panel.view.go_to_row(row_of(panel, *labels))


def visible_labels(panel: TreePanel) -> list[str]:
    labels = []
    index = panel.model.index(0, 0)
    while index.isValid():
        labels.append(index.data())
        index = panel.view.indexBelow(index)
    return labels


def type_filter(qtbot: QtBot, panel: TreePanel, text: str, rows: int | None) -> None:
    panel.filter_edit.setFocus()
    panel.filter_edit.clear()
    qtbot.keyClicks(panel.filter_edit, text)
    qtbot.waitUntil(lambda: panel.model.shape.n_matches == rows)


def test_that_a_small_tree_is_there_at_once_with_its_outermost_rows_open(panel: TreePanel) -> None:
    assert visible_labels(panel)[:4] == ["model", "layer1", "layer2", "layer10"]
    assert not is_open(panel, "model", "layer1")
    assert not panel.view.selectionModel().hasSelection()


def test_that_choosing_a_row_tells_its_node(qtbot: QtBot, panel: TreePanel) -> None:
    told: list[object] = []
    panel.node_changed.connect(told.append)
    index = panel.model.index_of(row_of(panel, "epoch"))
    qtbot.mouseClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=panel.view.visualRect(index).center())
    assert told == [panel.model.table.checkpoint.find("epoch")]
    assert panel.current_node == told[0]


def test_that_choosing_a_group_tells_its_name_and_entries(panel: TreePanel) -> None:
    told: list[tuple[str, list[int]]] = []
    panel.group_changed.connect(lambda name, nodes: told.append((name, nodes)))
    choose(panel, "model", "layer2")
    assert [name for name, _ in told] == ["layer2"]
    keys = [panel.model.table.checkpoint.nodes.key[node] for node in told[0][1]]
    assert keys == [name for name in NAMES if name.startswith("layer2.")]
    assert panel.current_node is None


def test_that_getting_the_focus_chooses_nothing(qtbot: QtBot, panel: TreePanel) -> None:
    with qtbot.assertNotEmitted(panel.node_changed):
        panel.view.setFocus()
        qtbot.waitUntil(panel.view.hasFocus)


def test_that_a_filter_shows_matches_opened_and_gives_everything_back_as_it_was(
    qtbot: QtBot, panel: TreePanel
) -> None:
    choose(panel, "model", "layer1", "0", "conv1.weight")
    panel.view.expand(panel.model.index_of(row_of(panel, "optimizer", "state")))
    before = visible_labels(panel)
    type_filter(qtbot, panel, "layer10 conv2", 2)
    assert visible_labels(panel) == ["model", "layer10", "0", "conv2.weight", "1", "conv2.weight"]
    type_filter(qtbot, panel, "no such name", 0)
    assert not panel.view.isVisibleTo(panel)
    type_filter(qtbot, panel, "", None)
    assert visible_labels(panel) == before
    assert panel.view.currentIndex().data() == "conv1.weight"
    assert panel.view.selectionModel().isSelected(panel.view.currentIndex())


def test_that_closing_a_row_under_a_filter_changes_nothing_behind_it(qtbot: QtBot, panel: TreePanel) -> None:
    type_filter(qtbot, panel, "conv2", 6)
    panel.view.collapse(panel.model.index_of(row_of(panel, "model")))
    type_filter(qtbot, panel, "", None)
    assert is_open(panel, "model")


def test_that_escape_clears_the_filter_and_return_goes_into_the_tree(qtbot: QtBot, panel: TreePanel) -> None:
    type_filter(qtbot, panel, "conv2", 6)
    qtbot.keyClick(panel.filter_edit, Qt.Key.Key_Return)
    assert panel.view.hasFocus()
    assert panel.view.currentIndex().data() == "model"
    with qtbot.waitSignal(panel.filter_edit.textChanged):  # the button inside the box goes by this signal
        qtbot.keyClick(panel.view, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: panel.model.shape.n_matches is None)
    assert panel.filter_edit.text() == ""


def test_that_a_bad_regular_expression_marks_the_box_and_changes_nothing(qtbot: QtBot, panel: TreePanel) -> None:
    type_filter(qtbot, panel, "conv2", 6)
    panel.filter_edit.setText("/(/")
    qtbot.waitUntil(lambda: panel.filter_edit.property("fault") is True)
    assert "regular expression" in panel.filter_edit.toolTip()
    assert panel.model.shape.n_matches == 6
    type_filter(qtbot, panel, "conv2", 6)
    qtbot.waitUntil(lambda: panel.filter_edit.property("fault") is False)


def test_that_one_dtype_can_be_chosen(qtbot: QtBot, panel: TreePanel) -> None:
    assert [panel.dtype_box.itemText(n) for n in range(panel.dtype_box.count())] == [
        "any dtype",
        "float32",
        "float16",
    ]
    panel.dtype_box.setCurrentIndex(2)
    qtbot.waitUntil(lambda: panel.model.shape.n_matches == 1)
    assert visible_labels(panel)[-1] == "exp_avg"


def test_that_a_link_leads_to_its_target(qtbot: QtBot, panel: TreePanel) -> None:
    choose(panel, "again")
    qtbot.keyClick(panel.view, Qt.Key.Key_Return)
    assert panel.view.current_row == row_of(panel, "model")


def test_that_going_to_a_path_opens_the_rows_above_and_clears_a_filter_that_hides_it(
    qtbot: QtBot, panel: TreePanel
) -> None:
    type_filter(qtbot, panel, "conv2", 6)
    panel.go_to_path("optimizer/state[0]/exp_avg")
    assert panel.filter_edit.text() == ""
    assert panel.view.currentIndex().data() == "exp_avg"
    with pytest.raises(BadPath):
        panel.go_to_path("optimizer/nothing")


def test_that_name_path_and_expression_are_copied(panel: TreePanel) -> None:
    choose(panel, "model", "layer1", "0", "conv1.weight")
    clipboard = QGuiApplication.clipboard()
    panel.copy_name()
    assert clipboard.text() == "layer1.0.conv1.weight"
    panel.copy_path()
    assert clipboard.text() == "model/layer1.0.conv1.weight"
    panel.copy_expression()
    assert clipboard.text() == 'ckpt["model"]["layer1.0.conv1.weight"]'
    choose(panel, "model", "layer2")
    panel.copy_name()
    assert clipboard.text() == "layer2"


def test_that_ctrl_c_copies_the_path(qtbot: QtBot, panel: TreePanel) -> None:
    choose(panel, "epoch")
    qtbot.keyClick(panel.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "epoch"


def test_that_the_menu_offers_what_the_row_can_do(panel: TreePanel) -> None:
    choose(panel, "model", "layer1")
    menu = panel.make_menu()
    enabled = {action.text(): action.isEnabled() for action in menu.actions() if action.text()}
    assert enabled["Copy name"]
    assert not enabled["Copy path"]
    assert "Expand all inside" in enabled
    choose(panel, "again")
    assert "Go to what it links to" in [action.text() for action in panel.make_menu().actions()]


def test_that_expanding_everything_inside_stops_at_its_limit_and_says_so(qtbot: QtBot, theme: Theme) -> None:
    panel = make_panel(qtbot, theme, experts(4, 1000))
    said: list[str] = []
    panel.said.connect(said.append)
    choose(panel, "model.layers")
    panel.expand_below()
    assert len(said) == 1
    assert 4_000 < len(visible_labels(panel)) <= MAX_EXPANDED
    choose(panel, "model.layers", "0.mlp.experts")
    panel.collapse_below()
    assert not is_open(panel, "model.layers", "0.mlp.experts")
    panel.expand_below()
    assert len(said) == 1
    assert len(visible_labels(panel)) > 11_000


def test_that_other_options_keep_what_is_open_and_chosen(qtbot: QtBot, panel: TreePanel) -> None:
    def current() -> str:
        return str(panel.view.currentIndex().data())

    panel.view.expand(panel.model.index_of(row_of(panel, "optimizer", "param_groups")))
    choose(panel, "model", "layer1", "0", "conv1.weight")
    panel.set_options(DisplayOptions(grouped=False))
    qtbot.waitUntil(lambda: current() == "layer1.0.conv1.weight")
    assert is_open(panel, "optimizer", "param_groups")
    panel.set_options(DisplayOptions(grouped=True))
    qtbot.waitUntil(lambda: current() == "conv1.weight")


def test_that_a_second_reading_of_the_file_keeps_what_is_open_and_chosen(qtbot: QtBot, theme: Theme) -> None:
    first = make_panel(qtbot, theme)
    first.view.expand(first.model.index_of(row_of(first, "optimizer", "param_groups")))
    choose(first, "model", "layer1", "0", "conv1.weight")
    second = make_panel(qtbot, theme, {"new": 1, **TREE}, former=first)
    assert is_open(second, "optimizer", "param_groups")
    assert second.view.currentIndex().data() == "conv1.weight"


def test_that_rows_have_one_height_and_names_take_the_spare_width(panel: TreePanel) -> None:
    view = panel.view
    assert view.visualRect(panel.model.index(0, 0)).height() == 24
    before = [view.columnWidth(column) for column in range(5)]
    panel.resize(panel.width() + 200, panel.height())
    after = [view.columnWidth(column) for column in range(5)]
    assert after[0] == before[0] + 200
    assert after[1:] == before[1:]


def test_that_a_problem_is_painted_in_its_colour(panel: TreePanel) -> None:
    image: QImage = panel.view.grab().toImage()
    rect = panel.view.visualRect(panel.model.index_of(row_of(panel, "broken")))
    top = rect.top() + panel.view.header().height()
    colours = [image.pixelColor(x, y) for x in range(image.width()) for y in range(top, top + rect.height())]
    assert max(colour.red() - colour.green() for colour in colours) > 100


def test_that_a_tree_follows_the_theme(panel: TreePanel, theme: Theme) -> None:
    light = panel.view.grab().toImage().pixelColor(5, panel.view.height() - 5)
    theme.set_choice("dark")
    dark = panel.view.grab().toImage().pixelColor(5, panel.view.height() - 5)
    assert light == theme.color("base") or light.lightness() > 240
    assert dark == theme.color("base")


def test_that_find_goes_to_the_filter_box(qtbot: QtBot, panel: TreePanel) -> None:
    panel.view.setFocus()
    panel.focus_filter()
    qtbot.waitUntil(panel.filter_edit.hasFocus)
