"""Linux and other freedesktop.org systems: desktop entry, file types and icons of one user, and their removal.

What was made is written down in a manifest, so that an uninstall leaves nothing: neither the files, nor the folders
that did not exist before, nor what the desktop's own tools generated in those.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from viewer.desktop.defaults import with_default, without
from viewer.desktop.entry import entry_text
from viewer.desktop.file_types import FILE_TYPES, ID, PROGRAM
from viewer.errors import ViewerError
from viewer.resources import resource_path

DESKTOP_FILE: Final = f"{PROGRAM}.desktop"
_SIZES: Final = (16, 22, 24, 32, 48, 64, 128, 256, 512)
_TOOL_S: Final = 60


@dataclass(frozen=True, slots=True)
class Homes:
    """Where the files of a user are (XDG Base Directory Specification)."""

    data: Path
    config: Path

    @classmethod
    def of_user(cls) -> Homes:
        home = Path.home()
        return cls(_folder("XDG_DATA_HOME", home / ".local/share"), _folder("XDG_CONFIG_HOME", home / ".config"))

    @property
    def manifest(self) -> Path:
        return self.data / PROGRAM / "desktop-files.json"

    @property
    def defaults(self) -> Path:
        return self.config / "mimeapps.list"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that an installation does, for the person to read."""

    says: str


def _folder(variable: str, default: Path) -> Path:
    value = os.environ.get(variable, "")
    return Path(value) if os.path.isabs(value) else default  # noqa: PTH117 - a relative one is ignored, as specified


def files(homes: Homes, program: Path) -> Iterator[tuple[Path, bytes]]:
    """What is written, and where."""
    yield homes.data / "applications" / DESKTOP_FILE, entry_text(program).encode()
    yield (
        homes.data / "mime/packages" / f"{PROGRAM}-types.xml",
        resource_path("checkpoint-viewer-mime.xml").read_bytes(),
    )
    yield homes.data / "metainfo" / f"{ID}.metainfo.xml", resource_path("metainfo.xml").read_bytes()
    icons = homes.data / "icons/hicolor"
    yield icons / "scalable/apps" / f"{PROGRAM}.svg", resource_path("icons/checkpoint-viewer.svg").read_bytes()
    for size in _SIZES:
        picture = resource_path(f"icons/app/{size}.png").read_bytes()
        yield icons / f"{size}x{size}" / "apps" / f"{PROGRAM}.png", picture


def install(program: Path, homes: Homes, *, make_default: bool = False, dry_run: bool = False) -> list[Step]:
    """Write everything, again where it is there already, and return what was (or would be) done.

    Raises
    ------
    ViewerError
        Where a file cannot be written.
    """
    steps: list[Step] = []
    known = _read_manifest(homes)
    made: list[str] = list(known.get("folders", []))
    written: list[str] = []
    try:
        for path, content in files(homes, program):
            steps.append(Step(f"write {path}"))
            written.append(str(path))
            if not dry_run:
                made += _make_folders(path.parent, homes)
                _write(path, content)
        if make_default:
            mimes = [each.mime for each in FILE_TYPES]
            steps.append(Step(f"open {', '.join(mimes)} with this program by default ({homes.defaults})"))
            if not dry_run:
                made += _make_folders(homes.defaults.parent, homes)
                before = homes.defaults.read_text(encoding="utf-8") if homes.defaults.exists() else ""
                _write(homes.defaults, with_default(before, DESKTOP_FILE, mimes).encode())
        if not dry_run:
            made += _make_folders(homes.manifest.parent, homes)
            manifest = {"files": written, "folders": list(dict.fromkeys(made))}
            _write(homes.manifest, (json.dumps(manifest, indent=1) + "\n").encode())
    except OSError as error:
        raise ViewerError(
            f"the desktop files cannot be written: {error.strerror or error}",
            path=error.filename,
            advice="Run it again",
        ) from error
    steps += _refresh(homes, dry_run=dry_run)
    return steps


