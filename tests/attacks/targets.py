"""What reads bytes that others wrote: one function each, which ends in a value or in a ViewerError."""

from __future__ import annotations

import io
import os
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.attacks.fuzz_files import HARMLESS_EVENTS, mutate_file
from tests.attacks.fuzz_files import seeds as file_seeds
from tests.attacks.fuzz_pickle import mutate, open_pickle
from tests.attacks.fuzz_pickle import seeds as pickle_seeds
from tests.attacks.pickle_child import OUR_OWN
from viewer.checkpoint.paths import format_path, parse_path
from viewer.compare.names import parse_rule
from viewer.desktop.handover import LENGTH, Message
from viewer.desktop.handover import decode as decode_message
from viewer.engine.admitted import AdmittedClasses
from viewer.engine.decoding import Decoder
from viewer.engine.faults import ProtocolError
from viewer.engine.framing import PART, pack_message, read_frame, unpack
from viewer.engine.protocol import OpenFile
from viewer.errors import MalformedFile, ViewerError
from viewer.formats.limits import LIMITS
from viewer.formats.opening import open_task
from viewer.formats.safetensors_header import parse_header
from viewer.formats.zip_directory import read_directory
from viewer.formats.zip_records import layout_of, locate, locate_task
from viewer.task import run as run_task

Mutate = Callable[[random.Random, bytes, list[bytes]], bytes]


OWN_EVENTS = frozenset(OUR_OWN)


@dataclass(frozen=True)
class Target:
    """Something to be attacked.

    Attributes
    ----------
    seeds
        Inputs to begin with.
    open
        Take one input; anything but a return or a ViewerError is a fault.
    mutate
        Changes that know the form; None where changes of bytes do.
    own_events
        Audit events of any input, beside opening the file that it was written to.
    """

    seeds: Callable[[], list[bytes]]
    open: Callable[[bytes], None]
    mutate: Mutate | None = None
    own_events: frozenset[str] = OWN_EVENTS

    def is_own(self, event: str, args: tuple[object, ...]) -> bool:
        """Whether the target raises an audit event itself, whatever the input."""
        if event in ("open", "os.listdir", "os.scandir"):
            return str(args[0]).startswith(str(FOLDER))
        return event in self.own_events


@dataclass(frozen=True)
class _MemorySource:
    """Bytes to read by position, as a file is."""

    data: bytes
    path: Path = Path("fuzzed.pth")

    @property
    def nbytes(self) -> int:
        return len(self.data)

    def read(self, offset: int, nbytes: int) -> bytes:
        if not 0 <= offset <= offset + nbytes <= len(self.data):
            raise MalformedFile(f"{nbytes} bytes at {offset} are outside", path=self.path)
        return self.data[offset : offset + nbytes]


def _open_pickle(data: bytes) -> None:
    open_pickle("data.pkl", data)


def _open_file(data: bytes) -> None:
    path = FOLDER / ("m.safetensors.index.json" if data[:1] == b"{" else "m.pth")
    path.write_bytes(data)
    run_task(open_task(path))


def _open_zip(data: bytes) -> None:
    source = _MemorySource(data)
    directory = read_directory(source, LIMITS)
    ranges = run_task(locate_task(source, directory, layout_of(source, directory), range(len(directory))))
    for number, start in ranges.start.items():
        if number not in ranges.problem and not 0 <= start <= start + directory.packed[number] <= len(data):
            raise AssertionError(f"record {number} is given bytes that the file does not have")
    for number in range(min(len(directory), 8)):
        try:
            locate(source, directory, number)
        except MalformedFile:
            continue


def _open_header(data: bytes) -> None:
    run_task(parse_header(data))


def _read_path(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    keys = parse_path(text)
    if parse_path(format_path(keys)) != keys:
        raise AssertionError(f"{text!r} does not come back from {format_path(keys)!r}")


def _read_rule(data: bytes) -> None:
    parse_rule(data.decode("utf-8", "surrogateescape"))


def _read_message(data: bytes) -> None:
    decode_message(data)


def _read_frames(data: bytes) -> None:
    decoder = Decoder(AdmittedClasses())
    stream = io.BytesIO(data)
    try:
        while (frame := read_frame(stream.read)) is not None:
            encoded = unpack(frame.payload)
            if frame.kind == PART:
                decoder.add_part(encoded)
            else:
                decoder.decode(encoded)
    except ProtocolError as error:
        raise ViewerError(str(error)) from error


def _read_settings(data: bytes) -> None:
    from viewer.gui.settings import SETTINGS, Settings

    path = FOLDER / "settings.ini"
    path.write_bytes(data)
    settings = Settings(path)
    for setting in SETTINGS:
        value = settings.get(setting.key)
        if not isinstance(value, setting.type):
            raise AssertionError(f"{setting.key} is {value!r}")


def _settings_seeds() -> list[bytes]:
    return [
        b'[General]\nversion=3\n[view]\ntheme=dark\nnatural_sort=true\n[files]\nrecent=["/a/b.pth"]\n',
        b"[window]\ngeometry=AdnQywADAAA=\ntree_width=560\n[values]\nthreads=2\nmemory_mb=-1\n",
    ]


def _header_seeds() -> list[bytes]:
    return [
        b'{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}   ',
        b'{"a.b":{"shape":[],"dtype":"BF16","data_offsets":[0,2]},"a.b":{"x":[[[1]]]},"\\u00e9":{"dtype":"F4"}}',
    ]


def _frame_seeds() -> list[bytes]:
    admitted = AdmittedClasses()
    messages = [OpenFile(Path("/a/b.pth")), [1, 2.5, "x", b"y", None, {"a": (1, {2})}], list(range(40_000))]
    return [pack_message(nth, message, admitted) for nth, message in enumerate(messages)]


FOLDER = Path(os.environ.get("CHECKPOINT_VIEWER_FUZZ_FOLDER", tempfile.gettempdir()))
"""Where the inputs lie that are opened as files."""

TARGETS = {
    "pickle": Target(pickle_seeds, _open_pickle, mutate),
    "files": Target(lambda: list(file_seeds().values()), _open_file, mutate_file, HARMLESS_EVENTS),
    "zip": Target(lambda: [d for n, d in file_seeds().items() if d[:2] == b"PK"], _open_zip, mutate_file),
    "safetensors": Target(_header_seeds, _open_header),
    "paths": Target(lambda: [b"model/layer1.0.weight", b'a["x/y"]/b[0][-1]{"k"}', b'["\\u00e9"]'], _read_path),
    "rules": Target(lambda: [rb"^module\.=>", rb"a:(?P<n>x)(\d+)=>\g<n>\1", rb"b:[a-z]{2}=>$"], _read_rule),
    "messages": Target(
        lambda: [
            Message(("/a/b.pth", "/c"), compare=True).encode()[LENGTH.size :],
            Message(()).encode()[LENGTH.size :],
        ],
        _read_message,
    ),
    # CPython says on standard error, and goes on, where a pickle breaks off within a bytearray.
    "engine": Target(_frame_seeds, _read_frames, None, OWN_EVENTS | {"sys.excepthook"}),
    # Shiboken looks at its caller.
    "settings": Target(_settings_seeds, _read_settings, None, OWN_EVENTS | {"sys._getframe", "object.__getattr__"}),
}
