"""A way as a program that repeats it without this one, on one tensor or on a tree of them."""

from __future__ import annotations

import textwrap
from typing import Final

from viewer.roundtrip.results import WayFacts

_NAMED: Final = '''
def named(tree, path=""):
    """All tensors, by name."""
    if isinstance(tree, torch.Tensor):
        yield path or "x", tree
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from named(item, f"{path}.{key}" if path else str(key))
    elif isinstance(tree, (list, tuple)):
        for index, item in enumerate(tree):
            yield from named(item, f"{path}.{index}" if path else str(index))
'''

_MAPPED: Final = '''
def mapped(tree):
    """Each tensor by itself, in containers of the same kind."""
    if isinstance(tree, torch.Tensor):
        return one(tree)
    if isinstance(tree, dict):
        return type(tree)((key, mapped(item)) for key, item in tree.items())
    if isinstance(tree, (list, tuple)):
        return type(tree)([mapped(item) for item in tree])
    return tree
'''

_COMPARE: Final = '''
def parts(t):
    """What holds the elements: the tensor itself, or the parts of a sparse one."""
    t = t.detach()
    if t.layout == torch.sparse_coo:
        return [t._indices(), t._values()]
    if t.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [t.crow_indices(), t.col_indices(), t.values()]
    if t.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [t.ccol_indices(), t.row_indices(), t.values()]
    return [t]


def raw(t):
    """The bytes of the elements, in logical order."""
    plain = [part.int_repr() if part.is_quantized else part.resolve_conj().resolve_neg() for part in parts(t)]
    return [part.cpu().contiguous().reshape(-1).view(torch.uint8) for part in plain]


def memory(t):
    return {part.untyped_storage().data_ptr() for part in parts(t)} - {0}


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and all(map(torch.equal, raw(a), raw(b)))


def answer(ask):
    """What torch says, or why it cannot."""
    try:
        return ask()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


after = dict(named(y))
for name, a in named(x):
    b = after.get(name)
    if b is None:
        print(name, "did not come back under this name")
        continue
    print(name)
    print("  same bits:", answer(lambda: same_bits(a, b)))
    print("  (x == y).all():", answer(lambda: bool((a == b).all())))
    print("  torch.equal:", answer(lambda: torch.equal(a, b)))
    print("  dtype:", a.dtype, b.dtype, " requires_grad:", a.requires_grad, b.requires_grad)
    print("  class:", type(a).__name__, type(b).__name__, " stride:", answer(a.stride), answer(b.stride))
    print("  shares memory:", answer(lambda: bool(memory(a) & memory(b))))
'''


def snippet(way: WayFacts, load: str, imports: str = "") -> str:
    """A program that repeats a way on its own and prints what came back.

    Parameters
    ----------
    load
        An expression that gives the tensor, or tree, in a program that has imported torch.
    imports
        What else it needs.
    """
    head = f"import torch\n{imports}"
    if way.each:
        do = f"def one(x):\n{textwrap.indent(way.code, '    ')}\n    return y\n\n{_MAPPED}\n\ny = mapped(x)\n"
    else:
        do = f"{way.code}\n"
    return f"{head}\n{_NAMED}\n\nx = {load}\n\n{do}\n{_COMPARE}"
