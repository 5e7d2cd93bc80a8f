"""A window in odd surroundings, as a program: `python -m tests.faults.surroundings FILE`. Prints what it showed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QApplication

from tools.window_driver import Director, Script, document_is_shown
from viewer.cli.window import WindowOptions
from viewer.gui.app import run_window
from viewer.gui.tree.columns import Column
from viewer.gui.window import MainWindow

seen: dict[str, object] = {}


def script(window: MainWindow) -> object:
    yield lambda: document_is_shown(window)
    page = window.documents.page
    assert page is not None
    assert page.tree is not None
    model = page.tree.model
    seen["name"] = page.path.name
    seen["rows"] = [[str(model.index(row, column).data()) for column in Column] for row in range(model.rowCount())]
    seen["messages"] = [message.text for message in window.messages.messages]
    seen["settings"] = window._settings.place_words
    seen["locale"] = QLocale.system().name()
    seen["painted"] = not window.grab().isNull()
    window._settings.set("view/zoom", 1)


def main() -> None:
    app = QApplication(sys.argv[:1])
    told: Script = script  # type: ignore[assignment]
    director = Director(told, patience_s=40)
    code = run_window([Path(sys.argv[1])], WindowOptions(theme="light", new_window=True))
    if director.error is not None:
        raise director.error
    print(json.dumps(seen))
    del app
    sys.exit(code)


if __name__ == "__main__":
    main()
