"""The settings dialog over the table of settings, and what a change does."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QSpinBox
from pytestqt.qtbot import QtBot

from tests.gui.scripted_client import ScriptedClient
from viewer.engine.protocol import Restarted
from viewer.engine.values_requests import ClearScanCache, MeasureScanCache, UseResources
from viewer.errors import EngineLost
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.habits.settings_dialog import PRIVACY, SettingsDialog
from viewer.gui.settings import GROUPS, SETTINGS, Settings
from viewer.gui.theme import DARK, Theme
from viewer.gui.window import MainWindow
from viewer.tensors.devices import Device


@pytest.fixture
def window(qtbot: QtBot, bridge: EngineBridge, theme: Theme, settings: Settings) -> MainWindow:
    window = MainWindow(bridge, theme, settings)
    qtbot.addWidget(window)
    window.show()
    return window


@pytest.fixture
def dialog(window: MainWindow) -> SettingsDialog:
    window.status.device_box.set_devices([Device("cpu", "a processor"), Device("cuda:0", "a card")])
    window.actions_by_id["settings"].trigger()
    (dialog,) = window.findChildren(SettingsDialog)
    return dialog


def test_that_every_setting_with_a_group_has_an_editor_that_shows_its_value(dialog: SettingsDialog) -> None:
    shown = {setting.key: setting for setting in SETTINGS if setting.group}
    assert set(dialog.editors) == set(shown)
    assert [dialog.tabs.tabText(index) for index in range(dialog.tabs.count())] == list(GROUPS)
    for key, editor in dialog.editors.items():
        assert editor.accessibleName() == shown[key].title
        if isinstance(editor, QCheckBox):
            value: object = editor.isChecked()
        elif isinstance(editor, QSpinBox):
            value = editor.value()
        else:
            assert isinstance(editor, QComboBox)
            value = editor.currentData()
        assert value == shown[key].default


def test_that_it_says_that_nothing_leaves_the_machine_and_where_it_is_stored(
    dialog: SettingsDialog, settings: Settings
) -> None:
    words = [label.text() for label in dialog.findChildren(QLabel)]
    assert PRIVACY in words
    assert f"Stored in {settings._stored.fileName()}" in words


def test_that_a_change_holds_at_once(
    dialog: SettingsDialog, window: MainWindow, theme: Theme, settings: Settings
) -> None:
    colours = dialog.editors["view/theme"]
    assert isinstance(colours, QComboBox)
    colours.setCurrentIndex(colours.findData("dark"))
    colours.activated.emit(colours.currentIndex())
    assert theme.tokens is DARK
    assert settings.get("view/theme") == "dark"
    natural = dialog.editors["tree/natural_order"]
    assert isinstance(natural, QCheckBox)
    natural.click()
    assert not window.documents.options.display.natural
    assert not settings.get("tree/natural_order")
    zoom = dialog.editors["view/zoom"]
    assert isinstance(zoom, QSpinBox)
    zoom.setValue(3)
    assert theme.zoom == settings.get("view/zoom") == 3


def test_that_the_devices_of_the_machine_are_offered(
    dialog: SettingsDialog, window: MainWindow, settings: Settings
) -> None:
    devices = dialog.editors["engine/device"]
    assert isinstance(devices, QComboBox)
    assert [devices.itemData(index) for index in range(devices.count())] == ["cpu", "cuda:0"]
    devices.setCurrentIndex(1)
    devices.activated.emit(1)
    assert window.status.device_box.device == settings.get("engine/device") == "cuda:0"


def test_that_threads_and_bounds_reach_the_engine_and_every_engine_after_it(
    qtbot: QtBot, dialog: SettingsDialog, client: ScriptedClient
) -> None:
    threads, memory = dialog.editors["engine/threads"], dialog.editors["engine/memory_gib"]
    assert isinstance(threads, QSpinBox)
    assert isinstance(memory, QSpinBox)
    threads.setValue(3)
    memory.setValue(2)
    wanted = UseResources(3, 2 << 30, 64 << 20)
    assert client.requests[client.jobs_of(UseResources)[-1]] == wanted
    count = len(client.jobs_of(UseResources))
    client.mailbox.put(Restarted(EngineLost("was ended")))
    qtbot.waitUntil(lambda: len(client.jobs_of(UseResources)) == count + 1)
    assert client.requests[client.jobs_of(UseResources)[-1]] == wanted


def test_that_an_engine_with_the_usual_bounds_is_told_nothing(window: MainWindow, client: ScriptedClient) -> None:
    window.ask_engine()
    assert not client.jobs_of(UseResources)


def test_that_the_cache_is_measured_and_cleared(qtbot: QtBot, dialog: SettingsDialog, client: ScriptedClient) -> None:
    client.answer(client.jobs_of(MeasureScanCache)[-1], 3 << 20)
    qtbot.waitUntil(lambda: dialog.cache.text() == "3.00 MB on disk" or "on disk" in dialog.cache.text())
    dialog.clear.click()
    client.answer(client.jobs_of(ClearScanCache)[-1], 3 << 20)
    qtbot.waitUntil(lambda: len(client.jobs_of(MeasureScanCache)) == 2)
    client.answer(client.jobs_of(MeasureScanCache)[-1], 0)
    qtbot.waitUntil(lambda: dialog.cache.text() == "Nothing is kept")
    assert not dialog.clear.isEnabled()


def test_that_defaults_come_back(dialog: SettingsDialog, settings: Settings, theme: Theme) -> None:
    for key, value in (("view/zoom", 4), ("engine/threads", 2)):
        editor = dialog.editors[key]
        assert isinstance(editor, QSpinBox)
        editor.setValue(value)
    check = dialog.editors["session/reopen"]
    assert isinstance(check, QCheckBox)
    check.click()
    dialog.defaults.click()
    assert all(settings.get(setting.key) == setting.default for setting in SETTINGS if setting.group)
    assert theme.zoom == 0


def test_that_keys_of_the_first_version_are_taken_over_once(tmp_path: Path) -> None:
    path = tmp_path / "old.ini"
    old = QSettings(str(path), QSettings.Format.IniFormat)
    old.setValue("compute/device", "cuda:1")
    old.setValue("somebody/else", "stays")
    old.sync()
    settings = Settings(path)
    assert settings.get("engine/device") == "cuda:1"
    settings.set("engine/device", "cpu")
    settings.save()
    text = path.read_text(encoding="utf-8")
    assert "[compute]" not in text
    assert "stays" in text
    assert Settings(path).get("engine/device") == "cpu"


def test_that_a_choice_that_there_is_not_and_a_number_out_of_bounds_are_the_default(tmp_path: Path) -> None:
    path = tmp_path / "odd.ini"
    raw = QSettings(str(path), QSettings.Format.IniFormat)
    for key, value in (("view/theme", "purple"), ("values/precision", "900"), ("histogram/bins", "7")):
        raw.setValue(key, value)
    raw.sync()
    settings = Settings(path)
    keys = ("view/theme", "values/precision", "histogram/bins")
    assert [settings.get(key) for key in keys] == ["system", 4, "auto"]


def test_that_settings_in_a_place_that_cannot_be_written_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    settings = Settings(tmp_path / "file" / "settings.ini")
    settings.set("view/zoom", 2)
    settings.save()
    assert settings.get("view/zoom") == 2


def test_that_fresh_settings_store_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kept.ini"
    settings = Settings(path, fresh=True)
    settings.set("view/zoom", 2)
    settings.save()
    assert settings.place_words == "Started with --fresh: not stored"
    assert not path.exists()
