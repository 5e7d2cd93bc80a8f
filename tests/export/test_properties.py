"""Generated trees: their bytes are equal exactly when their contents are."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.export.contents import exported, loaded, same, save
from tests.export.trees import HASHABLE, TREES
from viewer.export.digest import digest_task
from viewer.export.options import ExportOptions
from viewer.task import run

_SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _name(value: Any, folder: Path, **options: Any) -> str:
    path = save(value, folder / "a.pt")
    return run(digest_task(path, ExportOptions(objects="keep", **options))).sha256


@_SETTINGS
@given(TREES)
def test_that_what_is_exported_is_loaded_as_the_same_content_and_exported_alike(value: Any) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        once = exported(save(value, folder / "a.pt"), folder / "b.pth")
        again = loaded(once.path)
        assert same(again, value)
        assert exported(save(again, folder / "c.pt"), folder / "d.pth").sha256 == once.sha256
        assert exported(once.path, folder / "e.pth").sha256 == once.sha256
        legacy = save(value, folder / "f.pt", legacy=True)
        assert run(digest_task(legacy)).sha256 == once.sha256


@_SETTINGS
@given(TREES, TREES)
def test_that_bytes_are_equal_exactly_when_contents_are(a: Any, b: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert (_name(a, Path(folder)) == _name(b, Path(folder))) == same(a, b)


@_SETTINGS
@given(TREES)
def test_that_each_small_change_of_a_content_changes_its_name(value: Any) -> None:
    changed = [{"x": value}, [value], (value,), [value, None], {"x": value, "y": 1}, {"y": 1, "x": value}]
    with tempfile.TemporaryDirectory() as folder:
        names = [_name(item, Path(folder)) for item in changed]
    assert all(one != other for one, other in itertools.combinations(names, 2))


@_SETTINGS
@given(st.dictionaries(HASHABLE, TREES, max_size=5), st.randoms(use_true_random=False))
def test_that_sorted_exports_do_not_depend_on_the_order_of_keys(value: dict[Any, Any], random: Any) -> None:
    pairs = list(value.items())
    random.shuffle(pairs)
    with tempfile.TemporaryDirectory() as folder:
        one = _name(value, Path(folder), sort_keys=True)
        assert _name(dict(pairs), Path(folder), sort_keys=True) == one


@_SETTINGS
@given(TREES)
def test_that_a_safetensors_export_keeps_the_whole_content(value: Any) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        source = save(value, folder / "a.pt")
        written = exported(source, folder / "b.safetensors", flavour="safetensors")
        assert run(digest_task(written.path)).sha256 == run(digest_task(source)).sha256
        assert exported(written.path, folder / "c.safetensors", flavour="safetensors").sha256 == written.sha256
