"""The text tree: aligned, on one line each, with the warnings at its end."""

from __future__ import annotations

from pathlib import Path

import torch

from tests.report.trees import Float32, Node, checkpoint_of
from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint, GlobalUse
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import TensorFlag
from viewer.report.extract import Extract
from viewer.report.text_report import iter_text


def text_of(checkpoint: Checkpoint, path: str = "") -> str:
    return "".join(iter_text(Extract(checkpoint, checkpoint.find(path))))


def tree_of(checkpoint: Checkpoint, path: str = "") -> list[str]:
    """The lines from the header of the columns on."""
    lines = text_of(checkpoint, path).splitlines()
    return lines[lines.index("") + 1 :]


def test_that_the_tree_has_branches_and_aligned_columns() -> None:
    tree = {"model": {"a.weight": Float32((64, 3)), "中": Float32(())}, "epoch": 7, "": [1.5]}
    assert tree_of(checkpoint_of(tree)) == [
        "name            type     shape   elements  bytes",
        "(root)          dict     3 items",
        "├─ model        dict     2 items",
        "│  ├─ a.weight  float32  64×3         192    768",
        "│  └─ 中        float32  scalar         1      4",
        "├─ epoch        int      7",
        '└─ [""]         list     1 item',
        "   └─ [0]       float    1.5",
    ]


def test_that_a_part_is_named_by_its_whole_path() -> None:
    tree = {"model": {"layers": [Float32((2,)), 3]}}
    assert [line.split()[0] for line in tree_of(checkpoint_of(tree), "model/layers")] == [
        "name",
        "model/layers",
        "├─",
        "└─",
    ]


def test_that_what_is_out_of_the_ordinary_stands_beside_a_tensor() -> None:
    checkpoint = checkpoint_of([Float32((2, 3), "cuda:0"), Float32((2, 3)), Float32((2, 3)), Float32((2, 3))])
    checkpoint.tensors.flags[0] = TensorFlag.PARAMETER | TensorFlag.REQUIRES_GRAD
    checkpoint.tensors.flags[1] = TensorFlag.REQUIRES_GRAD
    checkpoint.tensors.stride[1] = (1, 2)
    checkpoint.tensors.layout[2] = "sparse_coo"
    ends = [line.split()[-3:] for line in tree_of(checkpoint)[2:]]
    assert ends[0] == ["24", "Parameter", "cuda:0"]
    assert ends[1] == ["requires_grad", "stride", "1×2"]
    assert ends[2][-1] == "sparse_coo"
    assert ends[3][-1] == "24"


def test_that_hostile_names_types_and_values_stay_on_their_line_without_control_characters() -> None:
    tree = {
        "a\nb\x1b[2J": "x\ny\x1b]0;title\x07",
        "t": Node(Kind.OBJECT, "evil\n\x1b[31mtype", "note\r"),
        "r": Node(Kind.REFERENCE, "function", "os\u202e.system\n"),
        "d": Node(Kind.SCALAR, "datetime.datetime", "2024-01-01\n"),
        "p": Node(Kind.PROBLEM, "x", "line one\nline two"),
    }
    checkpoint = checkpoint_of(tree, name="bad\nname.pth")
    checkpoint.facts["byte\norder"] = "lit\x1btle"
    checkpoint.warnings.append("a\nb")
    checkpoint.globals = [GlobalUse("os\n", "sys\x1btem", False)]
    text = text_of(checkpoint)
    assert all(line.isprintable() for line in text.split("\n"))
    assert len(text.splitlines()) == len(
        ["path", *range(7), "global", "", "header", *range(6), "", "warnings", *range(2)]
    )


def test_that_the_head_says_what_the_file_names_and_that_nothing_ran() -> None:
    checkpoint = checkpoint_of({"a": Float32((10,)), "b": Float32(())})
    assert "nothing was executed; the file names no classes or functions" in text_of(checkpoint)
    checkpoint.globals = [GlobalUse("collections", "OrderedDict", True)]
    assert "names 1 class or function, all known to be harmless" in text_of(checkpoint)
    checkpoint.globals += [GlobalUse("evil", f"name{n}", False, 2) for n in range(25)]
    text = text_of(checkpoint)
    assert "names 26 classes or functions, 25 of them not known to be harmless" in text
    assert "evil.name19 (2 times)" in text
    assert "evil.name20" not in text
    assert "… and 5 more (all with --json)" in text
    assert "tensors             2, of 11 elements" in text


def test_that_long_names_push_their_own_row_alone() -> None:
    lines = tree_of(checkpoint_of({"x" * 200: 1, "short": 2}))
    assert lines[2].endswith("x  int   1")
    assert lines[3].index("int") == lines[1].index("dict")


def test_that_warnings_close_the_report() -> None:
    checkpoint = checkpoint_of({"p": Node(Kind.PROBLEM, "tensor", "too short")})
    checkpoint.warnings.append("the file ends early")
    assert text_of(checkpoint).endswith("\n2 warnings:\n  ! the file ends early\n  ! p cannot be read: too short\n")


def test_that_a_link_names_what_it_shows() -> None:
    lines = tree_of(checkpoint_of({"model": {"x": 1}, "again": Node(Kind.LINK, "dict", 1)}))
    assert lines[-1].endswith("same object as model")


def test_that_the_head_says_what_is_shared(tmp_path: Path) -> None:
    whole = torch.arange(8.0)
    torch.save({"a": whole, "tied": whole, "view": whole[:2], "own": torch.ones(1)}, tmp_path / "m.pth")
    text = text_of(open_checkpoint(tmp_path / "m.pth"))
    assert "shared tensors      1, under 2 names" in text
    assert "storages            2, of 36 bytes; 1 shared by 2 tensors" in text
    assert "2      8  in a storage of 32 bytes" in text
    assert "shared" not in text_of(checkpoint_of([Float32((2,)), Float32((2,))]))


def test_that_facts_without_which_a_row_misleads_stand_in_it() -> None:
    checkpoint = checkpoint_of([Float32((0,)), Float32((6,)), Float32((1,))])
    checkpoint.tensors.extra[0] = {"real shape": "4×3, in param_shapes"}
    checkpoint.tensors.extra[2] = {"qscheme": "per_tensor_affine", "scale": 0.5, "zero_point": 3}
    checkpoint.tensors.layout[1] = "nested"
    checkpoint.tensors.extra[1] = {"nested sizes": "1×2, 2×2"}
    assert "real shape 4×3, in param_shapes" in tree_of(checkpoint)[2]
    assert tree_of(checkpoint)[3].endswith("nested of 1×2, 2×2")
    assert tree_of(checkpoint)[4].endswith("scale 0.5, zero point 3")


def test_that_a_tensor_in_parts_says_so_and_is_no_fault(tmp_path: Path) -> None:
    torch.save({"s": torch.eye(3).to_sparse(), "m": torch.empty(2, device="meta")}, tmp_path / "m.pth")
    checkpoint = open_checkpoint(tmp_path / "m.pth")
    text = "".join(iter_text(Extract(checkpoint, n_elements=2)))
    assert "a sparse_coo tensor: its values are in the rows below it" in text
    assert "1 warning:\n  ! m cannot be read: no data of it is stored (device meta)" in text
