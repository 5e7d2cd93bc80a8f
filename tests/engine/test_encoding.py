from __future__ import annotations

import gc
import io
import pickle
from array import array
from collections import OrderedDict
from pathlib import Path, PurePath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.fake_engine import make_checkpoint, write_document
from tests.engine.hostile_engine import HEADER_NBYTES, lies
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind, OtherKey
from viewer.checkpoint.tensors import TensorFlag
from viewer.engine.admitted import ADMITTED, MODULES, AdmittedClasses
from viewer.engine.decoding import Decoder
from viewer.engine.encoding import PART_NBYTES, ROWS, Encoder
from viewer.engine.faults import EngineFault, ProtocolError
from viewer.engine.framing import FRAME_LIMIT, MESSAGE, PART, gc_paused, pack_frame, read_frame, unpack
from viewer.errors import BadPath, EngineLost, ViewerError
from viewer.task import Progress


def frames_of(value: object) -> list[bytes]:
    frames: list[bytes] = []

    def send_part(encoded: object) -> int:
        frames.append(pack_frame(PART, 1, encoded))
        return len(frames) - 1

    frames.append(pack_frame(MESSAGE, 1, Encoder(ADMITTED, send_part).encode(value)))
    return frames


def value_of(frames: list[bytes]) -> Any:
    decoder = Decoder(ADMITTED)
    for frame in frames[:-1]:
        decoder.add_part(unpack(frame[HEADER_NBYTES:]))
    return decoder.decode(unpack(frames[-1][HEADER_NBYTES:]))


def there_and_back(value: object) -> Any:
    return value_of(frames_of(value))


atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.complex_numbers(allow_nan=False),
    st.sampled_from(Kind),
    st.builds(OtherKey, st.text(), st.integers()),
    st.builds(Progress, st.integers(), st.integers(), st.text(), st.text()),
    st.text("ab/.", min_size=1).map(Path),
    st.lists(st.integers(-(2**63), 2**63 - 1)).map(lambda values: array("q", values)),
)
values = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.text() | st.integers(), inner),
        st.sets(st.integers() | st.tuples(st.text(), st.none()), max_size=1),  # longer ones have no order to compare
        st.frozensets(st.text(), max_size=1),
    ),
)


@given(values)
@settings(max_examples=60, deadline=None)
def test_that_any_value_comes_back_equal_and_of_the_same_types(value: object) -> None:
    back = there_and_back(value)
    assert back == value
    assert repr(back) == repr(value)


@given(st.lists(st.none() | st.integers() | st.builds(OtherKey, st.text(), st.integers() | st.none()), min_size=16))
@settings(max_examples=60, deadline=None)
def test_that_a_list_of_objects_and_others_comes_back_equal(rows: list[object]) -> None:
    assert there_and_back(rows) == rows
    objects = [row for row in rows if isinstance(row, OtherKey)]
    assert there_and_back(objects) == objects


