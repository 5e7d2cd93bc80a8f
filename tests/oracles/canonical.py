"""The canonical form over generated contents: bytes are equal exactly where contents are. A long run by hand.

    python -m tests.oracles.canonical --examples 20000 [--seed 1]

An example is two contents: made apart, or the second from the first by one small change or by none (through another
container and another insertion of what has no order).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from hypothesis import strategies as st

from tests.export.contents import same, save
from tests.export.trees import TREES
from tests.oracles.running import main
from viewer.export.digest import digest_task
from viewer.export.options import ExportOptions
from viewer.task import run

Pair = tuple[Any, Any, bool]
"""Two contents, and whether the second is saved in the legacy form."""


def check(pair: Pair, folder: Path) -> None:
    """The names of two contents are equal exactly when they are."""
    a, b, legacy = pair
    assert (_name(a, folder, legacy=False) == _name(b, folder, legacy=legacy)) == same(a, b)


def _name(value: Any, folder: Path, *, legacy: bool) -> str:
    path = save(value, folder / "m.pt", legacy=legacy)
    return run(digest_task(path, ExportOptions(objects="keep"))).sha256


def _rebuilt(value: Any) -> Any:
    """The same content of other objects: sets filled the other way round, tensors with other strides."""
    if type(value) is dict:
        return {_rebuilt(key): _rebuilt(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rebuilt(item) for item in value]
    if type(value) is tuple:
        return tuple([_rebuilt(item) for item in value])
    if isinstance(value, set):
        backwards = list(value)[::-1]
        return set(backwards)
    if type(value) is torch.Tensor:
        return torch.stack((value, value), -1)[..., 0]
    return value


def _changed(value: Any) -> Any:
    """A content that differs in one small thing."""
    if isinstance(value, dict) and value:
        first = next(iter(value))
        return {**{key: item for key, item in value.items() if key is not first}, first: value[first], "\0": None}
    if isinstance(value, torch.Tensor):
        return value.detach().clone().reshape(*value.shape, 1)
    return [value]


_PAIRS = (
    st.tuples(TREES, TREES)
    | TREES.map(lambda tree: (tree, _rebuilt(tree)))
    | TREES.map(lambda tree: (tree, _changed(tree)))
)
EXAMPLES: st.SearchStrategy[Pair] = st.builds(lambda pair, legacy: (*pair, legacy), _PAIRS, st.booleans())

if __name__ == "__main__":
    raise SystemExit(main("bytes are equal exactly where contents are", EXAMPLES, check))
