"""The file types that the program tells desktops about, once for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

APPLICATION: Final = "Checkpoint Viewer"
PROGRAM: Final = "checkpoint-viewer"
ID: Final = "org.checkpoint_viewer.CheckpointViewer"
"""In reverse-DNS form, for what asks for it (AppStream, macOS)."""


@dataclass(frozen=True, slots=True)
class FileType:
    """One type.

    Attributes
    ----------
    mime
    title
        For people.
    suffixes
        With their dots. Others own some of them too, so none is claimed as its default.
    prog_id
        Name under Windows.
    uti
        Name under macOS.
    """

    mime: str
    title: str
    suffixes: tuple[str, ...]
    prog_id: str
    uti: str


FILE_TYPES: Final = (
    FileType(
        "application/x-pytorch-checkpoint",
        "PyTorch checkpoint",
        (".pth", ".pt", ".ckpt", ".th", ".pt2"),
        "CheckpointViewer.Checkpoint.1",
        f"{ID}.checkpoint",
    ),
    FileType(
        "application/x-safetensors",
        "Safetensors weights",
        (".safetensors",),
        "CheckpointViewer.Safetensors.1",
        f"{ID}.safetensors",
    ),
)
