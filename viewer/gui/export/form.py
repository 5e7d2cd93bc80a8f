"""The left half of the export dialog: what to write, and how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QLabel, QLineEdit, QWidget

from viewer.export.options import CASTS, ExportOptions
from viewer.gui.export.choices import FLAVOUR_WORDS, OBJECT_WORDS, PartChoice
from viewer.gui.theme import Theme

_ITEM_ROLE: Final = Qt.ItemDataRole.ToolTipRole


class ExportForm(QWidget):
    """Boxes and lines, and the options that they stand for.

    Signals
    -------
    changed
        The options are others.
    """

    changed = Signal()

    def __init__(self, theme: Theme, choices: Sequence[PartChoice], parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._choices: list[PartChoice] = []
        self.what, self.flavour, self.cast, self.objects = (QComboBox(self) for _ in range(4))
        self.strip, self.add = QLineEdit(self), QLineEdit(self)
        self.sort_keys = QCheckBox("Sort the keys of all dicts", self)
        self.keep_strides = QCheckBox("Keep strides of dense tensors", self)
        self.hint = QLabel(self)
        self._fill()
        self._lay_out()
        self._connect()
        theme.changed.connect(self._take_theme)
        self._take_theme()
        self.set_choices(choices)
        self._look()

    @property
    def choice(self) -> PartChoice:
        """Which part is to be written."""
        return self._choices[max(0, self.what.currentIndex())]

    @property
    def options(self) -> ExportOptions:
        """All that was chosen."""
        is_pth = self.flavour.currentData() == "pth"
        return self.choice.of(
            ExportOptions(
                flavour=self.flavour.currentData(),
                objects=self.objects.currentData(),
                sort_keys=self.sort_keys.isChecked(),
                keep_strides=is_pth and self.keep_strides.isChecked(),
                cast=self.cast.currentData(),
                strip_prefix=self.strip.text(),
                add_prefix=self.add.text(),
            )
        )

    def set_choices(self, choices: Sequence[PartChoice], chosen: int = -1) -> None:
        """Offer other parts. The one that was chosen stays so, where it is still offered and none is `chosen`."""
        former = self._choices[self.what.currentIndex()] if self._choices else None
        self._choices = list(choices)
        self.what.blockSignals(True)
        self.what.clear()
        for choice in self._choices:
            self.what.addItem(choice.label)
            self.what.setItemData(self.what.count() - 1, choice.select or choice.label, _ITEM_ROLE)
        kept = next((nth for nth, choice in enumerate(self._choices) if choice == former), 0)
        self.what.setCurrentIndex(chosen if chosen >= 0 else kept)
        self.what.blockSignals(False)
        if self.choice != former:
            self.changed.emit()

    @Slot()
    def _look(self) -> None:
        _label, _name, hint = OBJECT_WORDS[max(0, self.objects.currentIndex())]
        self.hint.setText(f"{hint}.")
        is_pth = self.flavour.currentData() == "pth"
        self.keep_strides.setEnabled(is_pth)
        self.keep_strides.setToolTip(
            "Write tensors that are dense but not contiguous (channels_last, transposed) in the order in which they "
            "lie in memory"
            if is_pth
            else "safetensors has no strides"
        )
        self.changed.emit()

    @Slot()
    def _take_theme(self) -> None:
        # The style draws the box in a darker shade of the window's colour, which is not to be seen on a dark one.
        for check in (self.sort_keys, self.keep_strides):
            palette = check.palette()
            palette.setColor(palette.ColorRole.Window, self._theme.color("faint"))
            palette.setColor(palette.ColorRole.Base, self._theme.color("base"))
            check.setPalette(palette)

    def _fill(self) -> None:
        for words, flavour in FLAVOUR_WORDS:
            self.flavour.addItem(words, flavour)
        self.cast.addItem("As they are", "")
        for name in CASTS:
            self.cast.addItem(f"Cast to {name}", name)
        for words, name, hint in OBJECT_WORDS:
            self.objects.addItem(words, name)
            self.objects.setItemData(self.objects.count() - 1, hint, _ITEM_ROLE)
        self.strip.setPlaceholderText("module.")
        self.add.setPlaceholderText("model.")
        self.strip.setToolTip("Taken from the keys that begin with it, as torch.nn.parallel puts it there")
        self.add.setToolTip("Put before all text keys of the dict that is written")
        self.sort_keys.setToolTip("The order of keys is content: with this, another order gives the same file")
        self.hint.setProperty("role", "muted")
        self.hint.setWordWrap(True)
        self.hint.setTextFormat(Qt.TextFormat.PlainText)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.hint.setMinimumHeight(3 * self.hint.fontMetrics().lineSpacing())

    def _lay_out(self) -> None:
        form = QFormLayout(self)
        form.setContentsMargins(0, 0, 0, 0)
        form.setHorizontalSpacing(12)
        form.setVerticalSpacing(8)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        rows = (
            ("&What", self.what),
            ("&Format", self.flavour),
            ("F&loats", self.cast),
            ("Unknown &objects", self.objects),
            ("Take off &prefix", self.strip),
            ("Put &before keys", self.add),
        )
        for words, field in rows:
            if isinstance(field, QComboBox):
                field.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
                field.setMinimumContentsLength(18)
            field.setAccessibleName(words.replace("&", ""))
            label = QLabel(words, self)
            label.setBuddy(field)
            label.setMinimumHeight(field.sizeHint().height())
            form.addRow(label, field)
            if field is self.objects:
                form.addRow("", self.hint)
        form.addRow(self.sort_keys)
        form.addRow(self.keep_strides)

    def _connect(self) -> None:
        self.what.currentIndexChanged.connect(self.changed)
        for box in (self.flavour, self.objects):
            box.currentIndexChanged.connect(self._look)
        self.cast.currentIndexChanged.connect(self.changed)
        for line in (self.strip, self.add):
            line.textChanged.connect(self.changed)
        for check in (self.sort_keys, self.keep_strides):
            check.toggled.connect(self.changed)
