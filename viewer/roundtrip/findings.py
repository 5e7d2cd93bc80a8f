"""What of a tensor, or of a tree of tensors, came back as it was. All sides are live objects of torch.

Bits are compared on the resolved elements (conjugate and negative bits applied) in logical order. Numbers are equal
as a person would say it: NaN equals NaN in its place, +0 equals -0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from viewer.roundtrip.results import PairFinding

if TYPE_CHECKING:
    import torch

_ORDER: Final = (
    "bits", "numbers", "dtype", "shape", "stride", "storage_offset", "storage_nbytes", "device", "layout",
    "requires_grad", "is_leaf", "class", "attributes", "conj", "neg", "quantizer", "coalesced",
)  # fmt: skip
_CHUNK: Final = 1 << 20
"""Elements that are compared at a time: the masks of more would cost as much memory as the tensors."""
_COMPRESSED: Final = {
    "torch.sparse_csr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_bsr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_csc": ("ccol_indices", "row_indices", "values"),
    "torch.sparse_bsc": ("ccol_indices", "row_indices", "values"),
}
_AWAY: Final = ("meta",)


@dataclass(slots=True)
class TreeFindings:
    """A tree against its copy."""

    pairs: list[PairFinding] = field(default_factory=list)
    structure: bool = False
    values: bool = False
    sharing: bool = False


def compare_trees(original: object, copy: object) -> Iterator[TreeFindings]:
    """Compare two trees of containers, tensors and scalars; yields the same growing findings after each tensor."""
    import torch

    found = TreeFindings()
    tensors: list[tuple[torch.Tensor, torch.Tensor]] = []
    stack: list[tuple[str, object, object]] = [("", original, copy)]
    own = _storages_in(original)
    while stack:
        path, x, y = stack.pop()
        if isinstance(x, torch.Tensor):
            if isinstance(y, torch.Tensor):
                tensors.append((x, y))
                found.pairs.append(compare_tensors(x, y, path, own))
                yield found
            else:
                found.structure = True
        elif isinstance(x, dict):
            if type(x) is not type(y) or not isinstance(y, dict) or list(x) != list(y):
                found.structure = True
            if isinstance(y, dict):
                stack += [(_joined(path, key), x[key], y[key]) for key in reversed(list(x)) if key in y]
        elif isinstance(x, (list, tuple)):
            if type(x) is not type(y) or not isinstance(y, (list, tuple)) or len(x) != len(y):
                found.structure = True
            if isinstance(y, (list, tuple)):
                pairs = list(enumerate(zip(x, y, strict=False)))
                stack += [(f"{path}[{index}]", left, right) for index, (left, right) in reversed(pairs)]
        elif type(x) is not type(y) or (x != y and not (x != x and y != y)):  # NaN is itself
            found.values = True
    found.sharing = _groups([x for x, _ in tensors]) != _groups([y for _, y in tensors])
    yield found


def compare_tensors(
    x: torch.Tensor, y: torch.Tensor, path: str = "", own: frozenset[int] = frozenset()
) -> PairFinding:
    """One tensor against its copy.

    Parameters
    ----------
    own
        Addresses of the storages of the original tree; that of `x` is looked at in any case.
    """
    facts_x, facts_y = _facts(x), _facts(y)
    changed = {name for name in facts_x.keys() | facts_y.keys() if facts_x.get(name) != facts_y.get(name)}
    n_bits, n_numbers = _differing(x, y)
    changed |= {name for name, count in (("bits", n_bits), ("numbers", n_numbers)) if count}
    eq, equal = _naive_eq(x, y), _torch_equal(x, y)
    return PairFinding(
        path,
        not n_bits,
        not n_numbers,
        n_bits,
        n_numbers,
        tuple(name for name in _ORDER if name in changed),
        {name: facts_x.get(name, "none") for name in _ORDER if name in changed and name in facts_x | facts_y},
        {name: facts_y.get(name, "none") for name in _ORDER if name in changed and name in facts_x | facts_y},
        bool((own | _storages_in(x)) & _storages_in(y)),
        eq,
        equal,
        _why(x, y, n_bits, n_numbers, eq, equal),
    )


def _joined(path: str, key: object) -> str:
    return f"{path}/{key}" if path else str(key)


def _facts(x: torch.Tensor) -> dict[str, str]:
    """All that surrounds the values, as texts, by the names of `PairFinding.changed`."""
    import torch

    facts = {
        "dtype": str(x.dtype).removeprefix("torch."),
        "shape": str(tuple(x.shape)),
        "device": str(x.device),
        "layout": str(x.layout).removeprefix("torch."),
        "requires_grad": str(x.requires_grad),
        "is_leaf": f"{x.is_leaf}" if x.grad_fn is None else f"{x.is_leaf} ({type(x.grad_fn).__name__})",
        "class": type(x).__name__,
        "attributes": ", ".join(sorted(vars(x))) if hasattr(x, "__dict__") else "",
        "conj": str(x.is_conj()),
        "neg": str(x.is_neg()),
    }
    if x.layout == torch.strided:
        facts["stride"] = str(tuple(x.stride())) + _memory_format(x)
        facts["storage_offset"] = str(x.storage_offset())
        facts["storage_nbytes"] = str(x.untyped_storage().nbytes())
    elif x.layout == torch.sparse_coo:
        facts["coalesced"] = str(x.is_coalesced())
    if x.is_quantized:
        facts["quantizer"] = _quantizer(x)
    return facts


def _memory_format(x: torch.Tensor) -> str:
    import torch

    for name, dims in (("channels_last", 4), ("channels_last_3d", 5)):
        wanted = getattr(torch, name)
        if x.dim() == dims and x.is_contiguous(memory_format=wanted) and not x.is_contiguous():
            return f" {name}"
    return ""


def _quantizer(x: torch.Tensor) -> str:
    import torch

    scheme = x.qscheme()
    if scheme in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return f"scale {x.q_scale()!r}, zero point {x.q_zero_point()}"
    return (
        f"scales {x.q_per_channel_scales().tolist()}, zero points {x.q_per_channel_zero_points().tolist()}, "
        f"axis {x.q_per_channel_axis()}"
    )


def _parts(x: torch.Tensor) -> list[torch.Tensor]:
    """The strided tensors that hold a tensor's elements and indexes."""
    import torch

    x = x.detach()
    if x.layout == torch.sparse_coo:
        return [x._indices(), x._values()]
    names = _COMPRESSED.get(str(x.layout))
    if names is not None:
        return [getattr(x, name)() for name in names]
    if x.is_quantized:
        return [x.int_repr()]
    return [x]


