"""The scan of all tensors: each row against the summary of its tensor, and what is kept for the next opening."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.tensors.made import add_storage, add_tensor, add_view, checkpoint_of, facts_of
from tests.tensors.test_every_dtype import FLOAT8, FLOATS, INTS, STRIDES, sample
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import NO_STORAGE
from viewer.errors import FileChanged
from viewer.formats.opening import open_task
from viewer.task import Progress, run
from viewer.tensors import constant_rows, scan_cache, scan_row
from viewer.tensors.results import TensorSummary
from viewer.tensors.scan_all import scan_all_task
from viewer.tensors.scan_results import MINI_BINS, ScanBatch, ScanRow, ScanTotals
from viewer.tensors.summary import summarise_task

SCALES = torch.tensor([1.0, 0.5, 2.0], dtype=torch.float64)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder for this test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    return tmp_path / "cache" / "checkpoint-viewer" / "scans"


def scanned(checkpoint: Checkpoint, **options: object) -> tuple[list[ScanRow], ScanTotals]:
    rows: list[ScanRow] = []

    def note(step: Progress) -> None:
        assert 0 <= step.done <= step.total
        assert step.total or not step.done
        assert step.unit == "bytes"
        if step.partial is not None:
            assert isinstance(step.partial, ScanBatch)
            rows.extend(step.partial.rows)

    return rows, run(scan_all_task(checkpoint, **options), note)


def settled(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> Checkpoint:
    """The checkpoint with files that were last changed before the clock began to be watched."""
    monkeypatch.setattr(scan_cache, "_SETTLED_S", -1e9)
    return checkpoint


def check_row(row: ScanRow, summary: TensorSummary) -> None:
    statistics = summary.statistics
    for name in ("count", "min", "max", "mean", "std", "l2", "zeros", "nan", "posinf", "neginf"):
        assert getattr(row, name) == getattr(statistics, name), name
    assert type(row.min) is type(statistics.min)
    assert row.of == summary.of
    assert row.problem is None
    assert row.constant == (0 < statistics.count == statistics.finite and statistics.min == statistics.max)
    assert row.all_zero == (0 < statistics.count == statistics.zeros)
    assert sum(row.counts) == statistics.finite
    assert len(row.counts) == (MINI_BINS if statistics.finite else 0)
    if statistics.finite and row.of != "bits" and len(summary.histogram.counts) == MINI_BINS:
        assert list(row.counts) == list(summary.histogram.counts)


@pytest.mark.parametrize("name", [*FLOATS, *FLOAT8, *INTS, "complex64", "complex128"])
@pytest.mark.parametrize("way", ["at once", "in passes"])
def test_that_a_row_says_what_the_summary_says(
    name: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "in passes":
        monkeypatch.setattr(scan_row, "_SMALL_NBYTES", -1)
    if "complex" in name:
        tensors = [torch.randn(count, 3, dtype=getattr(torch, name)) for count in (0, 1, 77)]
    else:
        tensors = [sample(name, count) for count in (0, 1, 7, 1001)]
        tensors += [torch.zeros(6, 5).to(getattr(torch, name))] if name not in FLOAT8 else []
    checkpoint = checkpoint_of(tmp_path, *tensors)
    rows, totals = scanned(checkpoint)
    assert [row.number for row in rows] == list(range(len(tensors)))
    for row in rows:
        check_row(row, run(summarise_task(checkpoint, row.number, bins=MINI_BINS)))
    assert (totals.tensors, totals.problems, totals.from_cache) == (len(tensors), 0, 0)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "int64", "uint64", "float8_e4m3fn"])
@pytest.mark.parametrize("strides", STRIDES)
def test_that_strides_change_nothing(name: str, strides: str, tmp_path: Path) -> None:
    tensor = sample(name, 21 * 18).reshape(21, 18)
    if name in FLOAT8:
        tensor = STRIDES[strides](tensor.view(torch.uint8)).view(tensor.dtype)
    else:
        tensor = STRIDES[strides](tensor)
    checkpoint = checkpoint_of(tmp_path, tensor)
    (row,), _ = scanned(checkpoint)
    check_row(row, run(summarise_task(checkpoint, 0, bins=MINI_BINS)))
    if row.constant_rows is not None:
        assert row.constant_rows == constant_rows_of(tensor)
        assert row.rows == tensor.shape[0]


@pytest.mark.filterwarnings("ignore:torch.quantize_per:UserWarning", "ignore:.*are deprecated:UserWarning")
@pytest.mark.parametrize("name", ["qint8", "quint8", "qint32", "quint4x2"])
def test_that_quantized_tensors_are_scanned_by_their_real_numbers(name: str, tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path)
    tensor = torch.quantize_per_tensor(torch.randn(7, 9), 0.1, 3, getattr(torch, name))
    extra: dict[str, object] = {"qscheme": "per_tensor_affine", "scale": 0.1, "zero_point": 3}
    add_tensor(checkpoint, tmp_path, tensor, extra=extra)
    if name != "quint4x2":
        tensor = torch.quantize_per_channel(torch.randn(2, 3), SCALES, torch.arange(3), 1, tensor.dtype)
        extra = {"qscheme": "per_channel_affine", "axis": 1, "scales": SCALES.tolist(), "zero_points": [0, 1, 2]}
        add_tensor(checkpoint, tmp_path, tensor, extra=extra)
    for row in scanned(checkpoint)[0]:
        check_row(row, run(summarise_task(checkpoint, row.number, bins=MINI_BINS)))
        assert row.constant_rows is None


def constant_rows_of(tensor: torch.Tensor) -> int:
    rows = tensor.to(torch.float64).reshape(tensor.shape[0], -1).numpy()
    return int((np.isfinite(rows[:, 0]) & (rows == rows[:, :1]).all(axis=1)).sum())


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16", "float16", "float8_e5m2"])
@pytest.mark.parametrize("shape", [(9, 2), (9, 40), (5, 3, 7, 2), (1, 100), (40, 1)])
@pytest.mark.parametrize("at_once", [None, 30])
def test_that_rows_of_one_value_are_counted(
    name: str, shape: tuple[int, ...], at_once: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if at_once is not None:
        monkeypatch.setattr(constant_rows, "_AT_ONCE", at_once)
    tensor = torch.randn(shape)
    flat = tensor.view(shape[0], -1)
    flat[::3] = 0.5
    flat[0, ::2] = -0.0
    flat[0, 1::2] = 0.0
    flat[-1] = math.nan
    if shape[0] > 5:
        flat[4, :-1], flat[4, -1] = 2.0, 3.0  # only the last differs
        flat[5] = math.inf
    tensor = tensor.to(getattr(torch, name))
    views = [tensor] if name == "float8_e5m2" else [tensor, tensor.transpose(0, -1), tensor[1:], tensor[..., :-1]]
    rows, _ = scanned(checkpoint_of(tmp_path, *views))
    for row, view in zip(rows, views, strict=True):
        if view.numel() // max(view.shape[0], 1) < 2:
            assert row.constant_rows is None
        elif row.constant_rows is not None or view.is_contiguous():
            assert (row.constant_rows, row.rows) == (constant_rows_of(view), view.shape[0])


def test_that_channels_last_weights_have_their_dead_units_counted(tmp_path: Path) -> None:
    tensor = torch.randn(8, 4, 3, 3)
    tensor[[1, 5]] = 0.0
    (row,), _ = scanned(checkpoint_of(tmp_path, tensor.to(memory_format=torch.channels_last)))
    assert (row.constant_rows, row.rows) == (2, 8)


def test_that_what_cannot_be_read_is_a_row_with_its_message(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.ones(3))
    add_view(checkpoint, NO_STORAGE, "float32", (3,), (), extra={"device": "meta"})
    storage = add_storage(checkpoint, tmp_path, bytes(8), "float32")
    add_view(checkpoint, storage, "float32", (3,), (1,))
    add_tensor(checkpoint, tmp_path, torch.full((2,), 7))
    rows, totals = scanned(checkpoint)
    assert rows[0].constant
    assert "meta" in str(rows[1].problem)
    assert "needs 12 bytes" in str(rows[2].problem)
    assert (rows[3].min, rows[3].mean, rows[3].problem) == (7, 7.0, None)
    assert (totals.tensors, totals.problems) == (4, 2)


def test_that_a_file_that_was_written_to_ends_the_scan(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.ones(3))
    checkpoint.files[0].path.write_bytes(bytes(100))
    with pytest.raises(FileChanged):
        scanned(checkpoint)


def test_that_tied_tensors_are_read_once_and_have_a_row_each(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.arange(1000.0))
    add_view(checkpoint, 0, "float32", (1000,), (1,))
    add_view(checkpoint, 0, "float32", (500,), (1,))
    rows, totals = scanned(checkpoint)
    assert [row.number for row in rows] == [0, 1, 2]
    assert rows[1] == replace(rows[0], number=1)
    assert rows[2].max == 499.0
    assert totals.nbytes_read < 2 * 4 * 1500 + 1


def test_that_some_tensors_come_in_the_order_asked_for(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, *(torch.full((2,), float(n)) for n in range(5)))
    rows, _ = scanned(checkpoint, numbers=[3, 1, 3])
    assert [(row.number, row.min) for row in rows] == [(3, 3.0), (1, 1.0)]


def test_that_an_expanded_view_costs_its_storage_alone(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.tensor([[1.0], [2.0]]).expand(2, 1 << 40))
    (row,), totals = scanned(checkpoint)
    assert (row.count, row.mean, sum(row.counts)) == (2 << 40, 1.5, 2 << 40)
    assert totals.nbytes_read == 8


def test_that_the_next_opening_reads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = [torch.randn(50, 4), torch.tensor([math.nan, math.inf, 1e308], dtype=torch.float64)]
    tensors += [torch.arange(5).to(torch.uint64), torch.zeros(0), torch.randn(3).bfloat16()]
    checkpoint = settled(checkpoint_of(tmp_path, *tensors), monkeypatch)
    first, totals = scanned(checkpoint)
    assert totals.from_cache == 0
    second, totals = scanned(checkpoint)
    assert (totals.from_cache, totals.nbytes_read) == (5, 0)
    assert repr(second) == repr(first)
    anew, totals = scanned(checkpoint, use_cache=False)
    assert totals.from_cache == 0
    assert repr(anew) == repr(first)


def test_that_what_a_stopped_scan_found_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = settled(checkpoint_of(tmp_path, torch.randn(5), torch.randn(3, 1 << 19)), monkeypatch)
    task = scan_all_task(checkpoint)
    for step in task:
        if step.done > 20:
            break
    task.close()
    _, totals = scanned(checkpoint)
    assert totals.from_cache == 1


def rewritten(path: Path, data: bytes) -> None:
    """Write a file anew and set its clock back to what it was."""
    before = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no time of the last change of attributes")
def test_that_a_file_changed_behind_its_time_stamp_has_no_stale_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = settled(checkpoint_of(tmp_path, torch.ones(4)), monkeypatch)
    scanned(checkpoint)
    path = checkpoint.files[0].path
    data = path.read_bytes()
    rewritten(path, data[:-4] + bytes(4))
    assert facts_of(path) == checkpoint.files[0]
    (row,), totals = scanned(checkpoint)
    assert (totals.from_cache, row.min, row.constant) == (0, 0.0, False)


def test_that_every_change_of_the_view_or_the_file_is_another_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = settled(checkpoint_of(tmp_path, torch.arange(64.0)), monkeypatch)
    scanned(checkpoint)
    for dtype, shape, stride, offset, flags in (
        ("int32", (64,), (1,), 0, 0),
        ("float32", (32,), (2,), 0, 0),
        ("float32", (63,), (1,), 1, 0),
        ("float32", (64,), (1,), 0, 8),
    ):
        number = add_view(checkpoint, 0, dtype, shape, stride, offset, flags)
        rows, totals = scanned(checkpoint, numbers=[number])
        assert totals.from_cache == 0
        check_row(rows[0], run(summarise_task(checkpoint, number, bins=MINI_BINS)))
    path = checkpoint.files[0].path
    os.utime(path, ns=(1, 10**18))
    checkpoint.files[0] = facts_of(path)
    assert scanned(checkpoint, numbers=[0])[1].from_cache == 0
    checkpoint.storages.crc[0] = 77
    assert scanned(checkpoint, numbers=[0])[1].from_cache == 0


def test_that_a_file_that_has_just_changed_is_not_remembered(tmp_path: Path, folder: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.ones(4))
    scanned(checkpoint)
    assert not folder.exists()
    assert time.time() - checkpoint.files[0].mtime_ns / 1e9 < 60


def kept_file(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"\x00\xff" * 100,
        b"[1, 2]",
        b"{}\n",
        b"[" * 100_000,
        b'[1, "x", 0]\n\t\n',
    ],
)
def test_that_foreign_content_in_the_cache_is_nothing_and_is_written_anew(
    damage: bytes, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = settled(checkpoint_of(tmp_path, torch.arange(3.0)), monkeypatch)
    first, _ = scanned(checkpoint)
    path = kept_file(folder)
    whole = path.read_bytes()
    path.write_bytes(damage)
    again, totals = scanned(checkpoint)
    assert (again, totals.from_cache) == (first, 0)
    assert path.read_bytes() == whole
    assert scanned(checkpoint)[1].from_cache == 1


def test_that_no_damaged_byte_of_the_cache_becomes_a_number(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = settled(checkpoint_of(tmp_path, torch.arange(3.0)), monkeypatch)
    first, _ = scanned(checkpoint)
    path = kept_file(folder)
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert scanned(checkpoint)[0] == first
        path.write_bytes(whole[:at])
        assert scanned(checkpoint)[0] == first


def forged(folder: Path, old: bytes, new: bytes) -> None:
    """Change the rows of the cache and make the header fit."""
    import json
    import zlib

    path = kept_file(folder)
    header, _, body = path.read_bytes().partition(b"\n")
    assert old in body
    body = body.replace(old, new)
    version, name, _ = json.loads(header)
    path.write_bytes(json.dumps([version, name, zlib.crc32(body)]).encode() + b"\n" + body)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"value"', b"7"),
        (b",3,0.0,", b',"3",0.0,'),
        (b",3,0.0,", b",4,0.0,"),
        (b",false,false,", b",0,0,"),
        (b",1.0,", b",1,"),
        (b'["value"', b'{"value"'),
        (b"]\n", b",5]\n"),
    ],
)
def test_that_a_row_of_another_make_is_not_believed(
    old: bytes, new: bytes, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = settled(checkpoint_of(tmp_path, torch.arange(3.0)), monkeypatch)
    first, _ = scanned(checkpoint)
    forged(folder, old, new)
    assert scanned(checkpoint) == (first, replace(scanned(checkpoint, use_cache=False)[1]))


@pytest.mark.parametrize("place", ["a file", "relative", "no home"])
def test_that_no_place_for_a_cache_is_no_error(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = settled(checkpoint_of(tmp_path, torch.arange(3.0)), monkeypatch)
    if place == "a file":
        (tmp_path / "cache").write_text("in the way")
    elif place == "relative":
        monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
        monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    else:
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.delenv("LOCALAPPDATA")
        monkeypatch.setattr(Path, "home", _no_home)
    (row,), _ = scanned(checkpoint)
    assert row.max == 2.0
    assert not Path("somewhere").exists()


def _no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_that_the_cache_is_bounded_and_the_oldest_goes_first(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints: list[Checkpoint] = []
    for number in range(3):
        place = tmp_path / str(number)
        place.mkdir()
        checkpoints.append(settled(checkpoint_of(place, torch.full((4,), float(number))), monkeypatch))
        scanned(checkpoints[-1])
    paths = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for age, path in enumerate(paths):
        os.utime(path, (1000 + age, 1000 + age))
    assert scanned(checkpoints[0])[1].from_cache == 1  # used, so the second is the oldest now
    monkeypatch.setattr(scan_cache, "MAX_NBYTES", 2 * paths[0].stat().st_size + 100)
    place = tmp_path / "more"
    place.mkdir()
    scanned(settled(checkpoint_of(place, torch.full((4,), 9.0)), monkeypatch))
    assert [scanned(checkpoint)[1].from_cache for checkpoint in checkpoints[:1]] == [1]
    assert len(list(folder.iterdir())) == 2


def test_that_the_cache_is_cleared(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert scan_cache.clear() == 0
    checkpoint = settled(checkpoint_of(tmp_path, torch.arange(3.0)), monkeypatch)
    scanned(checkpoint)
    (folder / "notes.txt").write_text("somebody else's")
    nbytes = sum(path.stat().st_size for path in folder.glob("*.scan.json"))
    assert scan_cache.clear() == nbytes > 0
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert scanned(checkpoint)[1].from_cache == 0


@pytest.fixture(autouse=True)
def no_temporary_file_left(folder: Path) -> Iterator[None]:
    yield
    if folder.is_dir():
        assert [path.name for path in folder.iterdir() if path.suffix == ".tmp"] == []


def test_that_a_sparse_tensor_is_told_from_one_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse.pth"
    torch.save({"sparse": torch.eye(3).to_sparse(), "meta": torch.empty(2, device="meta")}, path)
    checkpoint = run(open_task(path))
    rows = {row.number: row for row in scanned(checkpoint)[0]}
    found = {name: rows[number_at(checkpoint, name)] for name in ("sparse", "sparse/values", "meta")}
    assert [row.has_values for row in found.values()] == [False, True, True]
    assert "rows below" in str(found["sparse"].problem)
    assert (found["sparse/values"].count, found["sparse/values"].problem) == (3, None)
    assert "no data" in str(found["meta"].problem)


def number_at(checkpoint: Checkpoint, path: str) -> int:
    number = checkpoint.nodes.value[checkpoint.find(path)]
    assert isinstance(number, int)
    return number
