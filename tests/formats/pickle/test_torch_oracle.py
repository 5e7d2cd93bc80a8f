"""What the reader says of torch's own files, against what torch says of them."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
import torch

from tests.formats.pickle.helpers import assert_same_tensor, load, saved_by_torch, tree_of, values
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind, OtherKey
from viewer.checkpoint.tensors import NO_STORAGE, TensorFlag
from viewer.formats.pickle import StorageStandIn, TensorStandIn

pytestmark = pytest.mark.filterwarnings(
    "ignore:TypedStorage is deprecated",
    "ignore:torch.quantize_per",
    "ignore:The PyTorch API of nested tensors",
    "ignore:Sparse",
    "ignore:ComplexHalf support",
)

torch_ints = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}

# torch names int1 to uint7, but its storages cannot be saved.
PLAIN_DTYPES = [
    getattr(torch, dtype.name)
    for dtype in DTYPES
    if dtype.kind in ("float", "complex", "bool") or dtype.name in torch_ints
]


def loaded(item: object, **options: Any) -> tuple[Any, Any]:
    data, _ = saved_by_torch(item, **options)
    session, result = load(data)
    assert result.problem == ""
    assert session.warnings == []
    return session, result.root


@pytest.mark.parametrize("dtype", PLAIN_DTYPES, ids=str)
def test_that_a_tensor_of_every_dtype_is_what_torch_says(dtype: torch.dtype) -> None:
    tensor = (
        torch.empty(3, 4, dtype=torch.uint8).view(dtype) if dtype.itemsize == 1 else torch.empty(3, 4, dtype=dtype)
    )
    session, root = loaded({"t": tensor, "view": tensor[1:, ::2], "flat": tensor.reshape(-1)[5:]})
    assert_same_tensor(session, root["t"].number, tensor)
    assert_same_tensor(session, root["view"].number, tensor[1:, ::2])
    assert_same_tensor(session, root["flat"].number, tensor.reshape(-1)[5:])
    assert len(session.storages) == 1


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_that_views_strides_and_empty_tensors_are_what_torch_says(protocol: int) -> None:
    base = torch.arange(120.0).reshape(2, 3, 4, 5)
    tensors = {
        "base": base,
        "permuted": base.permute(3, 1, 0, 2),
        "sliced": base[1, :, 1:3, ::2],
        "expanded": torch.ones(1, 1).expand(1_000, 1_000),
        "scalar": torch.tensor(3.0),
        "empty": torch.zeros(0, 3),
        "empty view": base[:0],
        "channels last": torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last),
    }
    session, root = loaded(tensors, pickle_protocol=protocol)
    for name, tensor in tensors.items():
        assert_same_tensor(session, root[name].number, tensor)
    assert session.tensors.storage[root["base"].number] == session.tensors.storage[root["sliced"].number]


def test_that_flags_are_what_torch_says() -> None:
    items = {
        "plain": torch.ones(2),
        "grad": torch.ones(2, requires_grad=True),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "frozen": torch.nn.Parameter(torch.ones(2), requires_grad=False),
        "conj": torch.ones(3, dtype=torch.complex64).conj(),
        "neg": torch.ones(3, dtype=torch.complex64).conj().imag,
    }
    session, root = loaded(items)
    flags = {name: TensorFlag(session.tensors.flags[root[name].number]) for name in items}
    assert flags == {
        "plain": TensorFlag(0),
        "grad": TensorFlag.REQUIRES_GRAD,
        "parameter": TensorFlag.REQUIRES_GRAD | TensorFlag.PARAMETER,
        "frozen": TensorFlag.PARAMETER,
        "conj": TensorFlag.CONJ,
        "neg": TensorFlag.NEG,
    }
    assert items["neg"].is_neg()


def test_that_one_tensor_under_two_names_is_one_row() -> None:
    tensor = torch.ones(2)
    session, root = loaded([tensor, tensor, torch.ones(2)])
    assert root[0] is root[1]
    assert len(session.tensors) == 2


def test_that_attributes_of_tensors_and_parameters_are_children() -> None:
    tensor = torch.ones(2)
    tensor.note = {"lr": 0.1}  # type: ignore[attr-defined]
    parameter = torch.nn.Parameter(torch.ones(3))
    parameter.tag = "frozen soon"  # type: ignore[attr-defined]
    data, _ = saved_by_torch({"t": tensor, "p": parameter})
    session, nodes = tree_of(data)
    shown = values(nodes)
    assert shown["t", "note", "lr"] == 0.1
    assert shown["p", "tag"] == "frozen soon"
    assert session.tensors.flags[shown["p",]] & TensorFlag.PARAMETER  # type: ignore[index]


class Wrapped(torch.Tensor):
    """A subclass without storage tricks."""


def test_that_a_tensor_subclass_is_named() -> None:
    tensor = torch.arange(4.0).as_subclass(Wrapped)
    data, _ = saved_by_torch(tensor)
    session, nodes = tree_of(data)
    assert nodes.kind[0] == Kind.TENSOR
    assert nodes.type_name(0).endswith("test_torch_oracle.Wrapped")
    assert_same_tensor(session, 0, torch.arange(4.0))


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr", "bsc"])
def test_that_sparse_tensors_have_their_parts(layout: str) -> None:
    dense = torch.tensor([[0.0, 1.0, 0.0, 0.0], [2.0, 0.0, 0.0, 3.0]])
    tensor = {
        "coo": lambda: dense.to_sparse_coo(),
        "csr": lambda: dense.to_sparse_csr(),
        "csc": lambda: dense.to_sparse_csc(),
        "bsr": lambda: dense.to_sparse_bsr((1, 2)),
        "bsc": lambda: dense.to_sparse_bsc((1, 2)),
    }[layout]()
    data, _ = saved_by_torch({"s": tensor})
    session, nodes = tree_of(data)
    number = nodes.value[nodes.first_child[0]]
    assert isinstance(number, int)
    assert session.tensors.layout[number] == f"sparse_{layout}"
    assert session.tensors.storage[number] == NO_STORAGE
    assert session.tensors.shape[number] == (2, 4)
    extra = session.tensors.extra[number]
    parts = {
        "coo": {"indices": "_indices", "values": "_values"},
        "csr": {"crow_indices": "crow_indices", "col_indices": "col_indices", "values": "values"},
        "csc": {"ccol_indices": "ccol_indices", "row_indices": "row_indices", "values": "values"},
    }[layout.replace("bs", "cs")]
    for name, method in parts.items():
        assert_same_tensor(session, extra[name], getattr(tensor, method)())  # type: ignore[arg-type]
        assert values(nodes)["s", name] == extra[name]


def test_that_quantized_tensors_have_scale_and_zero_point() -> None:
    per_tensor = torch.quantize_per_tensor(torch.arange(4.0), 0.5, 3, torch.quint8)
    per_channel = torch.quantize_per_channel(
        torch.ones(2, 3), torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), 0, torch.qint8
    )
    session, root = loaded({"t": per_tensor, "c": per_channel})
    assert_same_tensor(session, root["t"].number, per_tensor)
    assert session.tensors.extra[root["t"].number] == {"qscheme": "per_tensor_affine", "scale": 0.5, "zero_point": 3}
    extra = session.tensors.extra[root["c"].number]
    assert (extra["qscheme"], extra["axis"]) == ("per_channel_affine", 0)
    assert_same_tensor(session, extra["scales"], per_channel.q_per_channel_scales())  # type: ignore[arg-type]
    assert_same_tensor(session, extra["zero_points"], per_channel.q_per_channel_zero_points())  # type: ignore[arg-type]


def test_that_meta_and_nested_tensors_have_rows() -> None:
    nested = torch.nested.nested_tensor([torch.arange(3.0), torch.arange(5.0)])
    session, root = loaded({"m": torch.empty(2, 3, device="meta", dtype=torch.int16), "n": nested})
    meta = root["m"].number
    assert (session.tensors.shape[meta], session.tensors.storage[meta]) == ((2, 3), NO_STORAGE)
    assert session.tensors.extra[meta]["device"] == "meta"
    assert DTYPES[session.tensors.dtype[meta]].name == "int16"
    number = root["n"].number
    assert session.tensors.layout[number] == "nested"
    assert_same_tensor(session, session.tensors.extra[number]["values"], nested.values())


def test_that_storages_saved_alone_are_rows() -> None:
    typed = torch.FloatStorage(5)
    untyped = torch.UntypedStorage(7)
    session, root = loaded([typed, untyped])
    assert all(isinstance(item, StorageStandIn) for item in root)
    assert [DTYPES[item.dtype].name for item in root] == ["float32", "uint8"]
    assert [session.storages.nbytes[item.number] for item in root] == [20, 7]


def test_that_values_of_torch_are_shown_as_torch_prints_them() -> None:
    items = {
        "size": torch.Size([2, 3]),
        "dtype": torch.bfloat16,
        "device": torch.device("cuda", 1),
        "layout": torch.sparse_coo,
        "scheme": torch.per_tensor_affine,
    }
    data, _ = saved_by_torch(items)
    _, nodes = tree_of(data)
    shown = values(nodes)
    assert shown["size", 0] == 2
    for name in ("dtype", "device", "layout", "scheme"):
        expected = "cuda:1" if name == "device" else str(items[name])
        assert shown[name,] == expected
    types = {keys: nodes.type_name(node) for node in nodes.tree_order() if len(keys := nodes.keys_to(node)) == 1}
    assert types["dtype",] == "torch.dtype"
    assert types["size",] == "torch.Size"


def test_that_a_whole_module_is_a_tree_of_its_attributes() -> None:
    module = torch.nn.Sequential(OrderedDict(conv=torch.nn.Conv2d(1, 2, 3), norm=torch.nn.BatchNorm2d(2)))
    module.eval()
    data, _ = saved_by_torch(module)
    session, nodes = tree_of(data)
    assert nodes.type_name(0) == "torch.nn.modules.container.Sequential"
    shown = values(nodes)
    assert shown["training",] is False
    weight = shown["_modules", "conv", "_parameters", "weight"]
    assert_same_tensor(session, weight, module.conv.weight)  # type: ignore[arg-type]
    assert shown["_modules", "conv", "kernel_size", 1] == 3
    assert ("_modules", "norm", "_buffers", "running_mean") in shown


def test_that_the_metadata_of_a_state_dict_is_an_attribute() -> None:
    data, _ = saved_by_torch(torch.nn.Linear(2, 2).state_dict())
    _, nodes = tree_of(data)
    assert nodes.type_name(0) == "OrderedDict"
    assert values(nodes)[OtherKey("._metadata"), "", "version"] == 1


def test_that_legacy_files_are_read_pickle_by_pickle() -> None:
    file = io.BytesIO()
    base = torch.arange(10.0)
    torch.save({"a": base, "b": base[5:8]}, file, _use_new_zipfile_serialization=False)
    data = file.getvalue()
    from viewer.formats.pickle import PickleSession

    session = PickleSession()
    at = 0
    roots = []
    for _ in range(5):
        result = session.load(data, at, source_name="legacy")
        roots.append(result.root)
        at = result.end
    assert roots[0] == 0x1950A86A20F9469CFC6C
    assert_same_tensor(session, roots[3]["b"].number, base[5:8])
    assert roots[4] == list(session.storages_by_key)


def test_that_views_of_old_storages_add_their_offset() -> None:
    from tests.formats.pickle.helpers import named, number, tensor, text

    view = b"(" + text("v") + number(5) + number(3) + b"t"
    pid = (
        b"(" + text("storage") + named("torch", "FloatStorage") + text("0") + text("cpu") + number(10) + view + b"tQ"
    )
    session, _ = load(b"\x80\x02" + tensor((3,), (1,), storage=pid) + b".")
    assert session.tensors.storage_offset[0] == 5
    assert session.tensors.problem == {}


def test_that_rebuilds_of_the_first_kind_are_tensors() -> None:
    from tests.formats.pickle.helpers import ints, named, number, storage_id

    call = (
        named("torch._utils", "_rebuild_tensor")
        + b"("
        + storage_id()
        + number(2)
        + ints((3, 4))
        + ints((4, 1))
        + b"tR"
    )
    session, result = load(b"\x80\x02" + call + b".")
    assert isinstance(result.root, TensorStandIn)
    assert (session.tensors.shape[0], session.tensors.storage_offset[0]) == ((3, 4), 2)


def test_that_plain_pickles_of_tensors_hold_their_storages_as_bytes() -> None:
    data = pickle.dumps({"w": torch.ones(3)})
    nested: list[bytes] = []
    from viewer.formats.pickle import PickleSession

    session = PickleSession(
        nested_loader=lambda raw: nested.append(raw) or StorageStandIn(session.add_storage("0", 0, 12, "cpu"), 0)
    )
    result = session.load(data, source_name="x")
    assert isinstance(result.root["w"], TensorStandIn)
    assert torch.load(io.BytesIO(nested[0]), weights_only=False).tolist() == [1.0, 1.0, 1.0]
    assert {use.dotted: use.harmless for use in session.globals()}["torch.storage._load_from_bytes"] is False


def test_that_the_names_torch_writes_for_tensors_are_harmless() -> None:
    items = [
        torch.ones(2),
        torch.nn.Parameter(torch.ones(2)),
        torch.ones(2).to_sparse_coo(),
        torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8),
        torch.ones(2, dtype=torch.uint16),
        torch.float32,
        torch.Size([1]),
        torch.device("cpu"),
        np.float64(1.0),
        np.ones(3),
    ]
    session, _ = loaded(items)
    assert [use.dotted for use in session.globals() if not use.harmless] == []