def _storages_in(tree: object) -> frozenset[int]:
    """Addresses of the storages of all tensors of a tree that have memory."""
    import torch

    found: set[int] = set()
    stack = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, torch.Tensor):
            if item.is_quantized:  # int_repr is a copy
                found.add(item.untyped_storage().data_ptr())
            elif item.device.type not in _AWAY:
                found.update(part.untyped_storage().data_ptr() for part in _parts(item))
        elif isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, (list, tuple)):
            stack.extend(item)
    return frozenset(found - {0})  # an empty storage is nowhere


def _groups(tensors: list[torch.Tensor]) -> list[int]:
    """For each tensor the position of the first that shares memory with it: the same for equal sharing."""
    first: dict[int, int] = {}
    return [
        min((first.setdefault(address, position) for address in _storages_in(tensor)), default=position)
        for position, tensor in enumerate(tensors)
    ]


def _differing(x: torch.Tensor, y: torch.Tensor) -> tuple[int, int]:
    """How many elements differ in bits and in numbers; all of them where shapes do."""
    left, right = _parts(x), _parts(y)
    if x.device.type in _AWAY or y.device.type in _AWAY:
        return 0, 0
    if x.shape != y.shape or len(left) != len(right):
        return max(x.numel(), 1), max(x.numel(), 1)
    bits = numbers = 0
    for one, other in zip(left, right, strict=True):
        if one.shape != other.shape:
            return max(x.numel(), 1), max(x.numel(), 1)
        of_bits, of_numbers = _differing_dense(one, other)
        bits, numbers = bits + of_bits, numbers + of_numbers
    return bits, numbers


