"""Weights that ZeRO-3 left empty: their real shapes, as a fact of each.

DeepSpeed's ZeRO stage 3 keeps the values of all parameters in partitions, and saves every weight of `module` with
size 0; `param_shapes` beside it, a dict for each parameter group, has the shapes (deepspeed/runtime/engine.py:
`_get_zero_param_shapes`, `save_checkpoint`).
"""

from __future__ import annotations

from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Key, Kind
from viewer.checkpoint.tensors import numel_of

_DIMS: Final = 64


def note_partitioned(checkpoint: Checkpoint) -> None:
    """Add the fact "real shape" to the empty weights of a DeepSpeed file, and one warning."""
    nodes, empty = checkpoint.nodes, 0
    first = nodes.first_child[0]
    if "param_shapes" not in nodes.key[first : first + nodes.n_children[0]]:
        return
    shapes = _param_shapes(checkpoint)
    for module in _children(checkpoint, 0, "module"):
        for node in nodes.children(module):
            number = nodes.value[node]
            shape = shapes.get(nodes.key[node])
            if nodes.kind[node] != Kind.TENSOR or not isinstance(number, int) or shape is None:
                continue
            if numel_of(checkpoint.tensors.shape[number]) == 0 and 0 not in shape:
                empty += 1
                extents = "×".join(map(str, shape)) or "scalar"
                checkpoint.tensors.extra.setdefault(number, {})["real shape"] = (
                    f"{extents}, in param_shapes; ZeRO-3 keeps the values in the optimizer states"
                )
    if empty:
        checkpoint.warnings.append(
            f"{empty:,} tensors are empty: ZeRO-3 keeps them in the optimizer states, and their real shapes in "
            "param_shapes"
        )


def _param_shapes(checkpoint: Checkpoint) -> dict[Key, list[object]]:
    """Extents by the name of the parameter, of all parameter groups."""
    nodes = checkpoint.nodes
    return {
        nodes.key[row]: [nodes.value[extent] for extent in nodes.children(row)]
        for groups in _children(checkpoint, 0, "param_shapes")
        for group in nodes.children(groups)
        for row in nodes.children(group)
        if nodes.n_children[row] <= _DIMS
    }


def _children(checkpoint: Checkpoint, node: int, key: Key) -> list[int]:
    nodes = checkpoint.nodes
    return [child for child in nodes.children(node) if nodes.key[child] == key]
