"""What can be chosen for an export, in words, and where it goes by default. No Qt."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from viewer.checkpoint.document import Checkpoint, FileFacts
from viewer.checkpoint.meaning.results import Recognition
from viewer.export.options import ExportOptions, Flavour, Objects

FLAVOUR_WORDS: Final[tuple[tuple[str, Flavour], ...]] = (
    (".pth – for torch.load", "pth"),
    (".safetensors", "safetensors"),
)
OBJECT_WORDS: Final[tuple[tuple[str, Objects, str], ...]] = (
    ("Refuse", "refuse", "Nothing is written while there are any; they are listed"),
    ("Leave out", "drop", "Left out of dicts; None in their place elsewhere"),
    ("As plain data", "plain", "Their state as dicts and lists; dates and paths as text, numpy arrays as tensors"),
    ("Keep the class", "keep", "The class is named again, not imported; loads with weights_only=False only then"),
)
_MOST_MODELS: Final = 6
_SUFFIXES: Final = {
    ".pth",
    ".pt",
    ".ckpt",
    ".bin",
    ".th",
    ".tar",
    ".safetensors",
    ".json",
    ".index",
    ".gz",
    ".xz",
    ".bz2",
}
_LONGEST_PART: Final = 60

TargetState: TypeAlias = Literal["new", "there", "source"]


@dataclass(frozen=True, slots=True)
class PartChoice:
    """One answer to what is to be written.

    Attributes
    ----------
    label
        As it is offered.
    name
        What the proposed name of the file says of it; "" for nothing.
    select, part
        As in ExportOptions.
    """

    label: str
    name: str
    select: str = ""
    part: Literal["all", "no-optimizer"] = "all"

    def of(self, options: ExportOptions) -> ExportOptions:
        """The options with this choice."""
        return replace(options, select=self.select, part=self.part)


def part_choices(checkpoint: Checkpoint, recognition: Recognition | None, node: int | None) -> list[PartChoice]:
    """The whole, one node, and ready choices for what was recognised.

    Parameters
    ----------
    node
        The node that the person has in front; None or the root for none.
    """
    choices = [PartChoice("Everything", "canonical")]
    if node:
        path = checkpoint.path_of(node)
        choices.append(PartChoice(f"Only {_cut(path)}", _file_part(path), path))
    if recognition is None:
        return choices
    for words, averaged in (("Model weights only", False), ("EMA weights as the model", True)):
        models = [
            model.node
            for model in recognition.state_dicts
            if model.averaged == averaged and model.form == "state_dict" and model.node
        ]
        for nth, model in enumerate(models[:_MOST_MODELS]):
            path = checkpoint.path_of(model)
            label = f"{words} ({_cut(path)})"
            name = ("ema" if averaged else "weights") + (f"-{_file_part(path)}" if nth else "")
            choices.append(PartChoice(label, name, path))
    if any(optimizer.node for optimizer in recognition.optimizers):
        choices.append(PartChoice("Without the optimizer", "without-optimizer", part="no-optimizer"))
    return choices


def proposed_target(source: Path, choice: PartChoice, flavour: Flavour) -> Path:
    """A name beside the source that is not the source's own."""
    stem = source.name
    while Path(stem).suffix.lower() in _SUFFIXES and Path(stem).stem:
        stem = Path(stem).stem
    return source.with_name(f"{stem}-{choice.name}.{flavour}")


def with_flavour(target: str, flavour: Flavour) -> str:
    """A path that a person gave, with the suffix of another flavour where it had one of these."""
    root, suffix = os.path.splitext(target)  # noqa: PTH122 - what is typed may be no path yet
    return f"{root}.{flavour}" if suffix.lower() in _SUFFIXES else target


def given_target(text: str, proposed: str, shown: str) -> Path:
    """The file that a person means by the text of a line.

    Parameters
    ----------
    proposed, shown
        The path that was put there, and the text that the line made of it: a name may hold bytes that are no text.
    """
    given = Path(os.path.abspath(text.strip()))  # noqa: PTH100 - a link is not to be followed
    if text == shown:
        return Path(proposed)
    folder = Path(proposed).parent
    return folder / given.name if given.parent == Path(shown).parent else given


def target_state(target: Path, files: Iterable[FileFacts]) -> TargetState:
    """Whether something is at the target, and whether that is one of the files that are being read."""
    try:
        status = target.stat()
    except OSError:
        return "new"
    same = any((facts.inode, facts.device) == (status.st_ino, status.st_dev) for facts in files)
    return "source" if same else "there"


def _cut(path: str) -> str:
    half = _LONGEST_PART // 2
    return path if len(path) <= _LONGEST_PART else f"{path[:half]}…{path[-half:]}"


def _file_part(path: str) -> str:
    """The end of a path as a part of a file's name."""
    last = path.rpartition("/")[2]
    return "".join(char if char.isalnum() or char in "._-" else "-" for char in last)[-40:].strip("-.") or "part"
