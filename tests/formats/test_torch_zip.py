"""The zip container against torch, in all its generations."""

from __future__ import annotations

import struct
import warnings
import zipfile
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.formats.container_files import (
    assert_reads_as_torch,
    bytes_of,
    many_tensors,
    rezip,
    save_zip,
    swap,
    tensors_at_root,
    torch_bytes,
)
from viewer import open_checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import DEFLATED, STORED, UNREADABLE
from viewer.errors import MalformedFile, NotACheckpoint


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return save_zip(tmp_path / "model.pth")


def test_that_every_tensor_reads_as_torch_reads_it(file: Path) -> None:
    checkpoint = assert_reads_as_torch(file)
    assert checkpoint.container == "torch zip"
    assert checkpoint.warnings == []
    assert set(checkpoint.storages.encoding) == {STORED}
    assert checkpoint.facts["byte order"] == "little-endian"
    assert checkpoint.facts["archive folder"] == "model"
    assert checkpoint.facts["archive version"] == "3"
    assert len(checkpoint.facts["serialization id"]) == 40
    assert "other records" not in checkpoint.facts


@pytest.mark.parametrize("protocol", range(2, 6))
def test_that_every_pickle_protocol_that_torch_reads_is_read(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "model.pth"
    torch.save(many_tensors(), path, pickle_protocol=protocol)
    # torch's own weights_only reader stops at protocol 2, so the tensors that were saved are the oracle
    assert_reads_as_torch(path, many_tensors())


def test_that_a_file_of_the_first_generation_is_little_endian_without_saying_so(file: Path, tmp_path: Path) -> None:
    def old(name: str, data: bytes) -> bytes | None:
        return data if name in ("data.pkl", "version") or name.startswith("data/") else None

    path = rezip(file, tmp_path / "old.pth", edit=old)
    checkpoint = assert_reads_as_torch(path)
    assert checkpoint.facts["byte order"] == "little-endian (not recorded)"


def test_that_big_endian_values_read_as_torch_reads_them(tmp_path: Path) -> None:
    itemsizes = [8, 4, 2, 2, 8, 4, 2, 1, 1, 1]
    names = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]
    content = {name: many_tensors()[f"dtype.{name}"] for name in names}
    source = save_zip(tmp_path / "little.pth", content)

    def to_big(name: str, data: bytes) -> bytes:
        if name == "byteorder":
            return b"big"
        if name.startswith("data/"):
            return swap(data, itemsizes[int(name.removeprefix("data/"))])
        return data

    checkpoint = assert_reads_as_torch(rezip(source, tmp_path / "big.pth", edit=to_big))
    assert checkpoint.facts["byte order"] == "big-endian"
    assert set(checkpoint.storages.big_endian) == {1}


def test_that_an_unknown_byte_order_is_a_warning(file: Path, tmp_path: Path) -> None:
    path = rezip(file, tmp_path / "odd.pth", edit=lambda name, data: b"middle" if name == "byteorder" else data)
    assert any("byte order" in warning for warning in open_checkpoint(path).warnings)


@pytest.mark.parametrize("streamed", [False, True])
def test_that_deflated_records_are_inflated(file: Path, tmp_path: Path, streamed: bool) -> None:
    path = rezip(file, tmp_path / "deflated.pth", compression=zipfile.ZIP_DEFLATED, streamed=streamed)
    checkpoint = assert_reads_as_torch(path, many_tensors())
    assert set(checkpoint.storages.encoding) == {DEFLATED}
    assert "compressed records" in checkpoint.facts


@pytest.mark.parametrize("top", ["archive", "my model é", "a" * 300])
def test_that_the_folder_may_have_any_name(file: Path, tmp_path: Path, top: str) -> None:
    checkpoint = assert_reads_as_torch(rezip(file, tmp_path / "renamed.pth", top=top))
    assert checkpoint.facts["archive folder"] == top


def test_that_an_archive_without_a_folder_opens_with_a_warning(file: Path, tmp_path: Path) -> None:
    checkpoint = assert_reads_as_torch(rezip(file, tmp_path / "bare.pth", top=""), many_tensors())
    assert any("no folder" in warning for warning in checkpoint.warnings)


def test_that_the_order_of_the_records_does_not_matter(file: Path, tmp_path: Path) -> None:
    path = rezip(file, tmp_path / "reversed.pth", order=lambda names: sorted(names, reverse=True))
    assert assert_reads_as_torch(path).warnings == []


