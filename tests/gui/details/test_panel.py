"""The panel as a whole: tabs, head, what it imports, and that it goes when it is closed."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QToolButton
from pytestqt.qtbot import QtBot

from tests.gui.details.handmade import DOCUMENT, AnsweringClient, HandClient, bridge_to
from viewer.checkpoint.document import Checkpoint
from viewer.gui.details.panel import DISTRIBUTION, OVERVIEW, STORAGE, DetailsPanel
from viewer.gui.details.slice_tabs import MAP, VALUES
from viewer.gui.theme import DARK, LIGHT, Theme

ROOT = Path(__file__).parents[3]


@pytest.fixture
def opened(panel: DetailsPanel, checkpoint: Checkpoint) -> DetailsPanel:
    panel.set_document(DOCUMENT, checkpoint)
    return panel


def test_that_a_document_is_shown_as_a_whole_first(opened: DetailsPanel) -> None:
    assert opened.node == 0
    assert opened.tab_titles == [OVERVIEW]
    assert opened.header.path == "resnet18-epoch12.pth"
    assert opened.header.facts == "torch zip · dict"


@pytest.mark.parametrize(
    ("path", "titles"),
    [
        ("model", [OVERVIEW]),
        ("model/mask", [OVERVIEW, DISTRIBUTION, VALUES, MAP, STORAGE]),
        ("epoch", ["Value"]),
        ("source", ["Text"]),
        ("again", [OVERVIEW]),
        ("lost", [OVERVIEW]),
    ],
)
def test_that_a_node_has_the_tabs_that_suit_it(
    opened: DetailsPanel, checkpoint: Checkpoint, path: str, titles: list[str]
) -> None:
    opened.show_node(checkpoint.find(path))
    assert opened.tab_titles == titles
    assert opened.header.path == path


def test_that_the_chosen_tab_is_kept_from_tensor_to_tensor(opened: DetailsPanel, checkpoint: Checkpoint) -> None:
    opened.show_node(checkpoint.find("model/mask"))
    opened.choose_tab(STORAGE)
    opened.show_node(checkpoint.find("model/fc.top"))
    assert opened.tab == STORAGE
    opened.show_node(checkpoint.find("epoch"))
    opened.show_node(checkpoint.find("model/fc.weight"))
    assert opened.tab == STORAGE


def test_that_nothing_shows_where_nothing_is_selected(opened: DetailsPanel) -> None:
    opened.show_node(None)
    assert opened.node is None
    assert opened.tab_titles == []
    assert opened.header.isHidden()


def test_that_a_group_of_names_is_shown(opened: DetailsPanel, checkpoint: Checkpoint) -> None:
    opened.show_group("fc", [checkpoint.find("model/fc.weight")])
    assert opened.node is None
    assert opened.header.path == "fc"
    assert opened.tab_titles == [OVERVIEW]


def test_that_the_path_copies_whole_however_narrow_the_panel_is(
    opened: DetailsPanel, checkpoint: Checkpoint, qtbot: QtBot
) -> None:
    opened.resize(260, 600)
    opened.show_node(checkpoint.find("model/layer1.0.conv1.weight"))
    button = next(b for b in opened.header.findChildren(QToolButton) if b.accessibleName() == "Copy path")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "model/layer1.0.conv1.weight"


def test_that_jumps_of_the_pages_are_passed_on(opened: DetailsPanel, checkpoint: Checkpoint, qtbot: QtBot) -> None:
    opened.show_node(checkpoint.find("again"))
    with qtbot.waitSignal(opened.node_requested) as asked:
        opened.overview.jump.click()
    assert asked.args == [checkpoint.find("model")]


def test_that_tabs_turn_by_the_keyboard(opened: DetailsPanel, checkpoint: Checkpoint, qtbot: QtBot) -> None:
    opened.show_node(checkpoint.find("model/mask"))
    opened.tabs.setFocus()
    qtbot.keyClick(opened.tabs, Qt.Key.Key_Right)
    assert opened.tab == VALUES


def test_that_every_button_without_words_has_a_name(opened: DetailsPanel, checkpoint: Checkpoint) -> None:
    opened.show_node(checkpoint.find("model/mask"))
    buttons = [b for b in opened.findChildren(QAbstractButton) if not b.text() and b.objectName() == ""]
    ours = [b for b in buttons if b.metaObject().className() == "QToolButton" and b.toolTip()]
    assert len(ours) >= 2
    assert all(b.accessibleName() for b in ours)


def test_that_light_and_dark_reach_the_whole_panel(
    opened: DetailsPanel, checkpoint: Checkpoint, theme: Theme, qtbot: QtBot
) -> None:
    for path, tab in (("model/fc.top", STORAGE), ("model/fc.top", OVERVIEW), ("model/broken", DISTRIBUTION)):
        opened.show_node(checkpoint.find(path))
        opened.choose_tab(tab)
        for choice, tokens in (("dark", DARK), ("light", LIGHT)):
            theme.set_choice(choice)
            image = opened.grab().toImage()
            assert image.pixelColor(opened.width() - 4, opened.height() - 4) == QColor(tokens.base), (tab, choice)


def test_that_a_document_read_anew_is_computed_anew(
    opened: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    from tests.gui.details.handmade import summary_of, training_checkpoint

    opened.show_node(checkpoint.find("model/mask"))
    client.answer(client.last, summary_of(np.eye(32), 6))
    first = client.last
    again = training_checkpoint()
    opened.set_document(DOCUMENT, again)
    opened.show_node(again.find("model/mask"))
    assert client.last == first + 1


def test_that_release_cancels_what_runs(opened: DetailsPanel, checkpoint: Checkpoint, client: HandClient) -> None:
    opened.show_node(checkpoint.find("model/mask"))
    job = client.last
    opened.release()
    assert job in client.cancelled


def test_that_a_panel_with_a_plot_is_collected_once_it_is_gone(
    qtbot: QtBot, theme: Theme, checkpoint: Checkpoint
) -> None:
    rng = np.random.default_rng(0)
    client = AnsweringClient(lambda number: rng.normal(size=checkpoint.tensors.shape[number]))
    bridge = bridge_to(client)
    panel = DetailsPanel(bridge, theme)
    panel.show()
    panel.set_document(DOCUMENT, checkpoint)
    panel.show_node(checkpoint.find("model/fc.top"))
    pane = panel.distribution.pane
    qtbot.waitUntil(partial(getattr, pane, "shows_plot"))
    panel.choose_tab(STORAGE)
    plot = pane.plot
    assert plot is not None
    gone = [weakref.ref(panel), weakref.ref(plot), weakref.ref(panel.storage)]
    panel.release()
    panel.close()
    panel.deleteLater()
    del panel, pane, plot
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    assert [reference() for reference in gone] == [None, None, None]
    bridge.close()


def test_that_importing_the_panel_brings_neither_numpy_nor_pyqtgraph_nor_torch() -> None:
    script = (
        "import sys, viewer.gui.details.panel; "
        "print([name for name in ('numpy', 'pyqtgraph', 'torch') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout.strip() == "[]"


def test_that_showing_everything_but_a_plot_brings_neither_numpy_nor_pyqtgraph() -> None:
    # A folder, a value and the storage of a tensor cost no import; the first plot does.
    script = """
import sys
from pathlib import Path
from PySide6.QtWidgets import QApplication
from viewer import open_checkpoint
from viewer.gui.details.panel import STORAGE, DetailsPanel
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.mailbox import Mailbox
from viewer.gui.theme import Theme
from viewer.resources import resource_path

class Silent:
    def submit(self, request, *, supersede=None): return 1
    def cancel(self, job): pass
    def close(self): pass

app = QApplication([])
checkpoint = open_checkpoint(resource_path("samples/training-step-0200.pth"))
bridge = EngineBridge(Silent(), Mailbox())
panel = DetailsPanel(bridge, Theme(app, "light"))
panel.show()
panel.set_document(1, checkpoint)
for node in range(len(checkpoint.nodes)):
    panel.show_node(node)
    panel.choose_tab(STORAGE)
    app.processEvents()
print([name for name in ("numpy", "pyqtgraph", "torch") if name in sys.modules])
panel.release()
"""
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout.strip() == "[]"
