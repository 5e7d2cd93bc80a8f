"""safetensors files: what the library writes is read the same, what the format forbids is said and the rest shown."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import STORED, UNREADABLE
from viewer.errors import LimitExceeded, MalformedFile, NotACheckpoint
from viewer.formats.safetensors import safetensors_task
from viewer.formats.source import FileSource
from viewer.task import run

W = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
W_BYTES = struct.pack("<2f", 1, 2)


def write(path: Path, header: object, data: bytes = W_BYTES, *, claimed: int | None = None, pad: int = 0) -> Path:
    text = (header if isinstance(header, bytes) else json.dumps(header).encode()) + b" " * pad
    path.write_bytes(struct.pack("<Q", len(text) if claimed is None else claimed) + text + data)
    return path


def read(path: Path) -> Checkpoint:
    with FileSource(path) as source:
        return run(safetensors_task(source))


def rows(checkpoint: Checkpoint) -> dict[str, int]:
    return {checkpoint.path_of(node): node for node in range(1, len(checkpoint.nodes))}


def values(checkpoint: Checkpoint, path: str) -> bytes:
    tensor = checkpoint.tensor_of_node(checkpoint.find(path))
    assert tensor is not None
    assert tensor.storage is not None
    assert tensor.storage.encoding == STORED
    with FileSource(checkpoint.path) as source:
        return source.read(tensor.storage.offset, tensor.storage.length)


def every_dtype() -> dict[str, torch.Tensor]:
    raw = torch.tensor([0x00, 0x38, 0x7F, 0xFF], dtype=torch.uint8)
    tensors = {
        name: torch.tensor([0, 1, 1], dtype=getattr(torch, name))
        for name in [
            "bool",
            "uint8",
            "int8",
            "int16",
            "int32",
            "int64",
            "uint16",
            "uint32",
            "uint64",
            "float16",
            "bfloat16",
            "float32",
            "float64",
            "complex64",
        ]
    }
    for name in [
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e4m3fnuz",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "float4_e2m1fn_x2",
    ]:
        tensors[name] = raw.clone().view(getattr(torch, name))
    return {
        **tensors,
        "scalar": torch.tensor(3.5),
        "empty": torch.empty(2, 0, 3),
        "naïve/key.weight": torch.ones(3, 4),
    }


def test_that_every_dtype_has_the_shape_and_the_bytes_that_the_library_reads(tmp_path: Path) -> None:
    path = tmp_path / "all.safetensors"
    save_file(every_dtype(), path, metadata={"format": "pt"})
    theirs = load_file(path)
    checkpoint = read(path)
    ours = {
        str(checkpoint.nodes.key[node]): checkpoint.tensor_of_node(node)
        for node in checkpoint.nodes.children(0)
        if checkpoint.nodes.kind[node] == Kind.TENSOR
    }
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        ref = ours[name]
        assert ref is not None
        assert (ref.dtype.name, ref.shape) == (str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
        flat = tensor.reshape(-1)
        expected = bytes(flat.view(torch.uint8).tolist()) if flat.numel() else b""
        assert (
            values(
                checkpoint,
                checkpoint.path_of(next(n for n in checkpoint.nodes.children(0) if checkpoint.nodes.key[n] == name)),
            )
            == expected
        )
    assert checkpoint.nodes.value[checkpoint.find("__metadata__/format")] == "pt"
    assert checkpoint.warnings == []


def test_that_a_header_in_another_key_order_with_blanks_is_the_same(tmp_path: Path) -> None:
    header = b'{ "w" : { "shape" : [ 2 ] , "data_offsets" : [ 0 , 8 ] , "dtype" : "F32" } }'
    checkpoint = read(write(tmp_path / "m.safetensors", header, pad=77))
    assert values(checkpoint, "w") == W_BYTES
    assert checkpoint.warnings == []


@pytest.mark.parametrize(
    ("header", "data", "warning"),
    [
        ({"w": W, "v": W}, W_BYTES, "overlap in the file, which the format forbids: 'w' and 'v'"),
        ({"w": W}, W_BYTES + b"12345", "5 bytes of the file are unused"),
        ({"w": W, "v": {**W, "data_offsets": [16, 24]}}, W_BYTES * 3, "8 bytes of the file are unused"),
        ({"w": W, "z": {**W, "shape": [4], "data_offsets": [8, 24]}}, W_BYTES, "16 bytes are missing"),
        ({"__metadata__": {"cfg": {"a": 1}}, "w": W}, W_BYTES, "The metadata 'cfg' is not text"),
    ],
)
def test_that_what_the_format_forbids_is_a_warning_and_the_rest_is_shown(
    tmp_path: Path, header: object, data: bytes, warning: str
) -> None:
    checkpoint = read(write(tmp_path / "m.safetensors", header, data))
    assert values(checkpoint, "w") == W_BYTES
    assert any(warning in sentence for sentence in checkpoint.warnings), checkpoint.warnings


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"dtype": "F7", "shape": [1], "data_offsets": [8, 9]}, "F7"),
        ({"dtype": "F6_E2M3", "shape": [4], "data_offsets": [8, 11]}, "torch has no such dtype"),
        ({"dtype": "F32", "shape": [-1], "data_offsets": [8, 9]}, "not {dtype, shape, data_offsets}"),
        ({"dtype": "F32", "shape": [2**63], "data_offsets": [8, 9]}, "whole numbers"),
        ({"dtype": "F32", "shape": [1] * 65, "data_offsets": [8, 12]}, "64 whole numbers"),
        ([1, 2], "not {dtype, shape, data_offsets}"),
        (None, "not {dtype, shape, data_offsets}"),
    ],
)
def test_that_an_entry_that_is_no_tensor_is_a_row_with_its_message(
    tmp_path: Path, entry: object, problem: str
) -> None:
    checkpoint = read(write(tmp_path / "m.safetensors", {"bad": entry, "w": W}))
    row = checkpoint.find("bad")
    assert checkpoint.nodes.kind[row] == Kind.PROBLEM
    assert problem in str(checkpoint.nodes.value[row])
    assert values(checkpoint, "w") == W_BYTES


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({**W, "shape": [3]}, "not the 12 bytes of its shape"),
        ({**W, "data_offsets": [8, 0]}, "not the 8 bytes of its shape"),
        ({**W, "data_offsets": [4, 12]}, "incomplete: 4 of its 8 bytes"),
        ({**W, "shape": [2**40, 2**40], "data_offsets": [0, 8]}, "of its shape"),
    ],
)
def test_that_a_span_that_cannot_be_read_marks_its_tensor(tmp_path: Path, entry: object, problem: str) -> None:
    checkpoint = read(write(tmp_path / "m.safetensors", {"w": entry}))
    tensor = checkpoint.tensor_of_node(checkpoint.find("w"))
    assert tensor is not None
    assert tensor.problem is not None
    assert problem in tensor.problem
    assert tensor.storage is not None
    assert tensor.storage.encoding == UNREADABLE


def test_that_a_name_given_twice_keeps_its_first_entry_and_shows_the_second_as_a_problem(tmp_path: Path) -> None:
    entry = json.dumps(W).encode()
    later = json.dumps({**W, "data_offsets": [8, 16]}).encode()
    checkpoint = read(write(tmp_path / "m.safetensors", b'{"w":' + entry + b',"w":' + later + b"}", W_BYTES * 2))
    assert values(checkpoint, "w") == W_BYTES
    problems = [
        checkpoint.nodes.value[n] for n in rows(checkpoint).values() if checkpoint.nodes.kind[n] == Kind.PROBLEM
    ]
    assert len(problems) == 1
    assert "twice" in str(problems[0])


def test_that_an_empty_header_is_a_checkpoint_of_no_tensors(tmp_path: Path) -> None:
    checkpoint = read(write(tmp_path / "m.safetensors", {}, b""))
    assert len(checkpoint.nodes) == 1
    assert checkpoint.warnings == []


@pytest.mark.parametrize(
    ("header", "claimed", "words"),
    [
        (b'{"w": oops', None, "cannot be parsed"),
        (b"{", None, "something other than a name"),
        (b'{"w":', None, "cannot be parsed"),
        (b'{"\xff":1}', None, "not UTF-8"),
        (b'{"__metadata__":{"a":["\xff"]}}', None, "not UTF-8"),
        (b'{"\\x":1}', None, "wrong escape"),
        (json.dumps({"w": W}).encode(), 2**62, "longer than the file"),
    ],
)
def test_that_a_broken_header_is_one_sentence_that_names_the_file(
    tmp_path: Path, header: bytes, claimed: int | None, words: str
) -> None:
    with pytest.raises(MalformedFile, match=words) as caught:
        read(write(tmp_path / "m.safetensors", header, claimed=claimed))
    assert str(caught.value).startswith("m.safetensors: ")


@pytest.mark.parametrize(
    "header",
    [
        b'{"a":' + b"[" * 2_000_000,
        b'{"__metadata__":{"a":' + b'{"a":' * 300_000,
        b"{" + b'"a":{},' * 300_000,
        b'{"__metadata__":{' + b'"":"",' * 300_000,
        b'{"' + b'\\"' * 2_000_000,
    ],
    ids=["deep list", "deep metadata", "a million empty entries", "a million metadata entries", "an endless name"],
)
def test_that_a_hostile_header_is_refused(tmp_path: Path, header: bytes) -> None:
    with pytest.raises((MalformedFile, LimitExceeded)):
        read(write(tmp_path / "m.safetensors", header))


def test_that_a_safetensors_file_under_another_suffix_says_what_it_is(tmp_path: Path) -> None:
    checkpoint = read(write(tmp_path / "model.ckpt", {"w": W}))
    assert values(checkpoint, "w") == W_BYTES
    assert any("suffix is .ckpt" in warning for warning in checkpoint.warnings)


def test_that_a_safetensors_file_is_known_by_its_content_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    save_file({"layer.weight": torch.arange(6.0).reshape(2, 3)}, path)

    checkpoint = open_checkpoint(path)

    assert checkpoint.container == "safetensors"
    assert values(checkpoint, "layer.weight") == torch.arange(6.0).numpy().tobytes()


def test_that_json_text_with_a_brace_in_ninth_place_is_no_safetensors_file(tmp_path: Path) -> None:
    path = tmp_path / "config.pt"
    path.write_text('{"name":{"kind": "resnet"}}')

    with pytest.raises(NotACheckpoint, match="JSON text"):
        open_checkpoint(path)


def test_that_a_header_without_tensors_says_so(tmp_path: Path) -> None:
    path = tmp_path / "none.safetensors"
    path.write_bytes(struct.pack("<Q", 2) + b"{}")
    assert open_checkpoint(path).facts["header"] == "2 bytes, 0 tensors"
