"""Every node has one path string, and the string leads back to that node alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.checkpoint.trees import flat_mapping
from viewer.checkpoint.nodes import OtherKey
from viewer.checkpoint.paths import format_path, parse_path, resolve_path
from viewer.errors import BadPath

KEYS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["", " ", "a/b", "a.b", "0", "[0]", '"', "\\", "é", "e\u0301", "\ud800", "\n", "{x}", "]["]),
    st.integers(),
    st.builds(OtherKey, st.text(max_size=6), st.integers(1, 3)),
)


@given(st.lists(KEYS, max_size=5))
def test_that_a_path_parses_back_to_the_keys_it_was_made_of(keys: list[object]) -> None:
    assert parse_path(format_path(keys)) == tuple(keys)


@given(st.lists(KEYS, max_size=4), st.lists(KEYS, max_size=4))
def test_that_different_keys_never_share_a_path(left: list[object], right: list[object]) -> None:
    same_keys = [(type(k), k) for k in left] == [(type(k), k) for k in right]
    assert (format_path(left) == format_path(right)) == same_keys


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ((), ""),
        (("model", "layer1.0.conv1.weight"), "model/layer1.0.conv1.weight"),
        (("optimizer", "state", 0, "exp_avg"), "optimizer/state[0]/exp_avg"),
        (("layers", "0"), "layers/0"),
        (("files", "a/b.py"), 'files["a/b.py"]'),
        (("",), '[""]'),
        ((OtherKey("(1, 2)"),), '[{"(1, 2)"}]'),
        ((OtherKey("nan", 2),), '[{"nan"}2]'),
        ((-3, 2**80), "[-3][1208925819614629174706176]"),
    ],
)
def test_that_paths_look_as_documented(keys: tuple[object, ...], path: str) -> None:
    assert format_path(keys) == path


@pytest.mark.parametrize(
    "path", ["/a", "a/", "a//b", "a[", "a[x]", 'a["', "a]b", '["\\x"]', "[0]a", "[" + "9" * 5000 + "]"]
)
def test_that_a_malformed_path_is_refused_with_the_place(path: str) -> None:
    with pytest.raises(BadPath, match="at character"):
        parse_path(path)


def test_that_a_string_key_is_not_an_integer_key() -> None:
    nodes = flat_mapping(["0", 0, 1])
    assert resolve_path(nodes, "0") == 1
    assert resolve_path(nodes, "[0]") == 2


def test_that_a_missing_key_names_what_is_there() -> None:
    with pytest.raises(BadPath, match=r"no weigth.*It holds weight, bias"):
        resolve_path(flat_mapping(["weight", "bias"]), "weigth")
