"""The settings, as the table in `viewer.gui.settings` declares them. Each change holds at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSpinBox,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from viewer.gui.dialogs import without_icons
from viewer.gui.format import format_bytes
from viewer.gui.settings import ENGINE, GROUPS, SETTINGS, Setting, Settings

PRIVACY: Final = (
    "Nothing leaves this machine: the program opens no network connection, looks for no updates and counts nothing."
)

_CHECK_INDENT: Final = 24
"""Where the words of a check box begin."""

Choices: TypeAlias = Mapping[str, Sequence[tuple[Any, str]]]


class SettingsDialog(QDialog):
    """Shows every setting that has a group.

    Parameters
    ----------
    apply
        Called with the key and the new value of what was changed; it stores it.
    choices
        Values of settings whose choices are known only now, such as the devices of this machine.
    clear_cache
        Called by the button; `show_cache` then tells what is left.
    """

    def __init__(
        self,
        settings: Settings,
        apply: Callable[[str, Any], None],
        choices: Choices,
        clear_cache: Callable[[], object],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._settings = settings
        self._apply = apply
        self._choices = choices
        self.editors: dict[str, QWidget] = {}
        self.setWindowTitle("Settings")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.tabs = QTabWidget(self)
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setProperty("role", "details")
        self.tabs.tabBar().setDrawBase(False)
        self.tabs.setAccessibleName("Groups of settings")
        self.cache = QLabel("…", self)
        self.cache.setProperty("role", "muted")
        self.clear = QPushButton("Clear", self)
        self.clear.setAccessibleName("Clear the kept results of scans")
        self.clear.setAutoDefault(False)
        self.clear.clicked.connect(clear_cache)
        for group in GROUPS:
            self.tabs.addTab(self._page(group), group)
        privacy = QLabel(PRIVACY, self)
        privacy.setWordWrap(True)
        privacy.setProperty("role", "muted")
        place = QLabel(settings.place_words, self)
        place.setTextFormat(Qt.TextFormat.PlainText)
        place.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        place.setProperty("role", "muted")
        place.setWordWrap(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        self.defaults = buttons.addButton("Restore defaults", QDialogButtonBox.ButtonRole.ResetRole)
        self.defaults.setAutoDefault(False)
        self.defaults.clicked.connect(self._restore)
        buttons.rejected.connect(self.reject)
        without_icons(buttons)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 16)
        column.setSpacing(12)
        column.addWidget(self.tabs, 1)
        for widget in (privacy, place, buttons):
            column.addWidget(widget)
        self.resize(620, 480)

    def show_cache(self, nbytes: int) -> None:
        """Tell how much of the disk kept scans take."""
        self.cache.setText(f"{format_bytes(nbytes)} on disk" if nbytes else "Nothing is kept")
        self.clear.setEnabled(nbytes > 0)

    def _page(self, group: str) -> QWidget:
        page = QWidget(self.tabs)
        grid = QGridLayout(page)
        grid.setContentsMargins(8, 16, 8, 8)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        row = 0
        for setting in SETTINGS:
            if setting.group != group:
                continue
            editor = self._editor(setting, page)
            editor.setAccessibleName(setting.title)
            editor.setAccessibleDescription(setting.hint)
            self.editors[setting.key] = editor
            if isinstance(editor, QCheckBox):
                grid.addWidget(editor, row, 0, 1, 2)
            else:
                label = QLabel(setting.title, page)
                label.setBuddy(editor)
                grid.addWidget(label, row, 0)
                grid.addWidget(editor, row, 1, Qt.AlignmentFlag.AlignLeft)
            if setting.hint:
                hint = QLabel(setting.hint, page)
                hint.setProperty("role", "muted")
                hint.setWordWrap(True)
                row += 1
                if isinstance(editor, QCheckBox):
                    hint.setIndent(_CHECK_INDENT)
                    grid.addWidget(hint, row, 0, 1, 2)
                else:
                    grid.addWidget(hint, row, 1)
            grid.setRowMinimumHeight(row + 1, 8)
            row += 2
        if group == ENGINE:
            line = QHBoxLayout()
            line.setSpacing(12)
            line.addWidget(self.cache)
            line.addWidget(self.clear)
            line.addStretch(1)
            grid.addLayout(line, row, 1)
        grid.setRowStretch(row + 1, 1)
        return page

    def _editor(self, setting: Setting, parent: QWidget) -> QWidget:
        value = self._settings.get(setting.key)
        changed = partial(self._changed, setting.key)
        if setting.type is bool:
            check = QCheckBox(setting.title, parent)
            check.setChecked(value)
            check.toggled.connect(changed)
            return check
        if setting.type is int:
            assert setting.bounds is not None
            spin = QSpinBox(parent)
            spin.setRange(*setting.bounds)
            spin.setSuffix(setting.unit)
            spin.setSpecialValueText(setting.least_words)
            spin.setKeyboardTracking(False)
            spin.setMinimumSize(160, 28)
            spin.setValue(value)
            spin.valueChanged.connect(changed)
            return spin
        box = QComboBox(parent)
        for choice, words in self._choices.get(setting.key, setting.choices):
            box.addItem(words, choice)
        box.setCurrentIndex(max(0, box.findData(value)))
        box.activated.connect(partial(self._chosen, setting.key, box))
        return box

    def _chosen(self, key: str, box: QComboBox, index: int) -> None:
        self._changed(key, box.itemData(index))

    def _changed(self, key: str, value: Any) -> None:
        self._apply(key, value)

    @Slot()
    def _restore(self) -> None:
        for setting in SETTINGS:
            editor = self.editors.get(setting.key)
            if isinstance(editor, QCheckBox):
                editor.setChecked(setting.default)
            elif isinstance(editor, QSpinBox):
                editor.setValue(setting.default)
            elif isinstance(editor, QComboBox) and editor.currentData() != setting.default:
                index = editor.findData(setting.default)
                if index >= 0:
                    editor.setCurrentIndex(index)
                    self._changed(setting.key, setting.default)
