"""Why no assignment fits: counts, and the first shape that disagrees."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from viewer.checkpoint.meaning.optimizers import RawOptimizer
from viewer.checkpoint.meaning.results import FITS, MISFITS

_CANDIDATES: Final = 20

Shape = tuple[int, ...]


def explain_misfit(
    raw: RawOptimizer, names: Sequence[str], shapes: Sequence[Shape], where: str, *, ordered: bool
) -> None:
    """Say why the entries do not fit a model's parameters, and mark those that would get another's moments.

    Parameters
    ----------
    names, shapes
        Of the parameters.
    where
        Path of the model.
    ordered
        False where the parameters are not in the model's order: positions then say nothing.

    `load_state_dict` goes by position: the entry that comes first in the file becomes the state of the parameter that
    comes first in the optimizer (torch/optim/optimizer.py), whatever its shape.
    """
    facts, entries = raw.facts, raw.facts.entries
    order = [entry for group in raw.groups for entry in group]
    by_shape: dict[Shape, list[str]] = defaultdict(list)
    for name, shape in zip(names, shapes, strict=True):
        by_shape[shape].append(name)
    same_number = ordered and len(order) == len(names)
    left = Counter(shapes)
    first = ""
    for nth, entry in enumerate(order):
        own = raw.shapes[entry].shape
        if own is None:
            continue
        having = by_shape.get(own, [])
        entries.candidates[entry] = tuple(having[:_CANDIDATES])
        entries.n_candidates[entry] = len(having)
        if same_number:
            entries.fits[entry] = FITS if own == shapes[nth] else MISFITS
        elif not having:
            entries.fits[entry] = MISFITS
        left[own] -= 1
        if not first and not ordered and left[own] < 0:
            first = (
                f"entry {_id(raw, entry)} has moments of shape {_shape(own)}, and {len(having):,} parameters of the "
                "model have it"
            )
        if not first and ordered and nth < len(names) and own != shapes[nth]:
            first = (
                f"entry {_id(raw, entry)} has moments of shape {_shape(own)}, and parameter {nth} of the model, "
                f"{names[nth]}, has {_shape(shapes[nth])}"
            )
    counts = f"the optimizer has {len(order):,} entries and {where} has {len(names):,} parameters"
    facts.named_by = "none"
    facts.naming = f"no assignment fits: {counts}" + (f"; {first}" if first else "")
    if same_number and len(raw.groups) == 1 and _is_reordering(raw, order, shapes):
        facts.notes.append(
            "the shapes are those of the model in another order: either the optimizer was made from parameters in "
            "that order, or states were exchanged. Loaded into an optimizer over model.parameters() they would "
            "silently become the moments of other parameters"
        )


def _is_reordering(raw: RawOptimizer, order: list[int], shapes: Sequence[Shape]) -> bool:
    own = [raw.shapes[entry].shape for entry in order]
    known = [shape for shape in own if shape is not None]
    return len(known) == len(own) and sorted(known) == sorted(shapes)


def _id(raw: RawOptimizer, entry: int) -> str:
    key = raw.facts.entries.id[entry]
    return str(key) if isinstance(key, (int, str)) else key.text


def _shape(shape: Shape) -> str:
    return "×".join(map(str, shape)) or "()"
