"""Exports, checks and names in the real window, with a real engine."""

from __future__ import annotations

import hashlib
import os
import signal
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest
import torch
from PySide6.QtWidgets import QDialog
from pytestqt.qtbot import QtBot

from viewer.engine.client import EngineClient
from viewer.gui.document_page import DocumentPage
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.export.dialog import ExportDialog
from viewer.gui.export.names_dialog import NamesDialog
from viewer.gui.export.verify_dialog import VerifyDialog
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme
from viewer.gui.window import MainWindow

LONG_MS = 60_000
Dialog = TypeVar("Dialog", bound=QDialog)


@pytest.fixture
def window(qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, settings: Settings) -> Iterator[MainWindow]:
    window = MainWindow(engine_bridge, theme, settings)
    qtbot.addWidget(window)
    window.show()
    yield window
    window.close()


def opened(qtbot: QtBot, window: MainWindow, path: Path) -> DocumentPage:
    window.documents.open_paths([path])
    page = window.documents.page
    assert page is not None
    with qtbot.waitSignal(page.filled, timeout=LONG_MS):
        pass
    return page


def asked(window: MainWindow, action: str, kind: type[Dialog]) -> Dialog:
    window.actions_by_id[action].trigger()
    page = window.documents.page
    assert page is not None
    (dialog,) = page.findChildren(kind)
    return dialog


def no_temporary_file(folder: Path) -> bool:
    return not list(folder.glob(".checkpoint-viewer-*"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "run.pt"
    torch.save({"model": {"w": torch.arange(6.0), "b": torch.tensor([float("nan"), 1.0])}, "epoch": 3}, path)
    return path


def test_that_a_document_is_exported_and_the_result_opened(
    qtbot: QtBot, window: MainWindow, source: Path, tmp_path: Path
) -> None:
    opened(qtbot, window, source)
    dialog = asked(window, "export", ExportDialog)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=LONG_MS)
    assert dialog.plan is not None
    dialog.go.click()
    qtbot.waitUntil(lambda: dialog.written_file is not None, timeout=LONG_MS)
    target = tmp_path / "run-canonical.pth"
    assert target.stat().st_size == dialog.plan.nbytes
    assert dialog.written.hash.text == hashlib.sha256(target.read_bytes()).hexdigest()
    assert torch.equal(torch.load(target, weights_only=True)["model"]["w"], torch.arange(6.0))
    assert no_temporary_file(tmp_path)
    dialog.written.open.click()
    page = window.documents.page
    assert page is not None
    assert page.path == target
    qtbot.waitUntil(lambda: page.checkpoint is not None, timeout=LONG_MS)


def test_that_the_row_in_front_is_exported_alone(
    qtbot: QtBot, window: MainWindow, source: Path, tmp_path: Path
) -> None:
    page = opened(qtbot, window, source)
    assert page.tree is not None
    page.tree.go_to_path("model/w")
    menu = page.tree.make_menu()
    assert "Export this…" in [action.text().replace("&", "") for action in menu.actions()]
    menu.close()
    dialog = asked(window, "export_this", ExportDialog)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=LONG_MS)
    dialog.go.click()
    qtbot.waitUntil(lambda: dialog.written_file is not None, timeout=LONG_MS)
    assert torch.equal(torch.load(tmp_path / "run-w.pth", weights_only=True), torch.arange(6.0))


def test_that_a_cast_is_counted_after_it_was_written(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    source = tmp_path / "cast.pt"
    torch.save({"w": torch.tensor([1.0, 1.0 + 2**-20, 1e9])}, source)
    opened(qtbot, window, source)
    dialog = asked(window, "export", ExportDialog)
    dialog.form.cast.setCurrentIndex(dialog.form.cast.findData("float16"))
    qtbot.waitUntil(dialog.go.isEnabled, timeout=LONG_MS)
    dialog.go.click()
    qtbot.waitUntil(lambda: dialog.written_file is not None, timeout=LONG_MS)
    (row,) = dialog.written.found.tables[0].texts()
    assert row == ("w", "float32", "float16", "2", "3", "9.53674e−7", "1")


@pytest.mark.parametrize("way", ["button", "close the document", "close the window"])
def test_that_a_cancelled_export_leaves_nothing(qtbot: QtBot, window: MainWindow, tmp_path: Path, way: str) -> None:
    source = tmp_path / "large.pt"
    torch.save({"w": torch.zeros(48 << 20)}, source)
    page = opened(qtbot, window, source)
    dialog = asked(window, "export", ExportDialog)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=LONG_MS)
    dialog.go.click()
    qtbot.waitUntil(lambda: not no_temporary_file(tmp_path), timeout=LONG_MS)
    if way == "button":
        dialog.running.cancel.click()
        qtbot.waitUntil(lambda: not dialog.is_running, timeout=LONG_MS)
        assert dialog.notice.text() == "Cancelled. Nothing was written."
    elif way == "close the document":
        window.documents.close_tab(window.documents.indexOf(page))
    else:
        window.close()
        window._bridge.close()
    qtbot.waitUntil(lambda: no_temporary_file(tmp_path), timeout=LONG_MS)
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix in (".pt", ".pth")) == ["large.pt"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_that_an_engine_that_is_killed_in_an_export_leaves_nothing(
    qtbot: QtBot, window: MainWindow, engine: EngineClient, tmp_path: Path
) -> None:
    source = tmp_path / "large.pt"
    torch.save({"w": torch.zeros(48 << 20)}, source)
    opened(qtbot, window, source)
    dialog = asked(window, "export", ExportDialog)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=LONG_MS)
    dialog.go.click()
    qtbot.waitUntil(lambda: not no_temporary_file(tmp_path), timeout=LONG_MS)
    assert engine.pid is not None
    os.kill(engine.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: "engine" in dialog.fault.text(), timeout=LONG_MS)
    qtbot.waitUntil(lambda: no_temporary_file(tmp_path), timeout=LONG_MS)
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix in (".pt", ".pth")) == ["large.pt"]


