"""Names for the entries of an optimizer: given by the file, or found in the model beside it. Never guessed."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final

from viewer.checkpoint.meaning.assignment import ANY, Assignment, assign
from viewer.checkpoint.meaning.assignment_unordered import assign_unordered
from viewer.checkpoint.meaning.likely import likely_places
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.models import parameter_columns
from viewer.checkpoint.meaning.naming_given import name_by_identity, name_by_keys, name_by_param_names
from viewer.checkpoint.meaning.naming_none import explain_misfit
from viewer.checkpoint.meaning.optimizers import RawOptimizer
from viewer.checkpoint.meaning.results import FITS, MISFITS, StateDictFacts

_MODELS_TRIED: Final = 8
_MODELS_TOGETHER: Final = 3


@dataclass(frozen=True, slots=True)
class Parameters:
    """What a model, or several together, offer.

    Attributes
    ----------
    models
        Their facts.
    names, nodes, shapes
        Of the parameters in order.
    """

    models: tuple[StateDictFacts, ...]
    names: list[str]
    nodes: array[int]
    shapes: list[tuple[int, ...]]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def ordered(self) -> bool:
        """Whether the parameters are in the model's order."""
        return all(model.ordered for model in self.models)


@dataclass(frozen=True, slots=True)
class Fit:
    """An assignment that fits a model."""

    parameters: Parameters
    assignment: Assignment
    near: int
    complete: bool


def name_entries(look: Look, raw: RawOptimizer, models: Sequence[StateDictFacts], *, elsewhere: bool = False) -> None:
    """Fill the names, candidates and fits of an optimizer's entries.

    Parameters
    ----------
    look
        At the checkpoint of the models.
    models
        All of them.
    elsewhere
        True where that is another checkpoint than the optimizer's: its node numbers are not kept.
    """
    facts = raw.facts
    start = 0 if elsewhere else facts.node
    near = sorted(models, key=lambda model: _distance(look, start, model))[:_MODELS_TRIED]
    named = name_by_keys(look, raw, near) or name_by_param_names(look, raw, near)
    if not named and not (not elsewhere and name_by_identity(look, raw, near)):
        _name_by_order(look, raw, near, start)
    facts.model_nbytes = next((model.parameter_nbytes for model in models if model.node == facts.model), 0)
    if elsewhere:
        facts.model = -1
        facts.entries.parameter = array("q", [-1]) * len(facts.entries)


def _distance(look: Look, node: int, model: StateDictFacts) -> tuple[bool, int]:
    """Averaged models last; else the nearer the lower."""
    above = look.nodes.keys_to(node)
    own = look.nodes.keys_to(model.node)
    shared = next(
        (nth for nth, (a, b) in enumerate(zip(above, own, strict=False)) if a != b), min(len(above), len(own))
    )
    return model.averaged, len(above) + len(own) - 2 * shared


def _name_by_order(look: Look, raw: RawOptimizer, models: Sequence[StateDictFacts], start: int) -> None:
    facts = raw.facts
    n_entries = sum(map(len, raw.groups))
    if not n_entries:
        facts.naming = "the optimizer has no parameters"
        return
    if not models:
        facts.naming = "the file has no model to take names from, and the optimizer does not hold them"
        return
    offers = [offer_of(look, (model,)) for model in models]
    fits = _fits(look, raw, offers, start)
    if not fits:
        fits = _fits_together(look, raw, models, start)
    if not fits:
        explain_misfit(raw, offers[0].names, offers[0].shapes, look.path(models[0].node), ordered=offers[0].ordered)
        facts.model = models[0].node
        return
    best, others = _best(look, raw, fits)
    _apply(look, raw, best)
    if others:
        _open_up(look, raw, best, others)


def offer_of(look: Look, models: tuple[StateDictFacts, ...]) -> Parameters:
    """The parameters of models, one after the other; of more than one, names are paths."""
    names: list[str] = []
    nodes = array("q")
    shapes: list[tuple[int, ...]] = []
    for model in models:
        own_names, own_nodes, own_shapes = parameter_columns(look, model)
        names += own_names if len(models) == 1 else [look.path(node) for node in own_nodes]
        nodes += own_nodes
        shapes += own_shapes
    return Parameters(models, names, nodes, shapes)


def _fits(look: Look, raw: RawOptimizer, offers: Sequence[Parameters], start: int) -> list[Fit]:
    found: list[Fit] = []
    n_entries = sum(map(len, raw.groups))
    for offer in offers:
        groups, places = _codes(raw, offer)
        assignment = assign(groups, places) if offer.ordered else assign_unordered(groups, places, offer.names)
        if isinstance(assignment, Assignment):
            averaged, near = _distance(look, start, offer.models[0])
            found.append(Fit(offer, assignment, near + 1000 * averaged, n_entries == len(offer)))
    return found


def _codes(raw: RawOptimizer, offer: Parameters) -> tuple[list[list[int]], list[int]]:
    """A number for each distinct shape: of the entries by group, and of the parameters."""
    codes: dict[tuple[int, ...], int] = {}
    places = [codes.setdefault(shape, len(codes)) for shape in offer.shapes]
    groups = [
        [
            ANY if (shape := raw.shapes[entry].shape) is None else codes.setdefault(shape, len(codes))
            for entry in group
        ]
        for group in raw.groups
    ]
    return groups, places


