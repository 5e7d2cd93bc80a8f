"""A checkpoint as text for people: the facts about the file, the tree in aligned columns, the warnings.

Names are written as they stand in a path (`viewer.checkpoint.paths`), so that what is read can be typed. Statistics
are rounded to six significant digits; the JSON report has them in full.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.paths import format_key
from viewer.errors import FileChanged, ViewerError
from viewer.report.extract import MAX_LEVELS, TOO_DEEP, Extract, ProblemTally
from viewer.report.measures import ElementReader
from viewer.report.text_head import head_lines
from viewer.report.text_rows import header, measure, row
from viewer.report.wording import display_width, padded, plural, printable


def iter_text(extract: Extract) -> Iterator[str]:
    """Lines, each with its line feed."""
    nodes = extract.checkpoint.nodes
    for line in head_lines(extract.checkpoint):
        yield line + "\n"
    widths = measure(
        extract, ((node, len(branches) + display_width(name)) for node, branches, name, *_ in _walk(extract))
    )
    yield f"\n{header(extract, widths)}\n"
    tally = ProblemTally(extract)
    with ElementReader(extract.checkpoint, extract.device) as elements:
        for node, branches, name, below, too_deep in _walk(extract):
            problem = extract.problem_of(node) or too_deep
            yield row(extract, node, branches + padded(name, widths.name - len(branches)), problem, widths) + "\n"
            number = nodes.value[node]
            if extract.n_elements is not None and nodes.kind[node] == Kind.TENSOR and isinstance(number, int):
                yield f"{below}["
                problem = (yield from _elements(elements, number, extract.n_elements)) or problem
                yield "]\n"
            if problem is not None:
                tally.add(node, problem)
    warnings = tally.sentences()
    if warnings:
        yield f"\n{plural(len(warnings), 'warning')}:\n"
        for warning in warnings:
            yield f"  ! {printable(warning)}\n"


def _walk(extract: Extract) -> Iterator[tuple[int, str, str, str, str | None]]:
    """Nodes in tree order, each with the branches before its name, its name, the branches of a line below it, and why
    not all below is listed.
    """
    checkpoint, root = extract.checkpoint, extract.root
    nodes = checkpoint.nodes
    name = checkpoint.path_of(root) if nodes.parent[root] >= 0 else "(root)"
    yield root, "", name, "│  " if nodes.n_children[root] else "   ", None
    stack = [(nodes.children(root), iter(nodes.children(root)), "")]
    while stack:
        siblings, remaining, branches = stack[-1]
        node = next(remaining, None)
        if node is None:
            stack.pop()
            continue
        is_last = node == siblings[-1]
        below = branches + ("   " if is_last else "│  ")
        children = nodes.children(node)
        fork = "└─ " if is_last else "├─ "
        too_deep = TOO_DEEP if children and len(stack) >= MAX_LEVELS else None
        yield node, branches + fork, format_key(nodes.key[node]), below + ("│  " if children else "   "), too_deep
        if children and not too_deep:
            stack.append((children, iter(children), below))


def _elements(reader: ElementReader, number: int, count: int) -> Generator[str, None, str | None]:
    """The first elements with commas between them, and an ellipsis where there are more; returns what went wrong."""
    shown = 0
    try:
        for elements in reader.iter_first(number, count + 1):  # one more, to see whether there are more
            texts = [repr(element) for element in elements[: count - shown]]
            texts += ["…"] if shown + len(elements) > count else []
            yield (", " if shown and texts else "") + ", ".join(texts)
            shown += len(elements)
    except FileChanged:
        raise
    except ViewerError as error:
        yield f"! {printable(error.fault)}"
        return error.fault
    return None
