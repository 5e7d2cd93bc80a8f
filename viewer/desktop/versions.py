"""The versions that matter when something goes wrong, from package metadata: nothing heavy is imported."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Final

from viewer import __version__

_PACKAGES: Final = ("torch", "numpy", "PySide6-Essentials", "pyqtgraph")


def version_lines() -> list[str]:
    """The program on the first line, then Python, the packages it stands on, and the platform."""
    lines = [f"checkpoint-viewer {__version__}", f"Python {platform.python_version()}"]
    lines += [f"{name} {_version_of(name)}" for name in _PACKAGES]
    lines.append(platform.platform())
    return lines


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