@pytest.mark.parametrize("n", [0, 1, ROWS, ROWS + 1, 2 * ROWS + 7])
@pytest.mark.parametrize(
    "make", [str, lambda n: (n, "x"), lambda n: None if n % 2 else n, OtherKey], ids=["text", "tuple", "none", "key"]
)
def test_that_a_list_of_any_length_comes_back(n: int, make: Any) -> None:
    rows = [make(str(at)) if make is OtherKey else make(at) for at in range(n)]
    assert there_and_back(rows) == rows
    assert there_and_back(tuple(rows)) == tuple(rows)
    assert there_and_back({"rows": rows, "more": [rows]}) == {"rows": rows, "more": [rows]}


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(["x" * (PART_NBYTES // 10)] * 500, id="long texts"),
        pytest.param("é" * (3 * PART_NBYTES + 1), id="one huge text"),
        pytest.param(b"\0" * (3 * PART_NBYTES + 1), id="huge bytes"),
        pytest.param(array("q", range(PART_NBYTES)), id="a column"),
        pytest.param([list(range(2_000)) for _ in range(500)], id="lists in a list"),
        pytest.param([[[("a" * 100, n)] * 100] for n in range(300)], id="deeper lists"),
        pytest.param(tuple((n,) * 3 for n in range(5 * ROWS)), id="tuples"),
        pytest.param({n: str(n) for n in range(5 * ROWS)}, id="a dict"),
        pytest.param(set(range(5 * ROWS)), id="a set"),
        pytest.param([OtherKey("a" * 500, n) for n in range(ROWS)], id="objects"),
        pytest.param([OtherKey(str(n)) if n % 3 else n for n in range(ROWS)], id="objects and numbers"),
        pytest.param([OtherKey(str(n)) if n % 2 else Progress(n, n, "x" * n) for n in range(2000)], id="two classes"),
        pytest.param([tuple(range(1_000))] * 1_000, id="long tuples"),
    ],
)
def test_that_no_frame_is_long_whatever_is_sent(value: object) -> None:
    frames = frames_of(value)
    assert max(map(len, frames)) < 4 * PART_NBYTES
    assert value_of(frames) == value


def test_that_a_large_checkpoint_goes_in_frames_of_bounded_rows_and_comes_back_equal(tmp_path: Path) -> None:
    checkpoint = make_checkpoint(write_document(tmp_path / "big.pth", 1), 150_000)
    frames = frames_of(checkpoint)
    assert len(frames) > 20
    assert max(map(len, frames)) < 2 * PART_NBYTES
    back = value_of(frames)
    assert back == checkpoint
    assert isinstance(back, Checkpoint)
    assert [type(key) for key in back.nodes.key[994:1000]] == [int, str, str, str, str, OtherKey]
    assert back.nodes.parent.typecode == "q"


def test_that_an_enumeration_and_flags_keep_their_type() -> None:
    back = there_and_back([Kind.TENSOR, TensorFlag.CONJ | TensorFlag.NEG])
    assert [type(value) for value in back] == [Kind, TensorFlag]


def test_that_dicts_keep_their_order_and_lose_their_kind() -> None:
    back = there_and_back(OrderedDict([("b", 1), ("a", 2)]))
    assert type(back) is dict
    assert list(back) == ["b", "a"]


@pytest.mark.parametrize(
    "error",
    [
        EngineLost("it ended", path="/a/b.pth", advice="try again"),
        BadPath("no such key"),
        EngineFault("a bug", details="Traceback …", advice="report it"),
    ],
)
def test_that_errors_come_back_with_kind_and_words(error: ViewerError) -> None:
    for back in (there_and_back(error), pickle.loads(pickle.dumps(error))):
        assert type(back) is type(error)
        assert (str(back), back.path, back.advice) == (str(error), error.path, error.advice)
        assert getattr(back, "details", None) == getattr(error, "details", None)


@pytest.mark.parametrize(
    "value", [object(), len, io.BytesIO(), ValueError("x"), type, memoryview(b""), bytearray(b""), range(3), PurePath]
)
def test_that_what_is_not_plain_data_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="may not cross the pipe"):
        frames_of([value])


class TextLike(str):
    __slots__ = ()


def test_that_a_subclass_of_a_builtin_is_refused() -> None:
    with pytest.raises(TypeError, match="TextLike may not cross"):
        frames_of(TextLike("x"))


HOSTILE_PLAIN: list[object] = [
    (),
    [],
    {},
    ("?",),
    ("=",),
    ("=", "text"),
    ("list", 5),
    ("list", [[]]),
    ("dict", ("=", [1, 2]), ("=", [1])),
    ("dict", ("=", [[]]), ("=", [1])),
    ("dict", 1, 2),
    ("set", ("=", [[]])),
    ("set", ("=", (1, 2))),
    ("array", "q", b"123"),
    ("array", "no code", b""),
    ("array", "q", "text"),
    ("array", "q", ("=", [1])),
    ("path", b"x"),
    ("complex", 1, "x"),
    ("enum", "viewer.checkpoint.nodes:Kind", 99),
    ("enum", "viewer.checkpoint.nodes:NodeTable", 1),
    ("enum", 5, 1),
    ("object", "viewer.checkpoint.nodes:Kind", [1]),
    ("object", "viewer.checkpoint.nodes:OtherKey", []),
    ("object", "viewer.checkpoint.nodes:OtherKey", [1, 2, 3]),
    ("object", "viewer.checkpoint.nodes:field", []),
    ("object", "viewer.checkpoint.nodes:OtherKey.__init__", []),
    ("object", "viewer.checkpoint.document:NodeTable", []),  # imported there, not defined there
    ("object", "viewer.nowhere:X", []),
    ("object", "os:system", []),
    ("object", "viewer.errors:ViewerError", []),
    ("error", "viewer.checkpoint.nodes:OtherKey", "fault", None, "", ""),
    ("error", "viewer.errors:ViewerError", "fault", 5, "", ""),
    ("error", "viewer.errors:ViewerError", 5, None, "", ""),
    ("error", "viewer.errors:ViewerError", "fault", "nul\0", "", 5),
    ("rows", "viewer.checkpoint.nodes:OtherKey", 1, [("=", ["a"])]),
    ("rows", "viewer.checkpoint.nodes:OtherKey", 2, [("=", ["a"]), ("=", [1])]),
    ("rows", "viewer.checkpoint.nodes:OtherKey", 10**9, [("=", ["a"]), ("=", [1])]),
    ("rows", "viewer.checkpoint.nodes:OtherKey", -1, [("=", []), ("=", [])]),
    ("rows", "os:stat_result", 1, [("=", ["a"])]),
    ("patched", ("=", [None]), ("=", [1]), ("=", ["a"])),
    ("patched", ("=", [None]), ("=", ["x"]), ("=", ["a"])),
    ("patched", ("=", [None]), ("=", [0]), ("=", [])),
    ("parts", "list", (0,)),
    ("parts", "list", (-1,)),
    ("parts", "list", ("0",)),
    ("parts", "str", (0,)),
    ("parts", "exec", ()),
]


