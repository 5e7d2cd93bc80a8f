"""Zip archives made to lie, to overlap, to grow or to stop short: each ends in a tree or in one clear sentence."""

from __future__ import annotations

import random
import struct
import time
import tracemalloc
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.formats.container_files import bytes_of, rezip, save_zip, tensors_at_root
from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import DEFLATED, STORED
from viewer.errors import LimitExceeded, MalformedFile, ViewerError
from viewer.formats.source import FileSource

MIB = 1 << 20


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return save_zip(tmp_path / "model.pth", {"a": torch.arange(40.0), "b": torch.ones(100), "n": 7})


def open_or_refuse(path: Path) -> Checkpoint | ViewerError:
    """Open a file as a person would; whatever comes, it comes within 5 s."""
    started = time.perf_counter()
    try:
        checkpoint = open_checkpoint(path)
    except ViewerError as error:
        outcome: Checkpoint | ViewerError = error
    else:
        for number in range(len(checkpoint.storages)):
            storage = checkpoint.storage(number)
            if storage.encoding in (STORED, DEFLATED):
                assert 0 <= storage.offset <= storage.offset + storage.length <= checkpoint.nbytes
        outcome = checkpoint
    assert outcome.path == path
    assert time.perf_counter() - started < 5
    return outcome


def patch(path: Path, change: Callable[[bytearray], None]) -> Path:
    whole = bytearray(path.read_bytes())
    change(whole)
    path.write_bytes(whole)
    return path


def entry_of(whole: bytes | bytearray, name: bytes) -> int:
    """Offset of the directory's entry for a record."""
    return whole.rindex(name) - 46


