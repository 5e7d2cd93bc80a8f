"""Theme, icons, settings, recent files, message bar, job strip, device box: each by itself."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QColor, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from tests.gui.checkpoints import make_checkpoint
from tests.gui.scripted_client import ScriptedClient
from viewer.engine.faults import EngineFault
from viewer.engine.protocol import Ping
from viewer.errors import MalformedFile
from viewer.gui.actions import ACTIONS, MENUS, TOOLBAR, make_actions
from viewer.gui.details.elided_label import ElidedLabel
from viewer.gui.device_box import DeviceBox
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.icons import IconSet, tinted
from viewer.gui.job_strip import JobStrip, amount_text
from viewer.gui.message_bar import MAX_MESSAGES, Message, MessageBar
from viewer.gui.recent import MAX_RECENT, RecentFiles
from viewer.gui.settings import SETTINGS, Settings
from viewer.gui.sound_qt import NoWindow, check_display, check_pyside
from viewer.gui.status import StatusLine
from viewer.gui.theme import DARK, LIGHT, Theme, Tokens
from viewer.resources import resource_path
from viewer.task import Progress
from viewer.tensors.devices import Device

# Theme


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
def test_that_every_colour_of_a_theme_is_one(tokens: Tokens) -> None:
    assert all(tokens.color(field.name).isValid() for field in fields(tokens) if field.name != "name")


def contrast(first: QColor, second: QColor) -> float:
    def luminance(color: QColor) -> float:
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color.getRgbF()[:3]]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
def test_that_text_can_be_read_on_its_background(tokens: Tokens) -> None:
    for text in ("text", "muted", "accent", "ok", "warning", "error"):
        for back in ("base", "window"):
            assert contrast(tokens.color(text), tokens.color(back)) >= 4.0, (text, back)


def test_that_a_choice_changes_palette_and_tokens_and_says_so(qtbot: QtBot, theme: Theme) -> None:
    with qtbot.waitSignal(theme.changed):
        theme.set_choice("dark")
    assert theme.tokens is DARK
    assert QApplication.palette().color(QPalette.ColorRole.Base) == QColor(DARK.base)
    with qtbot.assertNotEmitted(theme.changed):
        theme.set_choice("dark")
        theme.set_choice("purple")
    theme.set_choice("system")
    assert theme.tokens is LIGHT  # the offscreen platform says nothing, which is light


def test_that_text_grows_and_shrinks_within_bounds(theme: Theme) -> None:
    size = theme.interface_font().pointSizeF()
    theme.set_zoom(3)
    assert theme.interface_font().pointSizeF() == pytest.approx(size + 3)
    assert QApplication.font().pointSizeF() == pytest.approx(size + 3)
    theme.set_zoom(1000)
    assert theme.zoom == 12
    theme.set_zoom(-1000)
    assert theme.mono().pointSizeF() >= 6


def test_that_every_action_with_a_picture_has_its_file(theme: Theme) -> None:
    icons = IconSet(theme.tokens)
    for spec in ACTIONS:
        if spec.icon:
            assert not icons.icon(spec.icon).isNull()


def test_that_a_picture_has_the_colour_it_is_asked_for(qapp: QApplication) -> None:
    image = tinted("open", "#ff0000", 16, 2).toImage()
    colours = {
        image.pixelColor(x, y).name() for x in range(32) for y in range(32) if image.pixelColor(x, y).alpha() == 255
    }
    assert colours == {"#ff0000"}
    assert image.width() == 32


def test_that_a_missing_resource_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"icons/nothing\.svg"):
        resource_path("icons/nothing.svg")


# Actions


def test_that_menus_and_toolbar_hold_every_action_and_nothing_else(qtbot: QtBot) -> None:
    ids = {spec.id for spec in ACTIONS}
    shown = {entry for entries in MENUS.values() for entry in entries if entry != "-" and not entry.endswith(">")}
    in_submenus = {"clear_recent", "theme_system", "theme_light", "theme_dark"}
    assert shown | in_submenus == ids
    assert set(TOOLBAR) - {"-"} <= ids


def test_that_no_two_actions_have_the_same_keys(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    actions = make_actions(parent, {spec.id: print for spec in ACTIONS})
    keys = [sequence.toString() for action in actions.values() for sequence in action.shortcuts()]
    assert sorted(keys) == sorted(set(keys))
    assert all(action.statusTip() for action in actions.values())


# Settings


def test_that_settings_keep_their_type_in_the_file(settings: Settings, tmp_path: Path) -> None:
    values = {
        "view/theme": "dark",
        "view/zoom": -2,
        "tree/natural_order": False,
        "files/recent": ["/a/é.pth", "b,c"],
        "window/geometry": b"\x00\xff",
    }
    for key, value in values.items():
        settings.set(key, value)
    settings.save()
    again = Settings(tmp_path / "settings.ini")
    assert {key: again.get(key) for key in values} == values


def test_that_what_makes_no_sense_in_the_file_is_the_default(tmp_path: Path) -> None:
    path = tmp_path / "settings.ini"
    raw = QSettings(str(path), QSettings.Format.IniFormat)
    for setting in SETTINGS:
        raw.setValue(setting.key, "{nonsense")
    raw.sync()
    settings = Settings(path)
    for setting in SETTINGS:
        if setting.type is not str:
            assert settings.get(setting.key) == setting.default


def test_that_an_unreadable_settings_file_is_none(tmp_path: Path) -> None:
    path = tmp_path / "settings.ini"
    path.write_bytes(b"\x00\xff[[[=\n" * 100)
    assert Settings(path).get("view/theme") == "system"


def test_that_a_fresh_start_reads_and_stores_nothing(settings: Settings) -> None:
    settings.set("view/theme", "dark")
    settings.save()
    fresh = Settings(fresh=True)
    assert fresh.get("view/theme") == "system"
    fresh.set("view/theme", "light")
    assert fresh.get("view/theme") == "light"
    fresh.save()
    assert settings.get("view/theme") == "dark"


def test_that_recent_files_are_few_and_the_last_comes_first(qtbot: QtBot, settings: Settings) -> None:
    recent = RecentFiles(settings)
    for number in range(MAX_RECENT + 5):
        recent.add(Path(f"/x/{number}.pth"))
    recent.add(Path("/x/10.pth"))
    assert len(recent.paths) == MAX_RECENT
    assert recent.paths[0] == Path("/x/10.pth")
    assert len(set(recent.paths)) == MAX_RECENT
    recent.clear()
    assert recent.paths == []


def test_that_missing_files_are_found_out(qtbot: QtBot, settings: Settings, tmp_path: Path) -> None:
    recent = RecentFiles(settings)
    here = tmp_path / "here.pth"
    here.touch()
    for path in (here, tmp_path / "gone.pth"):
        recent.add(path)
    with qtbot.waitSignal(recent.checked) as told:
        recent.check()
    assert told.args == [{tmp_path / "gone.pth"}]


# Message bar


@pytest.fixture
def bar(qtbot: QtBot, theme: Theme) -> MessageBar:
    bar = MessageBar(theme)
    qtbot.addWidget(bar)
    bar.resize(600, 200)
    return bar


def press(qtbot: QtBot, parent: QWidget, text: str) -> None:
    button = next(button for button in parent.findChildren(QPushButton) if button.text() == text)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_that_a_message_shows_its_text_and_takes_no_room_when_gone(qtbot: QtBot, bar: MessageBar) -> None:
    assert not bar.isVisible()
    bar.say(Message("error", "<b>a.pth</b>: cut short"))
    assert bar.isVisible()
    label = next(label for label in bar.findChildren(QLabel) if label.text())
    assert label.textFormat() == Qt.TextFormat.PlainText
    close = bar.findChild(QToolButton)
    assert isinstance(close, QToolButton)
    qtbot.mouseClick(close, Qt.MouseButton.LeftButton)
    assert bar.messages == []
    assert not bar.isVisible()


def test_that_a_retry_is_done_once_and_takes_the_message_away(qtbot: QtBot, bar: MessageBar) -> None:
    done: list[int] = []
    bar.say(Message("error", "cut short", action="Retry", on_action=lambda: done.append(1)))
    press(qtbot, bar, "Retry")
    assert done == [1]
    assert bar.messages == []


def test_that_details_open_and_everything_can_be_copied(qtbot: QtBot, bar: MessageBar) -> None:
    bar.say(Message("error", "cut short", "at byte 12"))
    assert bar.findChild(QPlainTextEdit) is None
    press(qtbot, bar, "Details")
    details = bar.findChild(QPlainTextEdit)
    assert isinstance(details, QPlainTextEdit)
    assert details.toPlainText() == "at byte 12"
    press(qtbot, bar, "Details")
    assert not details.isVisible()
    press(qtbot, bar, "Copy")
    assert QGuiApplication.clipboard().text() == "cut short\nat byte 12"


def test_that_few_messages_stand_and_one_key_speaks_once(bar: MessageBar) -> None:
    for number in range(MAX_MESSAGES + 3):
        bar.say(Message("warning", f"number {number}"))
    assert [message.text for message in bar.messages] == ["number 5", "number 4", "number 3"]
    bar.say(Message("error", "first", key="it"))
    bar.say(Message("error", "second", key="it"))
    assert [message.text for message in bar.messages][:2] == ["second", "number 5"]
    bar.dismiss("it")
    assert bar.messages[0].text == "number 5"


def test_that_an_error_becomes_a_message_with_its_path() -> None:
    message = Message.of(MalformedFile("cut short", path="/x/a.pth", advice="Fetch it again"))
    assert message.text == "a.pth: cut short. Fetch it again"
    assert message.details == "/x/a.pth"


def test_that_a_bug_of_the_engine_comes_with_its_traceback() -> None:
    message = Message.of(EngineFault("a mistake", path="/x/a.pth", details="Traceback …"))
    assert message.details == "/x/a.pth\nTraceback …"


# Job strip


def test_that_short_jobs_do_not_flicker_and_long_ones_can_be_cancelled(
    qtbot: QtBot, theme: Theme, bridge: EngineBridge, client: ScriptedClient
) -> None:
    strip = JobStrip(bridge, theme)
    qtbot.addWidget(strip)
    strip.show()
    short = bridge.submit(Ping(), owner=strip, on_result=print, title="opening a.pth")
    client.answer(short, None)
    qtbot.waitUntil(lambda: not bridge.jobs)
    qtbot.wait(200)
    assert not strip.is_shown
    bridge.submit(Ping(), owner=strip, on_result=print)  # no title: not worth a mention
    job = bridge.submit(Ping(), owner=strip, on_result=print, title="opening b.pth")
    client.report(job, 1 << 20, 4 << 20)
    qtbot.waitUntil(lambda: strip.is_shown and any("of" in label.text() for label in strip.findChildren(QLabel)))
    texts = {label.text() for label in strip.findChildren(QLabel)}
    assert "Opening b.pth" in texts
    assert "1.0 of 4.0 MB" in texts
    cancel = strip.findChild(QToolButton)
    assert isinstance(cancel, QToolButton)
    qtbot.mouseClick(cancel, Qt.MouseButton.LeftButton)
    assert client.cancelled == [job]
    assert not cancel.isEnabled()
    client.answer(job, None)
    qtbot.waitUntil(lambda: not strip.is_shown)


def test_that_a_long_title_gives_way_before_the_verdict_at_the_other_end(
    qtbot: QtBot, theme: Theme, bridge: EngineBridge, client: ScriptedClient
) -> None:
    checkpoint = make_checkpoint({"epoch": 1})
    line = StatusLine(bridge, theme, "cpu")
    qtbot.addWidget(line)
    line.show_document(checkpoint)
    line.resize(1000, line.sizeHint().height())
    line.show()
    name = "a_rather_long_name_" * 9
    job = bridge.submit(Ping(), owner=line, on_result=print, title=f"scanning {name}")
    client.report(job, 1 << 30, 4 << 30)
    qtbot.waitUntil(lambda: line.jobs.is_shown)
    title = line.jobs.findChild(ElidedLabel)
    assert isinstance(title, ElidedLabel)
    qtbot.waitUntil(lambda: "…" in title.shown_text)
    assert name in title.toolTip().replace("<wbr>", "")
    assert line.verdict.geometry().right() < line.width()
    assert line.verdict.width() >= line.verdict.sizeHint().width()
    line.resize(4000, line.height())  # where there is room, it is whole, with the style sheet's padding, too
    qtbot.waitUntil(lambda: title.shown_text == title.text())
    client.answer(job, None)
    qtbot.waitUntil(lambda: not line.jobs.is_shown)


@pytest.mark.parametrize(
    ("progress", "elapsed_s", "words"),
    [
        (None, 1, ""),
        (Progress(0, 0), 1, ""),
        (Progress(5_000_000, 0), 1, "4.8 MB"),
        (Progress(1_288_490_189, 5_153_960_755), 0.1, "1.2 of 4.8 GB"),
        (Progress(1_288_490_189, 5_153_960_755), 4, "1.2 of 4.8 GB · 12 s left"),
        (Progress(100, 10_000), 60, "0.1 of 9.8 KB · 1.6 h left"),
        (Progress(3, 12_000, "tensors"), 0.1, "3 of 12,000 tensors"),
        (Progress(500, 900), 0.1, "500 of 900 B"),
        (Progress(10, 5), 3, "10 of 10 B"),
    ],
)
def test_that_the_amount_is_said_in_one_unit(progress: Progress | None, elapsed_s: float, words: str) -> None:
    assert amount_text(progress, elapsed_s) == words


# Device box


def test_that_a_device_can_be_chosen_and_a_missing_one_stays_chosen_and_says_so(qtbot: QtBot, theme: Theme) -> None:
    box = DeviceBox("cuda:7")
    qtbot.addWidget(box)
    assert box.problem is None
    box.set_devices([Device("cpu", "CPU", 2**34, 2**33), Device("cuda:0", "A100", problem="no driver")])
    assert box.problem == "torch has no device cuda:7 here; it has cpu, cuda:0"
    assert "cuda:7" in box.text()
    cpu, broken = box.menu().actions()
    assert not broken.isEnabled()
    assert "8.0 GB of 16.0 GB free" in cpu.text()
    with qtbot.waitSignal(box.device_changed) as told:
        cpu.trigger()
    assert told.args == ["cpu"]
    assert box.problem is None


# Qt itself


@pytest.mark.parametrize(
    ("pyside", "python", "sound"),
    [((6, 12), (3, 11), False), ((6, 11), (3, 11), True), ((6, 12), (3, 12), True), ((6, 13), (3, 11), False)],
)
def test_that_a_qt_that_would_crash_is_refused_in_words(
    pyside: tuple[int, int], python: tuple[int, int], sound: bool
) -> None:
    if sound:
        check_pyside(pyside, python)
    else:
        with pytest.raises(NoWindow, match=r"aborts on Python 3\.11"):
            check_pyside(pyside, python)


def test_that_this_qt_loses_no_references_to_none(qtbot: QtBot) -> None:
    label = QLabel()
    qtbot.addWidget(label)
    before = sys.getrefcount(None)
    for _ in range(1000):
        label.setText("x")
    assert abs(sys.getrefcount(None) - before) < 100


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there always is a display")
def test_that_a_missing_display_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(NoWindow, match="no display"):
        check_display()
    monkeypatch.setenv("DISPLAY", "another-machine:0")
    check_display()
