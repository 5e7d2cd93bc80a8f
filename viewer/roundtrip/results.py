"""What saving and reloading found. Plain data that travels between processes; neither torch nor numpy."""

from __future__ import annotations

from dataclasses import dataclass, field

LARGE_NBYTES = 1 << 30
"""Contents from this size on are copied only when asked: each way holds up to three copies at a time."""

BYTES_CHECK_NBYTES = 64 << 20
"""Up to this size saving is repeated in two other processes without being asked for."""


@dataclass(frozen=True, slots=True)
class WayFacts:
    """A way to save and reload, or to copy.

    Attributes
    ----------
    name
        As the command line takes it: "torch.save", "pickle-4", "cast-float16" …
    title
        For people.
    says
        What it does, in a sentence.
    caveats
        What it is known not to keep, in a sentence; "" for nothing.
    keeps
        The names of findings (see `PairFinding.changed`) that this way is meant to keep.
    code
        Python that does it, from `x` to `y`, where `named(x)` gives all tensors with their names.
    makes_bytes
        Whether it writes something whose bytes can be compared.
    each
        Whether `code` is about one tensor, and is done to each.
    """

    name: str
    title: str
    says: str
    caveats: str
    keeps: frozenset[str]
    code: str
    makes_bytes: bool = False
    each: bool = False

    @property
    def lossless(self) -> bool:
        """Whether every bit of every value is meant to come back."""
        return "bits" in self.keeps


@dataclass(frozen=True, slots=True)
class PairFinding:
    """One tensor against its copy.

    Attributes
    ----------
    path
        Within what was copied; "" for a tensor alone.
    bits, numbers
        Whether the elements have the same bytes, and the same values (NaN equals NaN, +0 equals -0).
    n_bits, n_numbers
        How many elements differ in either sense.
    changed
        What is not as before, of "bits", "numbers", "dtype", "shape", "stride", "storage_offset", "storage_nbytes",
        "device", "layout", "requires_grad", "is_leaf", "class", "attributes", "conj", "neg", "quantizer" and
        "coalesced", in this order.
    before, after
        Texts of what changed, by the same names.
    shares_memory
        Whether a storage of the copy is one of the original.
    naive_eq, torch_equal
        What `(x == y).all()` and `torch.equal(x, y)` give: "True", "False", or the error.
    why
        Why those differ from the truth, in a sentence; "" where they do not.
    """

    path: str
    bits: bool
    numbers: bool
    n_bits: int
    n_numbers: int
    changed: tuple[str, ...]
    before: dict[str, str]
    after: dict[str, str]
    shares_memory: bool
    naive_eq: str
    torch_equal: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class WayResult:
    """One way tried out.

    Attributes
    ----------
    way
    ok
        Whether everything came back that this way is meant to keep.
    bits, numbers
        Of all tensors together; None where it failed.
    changed
        The names of `PairFinding.changed` of all tensors together, and "sharing" (which tensors share memory among
        themselves), "structure" (keys or kinds), "values" (what is no tensor).
    shares_memory
        Whether some memory of the copy is the original's; None where it failed.
    pairs
        The tensors of which something changed, and the first of the others where nothing did; at most MAX_PAIRS.
    n_tensors
    bytes_reproducible
        Whether two fresh processes with different hash seeds write the same bytes; None where that was not tried.
    first_difference
        Offset of the first byte that differs; -1 where none does.
    reason
        Why the bytes differ, or why they were not compared.
    error
        Why it failed, in the words of the library; "" where it did not.
    nbytes
        Size of what was written; 0 where nothing was.
    """

    way: WayFacts
    ok: bool
    bits: bool | None = None
    numbers: bool | None = None
    changed: tuple[str, ...] = ()
    shares_memory: bool | None = None
    pairs: list[PairFinding] = field(default_factory=list)
    n_tensors: int = 0
    bytes_reproducible: bool | None = None
    first_difference: int = -1
    reason: str = ""
    error: str = ""
    nbytes: int = 0

    @property
    def lost(self) -> bool:
        """Whether a way that should keep every bit brought back others, or another dtype or shape."""
        return self.way.lossless and not self.error and bool({"bits", "dtype", "shape"} & set(self.changed))


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """All ways tried out on one part of a checkpoint.

    Attributes
    ----------
    path
        Of the part.
    nbytes
        Of its storages.
    left_out
        What could not be rebuilt and was left out, as sentences.
    """

    path: str
    device: str
    nbytes: int
    n_tensors: int
    ways: list[WayResult]
    left_out: list[str] = field(default_factory=list)

    @property
    def lost(self) -> bool:
        return any(result.lost for result in self.ways)
