"""What is kept of the engine's answers, and a real engine's answer in the panel."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from tests.gui.details.handmade import DOCUMENT, HandClient
from viewer.checkpoint.document import Checkpoint
from viewer.engine.protocol import OpenFile
from viewer.errors import ViewerError
from viewer.gui.details.panel import DetailsPanel
from viewer.gui.details.summaries import SummaryKey, SummaryStore
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.theme import Theme
from viewer.task import Progress
from viewer.tensors.results import Histogram, Statistics, TensorSummary

SMALL = TensorSummary(0, "float32", "value", Statistics(1, 1, min=0.0, max=0.0), Histogram())


class Asker(QObject):
    """Keeps what it is told."""

    def __init__(self, bridge: EngineBridge) -> None:
        super().__init__()
        self.store = SummaryStore(bridge, self)
        self.results: list[TensorSummary] = []
        self.failures: list[ViewerError] = []

    def ask(self, key: SummaryKey, lane: str = "scan") -> None:
        self.store.ask(
            key,
            lane,
            "",
            on_result=self.results.append,
            on_failure=self.failures.append,
            on_progress=self._ignore,
        )

    def _ignore(self, progress: Progress) -> None:
        assert progress.total >= 0


@pytest.fixture
def asker(bridge: EngineBridge) -> Asker:
    return Asker(bridge)


def key(tensor: int, *, document: int = DOCUMENT, bins: int = 16) -> SummaryKey:
    return SummaryKey(document, tensor, "cpu", bins)


def test_that_an_answer_is_kept_under_its_question(asker: Asker, client: HandClient) -> None:
    asker.ask(key(3))
    client.answer(client.last, SMALL)
    assert asker.results == [SMALL]
    assert asker.store.kept(key(3)) is SMALL
    assert asker.store.kept(key(3, bins=17)) is None


def test_that_only_so_many_answers_are_kept_and_those_used_last_stay(asker: Asker, client: HandClient) -> None:
    for tensor in range(128):
        asker.ask(key(tensor))
        client.answer(client.last, SMALL)
    assert asker.store.kept(key(0)) is SMALL  # used now
    for tensor in range(128, 140):
        asker.ask(key(tensor))
        client.answer(client.last, SMALL)
    kept = [tensor for tensor in range(140) if asker.store.kept(key(tensor)) is not None]
    assert len(kept) == 128
    assert 0 in kept
    assert 1 not in kept


def test_that_a_newer_question_of_a_lane_replaces_the_older(asker: Asker, client: HandClient) -> None:
    asker.ask(key(1))
    first = client.last
    asker.ask(key(2))
    assert client.cancelled == [first]
    client.answer(first, SMALL)
    assert asker.results == []
    asker.ask(key(3), "another lane")
    assert client.cancelled == [first]


def test_that_the_answers_about_a_document_can_be_dropped(asker: Asker, client: HandClient) -> None:
    for document in (1, 2):
        asker.ask(key(0, document=document))
        client.answer(client.last, SMALL)
    asker.store.forget(1)
    assert asker.store.kept(key(0, document=1)) is None
    assert asker.store.kept(key(0, document=2)) is SMALL


def test_that_the_panel_shows_what_a_real_engine_computes(
    qtbot: QtBot, theme: Theme, engine_bridge: EngineBridge, sample_path: Path
) -> None:
    opened: list[Checkpoint] = []
    panel = DetailsPanel(engine_bridge, theme)
    qtbot.addWidget(panel)
    panel.resize(900, 700)
    panel.show()
    document = engine_bridge.submit(OpenFile(sample_path), owner=panel, on_result=opened.append)
    qtbot.waitUntil(opened.__len__, timeout=20_000)
    checkpoint = opened[0]
    panel.set_document(document, checkpoint)
    node = next(n for n in checkpoint.nodes.tree_order() if _is_matrix(checkpoint, n))
    panel.show_node(node)
    grid, pane = panel.distribution.grid, panel.distribution.pane
    qtbot.waitUntil(lambda: pane.shows_plot, timeout=60_000)

    value: object = torch.load(sample_path, weights_only=True)
    for step in checkpoint.nodes.keys_to(node):
        value = value[step]  # type: ignore[index]
    assert isinstance(value, torch.Tensor)
    assert int(grid.cell("count").figure.exact) == value.numel()
    assert float(grid.cell("min").figure.exact) == value.min().item()
    assert float(grid.cell("max").figure.exact) == value.max().item()
    assert float(grid.cell("mean").figure.exact) == pytest.approx(value.double().mean().item(), rel=1e-12)
    assert float(grid.cell("std").figure.exact) == pytest.approx(value.double().std(correction=0).item(), rel=1e-12)
    plot = pane.plot
    assert plot is not None
    assert plot.canvas.heights().sum() == value.numel()
    assert panel.header.facts.endswith("computed on cpu")
    panel.release()


def _is_matrix(checkpoint: Checkpoint, node: int) -> bool:
    tensor = checkpoint.tensor_of_node(node)
    return tensor is not None and len(tensor.shape) >= 2 and tensor.dtype.name == "float32"
