"""Known shapes of the standard library.

Nothing here copies what it is given, and nothing walks it: the same list may be given to a million calls. The tree
reads what is kept, once.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from viewer.formats.pickle.standins import (
    MappingStandIn,
    NameStandIn,
    ObjectStandIn,
    OrderedDictStandIn,
    ScalarStandIn,
    SequenceStandIn,
    StandInType,
    make_mapping,
)

if TYPE_CHECKING:
    from viewer.formats.pickle.session import PickleSession

_NAME_NCHARS: Final = 200
_PATH_NCHARS: Final = 4_096
_PATH_PARTS: Final = 256
_INT_BITS: Final = 4_096
_SHORT_NBYTES: Final = 4_096


def original_bytes(session: PickleSession, given: object) -> bytes:
    """The bytes that a pickle of any protocol holds as `given`: bytes, a str of Python 2, or text that stands for
    bytes one to one (latin-1). Raises TypeError for anything else."""
    if isinstance(given, ScalarStandIn):  # as `bytes()` and `_codecs.encode` give them
        given = given.value
    if isinstance(given, bytes):
        return given
    if isinstance(given, bytearray):
        kept = given
        made = session.once("bytes", given, lambda: bytes(kept))
    elif isinstance(given, str):
        text = given
        made = session.once("bytes", given, lambda: _encode(text))
    else:
        raise TypeError("not bytes")
    assert isinstance(made, bytes)
    return made


def _encode(text: str) -> bytes:
    if text.isascii():
        return text.encode("ascii")
    try:
        # A str of Python 2, as the unpickler decodes it.
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _set(given: object = ()) -> object:
    return SequenceStandIn("set", given, is_set=True)


def _frozenset(given: object = ()) -> object:
    return SequenceStandIn("frozenset", given, is_set=True)


def _list(given: object = ()) -> object:
    return SequenceStandIn("list", given)


def _tuple(given: object = ()) -> object:
    return SequenceStandIn("tuple", given)


def _dict(given: object = None) -> object:
    return make_mapping("dict", given)


def _ordered_dict(given: object = None) -> MappingStandIn:
    made = OrderedDictStandIn()
    if given is not None:
        made.given = given
    return made


def _default_dict(factory: object = None, given: object = None) -> MappingStandIn:
    return make_mapping("collections.defaultdict", given, {"default_factory": factory})


def _counter(given: object = None) -> MappingStandIn:
    return make_mapping("collections.Counter", given)


def _deque(given: object = (), maxlen: object = None) -> SequenceStandIn:
    return SequenceStandIn("collections.deque", given, facts=None if maxlen is None else {"maxlen": maxlen})


def _slice(*parts: object) -> ScalarStandIn:
    if not 1 <= len(parts) <= 3 or not all(part is None or _is_small_int(part) for part in parts):
        raise ValueError("a slice of something else than ints")
    bounds = (None, *parts, None) if len(parts) == 1 else (*parts, None)
    return ScalarStandIn("slice", f"slice({bounds[0]}, {bounds[1]}, {bounds[2]})")


def _range(*parts: object) -> ScalarStandIn:
    if not 1 <= len(parts) <= 3 or not all(_is_small_int(part) for part in parts):
        raise ValueError("a range of something else than ints")
    shown = parts[:2] if len(parts) == 3 and parts[2] == 1 else parts
    return ScalarStandIn("range", f"range({', '.join(map(str, (0, *shown) if len(parts) == 1 else shown))})")


def _complex(real: object = 0.0, imaginary: object = 0.0) -> complex:
    if not isinstance(real, (int, float)) or not isinstance(imaginary, (int, float)):
        raise TypeError("not two numbers")
    return complex(real, imaginary)


def _is_small_int(number: object) -> bool:
    return type(number) is int and number.bit_length() <= _INT_BITS


def _bytes_maker(type_name: str) -> Callable[[PickleSession], Callable[..., object]]:
    def shape(session: PickleSession) -> Callable[..., object]:
        def build(given: object = b"", encoding: object = "latin-1") -> object:
            """`bytes()`, `bytearray(b"…")`, and `bytearray("…", "latin-1")` of protocols 0 to 2."""
            if isinstance(given, str):
                raw = _latin_1(session, given, encoding)
            else:
                raw = original_bytes(session, given)
            return ScalarStandIn(type_name, "", raw)

        return build

    return shape


def _latin_1(session: PickleSession, text: object, encoding: object) -> bytes:
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise TypeError("not text in latin-1")
    known: str = text
    raw = session.once("latin-1", text, lambda: known.encode("latin-1"))
    assert isinstance(raw, bytes)
    return raw


def _codecs_encode(session: PickleSession) -> Callable[..., object]:
    def build(text: object, encoding: object = "utf-8") -> object:
        """Bytes in protocols 0 to 2. Long ones are a record: equal long keys would be compared at length."""
        raw = _latin_1(session, text, encoding)
        return raw if len(raw) < _SHORT_NBYTES else ScalarStandIn("bytes", "", raw)

    return build


def _datetime(session: PickleSession) -> Callable[..., object]:
    def build(packed: object, zone: object = None) -> ScalarStandIn:
        # Modules/_datetimemodule.c: year, month (its high bit is the fold), day, h, m, s, microseconds
        raw = original_bytes(session, packed)
        if len(raw) != 10:
            raise ValueError("not a packed datetime")
        microseconds = int.from_bytes(raw[7:10], "big")
        moment = datetime.datetime(
            int.from_bytes(raw[:2], "big"), raw[2] & 0x7F, raw[3], raw[4], raw[5], raw[6], microseconds
        )
        return ScalarStandIn("datetime.datetime", f"{moment}{_zone_text(zone)}")

    return build


def _date(session: PickleSession) -> Callable[..., object]:
    def build(packed: object) -> ScalarStandIn:
        raw = original_bytes(session, packed)
        if len(raw) != 4:
            raise ValueError("not a packed date")
        return ScalarStandIn("datetime.date", str(datetime.date(int.from_bytes(raw[:2], "big"), raw[2], raw[3])))

    return build


def _time(session: PickleSession) -> Callable[..., object]:
    def build(packed: object, zone: object = None) -> ScalarStandIn:
        raw = original_bytes(session, packed)
        if len(raw) != 6:
            raise ValueError("not a packed time")
        moment = datetime.time(raw[0] & 0x7F, raw[1], raw[2], int.from_bytes(raw[3:6], "big"))
        return ScalarStandIn("datetime.time", f"{moment}{_zone_text(zone)}")

    return build


def _zone_text(zone: object) -> str:
    if zone is None:
        return ""
    return f" {zone.text}" if isinstance(zone, ScalarStandIn) else " in a time zone of its own"


def _timedelta(days: object = 0, seconds: object = 0, microseconds: object = 0) -> ScalarStandIn:
    if not (type(days) is type(seconds) is type(microseconds) is int):
        raise TypeError("not three ints")
    return ScalarStandIn("datetime.timedelta", str(datetime.timedelta(days, seconds, microseconds)))


def _timezone(offset: object, name: object = None) -> ScalarStandIn:
    if not isinstance(offset, ScalarStandIn):
        raise TypeError("not an offset")
    text = name if type(name) is str and len(name) <= _NAME_NCHARS else f"UTC+{offset.text}"
    return ScalarStandIn("datetime.timezone", "UTC" if text == "UTC+0:00:00" else text)


def _text_of(type_name: str) -> Callable[..., object]:
    def build(text: object) -> ScalarStandIn:
        if type(text) is not str:
            raise TypeError("not text")
        return ScalarStandIn(type_name, text)

    return build


def _fraction(numerator: object, denominator: object = 1) -> ScalarStandIn:
    if type(numerator) is str:
        return ScalarStandIn("fractions.Fraction", numerator)
    if not _is_small_int(numerator) or not _is_small_int(denominator):
        raise TypeError("not two ints")
    return ScalarStandIn("fractions.Fraction", f"{numerator}/{denominator}" if denominator != 1 else str(numerator))


def _path(type_name: str, separator: str) -> Callable[..., object]:
    def build(*parts: object) -> ScalarStandIn:
        if len(parts) > _PATH_PARTS:
            raise ValueError("a path of too many parts")
        names = [part for part in parts if type(part) is str and len(part) <= _PATH_NCHARS]
        if len(names) != len(parts):
            raise TypeError("not names")
        root = names[0] if names and names[0].endswith(separator) else ""
        return ScalarStandIn(type_name, root + separator.join(names[1:] if root else names) or ".")

    return build


class _Uuid(ScalarStandIn):
    """A UUID gets its number from BUILD (Lib/uuid.py, `__getstate__`)."""

    __slots__ = ()

    def __setstate__(self, state: object) -> None:
        number = state.get("int") if type(state) is dict else None
        if type(number) is int and 0 <= number < 1 << 128:
            digits = f"{number:032x}"
            self.text = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _uuid() -> ScalarStandIn:
    return _Uuid("uuid.UUID", "without a number")


def _getattr(owner: object, name: object) -> NameStandIn:
    """How enum members and methods of classes are pickled by some versions of Python; a name, never an attribute."""
    if not isinstance(owner, StandInType) or type(name) is not str or len(name) > _NAME_NCHARS:
        raise TypeError("not an attribute of a class")
    return NameStandIn(f"{owner.dotted}.{name}")


def _reconstructor(made: object, base: object, state: object) -> object:
    """copyreg.py:_reconstructor of protocols 0 and 1: `base.__new__(made, state)`."""
    if not isinstance(made, StandInType) or not isinstance(base, StandInType):
        raise TypeError("not classes")
    plain = base.dotted in ("__builtin__.object", "builtins.object")
    return _instance(made, () if plain else (state,))


def _new_object(made: object, *args: object) -> object:
    """copyreg.py:__newobj__."""
    return _instance(made, args)


def _new_object_ex(made: object, args: object, kwargs: object) -> object:
    """copyreg.py:__newobj_ex__."""
    if type(args) is not tuple or type(kwargs) is not dict or not isinstance(made, StandInType):
        raise TypeError("not arguments")
    return ObjectStandIn(made, args, kwargs)


def _instance(made: object, args: tuple[object, ...]) -> object:
    if not isinstance(made, StandInType):
        raise TypeError("not a class")
    # Called only where it cannot call on: a chain of such calls, shared by many, would cost too much.
    return ObjectStandIn(made, args) if args else made()


def _always(build: Callable[..., object]) -> Callable[[PickleSession], Callable[..., object]]:
    return lambda _session: build


PLAIN_SHAPES: Final[dict[str, Callable[[PickleSession], Callable[..., object]]]] = {
    "builtins.set": _always(_set),
    "builtins.frozenset": _always(_frozenset),
    "builtins.list": _always(_list),
    "builtins.tuple": _always(_tuple),
    "builtins.dict": _always(_dict),
    "builtins.slice": _always(_slice),
    "builtins.range": _always(_range),
    "builtins.xrange": _always(_range),
    "builtins.complex": _always(_complex),
    "builtins.bytes": _bytes_maker("bytes"),
    "builtins.bytearray": _bytes_maker("bytearray"),
    "builtins.getattr": _always(_getattr),
    "_codecs.encode": _codecs_encode,
    "collections.OrderedDict": _always(_ordered_dict),
    "collections.defaultdict": _always(_default_dict),
    "collections.Counter": _always(_counter),
    "collections.deque": _always(_deque),
    "copyreg._reconstructor": _always(_reconstructor),
    "copyreg.__newobj__": _always(_new_object),
    "copyreg.__newobj_ex__": _always(_new_object_ex),
    "datetime.datetime": _datetime,
    "datetime.date": _date,
    "datetime.time": _time,
    "datetime.timedelta": _always(_timedelta),
    "datetime.timezone": _always(_timezone),
    "decimal.Decimal": _always(_text_of("decimal.Decimal")),
    "fractions.Fraction": _always(_fraction),
    "uuid.UUID": _always(_uuid),
    **{
        f"pathlib.{name}": _always(_path(f"pathlib.{name}", "\\" if "Windows" in name else "/"))
        for name in ("PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath", "Path", "PurePath")
    },
}
"""By dotted name (see `viewer.formats.pickle.known`)."""
