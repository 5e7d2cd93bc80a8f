"""Which classes may cross the pipe: the dataclasses, enumerations and errors of the modules named here.

The window builds an object from the engine's bytes only when its class is defined in one of these modules. They hold
plain data, import neither torch nor Qt, and an object is built field by field: no constructor, no `__setstate__` and
no `__reduce__` of anything is called (errors apart, which are made by their own constructor from three texts).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Final

from viewer.engine.faults import ProtocolError
from viewer.errors import ViewerError

MODULES: Final = (
    "viewer.checkpoint.document",
    "viewer.checkpoint.dtypes",
    "viewer.checkpoint.meaning.results",
    "viewer.checkpoint.nodes",
    "viewer.checkpoint.tensors",
    "viewer.checks.results",
    "viewer.compare.options",
    "viewer.compare.pair_details",
    "viewer.compare.results",
    "viewer.engine.compare_requests",
    "viewer.engine.export_requests",
    "viewer.engine.faults",
    "viewer.engine.meaning_requests",
    "viewer.engine.protocol",
    "viewer.engine.roundtrip_requests",
    "viewer.engine.values_requests",
    "viewer.errors",
    "viewer.export.explain_results",
    "viewer.export.options",
    "viewer.export.verify_results",
    "viewer.roundtrip.results",
    "viewer.task",
    "viewer.tensors.brief",
    "viewer.tensors.devices",
    "viewer.tensors.histogram_results",
    "viewer.tensors.results",
    "viewer.tensors.scan_results",
    "viewer.tensors.slice_results",
)


class AdmittedClasses:
    """The classes of some modules, by a name that both sides know."""

    def __init__(self, modules: Iterable[str] = MODULES) -> None:
        self._modules = frozenset(modules)
        self._by_name: dict[str, type] = {}
        self._fields: dict[type, tuple[str, ...]] = {}

    def name_of(self, cls: type) -> str | None:
        """The name to send; None where the class is not admitted."""
        if cls.__module__ not in self._modules or not _is_data(cls):
            return None
        return f"{cls.__module__}:{cls.__qualname__}"

    def class_named(self, name: object, base: type = object) -> type:
        """The class that was sent under `name`, which must be a subclass of `base`; raises ProtocolError."""
        if not isinstance(name, str):
            raise ProtocolError("a class name is not a text")
        cls = self._by_name.get(name)
        if cls is None:
            cls = self._by_name[name] = self._look_up(name)
        if not issubclass(cls, base):
            raise ProtocolError(f"{name[:100]!r} is not a {base.__name__}")
        return cls

    def fields_of(self, cls: type) -> tuple[str, ...]:
        """Names of the fields of a dataclass, in the order in which they are sent."""
        names = self._fields.get(cls)
        if names is None:
            if not is_dataclass(cls):
                raise ProtocolError(f"{cls.__qualname__} is not a dataclass")
            names = self._fields[cls] = tuple(field.name for field in fields(cls))
        return names

    def _look_up(self, name: str) -> type:
        module, _, qualname = name.partition(":")
        if module in self._modules:
            found = vars(importlib.import_module(module)).get(qualname)
            if isinstance(found, type) and self.name_of(found) == name:
                return found
        raise ProtocolError(f"the class {name[:100]!r} is not admitted")


def _is_data(cls: type) -> bool:
    return is_dataclass(cls) or issubclass(cls, (Enum, ViewerError))


ADMITTED: Final = AdmittedClasses()
