"""Reports into files: whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from viewer.errors import ViewerError


def write_text_file(path: Path, pieces: Iterable[str]) -> None:
    """Write a text file in UTF-8. It appears under its name when it is complete; one that was there stays until then.

    Raises
    ------
    ViewerError
        When it cannot be written.
    """
    target = path.resolve()
    temporary: str | None = None
    try:
        if target.exists() and not target.is_file():
            # Replacing /dev/null by a report would be believed too late.
            what = "is a folder" if target.is_dir() else "is not an ordinary file"
            raise ViewerError(f"cannot be written (it {what})", path=path, advice="Choose another name")
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(pieces)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        Path(temporary).chmod(mode)
        Path(temporary).replace(target)
        temporary = None
    except OSError as error:
        raise ViewerError(
            f"cannot be written ({error.strerror or error})", path=path, advice="Choose another folder or name"
        ) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