def test_that_the_overview_of_a_file_names_its_content_on_demand(
    qtbot: QtBot, window: MainWindow, source: Path
) -> None:
    page = opened(qtbot, window, source)
    assert page.details is not None
    overview = page.details.overview
    page.details.show_node(0)
    assert not overview.content_name.isHidden()
    overview.content_name.click()
    (dialog,) = page.findChildren(NamesDialog)
    qtbot.waitUntil(lambda: len(dialog.hash.text) == 64, timeout=LONG_MS)
    page.details.show_node(1)
    assert overview.content_name.isHidden()


def test_that_what_the_engine_refuses_is_said(qtbot: QtBot, window: MainWindow, source: Path, tmp_path: Path) -> None:
    opened(qtbot, window, source)
    dialog = asked(window, "export", ExportDialog)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=LONG_MS)
    dialog.target.setText(str(tmp_path / "nowhere" / "out.pth"))
    dialog.go.click()
    qtbot.waitUntil(lambda: "there is no folder" in dialog.fault.text(), timeout=LONG_MS)
    (tmp_path / "dangling.pth").symlink_to(tmp_path / "gone.pth")
    dialog.target.setText(str(tmp_path / "dangling.pth"))
    dialog.go.click()
    qtbot.waitUntil(lambda: "this is a link" in dialog.fault.text(), timeout=LONG_MS)
    assert no_temporary_file(tmp_path)


def test_that_a_second_export_of_a_document_comes_to_the_front(
    qtbot: QtBot, window: MainWindow, source: Path
) -> None:
    opened(qtbot, window, source)
    dialog = asked(window, "export", ExportDialog)
    assert asked(window, "export", ExportDialog) is dialog


def test_that_a_flipped_bit_is_shown_and_its_tensor_gone_to(qtbot: QtBot, window: MainWindow, source: Path) -> None:
    with zipfile.ZipFile(source) as archive:
        number = next(info for info in archive.infolist() if info.filename.endswith("data/0"))
    with source.open("r+b") as file:
        file.seek(number.header_offset + 26)
        head = file.read(4)
        at = number.header_offset + 30 + int.from_bytes(head[:2], "little") + int.from_bytes(head[2:], "little") + 5
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))
    page = opened(qtbot, window, source)
    dialog = asked(window, "verify", VerifyDialog)
    qtbot.waitUntil(lambda: dialog.report is not None, timeout=LONG_MS)
    assert dialog.verdict.text() == "✗ 1 fault found"
    faults = dialog.found.tables[0]
    assert faults.texts()[0][0] == "model/w"
    faults.node_requested.emit(0)
    assert page.tree is not None
    assert page.checkpoint is not None
    assert page.tree.current_node == page.checkpoint.find("model/w")


def test_that_a_sound_file_is_said_to_be_so_with_its_non_finite_tensors(
    qtbot: QtBot, window: MainWindow, source: Path
) -> None:
    opened(qtbot, window, source)
    dialog = asked(window, "verify", VerifyDialog)
    qtbot.waitUntil(lambda: dialog.report is not None, timeout=LONG_MS)
    assert dialog.verdict.text() == "✓ Sound"
    assert [row for table in dialog.found.tables for row in table.texts()] == [("model/b", "1", "0")]
    assert dialog.report is not None
    assert not dialog.report.canonical


def test_that_two_documents_of_one_content_are_said_to_be_so(
    qtbot: QtBot, window: MainWindow, source: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.pt"
    torch.save(torch.load(source, weights_only=True), other, _use_new_zipfile_serialization=False)
    assert source.read_bytes() != other.read_bytes()
    opened(qtbot, window, other)
    opened(qtbot, window, source)
    dialog = asked(window, "content_name", NamesDialog)
    qtbot.waitUntil(lambda: bool(dialog.hash.text), timeout=LONG_MS)
    assert len(dialog.hash.text) == 64
    assert dialog.others.texts() == [("other.pt", "not computed", "")]
    dialog.all.click()
    qtbot.waitUntil(lambda: dialog.same.text() == "The same content as other.pt", timeout=LONG_MS)
    assert dialog.others.texts() == [("other.pt", f"{dialog.hash.text[:16]}…", "the same content")]


def test_that_a_hard_link_to_the_source_is_not_replaced(
    qtbot: QtBot, window: MainWindow, source: Path, tmp_path: Path
) -> None:
    os.link(source, tmp_path / "hard.pth")
    before = source.read_bytes()
    opened(qtbot, window, source)
    dialog = asked(window, "export", ExportDialog)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=LONG_MS)
    dialog.write(tmp_path / "hard.pth", force=True)  # past the question, as a race would
    qtbot.waitUntil(lambda: "the file that is being read" in dialog.fault.text(), timeout=LONG_MS)
    assert source.read_bytes() == before
