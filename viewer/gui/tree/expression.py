"""A node as the Python expression that reaches it in what `torch.load` returns: `ckpt["model"]["fc.weight"]`."""

from __future__ import annotations

import json

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Key, Kind, OtherKey


def python_expression(checkpoint: Checkpoint, node: int, name: str = "ckpt") -> str:
    """The expression for a node.

    A key that is neither text nor an integer stands by its repr, which need not be an expression; a member of a set
    is reached by its place in the file's order, which a loaded set does not keep.
    """
    nodes = checkpoint.nodes
    chain: list[int] = []
    while nodes.parent[node] >= 0:
        chain.append(node)
        node = nodes.parent[node]
    expression = name
    for child in reversed(chain):
        key, kind = nodes.key[child], nodes.kind[nodes.parent[child]]
        if kind in (Kind.OBJECT, Kind.TENSOR) and isinstance(key, str) and key.isidentifier():
            expression += f".{key}"
        elif isinstance(key, OtherKey) and key.text.startswith(".") and key.text[1:].isidentifier():
            expression += key.text  # an attribute of a mapping (`._metadata`)
        elif kind == Kind.SET:
            expression = f"list({expression})[{key}]"
        else:
            expression += f"[{_literal(key)}]"
    return expression


def _literal(key: Key) -> str:
    if isinstance(key, OtherKey):
        return key.text
    # JSON's quotes are the double ones that people write, and a printable JSON string is a Python string.
    return json.dumps(key, ensure_ascii=False) if isinstance(key, str) and key.isprintable() else repr(key)