def test_that_bytes_before_the_archive_are_passed_over(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "junk.pth"
    path.write_bytes(b"#" * 900 + file.read_bytes())
    checkpoint = assert_reads_as_torch(path, many_tensors())
    assert any("900 bytes" in warning for warning in checkpoint.warnings)


def test_that_bytes_after_the_archive_are_passed_over(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "junk.pth"
    path.write_bytes(file.read_bytes() + b"\n" * 50)
    checkpoint = assert_reads_as_torch(path, many_tensors())
    assert any("50 bytes" in warning for warning in checkpoint.warnings)


def test_that_a_comment_that_looks_like_an_end_record_is_only_a_comment(file: Path) -> None:
    with zipfile.ZipFile(file, "a") as archive:
        archive.comment = b"PK\x05\x06 a comment that looks like an end record"
    assert assert_reads_as_torch(file, many_tensors()).warnings == []


def test_that_further_records_are_listed(file: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(rezip(file, tmp_path / "more.pth"), "a") as archive:
        archive.writestr("metadata/info.json", "{}")
    checkpoint = assert_reads_as_torch(tmp_path / "more.pth", many_tensors())
    assert checkpoint.facts["other records"] == "metadata/info.json"


def test_that_several_checkpoints_in_one_archive_stand_side_by_side(tmp_path: Path) -> None:
    first = save_zip(tmp_path / "a.pth", {"w": torch.arange(4.0)})
    second = save_zip(tmp_path / "b.pth", {"w": torch.arange(4.0) + 10})
    path = rezip(first, tmp_path / "both.zip", top="a")
    with zipfile.ZipFile(path, "a") as archive, zipfile.ZipFile(second) as other:
        for name in other.namelist():
            archive.writestr(name, other.read(name))
    checkpoint = open_checkpoint(path)
    for where, first_value in (("a", 0.0), ("b", 10.0)):
        tensor = checkpoint.tensor_of_node(checkpoint.find(f"{where}/w"))
        assert tensor is not None
        assert tensor.storage is not None
        assert struct.unpack("<f", bytes_of(checkpoint, tensor.storage)[:4]) == (first_value,)
    assert any("2 checkpoints" in warning for warning in checkpoint.warnings)


def test_that_one_broken_checkpoint_among_several_is_a_row_with_its_message(tmp_path: Path) -> None:
    first = save_zip(tmp_path / "a.pth", {"w": torch.arange(4.0)})
    path = rezip(first, tmp_path / "both.zip", top="a")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("b/data.pkl", b"\x80\x02}q")
    checkpoint = open_checkpoint(path)
    assert checkpoint.nodes.kind[checkpoint.find("b")] == Kind.PROBLEM
    assert checkpoint.nodes.kind[checkpoint.find("a/w")] == Kind.TENSOR


def test_that_a_record_shorter_than_its_storage_is_told_at_its_tensors(file: Path, tmp_path: Path) -> None:
    path = rezip(file, tmp_path / "short.pth", edit=lambda name, data: data[:16] if name == "data/0" else data)
    checkpoint = open_checkpoint(path)
    tensor = tensors_at_root(checkpoint)["dtype.float64"]
    assert tensor.problem == "its record holds 16 of the 240 bytes that it needs"
    assert tensor.storage is not None
    assert tensor.storage.encoding == UNREADABLE
    with pytest.raises(MalformedFile, match="16 of the 240"):
        bytes_of(checkpoint, tensor.storage)
    assert len(checkpoint.tensors.problem) == 1


def test_that_a_missing_record_is_told_at_all_its_tensors(tmp_path: Path) -> None:
    base = torch.arange(10.0)
    source = save_zip(tmp_path / "model.pth", {"base": base, "view": base[2:4], "other": torch.ones(2)})
    path = rezip(source, tmp_path / "less.pth", edit=lambda name, data: None if name == "data/0" else data)
    tensors = tensors_at_root(open_checkpoint(path))
    assert (
        tensors["base"].problem
        == tensors["view"].problem
        == "its record less/data/0 is missing".replace("less", "model")
    )
    assert tensors["other"].problem is None


def test_that_a_longer_record_is_read_as_far_as_it_is_needed(file: Path, tmp_path: Path) -> None:
    path = rezip(file, tmp_path / "long.pth", edit=lambda name, data: data + b"x" if name == "data/3" else data)
    checkpoint = assert_reads_as_torch(path, many_tensors())
    assert any("longer" in warning for warning in checkpoint.warnings)


def test_that_a_directory_with_zip64_numbers_and_offsets_beyond_4_gib_reads_true(tmp_path: Path) -> None:
    """A sparse file: records of 5 GiB in which only the first and last bytes were ever written."""
    path = tmp_path / "huge.pth"
    _write_sparse(path, 5 << 30)
    checkpoint = open_checkpoint(path)
    assert checkpoint.warnings == []
    tensors = tensors_at_root(checkpoint)
    assert tensors["huge"].numel == (5 << 30) // 4
    storage = tensors["huge"].storage
    assert storage is not None
    assert storage.nbytes == 5 << 30
    assert storage.encoding == STORED
    mapped = torch.load(path, weights_only=True, mmap=True)
    assert tensors["huge"].shape == tuple(mapped["huge"].shape)
    behind = tensors["behind"].storage
    assert behind is not None
    assert behind.offset > 5 << 30
    assert bytes_of(checkpoint, behind) == torch_bytes(torch.arange(8.0)) == torch_bytes(mapped["behind"].clone())


def _write_sparse(path: Path, nbytes: int) -> None:
    """A torch zip whose first storage has `nbytes` zero bytes, written with a hole."""
    small = save_zip(path.with_name("huge_small.pth"), {"huge": torch.zeros(4), "behind": torch.arange(8.0)})
    with zipfile.ZipFile(small) as archive:
        pickled = archive.read("huge_small/data.pkl")
        behind = archive.read("huge_small/data/1")
    # BININT1 4 (the storage's and the tensor's number of elements) becomes LONG1 with the larger number.
    count = nbytes // 4
    large = b"\x8a\x05" + count.to_bytes(5, "little")
    assert pickled.count(b"K\x04") == 2
    pickled = pickled.replace(b"K\x04", large)
    records = [("data.pkl", pickled, len(pickled)), ("data/0", b"", nbytes), ("data/1", behind, len(behind))]
    records.append(("version", b"3\n", 2))
    directory = b""
    with path.open("wb") as file:
        for name, data, size in records:
            raw = f"huge/{name}".encode()
            at = file.tell()
            sizes = struct.pack("<HHQQ", 1, 16, size, size)
            file.write(struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 45, 0, 0, 0, 0, 0, 2**32 - 1, 2**32 - 1, len(raw), 20))
            file.write(raw + sizes + data)
            file.seek(size - len(data), 1)
            extra = struct.pack("<HHQQQ", 1, 24, size, size, at)
            directory += struct.pack(
                "<4sHHHHHHIIIHHHHHII",
                *(
                    b"PK\1\2",
                    45,
                    45,
                    0,
                    0,
                    0,
                    0,
                    0,
                    2**32 - 1,
                    2**32 - 1,
                    len(raw),
                    len(extra),
                    0,
                    0,
                    0,
                    0,
                    2**32 - 1,
                ),
            )
            directory += raw + extra
        start = file.tell()
        file.write(directory)
        end = file.tell()
        file.write(struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 4, 4, len(directory), start))
        file.write(struct.pack("<4sIQI", b"PK\6\7", 0, end, 1))
        file.write(struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0))


