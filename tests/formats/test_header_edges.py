"""Edges of what is checked: empty metadata, the number of odd entries, short reads, where braces begin a header."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.formats.container_files import bytes_of, rezip, save_zip
from viewer import open_checkpoint
from viewer.errors import MalformedFile
from viewer.formats import source as source_module
from viewer.formats.safetensors import looks_like_safetensors, safetensors_task
from viewer.formats.safetensors_header import MAX_PROBLEMS, Header, parse_header
from viewer.formats.source import FileSource
from viewer.task import run

ENTRY = b'"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'


def header_of(text: bytes) -> Header:
    return run(parse_header(text))


@pytest.mark.parametrize(
    ("text", "metadata"),
    [
        (b"{%b}" % ENTRY, None),
        (b'{"__metadata__":{},%b}' % ENTRY, {}),
        (b'{%b,"__metadata__":{ } }' % ENTRY, {}),
        (b'{"__metadata__":{"a":"b"},%b}' % ENTRY, {"a": "b"}),
        (b'{"__metadata__":{"a":"b","c":"d"},%b,"__metadata__":{"a":"e"}}' % ENTRY, {"a": "e", "c": "d"}),
    ],
)
def test_that_metadata_may_be_missing_empty_or_given_twice(text: bytes, metadata: dict[str, str] | None) -> None:
    header = header_of(text)
    assert header.metadata == metadata
    twice = [warning for warning in header.warnings if "twice" in warning]
    assert len(twice) == (text.count(b"__metadata__") == 2)
    assert len(header.names) == 1


@pytest.mark.parametrize("more", [0, 1])
def test_that_odd_entries_are_shown_up_to_a_number(more: int) -> None:
    text = b"{" + b",".join(b'"x%d":1' % at for at in range(MAX_PROBLEMS + more)) + b"}"
    if more:
        with pytest.raises(MalformedFile, match="entries that describe no tensor"):
            header_of(text)
    else:
        assert len(header_of(text).problems) == MAX_PROBLEMS


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (bytes(8) + b'{"', True), (bytes(8) + b"{}", True), (bytes(8) + b'{ \t\r\n"', True), (bytes(8) + b"{", False),
        (bytes(8) + b"[]", False), (bytes(8) + b'{\x0b"', False), (bytes(8) + b"{1", False), (b'{"', False),
        (bytes(8), False), (b"", False),
    ],
)  # fmt: skip
def test_that_a_header_begins_with_a_brace_and_a_name(head: bytes, expected: bool) -> None:
    assert looks_like_safetensors(head) is expected


@pytest.mark.parametrize("shape", ["[]", "[2,3]"])
def test_that_a_dtype_that_nobody_knows_is_told_with_its_extent(shape: str, tmp_path: Path) -> None:
    text = b'{"w":{"dtype":"Z9","shape":%b,"data_offsets":[0,4]}}' % shape.encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(4))
    with FileSource(path) as source:
        checkpoint = run(safetensors_task(source))
    (said,) = [*checkpoint.tensors.problem.values(), *map(str, checkpoint.nodes.value[1:])]
    assert "Z9" in said
    assert ("one value" if shape == "[]" else "2×3") in said


@pytest.mark.parametrize("most", [1, 7, 100])
def test_that_reads_that_come_in_pieces_are_put_together(
    most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytes(range(256)) * 2
    path = tmp_path / "x"
    path.write_bytes(data)
    monkeypatch.setattr(source_module, "_MAX_READ", most)
    with FileSource(path) as source:
        for offset, nbytes in ((0, 512), (1, 500), (3, 0), (511, 1)):
            buffer = bytearray(nbytes)
            source.read_into(offset, buffer)
            assert buffer == data[offset : offset + nbytes] == source.read(offset, nbytes)


@pytest.mark.skipif(not hasattr(os, "preadv"), reason="this system reads otherwise")
def test_that_a_read_that_fails_names_the_file_and_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(bytes(2_000))

    def failing(*_: object) -> int:
        raise OSError(5, "Input/output error")

    with FileSource(path) as source:
        calls: list[Callable[[], object]] = [
            lambda: source.read(1_234, 10),
            lambda: source.read_into(1_234, bytearray(10)),
        ]
        for name in ("pread", "preadv"):
            monkeypatch.setattr(os, name, failing)
        for call in calls:
            with pytest.raises(Exception, match=r"1,234.*Input/output error") as raised:
                call()
            assert getattr(raised.value, "path", None) == path


@pytest.mark.parametrize(
    ("longer", "said"),
    [
        ((), None),
        ((1,), "1 record is longer than the storage that it holds"),
        ((0, 2), "2 records are longer than the storages that they hold"),
        ((0, 1, 2), "3 records are longer than the storages that they hold"),
    ],
)
def test_that_records_that_are_longer_than_their_storages_are_counted(
    longer: tuple[int, ...], said: str | None, tmp_path: Path
) -> None:
    source = save_zip(tmp_path / "a.pth", {str(at): torch.full((5 + at,), float(at)) for at in range(3)})

    def edit(name: str, data: bytes) -> bytes:
        folder, _, number = name.rpartition("/")
        return data + bytes(4) if folder == "data" and int(number) in longer else data

    checkpoint = open_checkpoint(rezip(source, tmp_path / "b.pth", edit=edit))
    assert [text for text in checkpoint.warnings if "longer than" in text] == ([] if said is None else [said])
    assert list(checkpoint.storages.nbytes) == [20, 24, 28]
    for number in range(3):
        expected = torch.full((5 + number,), float(number)).numpy().tobytes()
        assert bytes_of(checkpoint, checkpoint.storage(number)) == expected