def _differing_dense(x: torch.Tensor, y: torch.Tensor) -> tuple[int, int]:
    import torch

    x, y = _flat(x), _flat(y)
    if x.dtype == y.dtype and torch.equal(_as_words(x), _as_words(y)):
        return 0, 0
    bits = numbers = 0
    for start in range(0, x.numel(), _CHUNK):
        one, other = x[start : start + _CHUNK], y[start : start + _CHUNK]
        if one.dtype == other.dtype:
            bits += int((_as_bytes(one).view(one.numel(), -1) != _as_bytes(other).view(one.numel(), -1)).any(1).sum())
        else:
            bits += one.numel()
        numbers += int((~_same_numbers(one, other)).sum())
    return bits, numbers


def _flat(x: torch.Tensor) -> torch.Tensor:
    return x.resolve_conj().resolve_neg().cpu().contiguous().reshape(-1)


def _as_words(x: torch.Tensor) -> torch.Tensor:
    """The bytes in the widest integers that hold all of them: torch compares those six times as fast as bytes."""
    import torch

    if x.numel() * x.element_size() % 8 or x.storage_offset() * x.element_size() % 8:
        return _as_bytes(x)
    return x.view(torch.uint8).view(torch.int64)


def _as_bytes(x: torch.Tensor) -> torch.Tensor:
    import torch

    return x.view(torch.uint8)


def _same_numbers(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Where the numbers are equal; bytes for what holds no number."""
    import torch

    if x.dtype == y.dtype and (_is_opaque(x) or not (x.is_floating_point() or x.is_complex())):
        return ~(_as_bytes(x).view(x.numel(), -1) != _as_bytes(y).view(x.numel(), -1)).any(1)
    if x.is_complex() or y.is_complex():
        x, y = (torch.view_as_real(each.to(torch.complex128)) for each in (x, y))
        return ((x == y) | (x.isnan() & y.isnan())).all(-1)
    if x.is_floating_point() or y.is_floating_point():
        x, y = x.to(torch.float64), y.to(torch.float64)
        return (x == y) | (x.isnan() & y.isnan())
    return x == y


def _is_opaque(x: torch.Tensor) -> bool:
    name = str(x.dtype)
    return "bits" in name or "float4" in name or (".int" in name and x.element_size() == 1 and "int8" not in name)


def _naive_eq(x: torch.Tensor, y: torch.Tensor) -> str:
    """What people write first: (x == y).all()."""
    try:
        return str(bool((x == y).all()))
    except Exception as error:  # noqa: BLE001 - any error is the answer that a person gets
        return first_sentence(error)


def _torch_equal(x: torch.Tensor, y: torch.Tensor) -> str:
    import torch

    try:
        return str(torch.equal(x, y))
    except Exception as error:  # noqa: BLE001
        return first_sentence(error)


def first_sentence(error: BaseException) -> str:
    """The kind of an error and the first sentence of its text: torch's go on with where to write to."""
    lines = str(error).strip().splitlines()
    text = lines[0].partition(". ")[0][:300] if lines else ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _why(x: torch.Tensor, y: torch.Tensor, n_bits: int, n_numbers: int, eq: str, equal: str) -> str:
    """Why what torch answers is not what the bits say."""
    answers = {eq, equal} & {"True", "False"}
    if not n_numbers and "False" in answers:
        nan = _count_nan(x)
        if nan:
            places = f"in {nan:,} place{'s' if nan > 1 else ''}"
            return f"NaN == NaN is False, and there is NaN {places}; the values did come back"
    if n_bits and "True" in answers and not n_numbers:
        if x.dtype != y.dtype:
            return "the dtypes differ, and torch compares numbers alone"
        return f"0.0 == -0.0 is True, but {n_bits:,} elements have other bits"
    if not n_bits and not n_numbers and not answers:
        return "torch cannot compare these; the bytes were compared"
    return ""


def _count_nan(x: torch.Tensor) -> int:
    return sum(int((part != part).sum()) for part in _parts(x) if part.is_floating_point() or part.is_complex())