def test_that_a_file_cut_at_any_place_is_a_tree_or_a_sentence(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    path = tmp_path / "cut.pth"
    trees = 0
    for length in range(4, len(whole), 7):
        path.write_bytes(whole[:length])
        outcome = open_or_refuse(path)
        if isinstance(outcome, Checkpoint):
            assert any("missing" in warning or "directory" in warning for warning in outcome.warnings)
            trees += "n" in [outcome.nodes.key[node] for node in outcome.nodes.children(0)]
        else:
            assert "incomplete" in str(outcome) or "cut short" in str(outcome), length
    assert trees > 100


def test_that_a_cut_file_shows_what_is_whole_and_says_how_much_is_missing(file: Path, tmp_path: Path) -> None:
    storage = tensors_at_root(open_checkpoint(file))["b"].storage
    assert storage is not None
    path = tmp_path / "cut.pth"
    path.write_bytes(file.read_bytes()[: storage.offset + 100])
    checkpoint = open_checkpoint(path)
    tensors = tensors_at_root(checkpoint)
    assert tensors["b"].problem == "the file breaks off in its record, which holds 100 of the 400 bytes that it needs"
    assert tensors["a"].problem is None
    assert tensors["a"].storage is not None
    assert bytes_of(checkpoint, tensors["a"].storage) == torch.arange(40.0).numpy().tobytes()
    assert any(
        f"{storage.offset + 100:,} bytes, and at least 300 are missing" in text for text in checkpoint.warnings
    )


@pytest.mark.parametrize("streamed", [False, True])
def test_that_of_a_deflated_pickle_that_is_cut_short_the_beginning_is_shown(tmp_path: Path, streamed: bool) -> None:
    state = {f"layer {number}": [number * number, str(number) * 9] for number in range(2_000)}
    path = tmp_path / "cut.pth"
    rezip(save_zip(tmp_path / "whole.pth", state), path, compression=zipfile.ZIP_DEFLATED, streamed=streamed)
    with zipfile.ZipFile(path) as archive:
        packed = archive.getinfo("whole/data.pkl").compress_size
    path.write_bytes(path.read_bytes()[: packed // 2])
    checkpoint = open_checkpoint(path)
    shown = checkpoint.nodes.children(0)
    assert 500 < len(shown) < 2_000
    assert checkpoint.nodes.value[checkpoint.find("layer 20[0]")] == 400
    assert any("read in part" in warning for warning in checkpoint.warnings)


def test_that_the_data_of_a_large_cut_file_are_not_read_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensors = {f"w{number}": torch.full((8 * MIB // 4,), float(number)) for number in range(5)}
    path = save_zip(tmp_path / "large.pth", tensors)
    whole = path.read_bytes()
    path.write_bytes(whole[: 35 * MIB])
    read = 0

    def count(method: Callable[..., bytes]) -> Callable[..., bytes]:
        def counting(source: FileSource, offset: int, nbytes: int) -> bytes:
            nonlocal read
            read += nbytes
            return method(source, offset, nbytes)

        return counting

    monkeypatch.setattr(FileSource, "read", count(FileSource.read))
    checkpoint = open_checkpoint(path)
    found = tensors_at_root(checkpoint)
    assert [name for name, tensor in found.items() if tensor.problem is None] == ["w0", "w1", "w2", "w3"]
    # the record that is cut is looked through for its end, the whole ones are not
    assert read < 12 * MIB


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_that_archives_of_other_writers_are_recovered_too(file: Path, tmp_path: Path, compression: int) -> None:
    path = rezip(file, tmp_path / "again.pth", compression=compression, streamed=True)
    path.write_bytes(path.read_bytes()[:-22])
    checkpoint = open_checkpoint(path)
    tensor = tensors_at_root(checkpoint)["a"]
    assert tensor.storage is not None
    assert bytes_of(checkpoint, tensor.storage) == torch.arange(40.0).numpy().tobytes()


@pytest.mark.parametrize("offset", [0, 1, 1000, 2**31, 2**63 - 1, 2**64 - 1])
def test_that_a_directory_offset_that_lies_costs_nothing(file: Path, offset: int) -> None:
    def change(whole: bytearray) -> None:
        at = whole.rindex(b"PK\6\6")
        whole[at + 48 : at + 56] = struct.pack("<Q", offset)

    assert isinstance(open_or_refuse(patch(file, change)), Checkpoint)


@pytest.mark.parametrize("nbytes", [0, 1, 45, 2**31, 2**63 - 1, 2**64 - 1])
def test_that_a_directory_size_that_lies_ends_in_recovery(file: Path, nbytes: int) -> None:
    def change(whole: bytearray) -> None:
        at = whole.rindex(b"PK\6\6")
        whole[at + 40 : at + 48] = struct.pack("<Q", nbytes)

    outcome = open_or_refuse(patch(file, change))
    assert isinstance(outcome, Checkpoint)
    assert tensors_at_root(outcome)["a"].problem is None
    assert outcome.warnings


@pytest.mark.parametrize("size", [41 * 4, 2**31, 2**32 - 2])
def test_that_a_record_that_claims_more_than_is_there_is_told_at_its_tensor(file: Path, size: int) -> None:
    def change(whole: bytearray) -> None:
        at = entry_of(whole, b"model/data/0")
        whole[at + 20 : at + 28] = struct.pack("<II", size, size)

    outcome = open_or_refuse(patch(file, change))
    assert isinstance(outcome, Checkpoint)
    tensors = tensors_at_root(outcome)
    # torch puts padding behind a record, so one element more still lies in no other record
    assert (tensors["a"].problem is None) == (size == 164)
    assert tensors["b"].problem is None


def test_that_a_record_whose_header_skips_the_rest_of_the_file_is_told_in_numbers_that_can_be(file: Path) -> None:
    def change(whole: bytearray) -> None:
        header = whole.rindex(b"PK\x03\x04", 0, whole.index(b"/data/0"))
        struct.pack_into("<H", whole, header + 28, 0xFFFF)  # the length of the extra field

    problem = tensors_at_root(open_checkpoint(patch(file, change)))["a"].problem
    assert problem == "its 160 bytes would begin beyond the end of the file"


def test_that_a_data_pkl_that_claims_gigabytes_is_one_sentence(file: Path) -> None:
    def change(whole: bytearray) -> None:
        at = entry_of(whole, b"model/data.pkl")
        whole[at + 20 : at + 28] = struct.pack("<II", 2**32 - 2, 2**32 - 2)

    outcome = open_or_refuse(patch(file, change))
    assert isinstance(outcome, MalformedFile)
    assert "beyond the end of the file" in str(outcome)


def test_that_a_sparse_data_pkl_of_four_gigabytes_is_not_read_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "sparse.pth"
    raw, size = b"sparse/data.pkl", 4_000_000_000
    with path.open("wb") as file:
        file.write(struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 0, 0, 0, 0, size, size, len(raw), 0) + raw)
        file.seek(size, 1)
        start = file.tell()
        fields = (20, 20, 0, 0, 0, 0, 0, size, size, len(raw), 0, 0, 0, 0, 0, 0)
        file.write(struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", *fields) + raw)
        file.write(struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, 46 + len(raw), start, 0))
    tracemalloc.start()
    outcome = open_or_refuse(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(outcome, MalformedFile)
    assert peak < 200 * MIB


def bomb(path: Path, name: str, unpacked: int, claims: int) -> Path:
    """One deflated record of zeros, a thousandth of `unpacked` in size, that claims `claims` bytes."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = bytes(MIB)
    data = b"".join(deflate.compress(block) for _ in range(unpacked // MIB)) + deflate.flush()
    raw = name.encode()
    local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 8, 0, 0, 0, len(data), claims, len(raw), 0) + raw + data
    fields = (20, 20, 0, 8, 0, 0, 0, len(data), claims, len(raw), 0, 0, 0, 0, 0, 0)
    central = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", *fields) + raw
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local), 0)
    path.write_bytes(local + central + end)
    return path


@pytest.mark.parametrize("claims", [1000, 2**32 - 2])
def test_that_a_bomb_in_place_of_data_pkl_is_not_inflated(tmp_path: Path, claims: int) -> None:
    path = bomb(tmp_path / "bomb.pth", "m/data.pkl", 200 * MIB, claims)
    assert path.stat().st_size < MIB
    tracemalloc.start()
    outcome = open_or_refuse(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(outcome, MalformedFile if claims == 1000 else LimitExceeded)
    assert peak < 50 * MIB


def test_that_a_bomb_in_place_of_a_storage_is_inflated_as_far_as_the_storage_goes(file: Path, tmp_path: Path) -> None:
    def grow(name: str, data: bytes) -> bytes:
        return bytes(100 * MIB) if name == "data/0" else data

    path = rezip(file, tmp_path / "bomb.pth", compression=zipfile.ZIP_DEFLATED, edit=grow)
    tracemalloc.start()
    checkpoint = open_checkpoint(path)
    storage = tensors_at_root(checkpoint)["a"].storage
    assert storage is not None
    assert bytes_of(checkpoint, storage) == bytes(160)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * MIB


def test_that_a_stream_that_ends_before_its_size_is_an_error_at_reading(file: Path, tmp_path: Path) -> None:
    path = rezip(
        file, tmp_path / "d.pth", compression=zipfile.ZIP_DEFLATED, edit=lambda n, d: d[:16] if n == "data/0" else d
    )

    def change(whole: bytearray) -> None:
        at = entry_of(whole, b"model/data/0")
        whole[at + 24 : at + 28] = struct.pack("<I", 160)

    checkpoint = open_checkpoint(patch(path, change))
    storage = tensors_at_root(checkpoint)["a"].storage
    assert storage is not None
    with pytest.raises(MalformedFile, match="ends at 16 of its 160 bytes"):
        bytes_of(checkpoint, storage)


def test_that_names_that_lead_out_of_the_archive_are_only_names(file: Path, tmp_path: Path) -> None:
    path = rezip(file, tmp_path / "out.pth", top="../../..")
    before = sorted(tmp_path.parent.iterdir())
    checkpoint = open_checkpoint(path)
    assert checkpoint.facts["archive folder"] == "../../.."
    assert tensors_at_root(checkpoint)["a"].problem is None
    assert sorted(tmp_path.parent.iterdir()) == before


@pytest.mark.parametrize("copies", [2, 3, 4, 7, 12])
def test_that_of_records_with_one_name_the_one_that_torch_reads_is_shown(
    file: Path, tmp_path: Path, copies: int
) -> None:
    path = rezip(file, tmp_path / "twice.pth")
    with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for number in range(1, copies):
            archive.writestr("model/data/0", (torch.arange(40.0) + number).numpy().tobytes())
    checkpoint = open_checkpoint(path)
    storage = tensors_at_root(checkpoint)["a"].storage
    assert storage is not None
    assert bytes_of(checkpoint, storage) == torch.load(path, weights_only=True)["a"].numpy().tobytes()
    assert any("twice" in warning for warning in checkpoint.warnings)


def test_that_an_encrypted_data_pkl_is_one_sentence(file: Path) -> None:
    def change(whole: bytearray) -> None:
        whole[entry_of(whole, b"model/data.pkl") + 8] |= 1

    outcome = open_or_refuse(patch(file, change))
    assert "encrypted" in str(outcome)
    assert isinstance(outcome, MalformedFile)


def test_that_a_compression_that_torch_does_not_use_is_one_sentence(file: Path, tmp_path: Path) -> None:
    outcome = open_or_refuse(rezip(file, tmp_path / "bz.pth", compression=zipfile.ZIP_BZIP2))
    assert "bzip2" in str(outcome)


def test_that_a_million_end_records_do_not_stop_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "ends.pth"
    path.write_bytes(
        b"PK\3\4" + b"PK\5\6" * 20_000 + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, 46, 4, 0) * 4_000
    )
    assert isinstance(open_or_refuse(path), ViewerError)


def test_that_millions_of_descriptor_signatures_do_not_stop_the_recovery(tmp_path: Path) -> None:
    raw = b"m/data.pkl"
    path = tmp_path / "descriptors.pth"
    header = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 8, 0, 0, 0, 0, 0, 0, len(raw), 0) + raw
    path.write_bytes(header + b"PK\7\x08" * 8_000_000)
    assert isinstance(open_or_refuse(path), ViewerError)


def test_that_any_few_bytes_changed_are_a_tree_or_a_sentence(file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    directory = whole.index(b"PK\1\2")
    path = tmp_path / "mutated.pth"
    chosen = random.Random(5)
    trees = 0
    for _ in range(700):
        mutated = bytearray(whole)
        for _ in range(chosen.randint(1, 4)):
            at = chosen.randrange(directory, len(whole)) if chosen.random() < 0.7 else chosen.randrange(len(whole))
            mutated[at] = chosen.choice((0, 1, 0x7F, 0x80, 0xFF, chosen.randrange(256)))
        path.write_bytes(mutated)
        trees += isinstance(open_or_refuse(path), Checkpoint)
    assert trees > 200
