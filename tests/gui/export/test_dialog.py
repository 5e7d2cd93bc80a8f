"""The export dialog, with an engine that answers when it is told to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from tests.gui.checkpoints import Tensor, make_checkpoint
from tests.gui.scripted_client import ScriptedClient
from viewer.checkpoint.document import Checkpoint, FileFacts
from viewer.engine.export_requests import CountCasts, Export, PlanExport, RemoveAbandoned
from viewer.errors import BadPath, Cancelled, EngineLost, ViewerError
from viewer.export.options import Cast, ExportOptions, ExportPlan, ExportResult, Finding
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.export.dialog import ExportDialog
from viewer.gui.theme import Theme

ROOT = {"model": {"w": Tensor((2, 3)), "b": Tensor((2,))}, "epoch": 1}
DOCUMENT = 7


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    path = tmp_path / "run.pt"
    path.write_bytes(b"source")
    status = path.stat()
    made = make_checkpoint(ROOT, path)
    made.files[:] = [FileFacts(path, 6, status.st_mtime_ns, status.st_ino, status.st_dev)]
    return made


@pytest.fixture
def parent(qtbot: QtBot, bridge: EngineBridge, theme: Theme) -> Iterator[QWidget]:
    """Stands for the page of the document."""
    parent = QWidget()
    yield parent
    if shiboken6.isValid(parent):
        shiboken6.delete(parent)


@pytest.fixture
def dialog(bridge: EngineBridge, theme: Theme, checkpoint: Checkpoint, parent: QWidget) -> ExportDialog:
    return shown(bridge, theme, checkpoint, parent)


def shown(
    bridge: EngineBridge, theme: Theme, checkpoint: Checkpoint, parent: QWidget, *, at_node: bool = False
) -> ExportDialog:
    node = checkpoint.find("model/w")
    dialog = ExportDialog(bridge, theme, DOCUMENT, checkpoint, node, parent, at_node=at_node)
    dialog.show()
    return dialog


def plan(options: ExportOptions, *findings: Finding) -> ExportPlan:
    return ExportPlan(options, 4096, 2, 2, 32, list(findings))


def planned(qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog, *findings: Finding) -> ExportOptions:
    """Answer the plan that the dialog asks for next."""
    options = dialog.form.options
    asked = PlanExport(DOCUMENT, options)
    qtbot.waitUntil(lambda: client.requests.get(len(client.requests)) == asked)
    client.answer(len(client.requests), plan(options, *findings))
    qtbot.waitUntil(lambda: dialog.plan is not None)
    return options


def started(qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog) -> int:
    planned(qtbot, client, dialog)
    dialog.go.click()
    assert dialog.is_running
    (job,) = client.jobs_of(Export)
    return job


def test_that_the_plan_is_asked_for_and_shown(qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog) -> None:
    assert not dialog.go.isEnabled()
    assert planned(qtbot, client, dialog, Finding("changed", "model/w", "packed")) == ExportOptions()
    assert dialog.plan_title.text() == "torch zip (.pth), 4.0 KB (4,096 bytes)"
    assert dialog.findings.tables[0].texts() == [("model/w", "packed")]
    assert dialog.go.isEnabled()


def test_that_a_choice_makes_a_new_plan_and_an_answer_to_the_old_one_is_not_shown(
    qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog
) -> None:
    qtbot.waitUntil(lambda: len(client.requests) == 1)
    dialog.form.flavour.setCurrentIndex(1)
    client.answer(1, plan(ExportOptions()))
    options = planned(qtbot, client, dialog)
    assert options == ExportOptions(flavour="safetensors")
    assert dialog.plan is not None
    assert dialog.plan.options == options


def test_that_all_choices_are_in_the_options(dialog: ExportDialog) -> None:
    form = dialog.form
    form.what.setCurrentIndex(1)
    form.cast.setCurrentIndex(form.cast.findData("bfloat16"))
    form.objects.setCurrentIndex(form.objects.findData("keep"))
    form.strip.setText("module.")
    form.add.setText("net.")
    form.sort_keys.setChecked(True)
    form.keep_strides.setChecked(True)
    wanted = ExportOptions(
        "pth", "model/w", objects="keep", sort_keys=True, keep_strides=True, cast="bfloat16",
        strip_prefix="module.", add_prefix="net.",
    )  # fmt: skip
    assert form.options == wanted
    form.flavour.setCurrentIndex(1)
    assert form.options == replace(wanted, flavour="safetensors", keep_strides=False)
    assert not form.keep_strides.isEnabled()


def test_that_what_stands_in_the_way_cannot_be_exported(
    qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog
) -> None:
    planned(qtbot, client, dialog, Finding("cannot", "config", "an object of the class a.B"))
    assert not dialog.go.isEnabled()
    assert dialog.plan_title.text().endswith("cannot be written")
    with qtbot.waitSignal(dialog.path_requested) as went:
        dialog.findings.tables[0].node_requested.emit(0)
    assert went.args == ["config"]


def test_that_why_there_is_no_plan_is_said(qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog) -> None:
    qtbot.waitUntil(lambda: len(client.requests) == 1)
    client.fail(1, BadPath("no key begins with 'x'"))
    qtbot.waitUntil(lambda: dialog.plan_line.text() == "no key begins with 'x'")
    assert not dialog.go.isEnabled()


def test_that_the_proposed_name_follows_the_choices_until_a_person_gives_one(
    dialog: ExportDialog, tmp_path: Path
) -> None:
    assert dialog.target.text() == str(tmp_path / "run-canonical.pth")
    dialog.form.flavour.setCurrentIndex(1)
    dialog.form.what.setCurrentIndex(1)
    assert dialog.target.text() == str(tmp_path / "run-w.safetensors")
    dialog.target.setText(str(tmp_path / "mine.safetensors"))
    dialog.form.flavour.setCurrentIndex(0)
    dialog.form.what.setCurrentIndex(0)
    assert dialog.target.text() == str(tmp_path / "mine.pth")


def test_that_export_this_begins_with_the_row(
    bridge: EngineBridge, theme: Theme, checkpoint: Checkpoint, parent: QWidget
) -> None:
    dialog = shown(bridge, theme, checkpoint, parent, at_node=True)
    assert dialog.form.options.select == "model/w"
    dialog.set_recognition(None)
    assert dialog.form.options.select == "model/w"


def test_that_writing_shows_how_far_it_is_and_then_what_was_written(
    qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog, tmp_path: Path
) -> None:
    job = started(qtbot, client, dialog)
    target = tmp_path / "run-canonical.pth"
    assert client.requests[job] == Export(DOCUMENT, target, ExportOptions(), False)
    assert not dialog.form.isEnabled()
    client.report(job, 1 << 20, 4 << 20)
    qtbot.waitUntil(lambda: "Writing · 1.0 of 4.0 MB" in dialog.running.text)
    client.report(job, 3 << 20, 4 << 20)
    qtbot.waitUntil(lambda: "Verifying · 3.0 of 4.0 MB" in dialog.running.text)
    cast = Cast("model/w", "float32", "float16", 6, 2, 0.125, 0)
    client.answer(job, ExportResult(target, 4096, "ab" * 32, plan(ExportOptions()), [cast]))
    qtbot.waitUntil(dialog.written.isVisible)
    assert dialog.written.place.text() == str(target)
    assert dialog.written.amount.text() == "4.0 KB (4,096 bytes)"
    dialog.written.hash.copy.click()
    assert QGuiApplication.clipboard().text() == "ab" * 32
    assert dialog.written.found.tables[0].texts()[0][0] == "model/w"
    with qtbot.waitSignal(dialog.open_asked) as opened:
        dialog.written.open.click()
    assert opened.args == [target]
    with qtbot.waitSignal(dialog.compare_asked) as compared:
        dialog.written.compare.click()
    assert compared.args == [tmp_path / "run.pt", target]
    dialog.go.click()
    assert dialog.form.isVisible()
    assert dialog.go.isEnabled()


def test_that_escape_cancels_first_and_closes_then(
    qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog
) -> None:
    job = started(qtbot, client, dialog)
    dialog.reject()
    assert client.cancelled == [job]
    assert dialog.isVisible()
    client.fail(job, Cancelled("cancelled"))
    qtbot.waitUntil(lambda: not dialog.is_running)
    assert dialog.notice.text() == "Cancelled. Nothing was written."
    assert dialog.go.isEnabled()
    dialog.reject()
    assert not dialog.isVisible()


def test_that_a_failure_is_said_and_another_try_is_possible(
    qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog
) -> None:
    job = started(qtbot, client, dialog)
    client.fail(job, ViewerError("the disk is full", advice="Make room"))
    qtbot.waitUntil(lambda: "the disk is full" in dialog.fault.text())
    assert dialog.go.isEnabled()
    assert dialog.form.isEnabled()


@pytest.mark.parametrize("name", ["run.pt", "link.pth", "hard.pth"])
def test_that_the_source_is_not_replaced_by_any_of_its_names(
    qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog, tmp_path: Path, name: str
) -> None:
    source = tmp_path / "run.pt"
    (tmp_path / "link.pth").symlink_to(source)
    os.link(source, tmp_path / "hard.pth")
    planned(qtbot, client, dialog)
    dialog.target.setText(str(tmp_path / name))
    dialog.go.click()
    assert "the file that is being read" in dialog.fault.text()
    assert not client.jobs_of(Export)
    assert source.read_bytes() == b"source"


@pytest.mark.parametrize("replaced", [True, False])
def test_that_another_file_is_replaced_only_when_the_person_says_so(
    qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog, tmp_path: Path, replaced: bool
) -> None:
    target = tmp_path / "run-canonical.pth"
    target.write_bytes(b"another")
    planned(qtbot, client, dialog)
    dialog.go.click()
    (box,) = dialog.findChildren(QMessageBox)
    assert not client.jobs_of(Export)
    wanted = "Replace" if replaced else "Cancel"
    next(button for button in box.buttons() if button.text().replace("&", "") == wanted).click()
    jobs = client.jobs_of(Export)
    assert [client.requests[job] for job in jobs] == (
        [Export(DOCUMENT, target, ExportOptions(), True)] if replaced else []
    )


def test_that_a_file_that_was_read_again_is_planned_again(
    qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog, checkpoint: Checkpoint
) -> None:
    planned(qtbot, client, dialog)
    dialog.renew(9, checkpoint)
    assert not dialog.go.isEnabled()
    qtbot.waitUntil(lambda: client.requests[len(client.requests)] == PlanExport(9, ExportOptions()))


def test_that_jobs_end_with_the_document_that_the_dialog_belongs_to(
    qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog, parent: QWidget
) -> None:
    job = started(qtbot, client, dialog)
    with qtbot.waitSignal(parent.destroyed):
        parent.deleteLater()
    assert job in client.cancelled


def test_that_what_a_cast_changes_is_counted_on_demand(
    qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog
) -> None:
    dialog.form.cast.setCurrentIndex(dialog.form.cast.findData("float16"))
    options = planned(qtbot, client, dialog)
    (count,) = [button for button in dialog.findings.findChildren(QPushButton) if "Count" in button.text()]
    count.click()
    (job,) = client.jobs_of(CountCasts)
    assert client.requests[job] == CountCasts(DOCUMENT, options)
    assert not dialog.go.isEnabled()
    client.answer(job, [Cast("model/w", "float32", "float16", 6, 2, 0.5, 0)])
    qtbot.waitUntil(lambda: bool(dialog.findings.tables))
    assert dialog.findings.tables[0].texts()[-1][:4] == ("model/w", "float32", "float16", "2")
    assert dialog.go.isEnabled()
    assert not client.jobs_of(Export)


def test_that_a_count_that_is_stopped_or_fails_says_so_and_the_export_can_go_on(
    qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog
) -> None:
    dialog.form.cast.setCurrentIndex(dialog.form.cast.findData("float16"))
    planned(qtbot, client, dialog)
    dialog.count_casts()
    client.fail(client.jobs_of(CountCasts)[-1], Cancelled("cancelled"))
    qtbot.waitUntil(lambda: dialog.notice.text() == "Cancelled. Nothing was counted.")
    dialog.count_casts()
    client.fail(client.jobs_of(CountCasts)[-1], ViewerError("the disk does not answer"))
    qtbot.waitUntil(lambda: dialog.fault.text() == "the disk does not answer")
    assert dialog.go.isEnabled()


def test_that_what_a_lost_engine_left_beside_the_target_is_removed(
    qtbot: QtBot, client: ScriptedClient, dialog: ExportDialog, tmp_path: Path
) -> None:
    job = started(qtbot, client, dialog)
    client.fail(job, EngineLost("the engine ended"))
    qtbot.waitUntil(lambda: "the engine ended" in dialog.fault.text())
    (tidy,) = client.jobs_of(RemoveAbandoned)
    assert client.requests[tidy] == RemoveAbandoned(tmp_path)
    client.answer(tidy, None)
    assert dialog.go.isEnabled()