def uninstall(homes: Homes, *, dry_run: bool = False) -> list[Step]:
    """Remove what was installed; nothing where nothing was."""
    known = _read_manifest(homes)
    steps: list[Step] = []
    there = [path for path in map(Path, known.get("files", [])) if path.exists()]
    try:
        for path in there:
            steps.append(Step(f"remove {path}"))
            if not dry_run:
                path.unlink()
        if homes.defaults.exists():
            before = homes.defaults.read_text(encoding="utf-8")
            after = without(before, DESKTOP_FILE)
            if after != before:
                steps.append(Step(f"take this program out of {homes.defaults}"))
                if not dry_run and after:
                    _write(homes.defaults, after.encode())
                elif not dry_run:
                    homes.defaults.unlink()
        if there:
            steps += _refresh(homes, dry_run=dry_run)
        if not dry_run:
            homes.manifest.unlink(missing_ok=True)
            _remove_folders([Path(folder) for folder in known.get("folders", [])])
    except OSError as error:
        raise ViewerError(f"a file cannot be removed: {error.strerror or error}", path=error.filename) from error
    return steps


def _make_folders(folder: Path, homes: Homes) -> list[str]:
    """Make a folder and return those that were not there, the outermost last."""
    missing = []
    at = folder
    while not at.exists():
        missing.append(str(at))
        at = at.parent
    folder.mkdir(parents=True, exist_ok=True)
    return [name for name in missing if _is_inside(name, homes)]


def _remove_folders(folders: list[Path]) -> None:
    """Remove the folders that an installation made and in which nobody else has put anything since."""
    for folder in sorted(folders, key=lambda each: len(each.parts), reverse=True):
        if not folder.is_dir():
            continue
        for generated in folder.iterdir():
            if generated.is_file() and _is_generated(generated):
                generated.unlink()
        if folder.name == "mime":  # update-mime-database makes a folder for each media type
            for child in folder.iterdir():
                if child.is_dir() and child.name != "packages" and not any(child.iterdir()):
                    child.rmdir()
        if not any(folder.iterdir()):
            folder.rmdir()


def _is_generated(path: Path) -> bool:
    """Whether a file is made by update-mime-database, update-desktop-database or gtk-update-icon-cache."""
    if path.parent.name == "mime":
        return path.name in {
            "XMLnamespaces", "aliases", "generic-icons", "globs", "globs2", "icons", "magic", "mime.cache",
            "subclasses", "treemagic", "types", "version",
        }  # fmt: skip
    return path.name in {"mimeinfo.cache", "icon-theme.cache"}


def _refresh(homes: Homes, *, dry_run: bool) -> list[Step]:
    """Have the desktop read what changed, by its own tools as far as they are there."""
    steps = []
    for tool, folder in (
        ("update-mime-database", homes.data / "mime"),
        ("update-desktop-database", homes.data / "applications"),
    ):
        found = shutil.which(tool)
        if found is None:
            steps.append(Step(f"{tool} is not installed: the desktop may notice the change at the next login"))
            continue
        steps.append(Step(f"{tool} {folder}"))
        if not dry_run and folder.is_dir():
            done = subprocess.run(  # noqa: S603 - a tool of the system on a folder of the user
                [found, str(folder)], capture_output=True, timeout=_TOOL_S, check=False
            )
            if done.returncode:
                steps.append(
                    Step(f"{tool} ended with {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
                )
    return steps


def _write(path: Path, content: bytes) -> None:
    """Replace a file as a whole, also one of the person's own: half of mimeapps.list would be worse than none."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, beside)
        beside.replace(path.resolve() if path.is_symlink() else path)
    finally:
        beside.unlink(missing_ok=True)


def _read_manifest(homes: Homes) -> dict[str, list[str]]:
    try:
        found = json.loads(homes.manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = {}
    # A manifest that was tampered with must not remove other files.
    return {
        key: [name for name in found.get(key, []) if isinstance(name, str) and _is_inside(name, homes)]
        for key in ("files", "folders")
        if isinstance(found, dict) and isinstance(found.get(key), list)
    }


def _is_inside(name: str, homes: Homes) -> bool:
    path = Path(os.path.normpath(name))
    return any(path == folder or folder in path.parents for folder in (homes.data, homes.config))
