"""What happens when a comparison is stopped, a file cannot be read, or it changes on disk."""

from __future__ import annotations

from pathlib import Path

import torch
from pytestqt.qtbot import QtBot

from tests.gui.checkpoints import Tensor, make_checkpoint
from tests.gui.compare.pages import PATIENCE_MS, cells, compared, make_page, verdicts
from tests.gui.scripted_client import ScriptedClient
from viewer.compare.results import CompareOptions, Measures, PairResult, Status, ValueBatch
from viewer.compare.task import compare_structure
from viewer.engine.protocol import Compare, CompareStructure, OpenFile
from viewer.errors import Cancelled
from viewer.gui.compare.cells import Column
from viewer.gui.compare.session import Side
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.message_bar import Message
from viewer.gui.theme import Theme


def measures_of(differ: int, max_abs: float) -> Measures:
    """Of six elements, of which some differ by the same."""
    return Measures(
        6, 6, differ, differ, max_abs, 0, max_abs, 0, max_abs, max_abs, None, None, None, 1.0, 1.0, max_abs, max_abs,
        1.0, None, (), 0,
    )  # fmt: skip


def test_that_what_was_compared_stays_when_it_is_cancelled(
    qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient, theme: Theme
) -> None:
    page = make_page(qtbot, bridge, theme, Side(Path("/a.pth")), Side(Path("/b.pth")))
    tree = {"model": {f"layer{at}.weight": Tensor((2, 3)) for at in range(4)}}
    sides = [make_checkpoint(tree, path) for path in ("/a.pth", "/b.pth")]
    page.start()
    for job, checkpoint in zip(client.jobs_of(OpenFile), sides, strict=True):
        client.answer(job, checkpoint)
    qtbot.waitUntil(lambda: bool(client.jobs_of(CompareStructure)))
    structure = compare_structure(*sides, CompareOptions())
    # Made by hand, they have no bytes to compare.
    values = [row for row, is_value in enumerate(structure.rows.is_value) if is_value]
    assert len(values) == 4
    client.answer(client.jobs_of(CompareStructure)[0], structure)
    qtbot.waitUntil(lambda: bool(client.jobs_of(Compare)))
    (job,) = client.jobs_of(Compare)
    results = [
        PairResult(values[0], Status.CHANGED, False, False, measures_of(2, 0.5)),
        PairResult(values[1], Status.IDENTICAL, True, True, measures_of(0, 0.0)),
    ]
    client.report(job, 1, 2, partial=ValueBatch(results))
    qtbot.waitUntil(lambda: page.comparison is not None and len(page.comparison.results) == 2)
    page.stop.click()
    assert client.cancelled == [job]
    client.fail(job, Cancelled("cancelled"))
    qtbot.waitUntil(page.again.isVisible)
    assert "Cancelled, 2 of 4 tensors compared" in page.sentence.text()
    assert not page.stop.isVisible()
    page.tree.refresh()  # as the verdicts that were on their way make it
    assert "Cancelled, 2 of 4 tensors compared" in page.sentence.text()
    found = dict(zip(cells(page, Column.NAME), cells(page, Column.MAX_ABS), strict=True))
    assert found["model"] == "0.5"
    assert page.tree.filters.chips[1].text() == "Differences 1"
    page.close_document()


def test_that_a_file_that_is_gone_is_said_and_can_be_replaced(
    qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, tmp_path: Path
) -> None:
    torch.save({"w": torch.ones(2)}, tmp_path / "a.pth")
    page = make_page(qtbot, engine_bridge, theme, Side(tmp_path / "a.pth"), Side(tmp_path / "gone.pth"))
    said: list[Message] = []
    page.said.connect(said.append)
    page.start()
    qtbot.waitUntil(page.again.isVisible, timeout=20_000)
    assert "gone.pth" in said[0].text
    assert "Stopped" in page.sentence.text()
    torch.save({"w": torch.zeros(2)}, tmp_path / "b.pth")
    with qtbot.waitSignal(page.finished, timeout=PATIENCE_MS):
        page.set_side(1, tmp_path / "b.pth")
    assert verdicts(page)["w"] == "≠ changed"
    page.close_document()


def test_that_a_file_that_changed_on_disk_is_noticed_and_read_again(
    qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, tmp_path: Path
) -> None:
    for name in ("a.pth", "b.pth"):
        torch.save({"w": torch.ones(2)}, tmp_path / name)
    page = compared(qtbot, engine_bridge, theme, Side(tmp_path / "a.pth"), Side(tmp_path / "b.pth"))
    assert verdicts(page)["w"] == "= identical"
    torch.save({"w": torch.zeros(2), "more": torch.ones(100)}, tmp_path / "b.pth")
    page.watch.check()
    qtbot.waitUntil(page.bars.isVisible, timeout=20_000)
    assert page.bars.texts()[0].startswith("b.pth changed on disk since the comparison")
    with qtbot.waitSignal(page.finished, timeout=PATIENCE_MS):
        page.bars.button("Reload").click()
    assert verdicts(page)["w"] == "≠ changed"
    assert not page.bars.isVisible()
    page.close_document()
