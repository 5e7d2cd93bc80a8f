"""Training checkpoints in a real window page, and pages over checkpoints that were recognised already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from tests.checkpoint.meaning.handmade import Columns
from tests.gui.scripted_client import ScriptedClient
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.recognise import recognise_task
from viewer.engine.meaning_requests import Recognise
from viewer.gui.document_page import DocumentPage
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.meaning.optimizer_page import OptimizerPage
from viewer.gui.meaning.tabs import OPTIMIZER, Meaning
from viewer.gui.recognition import RecognitionStore
from viewer.gui.theme import Theme
from viewer.gui.tree.display import DisplayOptions
from viewer.task import run

DOCUMENT = 7


def opened(path: Path, bridge: EngineBridge, theme: Theme, qtbot: QtBot) -> DocumentPage:
    """A page that shows a file and knows what its parts are."""
    page = DocumentPage(bridge, theme, path, DisplayOptions(), "cpu", 400)
    qtbot.addWidget(page, before_close_func=close_page)
    page.resize(1400, 900)
    page.show()
    page.open()
    qtbot.waitUntil(lambda: page.recognition.recognition is not None, timeout=60_000)
    return page


def close_page(page: Any) -> None:
    page.close_document()


def recognised_by(
    client: ScriptedClient, bridge: EngineBridge, checkpoint: Checkpoint, parent: QObject, qtbot: QtBot
) -> Meaning:
    """What a checkpoint means, as the engine would have answered."""
    store = RecognitionStore(bridge, parent)
    store.ask(DOCUMENT)
    client.answer(client.jobs_of(Recognise)[-1], run(recognise_task(checkpoint)))
    qtbot.waitUntil(lambda: store.recognition is not None)
    return Meaning(store, parent)


def optimizer_page(page: DocumentPage, path: str, qtbot: QtBot) -> OptimizerPage:
    """The Optimizer tab after a row of the tree was chosen, with its rows laid out."""
    assert page.tree is not None
    assert page.details is not None
    page.tree.go_to_path(path)
    page.details.choose_tab(OPTIMIZER)
    found = page.details.page(OPTIMIZER)
    assert isinstance(found, OptimizerPage)
    qtbot.waitUntil(lambda: found.view.entries.rows is not None)
    return found


def column_texts(page: OptimizerPage, title: str) -> list[str]:
    """What a column of the entries says, from top to bottom."""
    model = page.view.entries
    column = next(nth for nth, column in enumerate(model.columns) if column.title == title)
    return [model.index(row, column).data() for row in range(model.rowCount())]


def many_parameters(count: int) -> Checkpoint:
    """A training checkpoint of Adam with so many parameters, columns only."""
    columns = Columns()
    names = [f"model.layers.{nth // 10}.mlp.experts.{nth % 10}.weight" for nth in range(count)]
    state = {
        nth: {"step": columns.tensor(), "exp_avg": columns.tensor(8, 8), "exp_avg_sq": columns.tensor(8, 8)}
        for nth in range(count)
    }
    group = {"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-8, "amsgrad": False, "params": list(range(count))}
    model = {name: columns.tensor(8, 8) for name in names}
    root = {"model": model, "optimizer": {"state": state, "param_groups": [group | {"param_names": names}]}}
    return columns.checkpoint(root)
