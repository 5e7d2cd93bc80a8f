"""What a node is, in a sentence. No Qt."""

from __future__ import annotations

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind

_LEADS = {
    Kind.REFERENCE: "A class or function that the file names. It was not imported.",
    Kind.LINK: "The same object stands elsewhere in the file and is shown there.",
    Kind.GROUP: "A grouping made for this view; the file has no entry of its own for it.",
    Kind.STORAGE: "A storage saved by itself, without a tensor.",
}


def lead_words(checkpoint: Checkpoint, node: int) -> str:
    """What there is to say before the facts; "" where the facts say it all."""
    nodes = checkpoint.nodes
    kind = Kind(nodes.kind[node])
    value = nodes.value[node]
    if kind == Kind.OBJECT:
        note = f"\n{value}" if isinstance(value, str) and value else ""
        return f"An object of the class {nodes.type_name(node)}. Not imported: shown from its saved state.{note}"
    if kind == Kind.REFERENCE:
        return f"{value}\n{_LEADS[kind]}"
    return _LEADS.get(kind, "")


def problem_words(checkpoint: Checkpoint, node: int) -> str:
    """What is wrong with a PROBLEM node and what to do about it; "" for others."""
    if checkpoint.nodes.kind[node] != Kind.PROBLEM:
        return ""
    message = str(checkpoint.nodes.value[node]).rstrip(". ")
    return (
        f"✕ {message}.\n\nThe rest of the file is shown and can be used. If the file was copied or downloaded, "
        "compare its size with the original's and fetch it again."
    )


def jump_words(checkpoint: Checkpoint, target: int) -> str:
    """The button that leads to the target of a link."""
    return f"→ {checkpoint.path_of(target) or 'the root of the file'}"
