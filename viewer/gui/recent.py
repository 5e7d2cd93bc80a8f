"""The files that were opened lately, and which of them are gone."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, Signal

from viewer.gui.settings import Settings

MAX_RECENT: Final = 12


MAX_PAIRS: Final = 6


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sides that were compared: a file each, and a path inside it, "" for the whole."""

    left: tuple[str, str]
    right: tuple[str, str]

    @property
    def paths(self) -> set[Path]:
        return {Path(self.left[0]), Path(self.right[0])}

    @property
    def title(self) -> str:
        """Both names, and where each is only a part, which."""
        return " ⇄ ".join(f"{Path(file).name} › {part}" if part else Path(file).name for file, part in self.sides)

    @property
    def sides(self) -> tuple[tuple[str, str], tuple[str, str]]:
        return self.left, self.right

    def to_text(self) -> str:
        return json.dumps(self.sides, ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> Pair | None:
        """None where the text is something else."""
        try:
            (a, part_a), (b, part_b) = json.loads(text)
        except (ValueError, TypeError):
            return None
        if not all(isinstance(each, str) for each in (a, part_a, b, part_b)):
            return None
        return cls((a, part_a), (b, part_b))


class RecentFiles(QObject):
    """Signals: `changed` when the list is another; `checked` carries the set of paths that were found missing."""

    changed = Signal()
    checked = Signal(object)

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings

    @property
    def paths(self) -> list[Path]:
        """The last opened first."""
        return [Path(text) for text in self._settings.get("files/recent")]

    def add(self, path: Path) -> None:
        """Put a path on top."""
        others = [other for other in self._settings.get("files/recent") if other != str(path)]
        self._settings.set("files/recent", [str(path), *others][:MAX_RECENT])
        self.changed.emit()

    @property
    def pairs(self) -> list[Pair]:
        """What was compared lately, the last first."""
        found = (Pair.from_text(text) for text in self._settings.get("files/recent_comparisons"))
        return [pair for pair in found if pair is not None]

    def add_pair(self, pair: Pair) -> None:
        """Put a comparison on top."""
        others = [other for other in self.pairs if other != pair]
        texts = [each.to_text() for each in (pair, *others)][:MAX_PAIRS]
        self._settings.set("files/recent_comparisons", texts)
        self.changed.emit()

    def clear(self) -> None:
        self._settings.set("files/recent", [])
        self._settings.set("files/recent_comparisons", [])
        self.changed.emit()

    def check(self) -> None:
        """Look which files are missing; `checked` tells. Returns at once: a dead network drive takes minutes."""
        paths = list(dict.fromkeys([*self.paths, *(path for pair in self.pairs for path in sorted(pair.paths))]))
        threading.Thread(target=self._check, args=(paths,), name="recent-files", daemon=True).start()

    def _check(self, paths: Sequence[Path]) -> None:
        missing = set()
        for path in paths:
            try:
                path.stat()
            except OSError:
                missing.add(path)
        try:
            self.checked.emit(missing)
        except RuntimeError:  # the window closed meanwhile
            return
