"""The list of what a file's pickles name, and what is known about it: no more and no less."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from viewer.checkpoint.document import Checkpoint, GlobalUse
from viewer.gui.details.tips import cut_middle, plain_tip
from viewer.gui.dialogs import without_icons
from viewer.gui.format import format_count
from viewer.gui.theme import Theme
from viewer.report.wording import printable

_MAX_LISTED: Final = 2_000
_LONGEST: Final = 300
_PLACE: Final = 3  # column
_EXPLANATION: Final = (
    "The pickles in this file name the classes and functions below. Nothing of them was imported or called to show "
    "the file; inert stand-ins take their places. Names marked ✓ are in a documented table of names that only build "
    "plain data or tensors. About those marked ⚠ nothing is known: a program that loads the file with "
    "torch.load(weights_only=False) would import and could call them. A click on a place goes there in the tree."
)
_NONE: Final = "This file names no class and no function. Nothing was executed to show it."


def verdict(checkpoint: Checkpoint) -> tuple[str, bool]:
    """One line about what the file names, and whether all of it is in the table of harmless names."""
    count = len(checkpoint.globals)
    unknown = sum(1 for use in checkpoint.globals if not use.harmless)
    named = "no classes named" if not count else f"{format_count(count)} class{'' if count == 1 else 'es'} named"
    if not unknown:
        return f"✓ nothing was executed · {named}", True
    return f"✓ nothing was executed · {named}, ⚠ {format_count(unknown)} unknown", False


class SafetyDialog(QDialog):
    """The names by module, those outside the table first, with the first place in the tree that shows each.

    Signals
    -------
    node_requested
        Carries the number of a node that the person wants to see.
    """

    node_requested = Signal(object)

    def __init__(self, theme: Theme, checkpoint: Checkpoint, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(f"What {printable(checkpoint.path.name)} names")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        text = QLabel(_EXPLANATION if checkpoint.globals else _NONE, self)
        text.setWordWrap(True)
        self.names = QTreeWidget(self)
        self.names.setHeaderLabels(["Name", "", "times", "first place in the tree"])
        self.names.setUniformRowHeights(True)
        self.names.setRootIsDecorated(True)
        self.names.setAccessibleName("Names by module")
        self._fill(theme, checkpoint)
        self.names.itemClicked.connect(self._go)
        self.names.itemActivated.connect(self._go)
        header = self.names.header()
        header.setStretchLastSection(False)
        for number in range(_PLACE):
            header.setSectionResizeMode(number, QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(_PLACE, QHeaderView.ResizeMode.Stretch)
        self.names.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        buttons = without_icons(QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self))
        buttons.rejected.connect(self.close)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(16)
        column.addWidget(text)
        if checkpoint.globals:
            column.addWidget(self.names, 1)
        column.addWidget(buttons)
        self.resize(QSize(820, 480 if checkpoint.globals else 120))

    @Slot(QTreeWidgetItem)
    def _go(self, item: QTreeWidgetItem) -> None:
        node = item.data(_PLACE, Qt.ItemDataRole.UserRole)
        if node is not None:
            self.node_requested.emit(node)

    def _fill(self, theme: Theme, checkpoint: Checkpoint) -> None:
        uses = checkpoint.globals

        def order(use: GlobalUse) -> tuple[bool, str, str]:
            return module_harmless[use.module], use.module, use.name

        module_harmless: dict[str, bool] = {}
        for use in uses:
            module_harmless[use.module] = module_harmless.get(use.module, True) and use.harmless
        for module, members in groupby(sorted(uses, key=order)[:_MAX_LISTED], key=_module):
            parent = QTreeWidgetItem([cut_middle(module, _LONGEST) or "(no module)", "", "", ""])
            self.names.addTopLevelItem(parent)
            for use in members:
                item = QTreeWidgetItem(
                    [
                        cut_middle(use.name, _LONGEST),
                        "✓ in the table" if use.harmless else "⚠ unknown",
                        format_count(use.count),
                        "" if use.harmless else "not shown in the tree",
                    ]
                )
                if use.node >= 0:
                    path = checkpoint.path_of(use.node) or "the root"
                    item.setText(_PLACE, cut_middle(path, _LONGEST))
                    item.setToolTip(_PLACE, plain_tip(f"Go to {path}"))
                    item.setData(_PLACE, Qt.ItemDataRole.UserRole, use.node)
                    item.setForeground(_PLACE, theme.color("accent"))
                    item.setFont(_PLACE, theme.mono())
                else:
                    item.setForeground(_PLACE, theme.color("muted"))
                item.setFont(0, theme.mono())
                item.setForeground(1, theme.color("ok" if use.harmless else "warning"))
                item.setTextAlignment(2, Qt.AlignmentFlag.AlignRight)
                parent.addChild(item)
            parent.setExpanded(True)
        if len(uses) > _MAX_LISTED:
            self.names.addTopLevelItem(
                QTreeWidgetItem([f"… and {format_count(len(uses) - _MAX_LISTED)} more", "", "", ""])
            )


def _module(use: GlobalUse) -> str:
    return use.module
