"""The desktop entry (freedesktop.org Desktop Entry Specification 1.5), with the program named by its absolute path.

The session's PATH knows nothing of a virtual environment, so Exec and TryExec say where the program is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from viewer.resources import resource_path

_RESERVED: Final = '"`$\\'
"""What a backslash stands before within a quoted argument ("The Exec key")."""


def entry_text(program: Path) -> str:
    """The entry for a program at a path, made of the one in resources/.

    Parameters
    ----------
    program
        Absolute.
    """
    lines = []
    for line in resource_path("checkpoint-viewer.desktop").read_text(encoding="utf-8").splitlines():
        key, equals, value = line.partition("=")
        if equals and key == "Exec":
            _, _, arguments = value.partition(" ")
            line = f"Exec={exec_argument(str(program))} {arguments}"
        elif equals and key == "TryExec":
            line = f"TryExec={string_value(str(program))}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def exec_argument(text: str) -> str:
    """One argument of an Exec line: quoted, with the general escapes of strings upon those of the quotes."""
    quoted = "".join(f"\\{character}" if character in _RESERVED else character for character in text)
    return string_value(f'"{quoted}"').replace("%", "%%")


def string_value(text: str) -> str:
    """A value of type string: backslash and control characters are escaped."""
    escapes = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return "".join(escapes.get(character, character) for character in text)
