"""What was recognised: plain picklable data that the window holds. Node and tensor numbers are the checkpoint's own.

What belongs to the many (a label of each tensor, a name of each optimizer entry) stands in columns.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from viewer.checkpoint.nodes import Key

NamedBy: TypeAlias = Literal["param_names", "state_dict", "key", "none"]
"""Where the names of an optimizer's entries come from: the group's `param_names`, the model beside it by order and
shapes, the keys of the state themselves, or nowhere."""

FITS: Final = 1
MISFITS: Final = 0
UNKNOWN: Final = -1

ROLES: Final = (
    "",
    "weight",
    "bias",
    "norm weight",
    "norm bias",
    "running mean",
    "running variance",
    "batch count",
    "embedding",
    "LoRA A",
    "LoRA B",
    "buffer",
    "scale",
)
"""What a tensor of a state_dict is for; `StateDictFacts.role` holds indexes into this. Inferred."""


@dataclass(frozen=True, slots=True)
class Label:
    """What a node is.

    Attributes
    ----------
    text
        In a few words: "optimizer (Adam)", "model state_dict".
    known
        True where the file itself says so (a class name, a key that nothing else has); False where it was inferred.
    why
        The evidence, as a sentence without a full stop.
    """

    text: str
    known: bool
    why: str


@dataclass(frozen=True, slots=True)
class TiedGroup:
    """Entries of a state_dict that are one tensor in the file.

    Attributes
    ----------
    nodes
        The entry whose name counts (the first) before the others.
    """

    nodes: tuple[int, ...]


@dataclass(slots=True)
class StateDictFacts:
    """A model's state_dict, or a pickled module.

    Attributes
    ----------
    node
        The mapping or object.
    form
        "state_dict" or "module".
    entry
        Nodes of its tensors in order.
    name
        Their names: the key of a state_dict, the dotted name in a module.
    role
        Index into ROLES for each.
    is_parameter
        1 where an optimizer may hold it: known from the file where `parameters_known`, else whatever is a floating
        tensor, is not a buffer by its name, and is no alias of an entry before it.
    parameters_known
        True where the file tells parameters from buffers.
    tied
        Groups of entries that are one tensor.
    versions
        Module prefix to version, from `_metadata`; only those that have one.
    ordered
        False where the file does not keep the model's order (safetensors sorts by name).
    averaged
        True for EMA and averaged models.
    numel, nbytes
        Of all entries, tied ones once.
    n_parameters, parameter_nbytes
        Elements and bytes of the entries with `is_parameter`.
    """

    node: int
    form: Literal["state_dict", "module"]
    entry: array[int] = field(default_factory=lambda: array("q"))
    name: list[str] = field(default_factory=list)
    role: array[int] = field(default_factory=lambda: array("B"))
    is_parameter: array[int] = field(default_factory=lambda: array("B"))
    parameters_known: bool = False
    tied: list[TiedGroup] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)
    ordered: bool = True
    averaged: bool = False
    numel: int = 0
    nbytes: int = 0
    n_parameters: int = 0
    parameter_nbytes: int = 0


@dataclass(slots=True)
class EntryTable:
    """The entries of an optimizer, one for each parameter of its groups in their order, then state that no group has.

    Attributes
    ----------
    id
        As the file has it: an int, a name, or the key's text.
    name
        The parameter's name; None where it is not certain.
    candidates
        Where `name` is None: names that fit, in the model's order, at most some dozens.
    n_candidates
        How many fit.
    likely
        Where `name` is None: the one that fits if the groups follow one another in the model's order, if only one
        does.
    group
        Index of its group; -1 for state that belongs to no group.
    state
        The node of its state; -1 where the file has none.
    parts
        Where the states have no nodes of their own, since the file has all of them in one flat mapping: by entry, its
        members by name.
    parameter
        The node of the parameter in the model; -1 where it is not certain or there is no model.
    shape
        Shape of the parameter, as far as the moments tell; None where they do not.
    fits
        FITS where the moments have the shape of the parameter that they would be loaded onto, MISFITS, or UNKNOWN.
    """

    id: list[Key] = field(default_factory=list)
    name: list[str | None] = field(default_factory=list)
    candidates: list[tuple[str, ...]] = field(default_factory=list)
    n_candidates: array[int] = field(default_factory=lambda: array("l"))
    likely: list[str | None] = field(default_factory=list)
    group: array[int] = field(default_factory=lambda: array("l"))
    state: array[int] = field(default_factory=lambda: array("q"))
    parts: dict[int, dict[str, int]] = field(default_factory=dict)
    parameter: array[int] = field(default_factory=lambda: array("q"))
    shape: list[tuple[int, ...] | None] = field(default_factory=list)
    fits: array[int] = field(default_factory=lambda: array("b"))

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """One parameter group.

    Attributes
    ----------
    node
        Its mapping.
    hyperparameters
        Name and node of each, in the file's order, without the parameters and their names.
    differing
        Names of those that another group of the optimizer has otherwise, or not at all.
    """

    node: int
    n_parameters: int
    hyperparameters: tuple[tuple[str, int], ...]
    differing: tuple[str, ...]


@dataclass(slots=True)
class OptimizerFacts:
    """One optimizer.

    Attributes
    ----------
    node
        The mapping or object.
    kind
        "Adam", "SGD", … or "unknown".
    kind_known
        True where the class is named, or only one optimizer writes these keys.
    why
        What tells the kind.
    state
        The node of the mapping of states; -1 where there is none.
    named_by
        Where the names come from.
    naming
        How they were found, or why they were not, as a sentence without a full stop.
    model
        Node of the state_dict or module that the names come from or were compared with; -1 where there is none.
    unstated
        Names of the model's parameters that no entry is for.
    strangers
        Names that the file gives to entries and that the model does not have.
    state_nbytes, model_nbytes
        Bytes of all tensors in the state, and of the model's parameters.
    notes
        Sentences that a person should read.
    """

    node: int
    kind: str
    kind_known: bool
    why: str
    state: int = -1
    groups: list[GroupFacts] = field(default_factory=list)
    entries: EntryTable = field(default_factory=EntryTable)
    named_by: NamedBy = "none"
    naming: str = ""
    model: int = -1
    unstated: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    state_nbytes: int = 0
    model_nbytes: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PartFacts:
    """Something with a few values that people look for: a scheduler, a scaler, an RNG state, progress of a loop.

    Attributes
    ----------
    node
        Where it is.
    kind
        "scheduler", "scaler", "rng", "loop", "callback", "hyperparameters", "metric", "trainer".
    title
        What the label says too.
    values
        Name and text of the values looked for first.
    """

    node: int
    kind: str
    title: str
    values: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Recognition:
    """What a checkpoint is.

    Attributes
    ----------
    what
        The whole file in a few words: "training checkpoint (PyTorch Lightning 2.1)".
    labels
        By node.
    notes
        Sentences about the file as a whole.
    """

    what: str = ""
    labels: dict[int, Label] = field(default_factory=dict)
    state_dicts: list[StateDictFacts] = field(default_factory=list)
    optimizers: list[OptimizerFacts] = field(default_factory=list)
    parts: list[PartFacts] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ModuleTree:
    """A model as modules within modules, repeated blocks as one row; columns, in tree order (parents first).

    Attributes
    ----------
    name
        The last part of the name; "[0–31]" where 32 equal blocks are one row.
    parent
        Row of the module it is in; -1 at the top.
    entry
        Position in `StateDictFacts.entry` of the tensor (of the first block); -1 for a module.
    copies
        How many tensors or modules the row stands for, all blocks around it counted: 1 for most.
    n_tensors, numel, nbytes
        Of all that the row stands for; tied tensors count once, at their first name.
    dtypes
        Names of the dtypes below, the one with most elements first.
    shape
        Of a tensor (the same in all blocks); None for a module.
    role
        Index into ROLES.
    rank
        Of a LoRA matrix; 0 elsewhere.
    """

    node: int
    name: list[str] = field(default_factory=list)
    parent: array[int] = field(default_factory=lambda: array("q"))
    entry: array[int] = field(default_factory=lambda: array("q"))
    copies: array[int] = field(default_factory=lambda: array("q"))
    n_tensors: array[int] = field(default_factory=lambda: array("q"))
    numel: array[int] = field(default_factory=lambda: array("q"))
    nbytes: array[int] = field(default_factory=lambda: array("q"))
    dtypes: list[str] = field(default_factory=list)
    shape: list[tuple[int, ...] | None] = field(default_factory=list)
    role: array[int] = field(default_factory=lambda: array("B"))
    rank: array[int] = field(default_factory=lambda: array("q"))

    def __len__(self) -> int:
        return len(self.name)

    def full_name(self, row: int) -> str:
        """The dotted name with the blocks in it: `layers.[0–31].attn.q_proj.weight`."""
        parts = []
        while row >= 0:
            parts.append(self.name[row])
            row = self.parent[row]
        return ".".join(reversed(parts))
