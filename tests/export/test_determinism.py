"""One content, one SHA-256: whatever the container, the process, the names and the machine's habits were."""

from __future__ import annotations

import os
import random
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.export.contents import digest, exported, in_process, loaded, many_dtypes, save, sha256, training_content

_WRITE = """
import sys, torch
words = "alpha beta gamma delta epsilon zeta".split()
for nth, path in enumerate(sys.argv[1:]):
    name = "".join(["layer", ".weight"]) if nth else "layer.weight"
    content = {"names": ["layer.weight", name], "tags": set(words), "w": torch.arange(12.0).reshape(3, 4), "lr": 0.1,
               "frozen": [(1, "a"), (1, "a")], "step": 3}
    torch.save(content, path, _use_new_zipfile_serialization=nth < 2)
"""

_DIGEST = """
import sys
from viewer.export.digest import digest_task
from viewer.task import run
for path in sys.argv[1:]:
    print(run(digest_task(path)).sha256)
"""


def test_that_hash_seeds_file_names_and_string_identity_leave_no_trace(tmp_path: Path) -> None:
    paths = []
    for seed in ("0", "1"):
        written = [tmp_path / f"{seed} {name}.pt" for name in ("same text", "öther text", "legacy")]
        in_process(_WRITE, *written, PYTHONHASHSEED=seed)
        paths += written
    digests = [in_process(_DIGEST, *paths, PYTHONHASHSEED=seed).split() for seed in ("2", "4242")]
    assert len(digests[0]) == len(digests[1]) == 6
    assert len({*digests[0], *digests[1]}) == 1


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C", "TZ": "UTC"},
        {"LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu", "PYTHONUTF8": "1"},
        {"PYTHONOPTIMIZE": "1", "PYTHONDONTWRITEBYTECODE": "1", "TZ": "America/St_Johns"},
    ],
)
def test_that_locales_and_time_zones_leave_no_trace(tmp_path: Path, environment: dict[str, str]) -> None:
    path = save(training_content(), tmp_path / "a.pt")
    assert in_process(_DIGEST, path, **environment) == digest(path)


def test_that_zip_and_legacy_files_have_one_export(tmp_path: Path) -> None:
    content = training_content() | {"all": many_dtypes()}
    del content["all"]["conjugate"], content["all"]["imaginary"]  # the legacy format writes these as they lie
    a = exported(save(content, tmp_path / "a.pt"))
    b = exported(save(content, tmp_path / "b.pt", legacy=True))
    assert a.sha256 == b.sha256
    assert a.path.read_bytes() == b.path.read_bytes()


def test_that_a_safetensors_file_of_a_flat_dict_has_its_digest(tmp_path: Path) -> None:
    tensors = {name: torch.randn(3, 4) for name in ("a.weight", "a.bias", "b", "ümlaut")}
    tensors["half"] = torch.ones(3, dtype=torch.float16)
    save_file(tensors, tmp_path / "a.safetensors", metadata={"format": "pt"})
    in_order = dict(sorted(tensors.items(), key=lambda pair: pair[0].encode()))
    path = save(in_order, tmp_path / "a.pt")
    assert digest(tmp_path / "a.safetensors") == digest(path)
    shuffled = save(tensors, tmp_path / "b.pt")
    assert digest(shuffled) != digest(path)
    assert digest(shuffled, sort_keys=True) == digest(path)


class _Scale(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(3.0), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_that_torchscript_has_the_digest_of_the_same_content_as_a_dict(tmp_path: Path) -> None:
    torch.jit.save(torch.jit.script(_Scale().eval()), tmp_path / "script.pt")
    as_dict = exported(tmp_path / "script.pt", objects="plain")
    content = loaded(as_dict.path)
    assert torch.equal(content["weight"], torch.arange(3.0))
    assert digest(save(content, tmp_path / "dict.pt")) == as_dict.sha256


def test_that_device_tags_leave_no_trace(tmp_path: Path) -> None:
    content = {"w": torch.arange(5.0), "b": torch.zeros(2)}
    path = save(content, tmp_path / "a.pt")
    tagged = tmp_path / "cuda.pt"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tagged, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("data.pkl"):
                assert data.count(b"X\x03\x00\x00\x00cpu") == 1
                data = data.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:1")
            new.writestr(zipfile.ZipInfo(name), data)
    assert digest(tagged) == digest(path)


def test_that_views_strides_and_whole_storages_leave_no_trace(tmp_path: Path) -> None:
    base = torch.randn(1000)
    views = {"a": base[10:22].reshape(3, 4), "t": base[100:112].reshape(3, 4).t(), "e": base[:1].expand(4)}
    packed = {name: tensor.contiguous().clone() for name, tensor in views.items()}
    a, b = save(views, tmp_path / "a.pt"), save(packed, tmp_path / "b.pt")
    assert exported(a).sha256 == exported(b).sha256
    assert exported(a).nbytes < 3000


def test_that_lazy_bits_leave_no_trace(tmp_path: Path) -> None:
    lazy = {"c": torch.tensor([1 + 2j, complex("nan-0j")]).conj(), "n": torch._neg_view(torch.tensor([1.0, -0.0]))}
    resolved = {"c": lazy["c"].resolve_conj().clone(), "n": lazy["n"].resolve_neg().clone()}
    assert digest(save(lazy, tmp_path / "a.pt")) == digest(save(resolved, tmp_path / "b.pt"))


def test_that_the_order_of_records_and_further_records_leave_no_trace(tmp_path: Path) -> None:
    path = save(training_content(), tmp_path / "a.pt")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED) as new:
        names = old.namelist()
        random.Random(5).shuffle(names)
        for name in names:
            inner = name.partition("/")[2]
            if inner != ".data/serialization_id":
                new.writestr(f"other/{inner}", old.read(name))
        new.writestr("other/extra", b"more")
    assert digest(tmp_path / "b.zip") == digest(path)


