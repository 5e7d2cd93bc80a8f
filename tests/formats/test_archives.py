from __future__ import annotations

import io
import pickle
import tarfile
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import save as safetensors_bytes

from tests.formats.container_files import bytes_of, torch_bytes
from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import INLINE, STORED, TensorRef
from viewer.errors import MalformedFile, NotACheckpoint
from viewer.formats.limits import Limits
from viewer.formats.opening import open_task
from viewer.task import run

W = torch.arange(12.0).reshape(3, 4)
V = torch.arange(100, 105, dtype=torch.int64)


def zip_bytes(content: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()


def legacy_bytes(content: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(content, buffer, _use_new_zipfile_serialization=False)
    return buffer.getvalue()


MEMBERS = {
    "policy.pth": zip_bytes({"w": W, "tied": W}),
    "old.pt": legacy_bytes({"v": V}),
    "weights.safetensors": safetensors_bytes({"w": W}),
    "plain.pkl": pickle.dumps({"lr": 0.25}),
    "system_info.txt": b"- Python: 3.11",
    "data": b'{"policy_class": "MlpPolicy"}',
    "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(50),
}


def write_zip(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def write_tar(path: Path, members: dict[str, bytes], mode: str = "w", **options: int) -> Path:
    with tarfile.open(path, mode, **options) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def tensor(checkpoint: Checkpoint, *keys: str) -> TensorRef:
    node = 0
    for key in keys:
        node = next(child for child in checkpoint.nodes.children(node) if checkpoint.nodes.key[child] == key)
    found = checkpoint.tensor_of_node(node)
    assert found is not None
    return found


def rows(checkpoint: Checkpoint) -> dict[str, int]:
    return {str(checkpoint.nodes.key[node]): node for node in checkpoint.nodes.children(0)}


def assert_members(checkpoint: Checkpoint, encoding: int) -> None:
    """All of MEMBERS is there, with every byte of its values."""
    for keys, expected in (
        (("policy.pth", "w"), W),
        (("policy.pth", "tied"), W),
        (("old.pt", "v"), V),
        (("weights.safetensors", "w"), W),
    ):
        found = tensor(checkpoint, *keys)
        assert found.problem is None
        assert found.shape == tuple(expected.shape)
        assert found.storage is not None
        assert found.storage.encoding == encoding
        assert bytes_of(checkpoint, found.storage) == torch_bytes(expected)
    found = rows(checkpoint)
    assert list(found) == list(MEMBERS)
    assert checkpoint.nodes.value[checkpoint.find("plain.pkl/lr")] == 0.25
    assert checkpoint.nodes.kind[found["system_info.txt"]] == Kind.TEXT
    assert checkpoint.nodes.kind[found["data"]] == Kind.TEXT
    assert checkpoint.nodes.value[found["picture.png"]] == "58 bytes"
    assert checkpoint.facts["members"] == "7, of which 4 are checkpoints"


def test_that_stored_members_of_a_zip_are_read_where_they_lie(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(write_zip(tmp_path / "agent.zip", MEMBERS))

    assert checkpoint.container == "zip archive of files"
    assert checkpoint.blobs == []
    assert_members(checkpoint, STORED)


def test_that_deflated_members_of_a_zip_are_inflated_into_memory(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(write_zip(tmp_path / "agent.mar", MEMBERS, zipfile.ZIP_DEFLATED))

    assert_members(checkpoint, INLINE)


def test_that_members_of_a_tar_are_read_where_they_lie(tmp_path: Path) -> None:
    checkpoint = open_checkpoint(write_tar(tmp_path / "agent.tar", MEMBERS))

    assert checkpoint.container == "tar archive of files"
    assert checkpoint.blobs == []
    assert_members(checkpoint, STORED)


@pytest.mark.parametrize("compression", ["gz", "xz", "bz2"])
def test_that_a_small_compressed_tar_opens_in_memory(tmp_path: Path, compression: str) -> None:
    checkpoint = open_checkpoint(write_tar(tmp_path / f"model.tar.{compression}", MEMBERS, f"w:{compression}"))

    assert checkpoint.container.endswith("-compressed tar archive of files")
    assert_members(checkpoint, INLINE)


@pytest.mark.parametrize("compression", ["gz", "xz"])
def test_that_of_a_compressed_tar_that_is_cut_short_what_is_there_is_shown(tmp_path: Path, compression: str) -> None:
    noise = torch.randint(256, (60_000,), dtype=torch.uint8)
    picture = b"\x89PNG\r\n\x1a\n" + noise[:5_000].numpy().tobytes()
    members = {"a.png": picture, "policy.pth": zip_bytes({"w": W}), "large.pth": zip_bytes({"noise": noise})}
    path = write_tar(tmp_path / f"model.tar.{compression}", members, f"w:{compression}")
    whole = path.read_bytes()
    path.write_bytes(whole[:-2_000])
    checkpoint = open_checkpoint(path)

    found = tensor(checkpoint, "policy.pth", "w")
    assert found.problem is None
    assert found.storage is not None
    assert bytes_of(checkpoint, found.storage) == W.numpy().tobytes()
    assert tensor(checkpoint, "large.pth", "noise").problem is not None
    assert any("-compressed data break off" in warning for warning in checkpoint.warnings)

    path.write_bytes(whole[:3_000])
    with pytest.raises(MalformedFile, match="break off, and no checkpoint is in the part that is there"):
        open_checkpoint(path)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_that_an_archive_inside_an_archive_is_opened(tmp_path: Path, compression: int) -> None:
    inner = write_zip(tmp_path / "inner.zip", {"run/model.pth": MEMBERS["policy.pth"]}, compression)
    middle = write_tar(tmp_path / "middle.tar", {"inner.zip": inner.read_bytes()})
    checkpoint = open_checkpoint(write_zip(tmp_path / "outer.zip", {"a/middle.tar": middle.read_bytes()}))

    found = tensor(checkpoint, "a/middle.tar", "inner.zip", "run/model.pth", "w")

    assert found.storage is not None
    assert bytes_of(checkpoint, found.storage) == torch_bytes(W)


def test_that_archives_are_opened_to_a_depth_and_no_deeper(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "0.zip", {"model.pth": MEMBERS["policy.pth"]})
    for nth in range(1, 6):
        path = write_zip(tmp_path / f"{nth}.zip", {f"{nth - 1}.zip": path.read_bytes()})

    checkpoint = open_checkpoint(path)

    messages = [value for value in checkpoint.nodes.value if isinstance(value, str)]
    assert any("archives inside archives are opened 3 deep" in message for message in messages)


def test_that_members_with_the_same_storage_keys_share_nothing(tmp_path: Path) -> None:
    members = {"a.pth": zip_bytes({"w": W}), "b.pth": zip_bytes({"w": W + 1})}
    checkpoint = open_checkpoint(write_zip(tmp_path / "two.zip", members))

    a, b = tensor(checkpoint, "a.pth", "w").storage, tensor(checkpoint, "b.pth", "w").storage

    assert a is not None
    assert b is not None
    assert a.key == b.key
    assert a.number != b.number
    assert bytes_of(checkpoint, b) == torch_bytes(W + 1)


def test_that_a_damaged_member_is_a_row_with_its_message_and_the_others_are_shown(tmp_path: Path) -> None:
    members = {"good.pth": MEMBERS["policy.pth"], "cut.safetensors": MEMBERS["weights.safetensors"][:40]}
    checkpoint = open_checkpoint(write_zip(tmp_path / "bundle.zip", members))

    node = rows(checkpoint)["cut.safetensors"]

    assert checkpoint.nodes.kind[node] == Kind.PROBLEM
    assert "longer than the file" in str(checkpoint.nodes.value[node])
    assert tensor(checkpoint, "good.pth", "w").problem is None


def test_that_a_member_that_would_inflate_to_too_much_is_a_row_that_says_so(tmp_path: Path) -> None:
    members = {"good.pth": MEMBERS["policy.pth"], "bomb.pkl": pickle.dumps(bytes(50_000_000))}
    path = write_zip(tmp_path / "bundle.zip", members, zipfile.ZIP_DEFLATED)

    checkpoint = run(open_task(path, Limits(inflated_nbytes=1_000_000)))

    node = rows(checkpoint)["bomb.pkl"]
    assert checkpoint.nodes.kind[node] == Kind.PROBLEM
    assert "would inflate to 50,0" in str(checkpoint.nodes.value[node])
    assert tensor(checkpoint, "good.pth", "w").problem is None


def test_that_members_together_inflate_to_no_more_than_the_limit(tmp_path: Path) -> None:
    members = {f"{nth}.pkl": pickle.dumps(bytes(400_000)) for nth in range(4)}
    path = write_zip(tmp_path / "bundle.zip", members, zipfile.ZIP_DEFLATED)

    checkpoint = run(open_task(path, Limits(inflated_nbytes=1_000_000)))

    kinds = [checkpoint.nodes.kind[node] for node in checkpoint.nodes.children(0)]
    assert kinds.count(Kind.PROBLEM) == 2


def encrypt(path: Path, name: str) -> Path:
    """Set the flag that says that a record is encrypted."""
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    while data[at + 46 : at + 46 + len(name)] != name.encode():
        at = data.index(b"PK\x01\x02", at + 1)
    data[at + 8] |= 1
    path.write_bytes(data)
    return path


def test_that_an_encrypted_member_is_a_row_that_says_so(tmp_path: Path) -> None:
    path = encrypt(write_zip(tmp_path / "bundle.zip", MEMBERS), "old.pt")
    checkpoint = open_checkpoint(path)

    assert "is encrypted" in str(checkpoint.nodes.value[rows(checkpoint)["old.pt"]])


def test_that_an_archive_of_nothing_but_encrypted_checkpoints_is_called_encrypted(tmp_path: Path) -> None:
    path = encrypt(write_zip(tmp_path / "bundle.zip", {"old.pt": MEMBERS["old.pt"]}), "old.pt")
    with pytest.raises(MalformedFile, match=r"'old\.pt' is encrypted.*password"):
        open_checkpoint(path)


def test_that_known_programs_archives_are_called_by_their_names(tmp_path: Path) -> None:
    agent = write_zip(tmp_path / "a.zip", {**MEMBERS, "_stable_baselines3_version": b"2.3.0"})
    served = write_zip(tmp_path / "m.mar", {**MEMBERS, "MAR-INF/MANIFEST.json": b"{}"})

    assert open_checkpoint(agent).container == "Stable-Baselines3 zip"
    assert open_checkpoint(served).container == "TorchServe archive (.mar)"


def test_that_an_archive_without_a_checkpoint_is_called_one(tmp_path: Path) -> None:
    for path in (
        write_zip(tmp_path / "a.zip", {"notes.pt": b"anything", "b.txt": b"x"}),
        write_tar(tmp_path / "a.tar", {"notes.pt": b"anything", "b.txt": b"x"}),
    ):
        with pytest.raises(
            NotACheckpoint, match=r"archive of files without a checkpoint in it \(notes\.pt, b\.txt\)"
        ):
            open_checkpoint(path)


def test_that_the_globals_of_all_members_are_listed(tmp_path: Path) -> None:
    members = {"a.pkl": pickle.dumps(Path), "b.pkl": pickle.dumps(io.BytesIO)}
    checkpoint = open_checkpoint(write_zip(tmp_path / "bundle.zip", members))

    assert {used.dotted for used in checkpoint.globals} == {"pathlib.Path", "_io.BytesIO"}


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("length", [90, 140, 300])
def test_that_long_and_foreign_names_in_a_tar_are_read(tmp_path: Path, form: int, length: int) -> None:
    name = "é/" + "n" * (length - 6) + ".pth"
    path = write_tar(tmp_path / "a.tar", {name: MEMBERS["policy.pth"]}, format=form)

    assert list(rows(open_checkpoint(path))) == [name]


def test_that_a_posix_prefix_is_a_part_of_the_name(tmp_path: Path) -> None:
    name = "d" * 120 + "/model.pth"
    path = write_tar(tmp_path / "a.tar", {name: MEMBERS["policy.pth"]}, format=tarfile.USTAR_FORMAT)

    assert list(rows(open_checkpoint(path))) == [name]


def test_that_folders_and_links_in_a_tar_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        folder = tarfile.TarInfo("run")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        link = tarfile.TarInfo("latest.pth")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        member = tarfile.TarInfo("run/model.pth")
        member.size = len(MEMBERS["policy.pth"])
        archive.addfile(member, io.BytesIO(MEMBERS["policy.pth"]))

    assert list(rows(open_checkpoint(path))) == ["run/model.pth"]


def test_that_two_members_of_one_name_are_both_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for data in (MEMBERS["policy.pth"], MEMBERS["old.pt"]):
            member = tarfile.TarInfo("model.pth")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))

    assert list(rows(open_checkpoint(path))) == ["model.pth", "model.pth (2)"]


def test_that_a_cut_tar_says_what_is_missing_and_shows_the_part_that_is_there(tmp_path: Path) -> None:
    path = write_tar(
        tmp_path / "a.tar", {"a.pth": MEMBERS["policy.pth"], "b.pth": zip_bytes({"v": torch.ones(5000)})}
    )
    data = path.read_bytes()
    cut = data.index(b"b.pth") + 512 + 12_000
    path.write_bytes(data[:cut])

    checkpoint = open_checkpoint(path)

    missing = len(zip_bytes({"v": torch.ones(5000)})) - 12_000
    assert any(f"{missing:,} bytes of its last member 'b.pth' are missing" in text for text in checkpoint.warnings)
    assert tensor(checkpoint, "a.pth", "w").problem is None
    assert "breaks off" in str(tensor(checkpoint, "b.pth", "v").problem)


def test_that_a_tar_with_a_broken_header_shows_what_comes_before(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", MEMBERS)
    data = bytearray(path.read_bytes())
    data[data.index(b"old.pt") + 1] ^= 0xFF
    path.write_bytes(data)

    checkpoint = open_checkpoint(path)

    assert list(rows(checkpoint)) == ["policy.pth"]
    assert any("no header is at byte" in text for text in checkpoint.warnings)


def with_size(path: Path, size: bytes) -> Path:
    """Write another size into the first header of a tar, and the checksum that fits."""
    data = bytearray(path.read_bytes())
    data[124:136] = size
    data[148:156] = b" " * 8
    data[148:156] = f"{sum(data[:512]):06o}\0 ".encode()
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("size", [b"\x80\0\0\0" + b"\xff" * 8, b"99999999999\0", b"-7777777777\0"])
def test_that_a_size_in_a_tar_that_cannot_be_is_one_clear_error(tmp_path: Path, size: bytes) -> None:
    path = with_size(write_tar(tmp_path / "a.tar", {"a.pth": MEMBERS["policy.pth"]}), size)
    with pytest.raises(MalformedFile, match="damaged") as caught:
        open_checkpoint(path)
    assert caught.value.path == path


@pytest.mark.parametrize("size", [b"77777777777\0", b"\x80\0\0\0\x3f" + b"\xff" * 7])
def test_that_a_size_in_a_tar_beyond_the_file_is_missing_bytes(tmp_path: Path, size: bytes) -> None:
    path = with_size(write_tar(tmp_path / "a.tar", {"a.pth": MEMBERS["policy.pth"]}), size)
    checkpoint = open_checkpoint(path)

    assert any("of its last member 'a.pth' are missing" in text for text in checkpoint.warnings)
    assert tensor(checkpoint, "a.pth", "w").problem is None