@pytest.mark.parametrize("plain", HOSTILE_PLAIN, ids=str)
def test_that_plain_data_that_no_encoder_makes_is_refused(plain: object) -> None:
    with pytest.raises(ProtocolError):
        Decoder(ADMITTED).decode(plain)


def test_that_a_part_is_used_once() -> None:
    decoder = Decoder(ADMITTED)
    decoder.add_part(("=", [1]))
    assert decoder.decode(("parts", "list", (0,))) == [1]
    with pytest.raises(ProtocolError):
        decoder.decode(("parts", "list", (0,)))


def test_that_deep_nesting_is_refused_and_no_crash() -> None:
    plain: object = ("=", [])
    for _ in range(100_000):
        plain = ("list", [plain])
    with pytest.raises(ProtocolError):
        Decoder(ADMITTED).decode(plain)
    with pytest.raises(ProtocolError):
        unpack(b"(" * 5_000_000)


@given(st.recursive(st.integers() | st.text() | st.binary(), lambda inner: st.lists(inner).map(tuple), max_leaves=9))
@settings(max_examples=200, deadline=None)
def test_that_any_plain_data_is_decoded_or_refused(plain: object) -> None:
    for tagged in (plain, ("object", plain), ("parts", "list", plain), ("dict", plain, plain), ("list", [plain])):
        try:
            Decoder(ADMITTED).decode(tagged)
        except ProtocolError:
            continue


@given(st.binary(max_size=300), st.sampled_from(list(lies().values())), st.integers(0, 300))
@settings(max_examples=300, deadline=None)
def test_that_any_bytes_are_a_frame_or_refused(noise: bytes, frame: bytes, at: int) -> None:
    for data in (noise, frame[:at] + noise + frame[at:], frame[:at] + noise):
        pipe = io.BytesIO(data)
        try:
            while (found := read_frame(pipe.read)) is not None:
                Decoder(ADMITTED).decode(unpack(found.payload))
        except ProtocolError:
            continue


@pytest.mark.parametrize("name", [name for name, frame in lies().items() if frame[:1] in (b"\1", b"\2")])
def test_that_each_lie_is_refused_or_cut_short(name: str) -> None:
    frame = lies()[name]
    if name in ("half a frame", "a huge frame"):
        with pytest.raises(ProtocolError):
            read_frame(io.BytesIO(frame).read)
    elif name not in ("an event of another job", "a request as event", "a number as event"):  # the client checks
        with pytest.raises(ProtocolError):
            Decoder(ADMITTED).decode(unpack(frame[HEADER_NBYTES:]))


def test_that_a_frame_beyond_the_limit_is_not_sent() -> None:
    with pytest.raises(ProtocolError, match="longer than a frame"):
        pack_frame(MESSAGE, 1, b"\0" * FRAME_LIMIT)


def test_that_the_collector_is_as_it_was_after_a_load() -> None:
    assert gc.isenabled()
    with gc_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_that_the_modules_of_admitted_classes_can_be_imported_and_hold_data() -> None:
    for module in MODULES:
        names = vars(__import__(module, fromlist=["x"]))
        classes = [found for found in names.values() if isinstance(found, type) and found.__module__ == module]
        assert any(ADMITTED.name_of(cls) for cls in classes), module


def test_that_a_class_is_admitted_where_it_is_defined_alone() -> None:
    assert ADMITTED.name_of(OtherKey) == "viewer.checkpoint.nodes:OtherKey"
    assert AdmittedClasses(["viewer.errors"]).name_of(OtherKey) is None
    assert ADMITTED.name_of(AdmittedClasses) is None