def test_that_a_torchscript_archive_shows_its_parameters_constants_and_sources(tmp_path: Path) -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 2)
            self.scale = torch.tensor([2.0, 3.0])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.linear(x) * torch.tensor([2.0, 5.0])

    path = tmp_path / "script.pt"
    module = Scaled()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is deprecated; people's files stay
        torch.jit.save(torch.jit.trace(module, torch.ones(1, 3)), path)
    checkpoint = open_checkpoint(path)
    assert checkpoint.container == "TorchScript zip"
    shapes = sorted(checkpoint.tensor(number).shape for number in range(len(checkpoint.tensors)))
    assert (2, 3) in shapes
    assert all(checkpoint.tensor(number).problem is None for number in range(len(checkpoint.tensors)))
    sources = [node for node in range(len(checkpoint.nodes)) if checkpoint.nodes.kind[node] == Kind.TEXT]
    assert any("def forward" in str(checkpoint.nodes.value[node]) for node in sources)


def test_that_a_zip_without_data_pkl_is_said_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "documents.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("docs/readme.txt", "hello")
    with pytest.raises(NotACheckpoint, match=r"without data\.pkl"):
        open_checkpoint(path)


def test_that_a_zip_that_contains_a_checkpoint_file_names_it(tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("run/model.pth", "anything")
    with pytest.raises(NotACheckpoint, match=r"without a checkpoint in it \(run/model\.pth\)"):
        open_checkpoint(path)


def test_that_what_an_interrupted_save_leaves_is_named(tmp_path: Path) -> None:
    path = tmp_path / "half.pth"
    with pytest.raises(TypeError):
        torch.save({"w": torch.ones(2), "module": struct}, path)  # modules cannot be pickled
    with pytest.raises(NotACheckpoint, match=r"an interrupted torch\.save leaves behind"):
        open_checkpoint(path)
