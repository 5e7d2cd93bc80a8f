"""Each way on each tensor that was made to trip it: what is reported is what torch itself shows."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from tests.roundtrip.tricky import tricky
from viewer.roundtrip.findings import compare_tensors, compare_trees
from viewer.roundtrip.ways import all_ways

pytestmark = pytest.mark.filterwarnings("ignore")
WAYS = {way.facts.name: way for way in all_ways()}


def _saved(x: torch.Tensor, **options: Any) -> torch.Tensor:
    buffer = io.BytesIO()
    torch.save(x, buffer, **options)
    buffer.seek(0)
    loaded: torch.Tensor = torch.load(buffer, weights_only=True)
    return loaded


def _npy(x: torch.Tensor) -> torch.Tensor:
    buffer = io.BytesIO()
    np.save(buffer, x.detach().numpy())
    buffer.seek(0)
    return torch.from_numpy(np.load(buffer))


BY_HAND: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "torch.save": _saved,
    "torch.save-legacy": lambda x: _saved(x, _use_new_zipfile_serialization=False),
    "pickle-2": lambda x: pickle.loads(pickle.dumps(x, 2)),
    "pickle-5": lambda x: pickle.loads(pickle.dumps(x, 5)),
    "deepcopy": copy.deepcopy,
    "clone": lambda x: x.clone(),
    "detach": lambda x: x.detach(),
    "detach-clone": lambda x: x.detach().clone(),
    "to-cpu": lambda x: x.to("cpu").to("cpu"),
    "numpy": lambda x: torch.from_numpy(x.detach().cpu().numpy()),
    "npy": _npy,
    "safetensors": lambda x: load(save({"x": x}))["x"],
    "cast-float16": lambda x: x.to(torch.float16).to(x.dtype) if x.is_floating_point() else x,
    "cast-float8_e5m2": lambda x: x.to(torch.float8_e5m2).to(x.dtype) if x.is_floating_point() else x,
}


def _answer(ask: Callable[[], object]) -> str:
    try:
        return str(bool(ask()))
    except (RuntimeError, NotImplementedError) as error:
        return type(error).__name__


def _graph(x: torch.Tensor) -> tuple[bool, str]:
    """Whether it is a leaf of the graph of autograd, and what made it where it is none."""
    return x.is_leaf, type(x.grad_fn).__name__


def _said(text: str) -> str:
    return text.partition(":")[0]


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.parametrize("kind", tricky())
def test_that_findings_are_what_the_same_calls_by_hand_show(name: str, kind: str, tmp_path: Path) -> None:
    x = tricky()[kind]
    try:
        expected = BY_HAND[name](x)
    except Exception as error:  # noqa: BLE001 - whichever it is, ours has to be the same
        with pytest.raises(type(error)):
            WAYS[name].copy(x, tmp_path)
        return
    y = WAYS[name].copy(x, tmp_path)
    found = compare_tensors(x, y)
    assert y.dtype == expected.dtype
    assert y.shape == expected.shape
    assert ("dtype" in found.changed) == (expected.dtype != x.dtype)
    assert ("requires_grad" in found.changed) == (expected.requires_grad != x.requires_grad)
    assert ("class" in found.changed) == (type(expected) is not type(x))
    assert ("is_leaf" in found.changed) == (_graph(expected) != _graph(x))
    assert ("conj" in found.changed) == (expected.is_conj() != x.is_conj())
    assert ("neg" in found.changed) == (expected.is_neg() != x.is_neg())
    if x.layout == torch.strided:
        assert ("stride" in found.changed) == (expected.stride() != x.stride())
        assert ("storage_offset" in found.changed) == (expected.storage_offset() != x.storage_offset())
        assert ("storage_nbytes" in found.changed) == (
            expected.untyped_storage().nbytes() != x.untyped_storage().nbytes()
        )
        assert found.shares_memory == (
            x.numel() > 0 and expected.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        )
        plain = [
            (t.int_repr() if t.is_quantized else t.detach().resolve_conj()).contiguous().view(-1).view(torch.uint8)
            for t in (x, expected)
        ]
        assert found.bits == torch.equal(*plain)
    elif x.layout == torch.sparse_coo:
        assert found.bits == (
            torch.equal(x._indices(), expected._indices()) and torch.equal(x._values(), expected._values())
        )
        assert ("coalesced" in found.changed) == (expected.is_coalesced() != x.is_coalesced())
    else:
        assert found.bits == (
            torch.equal(x.crow_indices(), expected.crow_indices()) and torch.equal(x.values(), expected.values())
        )
    assert _said(found.torch_equal) == _answer(lambda: torch.equal(x, expected))
    assert _said(found.naive_eq) == _answer(lambda: (x == expected).all())


@pytest.mark.parametrize("kind", tricky())
def test_that_the_canonical_form_keeps_every_bit(kind: str, tmp_path: Path) -> None:
    x = tricky()[kind]
    y = WAYS["canonical-pth"].copy(x, tmp_path)
    found = compare_tensors(x, y)
    assert found.bits
    assert not {"dtype", "shape", "requires_grad", "class"} & set(found.changed)


def test_that_a_tied_pair_is_tied_after_torch_save_and_apart_after_numpy_files(tmp_path: Path) -> None:
    x = torch.randn(4)
    tree = {"a": x, "b": x, "part": x[1:3]}
    for name, kept in (("torch.save", True), ("deepcopy", True), ("clone", False), ("npy", False)):
        *_, found = compare_trees(tree, WAYS[name].copy(tree, tmp_path))
        assert found.sharing != kept, name


def test_that_safetensors_refuses_shared_memory_and_numpy_bfloat16(tmp_path: Path) -> None:
    x = torch.randn(4)
    with pytest.raises(RuntimeError, match="share memory"):
        WAYS["safetensors"].copy({"a": x, "b": x}, tmp_path)
    with pytest.raises(TypeError, match="BFloat16"):
        WAYS["numpy"].copy(x.bfloat16(), tmp_path)


def test_that_a_tensor_made_by_a_graph_cannot_be_deepcopied_and_is_a_leaf_after_reloading(tmp_path: Path) -> None:
    x = torch.randn(3, requires_grad=True) * 2
    with pytest.raises(RuntimeError):
        WAYS["deepcopy"].copy(x, tmp_path)
    found = compare_tensors(x, WAYS["torch.save"].copy(x, tmp_path))
    assert "is_leaf" in found.changed
    assert found.bits


def test_that_a_state_dict_comes_back_through_a_new_module(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    *_, found = compare_trees(state, WAYS["state_dict"].copy(state, tmp_path))
    assert all(pair.bits for pair in found.pairs)
    assert not found.structure


def test_that_naive_equality_is_explained() -> None:
    nan = torch.tensor([1.0, float("nan")])
    found = compare_tensors(nan, nan.clone())
    assert (found.naive_eq, found.torch_equal, found.bits) == ("False", "False", True)
    assert "NaN == NaN is False" in found.why
    zero = compare_tensors(torch.tensor([0.0]), torch.tensor([-0.0]))
    assert (zero.naive_eq, zero.bits, zero.numbers, zero.n_bits) == ("True", False, True, 1)
    assert "0.0 == -0.0" in zero.why
    wide = compare_tensors(torch.tensor([1.5]), torch.tensor([1.5], dtype=torch.float64))
    assert (wide.naive_eq, wide.torch_equal, wide.numbers, wide.bits) == ("True", "True", True, False)
    assert "dtypes differ" in wide.why


def test_that_elements_that_differ_are_counted_exactly() -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(3_000_001, generator=generator)
    y = x.clone()
    places = torch.randperm(x.numel(), generator=generator)[:1234]
    y[places] += 1
    found = compare_tensors(x, y)
    assert (found.n_bits, found.n_numbers) == (1234, 1234)


def test_that_structure_and_plain_values_are_compared_too() -> None:
    *_, found = compare_trees({"a": [1, 2.5, float("nan")]}, {"a": [1, 2.5, float("nan")]})
    assert not found.values
    assert not found.structure
    *_, found = compare_trees({"a": [1, 2.5]}, {"a": (1, 2.5)})
    assert found.structure
    *_, found = compare_trees({"a": 1}, {"a": 1.0})
    assert found.values
    *_, found = compare_trees({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert found.structure


def test_that_every_way_says_what_it_is() -> None:
    names = [way.facts.name for way in all_ways(("cpu", "meta"))]
    assert len(names) == len(set(names))
    assert "to-meta" in names
    for way in all_ways():
        assert way.facts.title
        assert way.facts.says
        assert way.facts.caveats
        compile(way.facts.code, way.facts.name, "exec")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(way.facts.lossless != way.facts.name.startswith("cast") for way in all_ways())
