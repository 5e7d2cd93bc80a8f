"""Tar archives: the container of torch 0.1, and archives of checkpoint files."""

from __future__ import annotations

from viewer.errors import MalformedFile, NotACheckpoint
from viewer.formats.archives import tar_members_part_task
from viewer.formats.byte_source import ByteSource
from viewer.formats.reading import Part, PartReader, Reading
from viewer.formats.tar_directory import looks_like_tar, tar_directory_task
from viewer.formats.torch_tar import is_torch_tar, torch_tar_part_task
from viewer.task import Task


class TarReader(PartReader):
    """Reads every tar archive that holds a checkpoint."""

    name = "tar"

    def sniff(self, head: bytes, source: ByteSource) -> bool:  # noqa: ARG002 - a reader may look further
        return looks_like_tar(head)

    def part_task(self, source: ByteSource, reading: Reading) -> Task[Part]:
        directory = yield from tar_directory_task(source)
        if is_torch_tar(directory):
            return (yield from torch_tar_part_task(source, directory, reading))
        if not directory.members:
            if directory.warnings:
                raise MalformedFile(directory.warnings[0], path=source.path, advice="Fetch the file again")
            raise NotACheckpoint(
                "not a checkpoint: this is a tar archive without files in it",
                path=source.path,
                advice="Choose another file",
            )
        return (yield from tar_members_part_task(source, directory, reading))
