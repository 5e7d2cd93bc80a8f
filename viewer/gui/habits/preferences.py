"""What a changed setting does to the window and to the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QObject, Slot

from viewer.engine.values_requests import ClearScanCache, MeasureScanCache, UseResources
from viewer.errors import ViewerError
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.settings import SETTINGS, Settings
from viewer.gui.theme import Theme

if TYPE_CHECKING:
    from viewer.gui.habits.settings_dialog import SettingsDialog
    from viewer.gui.window import MainWindow

_RESOURCES: Final = ("engine/threads", "engine/memory_gib", "engine/cache_mib")
_SWITCHES: Final = {"tree/natural_order": "natural_order", "tree/group_names": "group_names"}


class Preferences(QObject):
    """Opens the dialog, and makes each change hold at once."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, theme: Theme, settings: Settings) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._theme = theme
        self._settings = settings
        self._dialog: SettingsDialog | None = None
        bridge.engine_restarted.connect(self._tell_new_engine)

    @Slot()
    def open(self) -> None:
        """Show the settings."""
        from viewer.gui.habits.settings_dialog import SettingsDialog

        choices = {"engine/device": self._window.status.device_box.choices}
        dialog = SettingsDialog(self._settings, self.apply, choices, self._clear_cache, self._window)
        dialog.finished.connect(self._closed)
        self._dialog = dialog
        self._measure_cache()
        dialog.open()

    def apply(self, key: str, value: Any) -> None:
        """Store a changed setting, and do what it says."""
        if key == "engine/device":
            self._window.status.device_box.choose(value)  # stores it by itself, as the next ones do
        elif key in _SWITCHES:
            self._window.actions_by_id[_SWITCHES[key]].setChecked(value)
        elif key == "view/theme":
            self._window.actions_by_id[f"theme_{value}"].setChecked(True)
        elif key == "view/zoom":
            self._theme.set_zoom(value)
        self._settings.set(key, value)
        if key in _RESOURCES:
            self._use_resources()

    def tell_engine(self) -> None:
        """Give a new engine its bounds, where they are not the ones that it has by itself."""
        defaults = {setting.key: setting.default for setting in SETTINGS}
        if any(self._settings.get(key) != defaults[key] for key in _RESOURCES):
            self._use_resources()

    @Slot(object)
    def _tell_new_engine(self, _error: object) -> None:
        self.tell_engine()

    def _use_resources(self) -> None:
        threads, memory_gib, cache_mib = (self._settings.get(key) for key in _RESOURCES)
        request = UseResources(threads, memory_gib << 30, cache_mib << 20)
        self._bridge.submit(request, owner=self, on_result=_ignore, on_failure=_ignore)

    def _measure_cache(self) -> None:
        self._bridge.submit(MeasureScanCache(), owner=self, on_result=self._show_cache, on_failure=_ignore)

    @Slot()
    def _clear_cache(self) -> None:
        self._bridge.submit(ClearScanCache(), owner=self, on_result=self._cache_cleared)

    def _cache_cleared(self, _nbytes: int) -> None:
        self._measure_cache()

    def _show_cache(self, nbytes: int) -> None:
        if self._dialog is not None:
            self._dialog.show_cache(nbytes)

    @Slot()
    def _closed(self) -> None:
        self._dialog = None
        self._settings.save()


def _ignore(_answer: ViewerError | None) -> None:
    """What the engine cannot do shows where it is needed."""
