r"""Windows: the registry values that offer this program for checkpoints, of the current user alone.

As "Programmatic identifiers" and "File types" of Microsoft's Shell documentation ask: a ProgID for each type, and its
name under OpenWithProgids of each suffix. The default value of a suffix is nobody's to take: the person chooses in
the system's settings. Not run on Windows by the project's tests: they check the values against these rules, as data.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Final

from viewer.desktop.file_types import APPLICATION, FILE_TYPES
from viewer.errors import ViewerError

CLASSES: Final = r"Software\Classes"
CAPABILITIES: Final = r"Software\CheckpointViewer\Capabilities"


@dataclass(frozen=True, slots=True)
class Value:
    """One value under HKEY_CURRENT_USER; the name "" is a key's default value."""

    key: str
    name: str
    data: str


def values(program: PureWindowsPath | Path, icon: PureWindowsPath | Path) -> list[Value]:
    """All values, for a program and an icon by their absolute paths."""
    command = f'"{program}" "%1"'
    found = [
        Value(CAPABILITIES, "ApplicationName", APPLICATION),
        Value(CAPABILITIES, "ApplicationDescription", "Look into PyTorch checkpoints without running them"),
        Value(r"Software\RegisteredApplications", APPLICATION, CAPABILITIES),
    ]
    for each in FILE_TYPES:
        key = rf"{CLASSES}\{each.prog_id}"
        found += [
            Value(key, "", each.title),
            Value(key, "FriendlyTypeName", each.title),
            Value(rf"{key}\DefaultIcon", "", f'"{icon}",0'),
            Value(rf"{key}\shell\open\command", "", command),
        ]
        for suffix in each.suffixes:
            found.append(Value(rf"{CLASSES}\{suffix}\OpenWithProgids", each.prog_id, ""))
            found.append(Value(rf"{CAPABILITIES}\FileAssociations", suffix, each.prog_id))
    return found


def own_keys() -> list[str]:
    """Keys that are this program's alone, and go as a whole."""
    return [r"Software\CheckpointViewer", *(rf"{CLASSES}\{each.prog_id}" for each in FILE_TYPES)]


def shared_values() -> list[tuple[str, str]]:
    """Key and name of values that stand among those of others."""
    shared = [(r"Software\RegisteredApplications", APPLICATION)]
    shared += [
        (rf"{CLASSES}\{suffix}\OpenWithProgids", each.prog_id) for each in FILE_TYPES for suffix in each.suffixes
    ]
    return shared


if sys.platform == "win32":
    import ctypes
    import winreg

    def install(program: Path, icon: Path) -> list[str]:
        """Write the values; returns what was done."""
        done = []
        for value in values(program, icon):
            with winreg.CreateKey(winreg.HKEY_CURRENT_USER, value.key) as key:
                winreg.SetValueEx(key, value.name, 0, winreg.REG_SZ, value.data)
            done.append(rf"set HKCU\{value.key} {value.name or '(default)'}")
        _tell_shell()
        return done

    def uninstall() -> list[str]:
        """Remove them again; returns what was done."""
        done = []
        for name, value in shared_values():
            try:
                with winreg.OpenKey(winreg.HKEY_CURRENT_USER, name, 0, winreg.KEY_SET_VALUE) as key:
                    winreg.DeleteValue(key, value)
            except FileNotFoundError:
                continue
            done.append(rf"remove HKCU\{name} {value}")
        gone = [name for name in own_keys() if _delete_tree(winreg.HKEY_CURRENT_USER, name)]
        _tell_shell()
        return done + [rf"remove HKCU\{name}" for name in gone]

    def _delete_tree(root: int, name: str) -> bool:
        try:
            with winreg.OpenKey(root, name) as key:
                while True:
                    try:
                        child = winreg.EnumKey(key, 0)
                    except OSError:
                        break
                    _delete_tree(root, rf"{name}\{child}")
        except FileNotFoundError:
            return False
        winreg.DeleteKey(root, name)
        return True

    def _tell_shell() -> None:
        associations_changed = 0x08000000  # SHCNE_ASSOCCHANGED
        ctypes.windll.shell32.SHChangeNotify(associations_changed, 0, None, None)

else:

    def install(program: Path, icon: Path) -> list[str]:  # noqa: ARG001
        """Windows has a registry; here is none."""
        raise ViewerError("the registry is there on Windows only")

    def uninstall() -> list[str]:
        """Windows has a registry; here is none."""
        raise ViewerError("the registry is there on Windows only")
