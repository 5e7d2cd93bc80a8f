"""Every setting of the window, in one table, stored as an INI file that a person can read."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QSettings


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes
    ----------
    key
        Group and name in the INI file.
    type
        bool, int, str, list (of texts) or bytes.
    default
        Its value until the person changes it; also where the stored text makes no sense.
    title
        What it is, for people.
    """

    key: str
    type: type
    default: Any
    title: str


SETTINGS: Final = (
    Setting("view/theme", str, "system", "Colours: system, light or dark"),
    Setting("view/zoom", int, 0, "Points added to the size of all text"),
    Setting("tree/natural_order", bool, True, "Numbers inside names ascend"),
    Setting("tree/group_names", bool, True, "Dotted names are folded into a tree"),
    Setting("values/precision", int, 4, "Digits after the point in tables of values"),
    Setting("values/exponent", str, "auto", "Exponents in tables of values: auto, on or off"),
    Setting("compute/device", str, "cpu", "Device to compute on"),
    Setting("files/recent", list, [], "Files opened lately, the last first"),
    Setting("files/folder", str, "", "Folder that the Open dialog starts in"),
    Setting("window/geometry", bytes, b"", "Place and size of the window"),
    Setting("window/tree_width", int, 560, "Width of the tree beside the details"),
)
_BY_KEY: Final = {setting.key: setting for setting in SETTINGS}


class Settings:
    """Reads and writes the settings.

    Parameters
    ----------
    path
        The INI file; None for the user's.
    fresh
        Start with the defaults and store nothing.
    """

    def __init__(self, path: Path | None = None, *, fresh: bool = False) -> None:
        self._fresh: dict[str, Any] | None = {} if fresh else None
        if path is None:
            self._stored = QSettings(
                QSettings.Format.IniFormat, QSettings.Scope.UserScope, "checkpoint-viewer", "checkpoint-viewer"
            )
        else:
            self._stored = QSettings(str(path), QSettings.Format.IniFormat)

    def get(self, key: str) -> Any:
        """The value of a setting, of its type."""
        setting = _BY_KEY[key]
        if self._fresh is not None:
            return self._fresh.get(key, setting.default)
        text = self._stored.value(key)
        if text is None:
            return setting.default
        try:
            return _from_text(setting.type, str(text))
        except (ValueError, binascii.Error):  # edited by hand, or cut short
            return setting.default

    def set(self, key: str, value: Any) -> None:
        """Change a setting; written to the file by the event loop, and at the end."""
        assert isinstance(value, _BY_KEY[key].type), key
        if self._fresh is not None:
            self._fresh[key] = value
        else:
            self._stored.setValue(key, _to_text(value))

    def save(self) -> None:
        """Write what has changed now."""
        if self._fresh is None:
            self._stored.sync()


def _to_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else str(value)


def _from_text(kind: type, text: str) -> Any:
    if kind is bool:
        if text not in ("true", "false"):
            raise ValueError(text)
        return text == "true"
    if kind is int:
        return int(text)
    if kind is bytes:
        return base64.b64decode(text, validate=True)
    if kind is list:
        items = json.loads(text)
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise ValueError(text)
        return items
    return text
