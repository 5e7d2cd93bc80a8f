"""numpy's dtypes: their codes, byte order, fields, and what torch calls them. numpy itself is not needed.

Forms follow numpy/_core/src/multiarray/descriptor.c (`arraydescr_reduce`, `arraydescr_setstate`).
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Final

from viewer.formats.pickle.standins import Record

if TYPE_CHECKING:
    from viewer.formats.pickle.session import PickleSession

_TORCH_NAMES: Final = {
    "b1": "bool", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64",
    "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64",
    "f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128",
}  # fmt: skip
"""numpy's kind and size, and torch's name."""

_OTHER_NAMES: Final = {
    "f12": "longdouble", "f16": "longdouble", "c24": "clongdouble", "c32": "clongdouble", "T16": "StringDType",
}  # fmt: skip

_NAMES_OF_TIME: Final = {"M8": "datetime64", "m8": "timedelta64"}

UNITS: Final = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
"""Units of dates and durations; a duration may have none ("generic")."""

_TIME: Final = re.compile(r"([Mm]8)\[(\d{0,9})([A-Za-z]{1,2})\]")
_DIMS: Final = 64
_FIELDS: Final = 512
_FIELD_NCHARS: Final = 60
_TEXT_NCHARS: Final = 120


class DtypeRecord(Record):
    """A numpy dtype.

    Attributes
    ----------
    code
        Kind and bytes of an element, as numpy writes them ("f4", "U3", "O8", "V12").
    big_endian
        True where the most significant byte comes first.
    fields
        Of a structured dtype: text such as "x: f4, y: i8"; "" for any other.
    members
        Of a structured dtype: the name, dtype and byte offset of each field.
    base, extents
        Of a field that is an array itself: the dtype of its elements and its shape.
    unit, multiple
        Of dates and durations: "D", "ns" … ("" for durations without one), and how many make one step.
    """

    __slots__ = (
        "_session", "base", "big_endian", "code", "extents", "fields", "itemsize", "members", "multiple", "unit",
    )  # fmt: skip

    def __init__(self, code: str, session: PickleSession | None = None) -> None:
        self._session = session
        self.big_endian = code[:1] == ">"
        self.code = code.lstrip("<>=|")
        self.fields = ""
        self.members: tuple[tuple[str, DtypeRecord, int], ...] = ()
        self.base: DtypeRecord | None = None
        self.extents: tuple[int, ...] = ()
        self.unit, self.multiple = "", 1
        time = _TIME.fullmatch(self.code)
        if time is not None:
            self.code = time[1]
            self._set_unit(time[3], int(time[2] or 1))
        self.itemsize = _itemsize(self.code)

    def __setstate__(self, state: object) -> None:
        # (version, byte order, subarray, names, fields, itemsize, alignment, flags[, metadata])
        if type(state) is not tuple or len(state) < 5:
            return
        order, subarray, names, fields = state[1:5]
        if type(order) is str and order in ("<", ">"):
            self.big_endian = order == ">"
        if len(state) > 5 and type(state[5]) is int and 0 < state[5] < 1 << 31 and self.code[:1] in {"V", "S", "U"}:
            self.itemsize = state[5]
        if type(names) is tuple and type(fields) is dict and 0 < len(names) <= _FIELDS:
            self._set_fields(names, fields)
        elif type(subarray) is tuple and len(subarray) == 2 and isinstance(subarray[0], DtypeRecord):
            extents = (subarray[1],) if type(subarray[1]) is int else subarray[1]
            if type(extents) is tuple and len(extents) <= _DIMS and all(_is_extent(extent) for extent in extents):
                self.base, self.extents = subarray[0], extents
            else:
                self.fields = "a subarray of a shape that cannot be"
        elif len(state) > 8 and type(state[8]) is tuple and len(state[8]) == 2 and self.code in _NAMES_OF_TIME:
            self._set_time(state[8][1])

    def _set_fields(self, names: tuple[object, ...], fields: dict[object, object]) -> None:
        """Read the fields: once, however many dtypes of a pickle are given the same ones."""

        def read() -> object:
            members = []
            for name in names:
                field = fields.get(name) if type(name) is str else None
                if type(field) is not tuple or len(field) < 2 or not isinstance(field[0], DtypeRecord):
                    return None
                members.append((str(name), field[0], field[1] if type(field[1]) is int else -1))
            made = DtypeRecord("V")
            made.set_members(members)
            return made, names

        found = read() if self._session is None else self._session.once("dtype fields", fields, read)
        if isinstance(found, tuple) and found[1] is names:
            self.members, self.fields = found[0].members, found[0].fields
        else:
            self.fields = "fields that cannot be read"

    def set_members(self, members: list[tuple[str, DtypeRecord, int]]) -> None:
        """Take on fields: name, dtype and byte offset of each."""
        self.members = tuple(members)
        parts = [f"{name[:40]}: {dtype.short_text[:_FIELD_NCHARS]}" for name, dtype, _ in members]
        text = ", ".join(parts)
        self.fields = text if len(text) <= _TEXT_NCHARS else f"{text[:_TEXT_NCHARS]}…"

    def _set_time(self, given: object) -> None:
        """The unit, as bytes or (in old protocols) as a stand-in for bytes: its value is then an attribute."""
        if type(given) is not tuple or len(given) != 4 or type(given[1]) is not int:
            return
        unit = getattr(given[0], "value", given[0])
        if isinstance(unit, bytes):
            unit = unit.decode("ascii", "replace")
        if isinstance(unit, str):
            self._set_unit(unit, given[1])

    def _set_unit(self, unit: str, multiple: int) -> None:
        if unit in UNITS and 0 < multiple < 1 << 31:
            self.unit, self.multiple = unit, multiple

    def decode(self, raw: bytes) -> str:
        """An element of a text dtype, which numpy keeps in UTF-32 and fills up with zeros."""
        # By the functions themselves: a codec looked up by name is imported when it is first needed.
        decode = codecs.utf_32_be_decode if self.big_endian else codecs.utf_32_le_decode
        return decode(raw, "replace", True)[0].rstrip("\0")

    @property
    def torch_name(self) -> str:
        """What torch calls this dtype; "" where it has none such."""
        return "" if self.fields or self.base is not None else _TORCH_NAMES.get(self.code, "")

    @property
    def short_text(self) -> str:
        """As one field of a structured dtype is written: ">f4", "2×i8", "[a: u1]"."""
        if self.base is not None:
            return f"{'×'.join(map(str, self.extents))}×{self.base.code}"
        if self.fields or not self.torch_name:
            return self.text
        return f"{'>' if self.big_endian and self.itemsize > 1 else ''}{self.code}"

    @property
    def text(self) -> str:
        if self.base is not None:
            return self.short_text
        if self.fields:
            return f"[{self.fields}]"
        name = _NAMES_OF_TIME.get(self.code)
        if name is not None:
            multiple = str(self.multiple) if self.multiple > 1 else ""
            return f"{name}[{multiple}{self.unit}]" if self.unit else name
        torch_name = self.torch_name
        return (
            f"{'>' if self.big_endian and torch_name else ''}{torch_name or _OTHER_NAMES.get(self.code, self.code)}"
        )


def _is_extent(extent: object) -> bool:
    return type(extent) is int and 0 <= extent < 1 << 31


def _itemsize(code: str) -> int:
    """Bytes of an element by its code: "U3" counts characters of four bytes."""
    if code == "?":
        return 1
    size = code[1:]
    if not size.isascii() or not size.isdigit() or len(size) > 9:
        return 0
    return int(size) * (4 if code[0] == "U" else 1)
