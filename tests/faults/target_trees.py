"""What is below a folder, to see that nothing changed."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """What is below a folder: kinds, and the bytes of files and links."""
    found: dict[str, tuple[int, bytes]] = {}
    try:
        paths = sorted(folder.rglob("*"))
    except OSError:  # a name that cannot be one
        return found
    for path in paths:
        kind = stat.S_IFMT(path.lstat().st_mode)
        content = os.fsencode(path.readlink()) if stat.S_ISLNK(kind) else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = kind, content
    return found
