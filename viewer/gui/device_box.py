"""The device to compute on: what was chosen, what there is, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from viewer.gui.format import format_bytes
from viewer.tensors.devices import Device


class DeviceBox(QPushButton):
    """A flat button with a menu. Signals: `device_changed` carries the name of the chosen device."""

    device_changed = Signal(object)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "flat")
        self._name = name
        self._devices: list[Device] | None = None
        self._menu = QMenu(self)
        self._group = QActionGroup(self)
        self._group.triggered.connect(self._choose)
        self.setMenu(self._menu)
        self.setAccessibleName("Device to compute on")
        self._menu.addAction("asking torch for its devices…").setEnabled(False)
        self._show()

    @property
    def device(self) -> str:
        """The name of the chosen device, whether or not it is there."""
        return self._name

    @property
    def problem(self) -> str | None:
        """Why the chosen device cannot be used; None when it can, or when it is not known yet."""
        if self._devices is None:
            return None
        for device in self._devices:
            if device.name == self._name:
                return device.problem
        there = ", ".join(device.name for device in self._devices)
        return f"torch has no device {self._name} here; it has {there}"

    def set_devices(self, devices: Sequence[Device]) -> None:
        """Offer these. The chosen one stays chosen, even where it is missing."""
        self._devices = list(devices)
        self._menu.clear()
        for device in devices:
            action = QAction(_words(device), self._group)
            action.setCheckable(True)
            action.setData(device.name)
            action.setEnabled(device.problem is None)
            action.setToolTip(device.problem or device.title)
            action.setChecked(device.name == self._name)
            self._menu.addAction(action)
        self._menu.setToolTipsVisible(True)
        self._show()

    @property
    def choices(self) -> list[tuple[str, str]]:
        """Names and words of the devices that can be used, the chosen one among them whatever it is."""
        found = [(each.name, _words(each)) for each in self._devices or () if each.problem is None]
        return found if any(name == self._name for name, _ in found) else [(self._name, self._name), *found]

    def choose(self, name: str) -> None:
        """Choose a device, as the menu would."""
        for action in self._group.actions():
            action.setChecked(action.data() == name)
        if name != self._name:
            self._name = name
            self._show()
            self.device_changed.emit(name)

    @Slot(QAction)
    def _choose(self, action: QAction) -> None:
        self.choose(str(action.data()))

    def _show(self) -> None:
        problem = self.problem
        self.setText(f"device: {self._name}" + (" ⚠" if problem else ""))
        self.setToolTip(problem or "Where statistics and histograms are computed")


def _words(device: Device) -> str:
    words = device.name if device.title in ("", device.name) else f"{device.name}  ·  {device.title}"
    if device.free is not None and device.total is not None:
        words += f"  ·  {format_bytes(device.free)} of {format_bytes(device.total)} free"
    return f"{words}  ·  cannot be used" if device.problem else words
