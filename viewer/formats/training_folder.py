"""The folder that a training run leaves behind, as one document with its parts.

transformers' Trainer (trainer.py:_save_checkpoint): the model (one file, or shards with an index), `optimizer.pt`,
`scheduler.pt`, `rng_state.pth` or one for each process, `trainer_state.json`, `training_args.bin`. DeepSpeed
(runtime/engine.py:save_checkpoint): `latest` names a subfolder of `*_model_states.pt` and `*_optim_states.pt`, one
for each rank; `zero_to_fp32.py` beside it is a script, and is shown as text like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Key, Kind
from viewer.errors import LimitExceeded, MalformedFile, ViewerError
from viewer.formats.bounded_json import json_twig, read_json
from viewer.formats.compose import Branch, Composer, Graft, Leaf, Twig
from viewer.formats.folders import CHECKPOINT_SUFFIXES, INDEX_SUFFIX, Listing, index_task, list_folder, some
from viewer.formats.limits import Limits
from viewer.formats.source import FileSource
from viewer.task import Progress, Task

_TRAINER_FILES: Final = ("trainer_state.json", "training_args.bin", "optimizer.pt", "scheduler.pt", "optimizer.bin")
_LATEST: Final = "latest"
_RANK_FILE: Final = re.compile(r"(?:_|^)(?:model|optim)_states\.pt$")
_STEP_FOLDER: Final = re.compile(r"^(?:global_step|pytorch_model|epoch|step|checkpoint)[^/\\]*$")
_MAX_TEXT_NBYTES: Final = 1 << 20
_MAX_FILES: Final = 5_000
_TEXT_SUFFIXES: Final = (".py", ".txt", ".json", ".yaml", ".yml", ".md", ".toml", ".jinja")

_PARTS: Final = (
    ("scheduler", re.compile(r"^scheduler.*\.(?:pt|bin|pth)$")),
    ("random states", re.compile(r"^(?:rng_state|random_states).*\.(?:pth|pt|pkl)$")),
    ("optimizer", re.compile(r"optim|^scaler\.pt$")),
    ("model", re.compile(r"^(?:model|pytorch_model|adapter_model|zero_pp|mp_rank|.*_model_states)")),
)
"""Names of the parts, and the files that belong to each; asked in this order."""
_ORDER: Final = ("model", "optimizer", "scheduler", "random states", "state", "other files")


def is_training_folder(listing: Listing) -> bool:
    return (
        any(name in listing.files for name in _TRAINER_FILES)
        or any(_RANK_FILE.search(name) for name in listing.files)
        or (_LATEST in listing.files and bool(listing.folders))
    )


def training_task(listing: Listing, limits: Limits) -> Task[Checkpoint]:
    """Read the structure of all checkpoint files of a training folder."""
    gathering = _Gathering(listing.folder, limits)
    yield from gathering.folder_task(listing, "")
    for name, latest in _state_folders(listing, gathering.composer.warnings):
        yield from gathering.folder_task(list_folder(listing.folder / name), f"{name}/")
        if latest:
            gathering.facts["latest"] = name
    return gathering.finish()


def _state_folders(listing: Listing, warnings: list[str]) -> list[tuple[str, bool]]:
    """The subfolders with states, and whether `latest` names each: that one alone where it is there."""
    if _LATEST not in listing.files:
        return []
    steps = [name for name in listing.folders if _STEP_FOLDER.match(name)]
    try:
        with FileSource(listing.folder / _LATEST) as source:
            named = source.read(0, min(source.nbytes, 4096)).decode("utf-8", "replace").strip()
    except ViewerError as error:
        warnings.append(str(error))
        named = ""
    if named in listing.folders:
        others = [name for name in steps if name != named]
        if others:
            warnings.append(f"latest names {named}; not shown: {some(others)}")
        return [(named, True)]
    if named:
        shown = named if len(named) <= 100 else f"{named[:100]}…"
        warnings.append(f"latest names {shown!r}, which is no folder here")
    return [(name, False) for name in steps]


class _Gathering:
    """What is gathered while the files of one training folder are read."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder = folder
        self.limits = limits
        self.composer = Composer(limits)
        self.facts: dict[str, str] = {}
        self.parts: dict[str, dict[Key, Twig]] = {name: {} for name in _ORDER}
        self.is_deepspeed = False
        self._opened = 0

    def folder_task(self, listing: Listing, prefix: str) -> Task[None]:
        """Take in the files of a folder; `prefix` stands before their names."""
        taken: set[str] = set()
        if any(name.endswith(INDEX_SUFFIX) for name in listing.files):
            taken = yield from self._sharded_task(listing, prefix)
        names = [name for name in listing.files if name not in taken]
        self.is_deepspeed |= any(_RANK_FILE.search(name) for name in names)
        for done, name in enumerate(names):
            yield Progress(done, len(names), "files")
            if name.lower().endswith((*CHECKPOINT_SUFFIXES, ".pkl")):
                yield from self._checkpoint_task(listing.folder / name, name, prefix + name)
            elif name.endswith(_TEXT_SUFFIXES) or name == _LATEST:
                self._add(
                    "state" if name == "trainer_state.json" else "other files",
                    prefix + name,
                    self._text(listing.folder / name),
                )

    def finish(self) -> Checkpoint:
        if not any(self.parts[name] for name in _ORDER if name != "other files"):
            raise MalformedFile(
                "this looks like the folder of a training run, but no checkpoint file is in it",
                path=self.folder,
                advice="Choose a file, or another folder",
            )
        children: dict[Key, Twig] = {
            name: Branch(members, "files") for name in _ORDER if (members := self.parts[name])
        }
        self.facts["files"] = f"{self._opened:,}"
        container = "DeepSpeed folder" if self.is_deepspeed else "training folder"
        return self.composer.finish(self.folder, container, Branch(children, container), self.facts)

    def _sharded_task(self, listing: Listing, prefix: str) -> Task[set[str]]:
        """The model by its index; returns the names of the files that it took."""
        try:
            checkpoint = yield from index_task(listing, self.limits)
        except ViewerError as error:
            self._add("model", f"{prefix}index", Leaf.problem(str(error)))
            return set()
        if checkpoint is None:
            return set()
        index = checkpoint.facts.get("index", "model")
        # Which files are strays is seen better from here: those of other parts are none.
        checkpoint.warnings = [text for text in checkpoint.warnings if not text.startswith("in the folder but not")]
        taken = {file.path.name for file in checkpoint.files}
        self._graft("model", checkpoint, prefix + index)
        return taken | set(listing.with_suffix(INDEX_SUFFIX))

    def _checkpoint_task(self, path: Path, name: str, label: str) -> Task[None]:
        from viewer.formats.opening import open_task

        part = next((part for part, pattern in _PARTS if pattern.search(name)), "other files")
        if self._opened >= _MAX_FILES:
            raise LimitExceeded(f"the folder has more than {_MAX_FILES:,} checkpoint files", path=self.folder)
        try:
            checkpoint = yield from open_task(path, self.limits)
        except ViewerError as error:
            self._add(part, label, Leaf.problem(str(error)))
            self.composer.warnings.append(str(error))
            return
        self._graft(part, checkpoint, label)

    def _graft(self, part: str, checkpoint: Checkpoint, label: str) -> None:
        self._opened += len(checkpoint.files)
        self._add(part, label, Graft(self.composer.add(checkpoint, label)))

    def _add(self, part: str, label: str, twig: Twig) -> None:
        self.parts[part][label] = twig

    def _text(self, path: Path) -> Twig:
        read: Callable[[FileSource], Twig] = _json_twig if path.suffix == ".json" else _text_twig
        try:
            with FileSource(path) as source:
                return read(source)
        except ViewerError as error:
            return Leaf.problem(str(error))


def _json_twig(source: FileSource) -> Twig:
    return json_twig(read_json(source))


def _text_twig(source: FileSource) -> Twig:
    """A script or note as text; what is longer than the bound is cut, and says so."""
    shown = source.read(0, min(source.nbytes, _MAX_TEXT_NBYTES)).decode("utf-8", "replace")
    if source.nbytes > _MAX_TEXT_NBYTES:
        shown += f"\n… (the first {_MAX_TEXT_NBYTES:,} of {source.nbytes:,} bytes)"
    return Leaf(Kind.TEXT, "text", shown)
