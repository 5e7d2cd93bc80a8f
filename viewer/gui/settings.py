"""Every setting of the window, in one table, stored as an INI file that a person can read."""

from __future__ import annotations

import base64
import binascii
import json
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QSettings, QStandardPaths

VERSION: Final = 2
"""Of the names of the keys. Files without a number are of version 1."""

_NAME: Final = "checkpoint-viewer"
_VERSION_KEY: Final = "file/version"
_MOVED: Final = {"compute/device": "engine/device"}
"""Keys of earlier versions and what they are called now."""


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
    group
        The heading that the dialog lists it under; "" for what the window keeps by itself.
    choices
        Values and what they are called; where there are some, nothing else is valid.
    bounds
        The least and the greatest number; None for any.
    least_words
        What the least number means, where it is no number: "as torch chooses".
    unit
        Of a number.
    hint
        What to know about it, in a sentence.
    """

    key: str
    type: type
    default: Any
    title: str
    group: str = ""
    choices: tuple[tuple[Any, str], ...] = ()
    bounds: tuple[int, int] | None = None
    least_words: str = ""
    unit: str = ""
    hint: str = ""

    def admits(self, value: Any) -> bool:
        """Whether a value of the right type is a possible one."""
        if self.choices:
            return any(value == choice for choice, _ in self.choices)
        return self.bounds is None or self.bounds[0] <= value <= self.bounds[1]


LOOK: Final = "Look"
NUMBERS: Final = "Numbers"
ENGINE: Final = "Computing"
START: Final = "Start"
GROUPS: Final = (LOOK, NUMBERS, ENGINE, START)

COLUMNS: Final = ("TYPE", "SHAPE", "ELEMENTS", "SIZE", "HISTOGRAM", "NAN", "MIN", "MAX", "MEAN", "STD")
"""Columns of the tree that show until a person chooses others, as `viewer.gui.tree.columns` names them."""

SETTINGS: Final = (
    Setting(
        "view/theme", str, "system", "Colours", LOOK,
        (("system", "As the desktop"), ("light", "Light"), ("dark", "Dark")),
    ),
    Setting(
        "view/zoom", int, 0, "Size of all text", LOOK, bounds=(-4, 12), unit=" pt",
        hint="Points more or less than the desktop's size",
    ),
    Setting(
        "tree/natural_order", bool, True, "Numbers inside names ascend", LOOK,
        hint="layer2 before layer10; off: the order in the file",
    ),
    Setting(
        "tree/group_names", bool, True, "Fold dotted names into a tree", LOOK,
        hint="layer1.0.weight becomes layer1 › 0 › weight",
    ),
    Setting(
        "values/precision", int, 4, "Digits in tables of values", NUMBERS, bounds=(0, 17),
        hint="As torch.set_printoptions(precision=…); for tabs that are opened from now on",
    ),
    Setting(
        "values/exponent", str, "auto", "Exponents in tables of values", NUMBERS,
        (("auto", "Where they are needed"), ("on", "Always"), ("off", "Never")),
    ),
    Setting(
        "histogram/bins", str, "auto", "Bins of a histogram", NUMBERS,
        (
            ("auto", "Automatic: the square root of the number of elements"),
            ("numpy", "Automatic, by numpy's rule"),
            ("each", "A bar per value"),
            *((str(2**power), f"{2**power:,}") for power in range(4, 13)),
        ),
        hint="For tabs that are opened from now on",
    ),
    Setting("histogram/log_counts", bool, False, "Counts on a logarithmic axis", NUMBERS),
    Setting(
        "engine/device", str, "cpu", "Device", ENGINE,
        hint="Where statistics are computed; the status line offers it too",
    ),
    Setting(
        "engine/threads", int, 0, "Threads", ENGINE, bounds=(0, 256), least_words="As torch chooses",
        hint="As torch.set_num_threads",
    ),
    Setting(
        "engine/memory_gib", int, 0, "Memory limit", ENGINE, bounds=(0, 65536), unit=" GiB",
        least_words="Four fifths of the machine's",
        hint="Of the process that reads values (Linux); beyond it an operation fails, and the window goes on",
    ),
    Setting(
        "engine/cache_mib", int, 64, "Kept results of scans", ENGINE, bounds=(0, 65536), unit=" MiB",
        least_words="Keep none",
        hint="At most so much of the disk; the oldest go first",
    ),
    Setting(
        "session/reopen", bool, False, "Open the tabs of the last time again", START,
        hint="When the program is started without a file",
    ),
    Setting("histogram/axis", str, "linear", "Axis of a histogram", choices=(("linear", ""), ("signed log", ""))),
    Setting("histogram/cumulative", bool, False, "A histogram counts what is not above"),
    Setting("map/view", list, [], "Colours of a map, their range, and what a pixel shows"),
    Setting("tree/columns", list, list(COLUMNS), "Columns of the tree, those of a scan among them"),
    Setting("session/tabs", list, [], "What was open when the window closed"),
    Setting("files/recent", list, [], "Files opened lately, the last first"),
    Setting("files/recent_comparisons", list, [], "Pairs compared lately, the last first"),
    Setting("files/folder", str, "", "Folder that the Open dialog starts in"),
    Setting("window/geometry", bytes, b"", "Place and size of the window"),
    Setting("window/tree_width", int, 560, "Width of the tree beside the details"),
)  # fmt: skip
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
        in_the_way = path if path is not None else _user_path()
        self._kept = "Started with --fresh: not stored"
        if not fresh and _is_no_file(in_the_way):
            self._kept = f"{in_the_way} is not an ordinary file: not stored"
            fresh = True
        self._fresh: dict[str, Any] | None = {} if fresh else None
        if fresh:
            return
        if path is None:
            self._stored = QSettings(QSettings.Format.IniFormat, QSettings.Scope.UserScope, _NAME, _NAME)
        else:
            self._stored = QSettings(str(path), QSettings.Format.IniFormat)
        if self._stored.value(_VERSION_KEY) != str(VERSION):
            self._migrate()

    def get(self, key: str) -> Any:
        """The value of a setting, of its type."""
        setting = _BY_KEY[key]
        if self._fresh is not None:
            return self._fresh.get(key, setting.default)
        text = self._stored.value(key)
        if text is None:
            return setting.default
        try:
            value = _from_text(setting.type, str(text))
        except (ValueError, binascii.Error):  # edited by hand, or cut short
            return setting.default
        return value if setting.admits(value) else setting.default

    def set(self, key: str, value: Any) -> None:
        """Change a setting; written to the file by the event loop, and at the end."""
        assert isinstance(value, _BY_KEY[key].type), key
        if self._fresh is not None:
            self._fresh[key] = value
        else:
            if not self._stored.allKeys():
                self._stored.setValue(_VERSION_KEY, str(VERSION))
            self._stored.setValue(key, _to_text(value))

    def save(self) -> None:
        """Write what has changed now. Where that is not possible (a home that cannot be written), nothing is kept."""
        if self._fresh is None:
            self._stored.sync()

    @property
    def place_words(self) -> str:
        """Where the settings are stored, or that they are not, for people."""
        if self._fresh is not None:
            return self._kept
        place = self._stored.fileName()
        if not self._stored.isWritable() or self._stored.status() is QSettings.Status.AccessError:
            return f"Cannot be stored in {place}: what is chosen holds until the window closes"
        return f"Stored in {place}"

    def _migrate(self) -> None:
        """Take over what an earlier version stored under other names. A file without any of our keys stays away."""
        moved = [(old, new) for old, new in _MOVED.items() if self._stored.contains(old)]
        for old, new in moved:
            if not self._stored.contains(new):
                self._stored.setValue(new, self._stored.value(old))
            self._stored.remove(old)
        if self._stored.allKeys():
            self._stored.setValue(_VERSION_KEY, str(VERSION))


def _user_path() -> Path:
    """The file that Qt keeps the user's settings in, which it must not be asked for where it is none."""
    folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericConfigLocation)
    return Path(folder) / _NAME / f"{_NAME}.ini"


def _is_no_file(path: Path) -> bool:
    """Whether something else has that name: for a pipe Qt would wait, and a device it would replace by a file."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:  # nothing is there, or nothing can be; Qt tells
        return False


def _to_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if not isinstance(value, list):
        return str(value)
    text = json.dumps(value, ensure_ascii=False)
    # A path may hold bytes that are no text; a file of text keeps them only as escapes.
    return text if text.isprintable() else json.dumps(value)


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
