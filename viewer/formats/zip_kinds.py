"""Which kind of checkpoint a zip archive is: all kinds share one signature and one directory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from viewer.errors import MalformedFile, NotACheckpoint
from viewer.formats.archives import checkpoint_names, zip_members_part_task
from viewer.formats.numpy_files import is_npz, npz_part_task
from viewer.formats.pt2 import is_pt2, pt2_part_task
from viewer.formats.reading import Part, Reading
from viewer.formats.torch_package import is_package, package_part_task
from viewer.formats.torch_zip import top_folders, torch_part_task
from viewer.formats.zip_archive import ZipArchive
from viewer.formats.zip_directory import ZipDirectory
from viewer.task import Task

_Kind: TypeAlias = tuple[Callable[[ZipDirectory], bool], Callable[[ZipArchive, Reading], Task[Part]]]

KINDS: Final[tuple[_Kind, ...]] = (
    (lambda directory: bool(top_folders(directory)), torch_part_task),
    (is_package, package_part_task),
    (is_pt2, pt2_part_task),
    (is_npz, npz_part_task),
    (lambda directory: bool(checkpoint_names(directory.by_name)), zip_members_part_task),
)
"""Tests of the directory and readers, the sure ones first."""

_SHOWN: Final = 3


def zip_part_task(archive: ZipArchive, reading: Reading) -> Task[Part]:
    """Read the structure of an archive of any kind.

    Raises
    ------
    NotACheckpoint
        Where no kind fits.
    """
    for fits, part_task in KINDS:
        if fits(archive.directory):
            return (yield from part_task(archive, reading))
    raise _without_checkpoint(archive)


def _without_checkpoint(archive: ZipArchive) -> NotACheckpoint | MalformedFile:
    path, names = archive.source.path, archive.directory.names
    if archive.scan is not None:
        return MalformedFile(
            "this zip archive is incomplete, and the record that says what it holds (data.pkl, mostly) is not in the "
            f"part that is there ({archive.source.nbytes:,} bytes)",
            path=path,
            advice="Fetch the file again",
        )
    if not names:
        return NotACheckpoint("not a checkpoint: this is an empty zip archive", path=path, advice="Fetch it again")
    what, advice = _kind(names)
    return NotACheckpoint(f"not a checkpoint: this is {what}, without data.pkl", path=path, advice=advice)


def _kind(names: list[str]) -> tuple[str, str]:
    """What an archive without a checkpoint is, from the names of its records."""
    tails = {name.rpartition("/")[2] for name in names}
    if "[Content_Types].xml" in tails:
        return "an office document", "Choose the checkpoint file instead"
    if "META-INF/MANIFEST.MF" in names:
        return "a Java archive", "Choose the checkpoint file instead"
    if tails & {"config.json", "metadata.json"} and any(name.endswith(".weights.h5") for name in names):
        return "a Keras model", "Open it with Keras and save its weights as safetensors"
    if any(name.endswith("/.data/serialization_id") for name in names):
        return "what an interrupted torch.save leaves behind, a torch archive", "Save it again"
    shown = ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
    return f"a zip archive of other files ({shown})", "Unpack it and open what is in it"
