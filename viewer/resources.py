"""Where the files in resources/ are: beside the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def resource_path(name: str) -> Path:
    """The path of a resource, by its name relative to resources/ ("icons/open.svg").

    Raises
    ------
    FileNotFoundError
        When there is none: the installation is incomplete.
    """
    for folder in (_PACKAGE / "_resources", _PACKAGE.parent / "resources"):
        path = folder / name
        if path.exists():
            return path
    raise FileNotFoundError(f"the resource {name!r} is missing; the installation is incomplete")
