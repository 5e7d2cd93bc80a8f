"""Generated contents: plain values, tensors and containers of them."""

from __future__ import annotations

from collections import OrderedDict

import torch
from hypothesis import strategies as st

_TEXTS = st.text(max_size=6) | st.sampled_from(["a", "b", "storage", "cpu", "0", "1"])
_FLOATS = st.floats(allow_nan=True) | st.sampled_from([0.0, -0.0, 1.0])
_INTS = st.integers(-(1 << 80), 1 << 80) | st.sampled_from([0, 1, 255, 256, 65536])
HASHABLE = st.recursive(
    st.none() | st.booleans() | _INTS | _FLOATS | _TEXTS | st.binary(max_size=5),
    lambda inner: st.tuples(inner) | st.tuples(inner, inner),
    max_leaves=4,
)
_NUMBERS = st.lists(st.sampled_from([0, 1, 2, 127]), max_size=4)
_DTYPES = st.sampled_from([torch.float32, torch.int8, torch.bfloat16, torch.uint16, torch.bool])


@st.composite
def _tensors(draw: st.DrawFn) -> torch.Tensor:
    tensor = torch.tensor(draw(_NUMBERS), dtype=torch.int64).to(draw(_DTYPES))
    if draw(st.booleans()):
        tensor = tensor.reshape(1, -1).t()
    if tensor.is_floating_point() and draw(st.booleans()):
        tensor = torch.nn.Parameter(tensor, requires_grad=draw(st.booleans()))
    return tensor


TREES = st.recursive(
    HASHABLE | _tensors() | st.sets(_TEXTS | _INTS, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(HASHABLE, inner, max_size=4)
        | st.lists(st.tuples(_TEXTS, inner), max_size=3).map(OrderedDict)
        | st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=10,
)