def _fits_together(look: Look, raw: RawOptimizer, models: Sequence[StateDictFacts], start: int) -> list[Fit]:
    """Fits of several models in a row: one optimizer over a generator and an encoder."""
    parts = [model for model in models if not model.averaged][:_MODELS_TOGETHER]
    if len(parts) < 2:
        return []
    parts.sort(key=lambda model: model.node)
    return _fits(look, raw, [offer_of(look, order) for order in permutations(parts)], start)


def _best(look: Look, raw: RawOptimizer, fits: list[Fit]) -> tuple[Fit, list[Fit]]:
    """The fit to take, and others that are as good and give other names."""
    fits.sort(key=lambda fit: (not fit.complete, fit.near))
    best = fits[0]
    rivals = [
        fit
        for fit in fits[1:]
        if (fit.complete, fit.near) == (best.complete, best.near)
        and (fit.parameters.names != best.parameters.names or fit.assignment.places != best.assignment.places)
    ]
    if not rivals or len(best.parameters.models) > 1:
        return best, rivals
    scored = [(_affinity(look, raw, fit), fit) for fit in (best, *rivals)]
    scored.sort(key=lambda pair: -pair[0])
    if scored[0][0] > scored[1][0]:
        chosen = scored[0][1]
        model = look.path(chosen.parameters.models[0].node)
        raw.facts.notes.append(f"more than one model fits; {model} is taken since its name is like the optimizer's")
        return chosen, []
    return best, rivals


def _affinity(look: Look, raw: RawOptimizer, fit: Fit) -> int:
    """How much the keys of an optimizer and a model have in common that says which belongs to which."""
    own = _words(raw.key)
    model = _words(look.key_text(fit.parameters.models[0].node))
    return len(own & model)


def _words(key: str) -> set[str]:
    """The distinguishing words of a key: `optimizer_G` and `netG` share "g"."""
    spaced = "".join(f" {c}" if c.isupper() else c for c in key.replace("_", " ").replace("-", " ").replace(".", " "))
    common = {"optimizer", "optim", "opt", "net", "model", "state", "dict", "sd", ""}
    words = {word.lower() for word in spaced.split()}
    return {word for word in words if word not in common} | {word[:1] for word in words if word not in common}


def _apply(look: Look, raw: RawOptimizer, fit: Fit) -> None:
    facts, entries, offer = raw.facts, raw.facts.entries, fit.parameters
    likely = (
        likely_places(_codes(raw, offer), offer.names, ordered=offer.ordered)
        if not fit.assignment.is_certain
        else None
    )
    order = [entry for group in raw.groups for entry in group]
    used: set[int] = set()
    for entry, places, count, nth in zip(
        order, fit.assignment.places, fit.assignment.counts, range(len(order)), strict=True
    ):
        entries.fits[entry] = MISFITS if raw.shapes[entry].odd else FITS
        if count == 1:
            (place,) = places
            used.add(place)
            entries.name[entry] = offer.names[place]
            entries.parameter[entry] = offer.nodes[place]
        else:
            entries.candidates[entry] = tuple([offer.names[place] for place in places])
            entries.n_candidates[entry] = count
            at = None if likely is None else likely[nth]
            entries.likely[entry] = None if at is None else offer.names[at]
    facts.named_by = "state_dict"
    facts.model = offer.models[0].node
    certain = fit.assignment.is_certain
    where = " and ".join(look.path(model.node) for model in offer.models)
    facts.naming = _how(where, len(order), offer, len(used), fit.assignment)
    if certain:
        facts.unstated = [name for place, name in enumerate(offer.names) if place not in used]


def _how(where: str, n_entries: int, offer: Parameters, n_named: int, assignment: Assignment) -> str:
    n_parameters = len(offer)
    if offer.ordered:
        text = f"inferred from {where} by order and shapes: "
    else:
        text = f"inferred from {where} by shapes, since the file is sorted by name and the model's order is lost: "
    if n_entries == n_parameters:
        text += f"{n_entries:,} entries for as many parameters"
    else:
        text += f"{n_entries:,} entries for {n_parameters:,} parameters, the others frozen, buffers or left out"
    if assignment.is_certain:
        keeps = "keeps the model's order within each group" if offer.ordered else "fits"
        return f"{text}, and only one assignment {keeps}"
    open_entries = n_entries - n_named
    may = "" if assignment.exact else " (some candidates may be impossible: there are too many to try them all)"
    return f"{text}; more than one assignment fits, and {open_entries:,} entries are not certain{may}"


def _open_up(look: Look, raw: RawOptimizer, best: Fit, others: list[Fit]) -> None:
    """More than one model fits, with other names: nothing is certain, and the candidates are paths."""
    entries = raw.facts.entries
    order = [entry for group in raw.groups for entry in group]
    for nth, entry in enumerate(order):
        paths: dict[str, None] = {}
        for fit in (best, *others):
            paths |= dict.fromkeys(look.path(fit.parameters.nodes[place]) for place in fit.assignment.places[nth])
        entries.candidates[entry] = tuple(paths)
        entries.n_candidates[entry] = len(paths)
        certain = len(paths) == 1
        entries.name[entry] = next(iter(paths)) if certain else None
        entries.likely[entry] = None
        if not certain:
            entries.parameter[entry] = -1
        else:
            entries.candidates[entry] = ()
    listed = ", ".join(dict.fromkeys(look.path(m.node) for fit in (best, *others) for m in fit.parameters.models))
    raw.facts.naming = f"more than one model fits, and their names differ: {listed}"
    raw.facts.unstated = []
