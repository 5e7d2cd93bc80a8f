"""What the actions about exports and checks do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QDialog, QWidget

from viewer.errors import BadPath
from viewer.gui.document_page import DocumentPage
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.message_bar import Message
from viewer.gui.theme import Theme
from viewer.report.wording import printable

if TYPE_CHECKING:
    from viewer.gui.documents import DocumentTabs
    from viewer.gui.export.names_dialog import OpenDocument

_ENDS: Final = "/["


class ExportCommands(QObject):
    """Opens the dialogs, one of a kind for each document."""

    def __init__(self, bridge: EngineBridge, theme: Theme, tabs: DocumentTabs, window: QWidget) -> None:
        super().__init__(window)
        # Imported here, as the dialogs below: the window is there sooner without them.
        from viewer.gui.export.names import ContentNames

        self._bridge = bridge
        self._theme = theme
        self._tabs = tabs
        self.names = ContentNames(self)

    def handlers(self) -> dict[str, Callable[..., object]]:
        """What the actions do, by their ids."""
        return {
            "export": partial(self._export, at_node=False),
            "export_this": partial(self._export, at_node=True),
            "verify": self._verify,
            "content_name": self._name,
        }

    def _export(self, *_checked: object, at_node: bool) -> None:
        from viewer.gui.export.dialog import ExportDialog

        page = self._tabs.page
        if page is None or page.checkpoint is None or page.document is None:
            return
        node = page.tree.current_node if page.tree is not None else None
        if (there := page.findChild(ExportDialog)) is not None and not (at_node and not there.is_running):
            _show(there)
            return
        if there is not None:
            there.close()
        dialog = ExportDialog(self._bridge, self._theme, page.document, page.checkpoint, node, page, at_node=at_node)
        dialog.path_requested.connect(partial(self._go, page))
        dialog.open_asked.connect(self._open)
        dialog.compare_asked.connect(self._tabs.compare_paths)

        def recognised() -> None:
            dialog.set_recognition(page.recognition.recognition)

        def reopened(_checkpoint: object) -> None:
            if page.document is not None and page.checkpoint is not None:
                dialog.renew(page.document, page.checkpoint)

        recognised()
        self._while_open(dialog, page.recognition.changed, recognised)
        self._while_open(dialog, page.opened, reopened)
        _show(dialog)

    @Slot()
    def _verify(self) -> None:
        from viewer.gui.export.verify_dialog import VerifyDialog

        page = self._tabs.page
        if page is None or page.document is None:
            return
        there = page.findChild(VerifyDialog)
        if there is None:
            there = VerifyDialog(
                self._bridge, self._theme, page.document, printable(page.path.name), self.names, page
            )
            there.path_requested.connect(partial(self._go, page))
            dialog = there

            def reopened(_checkpoint: object) -> None:
                if page.document is not None:
                    dialog.renew(page.document)

            self._while_open(dialog, page.opened, reopened)
        _show(there)

    @Slot()
    def _name(self) -> None:
        from viewer.gui.export.names_dialog import NamesDialog

        page = self._tabs.page
        if page is None or page.document is None:
            return
        there = page.findChild(NamesDialog)
        if there is None:
            there = NamesDialog(self._bridge, self._theme, self.names, partial(self._documents, page), page)
        _show(there)

    def _documents(self, first: DocumentPage) -> list[OpenDocument]:
        """The open documents, `first` first."""
        from viewer.gui.export.names_dialog import OpenDocument

        pages = [first, *(page for page in self._tabs.pages if page is not first)]
        return [OpenDocument(page.document, printable(page.path.name)) for page in pages if page.document is not None]

    @Slot(object)
    def _open(self, path: Path) -> None:
        self._tabs.open_paths([path])

    def _go(self, page: DocumentPage, path: str) -> None:
        """Go to a row, or to the nearest one around a place that the tree does not show."""
        wanted = path
        while page.tree is not None:
            try:
                page.tree.go_to_path(path)
            except BadPath:
                path = path[: max(path.rfind(end) for end in _ENDS)] if any(end in path for end in _ENDS) else ""
                if not path:
                    self._tabs.said.emit(Message("info", f"The tree has no row for {wanted[:200]}", key="no row"))
                    return
            else:
                self._tabs.setCurrentWidget(page)
                return

    def _while_open(self, dialog: QDialog, signal: object, slot: Callable[..., None]) -> None:
        """Connect until the dialog is closed: afterwards it is gone, while the page may go on."""
        signal.connect(slot)  # type: ignore[attr-defined]  # a bound signal

        def disconnect(*_: object) -> None:
            signal.disconnect(slot)  # type: ignore[attr-defined]

        dialog.finished.connect(disconnect)


def export_handlers(
    bridge: EngineBridge, theme: Theme, tabs: DocumentTabs, window: QWidget
) -> dict[str, Callable[..., object]]:
    """What the actions do, by their ids."""
    return ExportCommands(bridge, theme, tabs, window).handlers()


def _show(dialog: QDialog) -> None:
    dialog.show()
    dialog.activateWindow()
