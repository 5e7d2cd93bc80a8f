"""Names that the file itself gives: keys of the state, `param_names` of the groups, the very tensors."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.models import WRAPPERS
from viewer.checkpoint.meaning.optimizers import RawOptimizer
from viewer.checkpoint.meaning.results import FITS, MISFITS, StateDictFacts


def name_by_keys(look: Look, raw: RawOptimizer, models: Sequence[StateDictFacts]) -> bool:
    """Names are the keys (FSDP's and Hugging Face's full optimizer state); False where they are numbers."""
    entries = raw.facts.entries
    if not any(isinstance(key, str) and not key.isdecimal() for key in entries.id):
        return False
    names = [key if isinstance(key, str) else None for key in entries.id]
    raw.facts.named_by = "key"
    raw.facts.naming = "the file keys the state by the parameters' names"
    _take(look, raw, names, models)
    return True


def name_by_param_names(look: Look, raw: RawOptimizer, models: Sequence[StateDictFacts]) -> bool:
    """Names are in the groups, as in optimizers that were made from `named_parameters()`."""
    if not any(name is not None for name in raw.given_names):
        return False
    raw.facts.named_by = "param_names"
    raw.facts.naming = "the groups hold the parameters' names (param_names)"
    missing = sum(
        1 for name, group in zip(raw.given_names, raw.facts.entries.group, strict=True) if name is None and group >= 0
    )
    if missing:
        raw.facts.notes.append(f"{missing:,} entries are in groups without param_names and are not named")
    _take(look, raw, raw.given_names, models)
    return True


def name_by_identity(look: Look, raw: RawOptimizer, models: Sequence[StateDictFacts]) -> bool:
    """A pickled optimizer holds its parameters; those that the model holds too have its names."""
    entries = raw.facts.entries
    if not any(number >= 0 for number in raw.tensors):
        return False
    for entry, number in enumerate(raw.tensors):
        shape = raw.shapes[entry]
        if number >= 0 and shape.shape is not None:
            fits = shape.shape == look.tensors.shape[number] and not shape.odd
            entries.fits[entry] = FITS if fits else MISFITS
    for model in models:
        by_identity: dict[tuple[object, ...], int] = {}
        for nth, node in enumerate(model.entry):
            by_identity.setdefault(look.identity(look.numbers[node]), nth)
        found = [by_identity.get(look.identity(number)) if number >= 0 else None for number in raw.tensors]
        if all(nth is None for nth in found):
            continue
        for entry, place in enumerate(found):
            if place is not None:
                entries.name[entry] = model.name[place]
                entries.parameter[entry] = model.entry[place]
        raw.facts.named_by = "state_dict"
        raw.facts.model = model.node
        raw.facts.naming = f"the optimizer and {look.path(model.node)} hold the same tensors"
        used = {place for place in found if place is not None}
        raw.facts.unstated = [
            name
            for place, (name, is_one) in enumerate(zip(model.name, model.is_parameter, strict=True))
            if is_one and place not in used
        ]
        return True
    raw.facts.naming = "the optimizer was pickled with its parameters, and the file has no model that holds them too"
    return True


def _take(look: Look, raw: RawOptimizer, names: Sequence[str | None], models: Sequence[StateDictFacts]) -> None:
    """Give the names, and compare the moments with the parameters of the model that has most of them."""
    facts, entries = raw.facts, raw.facts.entries
    entries.name[:] = list(names)
    best: tuple[StateDictFacts, dict[str, int]] | None = None
    best_count = 0
    for model in models:
        by_name = _by_name(model.name)
        count = sum(1 for name in names if name is not None and _plain(name) in by_name)
        if count > best_count:
            best, best_count = (model, by_name), count
    if best is None:
        if not models:
            return
        best = models[0], _by_name(models[0].name)
    model, by_name = best
    facts.model = model.node
    used: set[int] = set()
    for entry, name in enumerate(names):
        if name is None:
            continue
        place = by_name.get(_plain(name))
        if place is None:
            facts.strangers.append(name)
            continue
        used.add(place)
        node = model.entry[place]
        entries.parameter[entry] = node
        found = raw.shapes[entry]
        fits = (found.shape is None or found.shape == look.shape(node)) and not found.odd
        entries.fits[entry] = FITS if fits else MISFITS
    facts.unstated = [
        name
        for place, (name, is_one) in enumerate(zip(model.name, model.is_parameter, strict=True))
        if is_one and place not in used
    ]


def _by_name(names: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for place, name in enumerate(names):
        found.setdefault(_plain(name), place)
    return found


def _plain(name: str) -> str:
    """The name without what wrappers put before or into it."""
    for wrapper in WRAPPERS:
        if wrapper in name:
            # Only whole components: "mymodule.x" stays.
            name = "." + name
            name = name.replace(f".{wrapper}", ".")[1:]
    return name
