"""Views that cannot be: the row stays, with the reason."""

from __future__ import annotations

import pytest

from tests.formats.pickle.helpers import get, load, named, number, put, storage_id, tensor, text, tree_of
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import TensorFlag, numel_of
from viewer.formats.pickle import ObjectStandIn, TensorStandIn


def problem_of(call: bytes) -> tuple[str | None, tuple[int, ...]]:
    session, loaded = load(b"\x80\x02" + call + b".")
    assert loaded.problem == ""
    assert isinstance(loaded.root, TensorStandIn)
    return session.tensors.problem.get(loaded.root.number), session.tensors.shape[loaded.root.number]


@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [
        ((100,), (1,), 0),
        ((10, 10), (10, 1), 0),
        ((), (), 99),
        ((0,), (1,), 100),
        ((0, 5), (2**62, 2**62), 2**62),
        ((1_000_000, 1_000_000), (0, 0), 0),
        ((1, 2**40), (2**60, 0), 99),
    ],
)
def test_that_views_inside_their_storage_have_no_problem(
    size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> None:
    assert problem_of(tensor(size, stride, offset)) == (None, size)


@pytest.mark.parametrize(
    ("size", "stride", "offset", "needed"),
    [
        ((101,), (1,), 0, "404"),
        ((100,), (1,), 1, "404"),
        ((2,), (100,), 0, "404"),
        ((), (), 100, "404"),
        ((10, 10), (10, 2), 0, "436"),
        ((5, 5), (25, 1), 0, "420"),
        ((2, 5, 5), (76, 5, 1), 0, "404"),
        ((2,), (2**40,), 0, "4,398,046,511,108"),
        ((2,), (2**62,), 0, "18,446,744,073,709,551,620"),
    ],
)
def test_that_views_that_reach_outside_say_so(
    size: tuple[int, ...], stride: tuple[int, ...], offset: int, needed: str
) -> None:
    assert problem_of(tensor(size, stride, offset)) == (
        f"reaches outside its storage: needs {needed} bytes of 400",
        size,
    )


@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [
        ((-1,), (1,), 0),
        ((2,), (-1,), 0),
        ((2,), (1,), -1),
        ((2**32, 2**32), (0, 0), 0),
        ((2**63,), (0,), 0),
        ((1,), (1,), 2**63),
        ((2, 2), (1,), 0),
        ((2, -1), (1, 1), 0),
        ((-1, 2), (1, 1), 0),
        ((2, 2), (1, -1), 0),
        ((2, 2), (-1, 1), 0),
        ((2, 2, -1), (4, 2, 1), 0),
        ((2,), (2, 1), 0),
        ((1,) * 65, (1,) * 65, 0),
        ((2**900,), (1,), 0),
    ],
    ids=range(15),
)
def test_that_impossible_views_are_empty_rows_with_the_reason(
    size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> None:
    problem, shape = problem_of(tensor(size, stride, offset))
    assert problem is not None
    assert problem.startswith("its shape")
    assert len(problem) < 1_000
    assert numel_of(shape) == 0


@pytest.mark.parametrize(
    "arguments",
    [b"K\x00K\x05K\x01", b"K\x00" + text("x") + b"N", b"N(K\x01t(K\x01t", b"K\x00(]t(K\x01t", b"K\x00)(K\x01t"],
)
def test_that_shapes_of_other_things_are_rows_too(arguments: bytes) -> None:
    call = named("torch._utils", "_rebuild_tensor_v2") + b"(" + storage_id() + arguments + b"\x89NtR"
    problem, shape = problem_of(call)
    assert problem is not None
    assert shape == (0,)


@pytest.mark.parametrize(
    "call",
    [
        named("torch._utils", "_rebuild_tensor_v2") + b")R",
        named("torch._utils", "_rebuild_tensor_v2") + b"(K\x01K\x02K\x03K\x04K\x05K\x06tR",
        named("torch._utils", "_rebuild_tensor_v2") + b"(" + storage_id() + b"K\x00tR",
        named("torch._utils", "_rebuild_tensor_v3") + b"(" + storage_id() + b"K\x00))\x89NNtR",
        named("torch._utils", "_rebuild_parameter") + b"(K\x01\x88NtR",
        named("torch._utils", "_rebuild_qtensor") + b"(" + storage_id() + b"K\x00))K\x01\x89NtR",
        named("torch._utils", "_rebuild_sparse_tensor") + b"(K\x01K\x02tR",
        named("torch._utils", "_rebuild_sparse_tensor") + b"(" + named("torch", "sparse_coo") + b")tR",
        named("torch._utils", "_rebuild_nested_tensor") + b"(NNNNtR",
        named("torch._utils", "_rebuild_meta_tensor_no_storage") + b"(K\x01)))tR",
        named("torch._utils", "_rebuild_wrapper_subclass") + b"(NNNNNNNNtR",
        named("torch._utils", "_rebuild_device_tensor_from_numpy") + b"(NNNNtR",
        named("torch._tensor", "_rebuild_from_type_v2") + b"(NNNNtR",
        named("torch.storage", "_load_from_bytes") + b"(NtR",
    ],
    ids=range(14),
)
def test_that_rebuilds_of_other_things_are_records_of_the_call(call: bytes) -> None:
    session, loaded = load(b"\x80\x02" + call + b".")
    assert loaded.problem == ""
    assert isinstance(loaded.root, ObjectStandIn)
    assert len(session.tensors) == 0


def test_that_rebuilds_do_not_call_one_another_without_end() -> None:
    # type, of a rebuild, of a rebuild …: one level is read, the others stay as they are.
    inner = b"(" + storage_id() + number(0) + b"(K\x02t(K\x01t\x89Nt"
    v2 = named("torch._utils", "_rebuild_tensor_v2")
    once = named("torch._tensor", "_rebuild_from_type_v2") + b"(" + v2 + named("m", "Sub") + inner + b"NtR"
    _, nodes = tree_of(b"\x80\x02" + once + b".")
    assert (nodes.kind[0], nodes.type_name(0)) == (Kind.TENSOR, "m.Sub")
    again = named("torch._tensor", "_rebuild_from_type_v2")
    twice = (
        again + put(0) + b"(" + get(0) + named("m", "Sub") + b"(" + v2 + named("m", "Sub") + inner + b"Nt" + b"NtR"
    )
    _, loaded = load(b"\x80\x02" + twice + b".")
    assert isinstance(loaded.root, ObjectStandIn)


def test_that_a_type_of_parameter_is_a_flag() -> None:
    inner = b"(" + storage_id() + number(0) + b"(K\x02t(K\x01t\x89Nt"
    call = (
        named("torch._tensor", "_rebuild_from_type_v2")
        + b"("
        + named("torch._utils", "_rebuild_tensor_v2")
        + named("torch.nn.parameter", "Parameter")
        + inner
        + b"}"
        + text("note")
        + b"K\x07stR"
    )
    session, loaded = load(b"\x80\x02" + call + b".")
    assert session.tensors.flags[0] == TensorFlag.PARAMETER
    assert loaded.root.parts == {"note": 7}


def test_that_a_wrapper_has_a_row_and_its_inner_tensors_below() -> None:
    arguments = (
        b"(" + named("m", "Wrapper") + named("torch", "float16") + b"(K\x02K\x03t(K\x03K\x01tK\x00"
        + named("torch.serialization", "_get_layout") + b"(" + text("torch.strided") + b"tR"
        + named("torch", "device") + b"(" + text("cuda") + b"K\x01tR\x89t"
    )  # fmt: skip
    call = (
        named("torch._tensor", "_rebuild_from_type_v2")
        + b"("
        + named("torch._utils", "_rebuild_wrapper_subclass")
        + named("m", "Wrapper")
        + arguments
        + b"}"
        + text("_local_tensor")
        + tensor((2,), (1,))
        + b"stR"
    )
    session, nodes = tree_of(b"\x80\x02" + call + b".")
    assert nodes.type_name(0) == "m.Wrapper"
    assert session.tensors.extra[nodes.value[0]]["device"] == "cuda:1"  # type: ignore[index]
    assert nodes.key[1] == "_local_tensor"
    assert nodes.kind[1] == Kind.TENSOR


def test_that_build_on_a_tensor_is_a_child_of_it() -> None:
    _, nodes = tree_of(b"\x80\x02" + tensor((2,), (1,)) + b"}" + text("x") + b"K\x01sb.")
    assert nodes.kind[0] == Kind.TENSOR
    assert nodes.key[1:] == ["state", "x"]
