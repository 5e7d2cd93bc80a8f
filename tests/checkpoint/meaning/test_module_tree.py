"""The model view: modules from dotted names, figures rolled up, repeated blocks as one row."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from tests.checkpoint.meaning.training import Tied, recognised
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.module_tree import keys_listing, module_tree, module_tree_task
from viewer.checkpoint.meaning.results import ModuleTree
from viewer.task import run


def tree_of(content: object, folder: Path) -> ModuleTree:
    checkpoint, recognition = recognised(content, folder)
    return module_tree(Look(checkpoint), recognition.state_dicts[0])


class Block(nn.Module):
    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.attn = nn.ModuleDict({"q_proj": nn.Linear(4, width, bias=False)})
        self.norm = nn.LayerNorm(4)


def test_that_equal_blocks_are_one_row_with_their_shape(tmp_path: Path) -> None:
    model = nn.Module()
    model.layers = nn.ModuleList([*(Block() for _ in range(12)), Block(5), Block()])
    tree = tree_of(model.state_dict(), tmp_path)
    rows = {tree.full_name(row): row for row in range(len(tree))}
    row = rows["layers.[0–11].attn.q_proj.weight"]
    assert (tree.shape[row], tree.copies[row], tree.numel[row]) == ((4, 4), 12, 192)
    assert tree.copies[rows["layers.[0–11]"]] == 12
    assert tree.shape[rows["layers.12.attn.q_proj.weight"]] == (5, 4)
    assert tree.copies[rows["layers.13.norm.bias"]] == 1
    whole = rows["layers"]
    assert tree.numel[whole] == sum(value.numel() for value in model.parameters())
    assert tree.nbytes[whole] == 4 * tree.numel[whole]
    assert tree.n_tensors[whole] == len(model.state_dict())


def test_that_blocks_of_another_dtype_stay_apart_and_the_mix_is_shown(tmp_path: Path) -> None:
    layers = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).half(), nn.Linear(2, 2).half())
    tree = tree_of({"body": 0, "m": nn.ModuleDict({"layers": layers}).state_dict()}, tmp_path)
    names = [tree.full_name(row) for row in range(len(tree)) if tree.shape[row] is None]
    assert names == ["layers", "layers.0", "layers.[1–2]"]
    assert tree.dtypes[0] == "float16, float32"


def test_that_tied_weights_count_once(tmp_path: Path) -> None:
    model = Tied()
    tree = tree_of(model.state_dict(), tmp_path)
    tops = [row for row in range(len(tree)) if tree.parent[row] < 0]
    assert sum(tree.numel[row] for row in tops) == sum(value.numel() for value in model.parameters())


def test_that_lora_matrices_show_their_rank(tmp_path: Path) -> None:
    state = {
        "q.lora_A.weight": torch.zeros(8, 64),
        "q.lora_B.weight": torch.zeros(64, 8),
        "q.weight": torch.zeros(64, 64),
    }
    tree = tree_of(state, tmp_path)
    ranks = {tree.full_name(row): tree.rank[row] for row in range(len(tree)) if tree.shape[row] is not None}
    assert ranks == {"q.lora_A.weight": 8, "q.lora_B.weight": 8, "q.weight": 0}


def test_that_a_name_which_is_both_tensor_and_module_keeps_both(tmp_path: Path) -> None:
    state = {
        "a": torch.zeros(2),
        "a.weight": torch.zeros(3),
        "a.": torch.zeros(4),
        "": torch.zeros(5),
        ".": torch.zeros(6),
    }
    tree = tree_of(state, tmp_path)
    assert sorted(shape for shape in tree.shape if shape is not None) == [(2,), (3,), (4,), (5,), (6,)]


def test_that_the_task_finds_the_model_at_its_node(tmp_path: Path) -> None:
    checkpoint, _ = recognised({"net": nn.Linear(2, 2)}, tmp_path)
    tree = run(module_tree_task(checkpoint, checkpoint.find("net")))
    assert tree.name == ["weight", "bias"]


def test_that_the_keys_are_listed_as_python_prints_them() -> None:
    state = nn.Linear(2, 2).state_dict()
    assert keys_listing(state) == str(state.keys())