def test_that_big_endian_files_have_the_digest_of_little_endian_ones(tmp_path: Path) -> None:
    content = {
        "f": torch.arange(5.0),
        "c": torch.tensor([1 + 2j, 3 - 4j]),
        "i": torch.tensor([1, -2], dtype=torch.int16),
    }
    path = save(content, tmp_path / "a.pt")
    units = {"0": 4, "1": 4, "2": 2}
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "big.pt", "w") as new:
        for name in old.namelist():
            data, inner = old.read(name), name.partition("/")[2]
            if inner == "byteorder":
                data = b"big"
            if inner.startswith("data/"):
                size = units[inner.removeprefix("data/")]
                data = b"".join(data[at : at + size][::-1] for at in range(0, len(data), size))
            new.writestr(zipfile.ZipInfo(name), data)
    assert digest(tmp_path / "big.pt") == digest(path)


def test_that_an_export_of_an_export_is_the_same_file(tmp_path: Path) -> None:
    path = save(training_content() | {"all": many_dtypes()}, tmp_path / "a.pt")
    once = exported(path)
    twice = exported(once.path, tmp_path / "twice.pth")
    assert once.sha256 == twice.sha256 == digest(path) == sha256(tmp_path / "twice.pth")
    strides = exported(path, tmp_path / "strides.pth", keep_strides=True)
    assert exported(strides.path, tmp_path / "again.pth", keep_strides=True).sha256 == strides.sha256
    assert digest(strides.path) == once.sha256
    reloaded = save(loaded(once.path), tmp_path / "reloaded.pt")
    assert digest(reloaded) == once.sha256


def test_that_numpy_versions_and_memory_orders_leave_no_trace(tmp_path: Path) -> None:
    import numpy as np

    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    complexes = (array[0] + 1j * array[1]).astype(np.complex128)
    scalars = [np.float64(0.5), np.int8(-3)]
    plain = {"a": array, "c": complexes, "s": scalars, "d": np.dtype("float32")}
    other = {
        "a": np.asfortranarray(array.astype(">f4")),
        "c": np.asfortranarray(complexes),
        "s": scalars,
        "d": np.dtype("float32"),
    }
    import pickle

    for protocol in (2, 5):
        (tmp_path / f"plain{protocol}.pkl").write_bytes(pickle.dumps(plain, protocol))
        (tmp_path / f"other{protocol}.pkl").write_bytes(pickle.dumps(other, protocol))
    renamed = (tmp_path / "plain2.pkl").read_bytes().replace(b"numpy._core.", b"numpy.core.")
    (tmp_path / "numpy1.pkl").write_bytes(renamed)
    digests = {digest(path) for path in tmp_path.iterdir()}
    assert len(digests) == 1
    (tmp_path / "kept.pth").unlink(missing_ok=True)
    kept = exported(tmp_path / "other5.pkl", tmp_path / "kept.pth")
    again = torch.load(kept.path, weights_only=False)
    assert (again["a"] == array).all()
    assert (again["c"] == complexes).all()
    assert again["a"].flags.c_contiguous


def test_that_a_legacy_file_of_python_2_style_pairs_is_an_ordered_dict(tmp_path: Path) -> None:
    value = OrderedDict([("a", torch.ones(1)), ("b", 2)])
    assert digest(save(value, tmp_path / "a.pt")) == digest(save(OrderedDict(value), tmp_path / "b.pt", legacy=True))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no hard links without rights")
def test_that_the_name_by_which_a_file_is_opened_leaves_no_trace(tmp_path: Path) -> None:
    path = save({"w": torch.ones(3)}, tmp_path / "a.pt")
    os.link(path, tmp_path / "вес.bin")
    assert digest(tmp_path / "вес.bin") == digest(path)
