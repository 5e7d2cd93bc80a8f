"""The line above the tree: what to type and to choose in order to see fewer rows."""

from __future__ import annotations

from typing import Final

from PySide6.QtWidgets import QComboBox, QLineEdit, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.gui.tree.value_filter import HELP as VALUES_HELP

ANY_DTYPE: Final = "any dtype"
FILTER_HELP: Final = (
    "All words must be in the path, in any order and case.\n"
    "Between slashes it is a regular expression: /layer[12]\\..*weight$/\n" + VALUES_HELP
)


def make_filter_edit(parent: QWidget) -> QLineEdit:
    """Where words, regular expressions and conditions are typed."""
    edit = QLineEdit(parent)
    edit.setPlaceholderText("Filter names… (/regex/, |x|>100)")
    edit.setToolTip(FILTER_HELP)
    edit.setClearButtonEnabled(True)
    edit.setAccessibleName("Filter names")
    return edit


def make_dtype_box(parent: QWidget, checkpoint: Checkpoint) -> QComboBox:
    """The dtypes of a checkpoint to choose from."""
    box = QComboBox(parent)
    box.setAccessibleName("Filter by dtype")
    box.setToolTip("Show the tensors of one dtype")
    box.addItem(ANY_DTYPE, "")
    for code in sorted(set(checkpoint.tensors.dtype)):
        box.addItem(DTYPES[code].name, DTYPES[code].name)
    box.setEnabled(box.count() > 2)
    return box


def mark_fault(edit: QLineEdit, fault: str) -> None:
    """Say that what was typed cannot be understood; "" that it can."""
    edit.setToolTip(fault or FILTER_HELP)
    if edit.property("fault") != bool(fault):
        edit.setProperty("fault", bool(fault))
        edit.style().unpolish(edit)
        edit.style().polish(edit)
