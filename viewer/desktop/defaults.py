"""mimeapps.list: which program opens a type by default. Edited line by line, so that all else stays as it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

DEFAULTS: Final = "Default Applications"
_ADDED: Final = "Added Associations"


def with_default(text: str, desktop_file: str, mimes: Iterable[str]) -> str:
    """The file with this program first for each type; programs that were there stay behind it."""
    groups = _Groups(text)
    for mime in mimes:
        others = [name for name in groups.get(DEFAULTS, mime) if name != desktop_file]
        groups.set(DEFAULTS, mime, [desktop_file, *others])
    return groups.text()


def without(text: str, desktop_file: str) -> str:
    """The file without this program; "" where nothing else was in it."""
    groups = _Groups(text)
    groups.remove(desktop_file)
    return groups.text()


class _Groups:
    """Groups of lines, each kept as it is until its key is set."""

    def __init__(self, text: str) -> None:
        self._groups: list[tuple[str, list[str]]] = [("", [])]
        for line in text.splitlines():
            if line.startswith("[") and line.rstrip().endswith("]"):
                self._groups.append((line.strip()[1:-1], []))
            else:
                self._groups[-1][1].append(line)

    def get(self, group: str, key: str) -> list[str]:
        for name, lines in self._groups:
            if name == group:
                for line in lines:
                    found, equals, value = line.partition("=")
                    if equals and found.strip() == key:
                        return [part for part in value.strip().split(";") if part]
        return []

    def set(self, group: str, key: str, values: list[str]) -> None:
        new = f"{key}={';'.join(values)};"
        for name, lines in self._groups:
            if name != group:
                continue
            for at, line in enumerate(lines):
                if line.partition("=")[0].strip() == key:
                    lines[at] = new
                    return
            while lines and not lines[-1].strip():
                lines.pop()
            lines.append(new)
            return
        self._groups.append((group, [new]))

    def remove(self, value: str) -> None:
        for name, lines in self._groups:
            if name not in (DEFAULTS, _ADDED):
                continue
            kept = []
            for line in lines:
                key, equals, values = line.partition("=")
                names = [part for part in values.strip().split(";") if part]
                if equals and value in names:
                    names = [part for part in names if part != value]
                    if not names:
                        continue
                    line = f"{key}={';'.join(names)};"
                kept.append(line)
            lines[:] = kept

    def text(self) -> str:
        parts = []
        for name, lines in self._groups:
            if name and not any(line.strip() for line in lines):
                continue  # an empty group says nothing
            parts += [f"[{name}]", *lines] if name else lines
        return "\n".join(parts) + "\n" if any(line.strip() for line in parts) else ""
