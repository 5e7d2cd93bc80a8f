"""What TorchScript archives have beside the records of torch.save: sources, and which tensors are parameters.

Layout (torch/csrc/jit/serialization/export_module.cpp): `data.pkl` is the module with its attributes, `constants.pkl`
the tensors that the code refers to, `code/` the sources, each with a `.debug_pkl`; files for the mobile interpreter
have a `bytecode.pkl` too. The sources are in a language of their own that looks like Python; they are text here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from viewer.checkpoint.tensors import TensorFlag, TensorTable
from viewer.errors import ViewerError
from viewer.formats.pickle import ObjectStandIn, Problem, TensorStandIn, Text
from viewer.formats.zip_archive import ZipArchive
from viewer.formats.zip_directory import ZipDirectory
from viewer.task import Task

_MAX_SOURCES: Final = 2_000
"""Source files that are shown; a large model has some hundreds."""
_MAX_SOURCE_NBYTES: Final = 16 << 20
_MAX_SOURCES_NBYTES: Final = 64 << 20
_MAX_OBJECTS: Final = 200_000
"""Modules that are looked through for parameters."""
_CLASS: Final = re.compile(
    r'^class ([^\W\d]\w{0,400})\(Module\):\n  __parameters__ = \[([\w", ]{0,100000})\]', re.MULTILINE
)
_NAME: Final = re.compile(r'"(\w+)"')


def is_script(directory: ZipDirectory, top: str) -> bool:
    """True where the folder `top` (with its slash) holds a TorchScript archive."""
    return f"{top}constants.pkl" in directory.by_name


def sources_task(archive: ZipArchive, top: str, understood: set[int]) -> Task[dict[str, Text | Problem]]:
    """Source files below code/, by path; the records that belong to them are added to `understood`."""
    prefix = f"{top}code/"
    found: dict[str, Text | Problem] = {}
    left = _MAX_SOURCES_NBYTES
    for name, number in archive.directory.by_name.items():
        if not name.startswith(prefix):
            continue
        understood.add(number)
        if not name.endswith(".py") or len(found) >= _MAX_SOURCES:
            continue
        try:
            data = yield from archive.record_task(number, min(left, _MAX_SOURCE_NBYTES))
            left -= len(data)
            found[name.removeprefix(prefix)] = Text(data.decode("utf-8", "replace"), "source")
        except ViewerError as error:
            found[name.removeprefix(prefix)] = Problem(str(error))
    return found


def type_parameters(root: object, sources: Mapping[str, Text | Problem], tensors: TensorTable) -> None:
    """Flag the tensors that the sources name in `__parameters__`: the pickle does not tell them from buffers."""
    names = _parameter_names(sources)
    if not names:
        return
    seen: set[int] = set()
    stack = [root]
    while stack and len(seen) < _MAX_OBJECTS:
        item = stack.pop()
        if not isinstance(item, ObjectStandIn) or id(item) in seen:
            continue
        seen.add(id(item))
        parameters = names.get(item.type_name, frozenset())
        for state in item.state or ():
            if type(state) is not dict:
                continue
            for key, value in state.items():
                if isinstance(value, TensorStandIn) and key in parameters:
                    tensors.flags[value.number] |= TensorFlag.PARAMETER
                elif isinstance(value, ObjectStandIn):
                    stack.append(value)


def _parameter_names(sources: Mapping[str, Text | Problem]) -> dict[str, frozenset[str]]:
    """By dotted class name: the attributes that are parameters."""
    names: dict[str, frozenset[str]] = {}
    for path, source in sources.items():
        if not isinstance(source, Text):
            continue
        module = path.removesuffix(".py").replace("/", ".")
        for match in _CLASS.finditer(source.text):
            parameters = frozenset(_NAME.findall(match[2]))
            if parameters:
                names[f"{module}.{match[1]}"] = parameters
    return names
