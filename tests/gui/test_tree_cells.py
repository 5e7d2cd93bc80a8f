"""The words and figures of rows, and Python expressions, without Qt."""

from __future__ import annotations

import pytest

from tests.gui.checkpoints import Link, Problem, Tensor, Typed, make_checkpoint
from tests.gui.test_tree_layout import build
from viewer.checkpoint.nodes import Kind, OtherKey
from viewer.gui.tree.cells import Column, badge, cell, group_name, problem_of, spans, tooltip
from viewer.gui.tree.display import DisplayTable
from viewer.gui.tree.expression import python_expression


def row_named(table: DisplayTable, *labels: str) -> int:
    row = table.row_at(labels)
    assert row is not None
    return row


def cells(table: DisplayTable, *labels: str) -> list[str]:
    row = row_named(table, *labels)
    return [cell(table, row, column) for column in list(Column)[: Column.SIZE + 1]]


def test_that_a_tensor_shows_dtype_shape_elements_and_bytes() -> None:
    table = build({"weight": Tensor((64, 64, 3, 3)), "count": Tensor((), "int64")})
    assert cells(table, "weight") == ["weight", "f32", "64×64×3×3", "36,864", "144 KB"]
    assert cells(table, "count") == ["count", "i64", "–", "1", "8 B"]


def test_that_exact_figures_are_one_hover_away() -> None:
    table = build({"weight": Tensor((64, 64, 3, 3)), "m": {"a": Tensor((3,)), "b": Tensor((5,), "bfloat16")}})
    row = row_named(table, "weight")
    assert tooltip(table, row, Column.SIZE) == "36,864 elements, 147,456 bytes packed densely"
    assert tooltip(table, row, Column.TYPE) == "float32"
    assert tooltip(table, row, Column.SHAPE) == "(64, 64, 3, 3)"
    assert tooltip(table, row_named(table, "m"), Column.SIZE).startswith("2 tensors with 8 elements, 22 bytes")


def test_that_a_view_of_a_larger_storage_says_so() -> None:
    table = build({"view": Tensor((3,))})
    table.checkpoint.storages.nbytes[0] = 4000
    assert tooltip(table, row_named(table, "view"), Column.SIZE).endswith("Its storage has 4,000 bytes.")


def test_that_a_tensor_without_a_storage_has_no_bytes() -> None:
    table = build({"meta": Tensor((1000, 1000), stored=False)})
    assert cells(table, "meta")[Column.SIZE] == "–"
    assert "no storage" in tooltip(table, row_named(table, "meta"), Column.SIZE)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(12, "12"), (-1.5, "-1.5"), (None, "None"), (True, "True"), ("resnet18", "'resnet18'"), (b"\x00", "b'\\x00'")],
)
def test_that_a_value_is_written_over_the_columns_of_figures(value: object, shown: str) -> None:
    table = build({"x": value})
    assert cells(table, "x") == ["x", type(value).__name__, "", "", shown]
    assert spans(table, 1)


def test_that_long_values_are_cut_short_and_say_how_long_they_are() -> None:
    table = build({"text": "ab" * 50_000, "number": 10**5000})
    assert cells(table, "text")[-1].endswith("(100,000 characters)")
    assert len(cells(table, "text")[-1]) < 260
    assert len(tooltip(table, row_named(table, "text"), Column.SIZE)) < 2_100
    assert len(cells(table, "number")[-1]) <= 201


def test_that_a_problem_shows_its_message_and_a_link_its_target() -> None:
    table = build({"broken": Problem("the record ends early"), "a": {"x": 1}, "again": Link(2)})
    assert cells(table, "broken")[1:] == ["problem", "", "", "the record ends early"]
    assert problem_of(table, row_named(table, "broken")) == "the record ends early"
    assert cells(table, "again")[-1] == "→ a"


def test_that_a_tensor_that_cannot_be_read_has_its_problem() -> None:
    table = build({"x": Tensor(problem="its record is missing"), "y": Tensor()})
    table.checkpoint.storages.problem[1] = "deflated badly"
    assert problem_of(table, row_named(table, "x")) == "its record is missing"
    assert problem_of(table, row_named(table, "y")) == "deflated badly"
    assert "its record is missing" in tooltip(table, row_named(table, "x"), Column.NAME)


def test_that_containers_say_what_they_are_beside_their_names() -> None:
    state_dict = Typed("collections.OrderedDict", {"fc.weight": Tensor(), "fc.bias": Tensor()})
    table = build(
        {
            "model": state_dict,
            "mixed": {"fc.weight": Tensor(), "n": 1},
            "groups": [1, 2, 3],
            "net": Typed("models.net.TinyNet", {"x": 1}, Kind.OBJECT),
            "w": Typed("torch.nn.parameter.Parameter", Tensor()),
        }
    )
    badges = {table.label[row]: badge(table, row) for row in table.children(0)}
    assert badges == {
        "model": "state_dict",
        "mixed": "dict · 2",
        "groups": "list · 3",
        "net": "TinyNet",
        "w": "Parameter",
    }
    assert "taken for a state_dict" in tooltip(table, row_named(table, "model"), Column.NAME)


def test_that_a_group_has_the_name_its_members_begin_with() -> None:
    names = [f"layer1.{block}.{part}" for block in (0, 1) for part in ("conv.weight", "conv.bias")]
    table = build({"model": dict.fromkeys(names, Tensor())})
    assert group_name(table, row_named(table, "model", "layer1")) == "layer1"
    names = [f"a.b{n}.c{m}.d{k}.w" for n in (0, 1) for m in (0, 1) for k in (0, 1)]
    table = build({"model": dict.fromkeys(names, Tensor())})
    assert group_name(table, row_named(table, "model", "a", "b1", "c0")) == "a.b1.c0"


def test_that_a_row_can_be_written_as_a_python_expression() -> None:
    module = Typed("m.Net", {"weight": Tensor(), "not a name": 1}, Kind.OBJECT)
    checkpoint = make_checkpoint(
        {
            "model": {'layer1.0."w"': 1, "é": 2, "tab\t": 3},
            "groups": [{"lr": 0.1}],
            7: 4,
            OtherKey("(1, 2)"): 5,
            "attributed": {OtherKey("._metadata"): 8},
            "net": module,
            "set": Typed("set", [6], Kind.SET),
        }
    )
    expressions = {python_expression(checkpoint, node) for node in range(len(checkpoint.nodes))}
    assert expressions == {
        "ckpt",
        'ckpt["model"]',
        'ckpt["model"]["layer1.0.\\"w\\""]',
        'ckpt["model"]["é"]',
        "ckpt[\"model\"]['tab\\t']",
        'ckpt["groups"]',
        'ckpt["groups"][0]',
        'ckpt["groups"][0]["lr"]',
        "ckpt[7]",
        "ckpt[(1, 2)]",
        'ckpt["attributed"]',
        'ckpt["attributed"]._metadata',
        'ckpt["net"]',
        'ckpt["net"].weight',
        'ckpt["net"]["not a name"]',
        'ckpt["set"]',
        'list(ckpt["set"])[0]',
    }
