"""Schedulers, gradient scalers and states of random number generators, by their content."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.results import Label, PartFacts
from viewer.checkpoint.nodes import Kind

Found = tuple[Label, PartFacts]

_SCHEDULERS: Final = (
    ("SequentialLR", {"_schedulers", "_milestones"}),
    ("ChainedScheduler", {"_schedulers"}),
    ("ReduceLROnPlateau", {"num_bad_epochs", "patience"}),
    ("OneCycleLR", {"_schedule_phases"}),
    ("OneCycleLR", {"total_steps", "cycle_momentum"}),
    ("CosineAnnealingWarmRestarts", {"T_0", "T_mult"}),
    ("CosineAnnealingLR", {"T_max", "eta_min"}),
    ("CyclicLR", {"total_size", "step_ratio"}),
    ("MultiStepLR", {"milestones", "gamma"}),
    ("StepLR", {"step_size", "gamma"}),
    ("MultiplicativeLR", {"lr_lambdas", "_is_multiplicative"}),
    ("LambdaLR", {"lr_lambdas"}),
    ("LinearLR", {"start_factor", "end_factor"}),
    ("PolynomialLR", {"power", "total_iters"}),
    ("ConstantLR", {"factor", "total_iters"}),
    ("SWALR", {"swa_lr"}),
    ("ExponentialLR", {"gamma", "base_lrs"}),
)
"""Keys of their state_dicts (torch/optim/lr_scheduler.py), the more telling first."""

_LOOKED_FOR: Final = (
    "last_epoch", "_last_lr", "base_lrs", "_step_count", "best", "num_bad_epochs", "T_max", "T_0", "eta_min", "gamma",
    "step_size", "milestones", "total_steps", "patience", "factor", "total_iters",
)  # fmt: skip

_SCALER: Final = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")

_CPU_STATE_NBYTES: Final = 5056
"""Bytes of the CPU generator's state (aten/src/ATen/CPUGeneratorImpl.cpp: CPUGeneratorImplState)."""
_CUDA_STATES_NBYTES: Final = (16, 816)
"""Seed and offset; before torch 1.11 with room for the states of an older generator (CUDAGeneratorImpl.cpp)."""
_SHOWN_ITEMS: Final = 6


def part_at(look: Look, node: int) -> Found | None:
    """What a container is, if it is one of these."""
    nodes = look.nodes
    kind = nodes.kind[node]
    if kind in (Kind.MAPPING, Kind.OBJECT):
        members = look.named(node)
        return _scheduler(look, node, members) or _scaler(look, node, members) or _loss_scaler(look, node, members)
    if kind == Kind.SEQUENCE:
        return _numpy_rng(look, node) or _python_rng(look, node) or _list_of_rng(look, node)
    return None


def _scheduler(look: Look, node: int, members: dict[str, int]) -> Found | None:
    class_name = look.class_name(node)
    named = "lr_scheduler" in class_name or class_name.endswith("Scheduler")
    has = "last_epoch" in members and members.keys() & {"base_lrs", "_last_lr", "_step_count", "num_bad_epochs"}
    if not has and not (named and "last_epoch" in members):
        return None
    if class_name:
        title, known, why = class_name.rpartition(".")[2], True, f"the file names the class {class_name}"
    else:
        title, keys = next(
            ((title, keys) for title, keys in _SCHEDULERS if keys <= members.keys()), ("learning rate", set())
        )
        known = False
        why = f"it has last_epoch and {', '.join(sorted(keys or {'a learning rate'}))}"
    values = _values(look, members, _LOOKED_FOR)
    return Label(f"scheduler ({title})", known, why), PartFacts(node, "scheduler", title, values)


def _scaler(look: Look, node: int, members: dict[str, int]) -> Found | None:
    if not {"scale", "growth_factor", "backoff_factor", "growth_interval"} <= members.keys():
        return None
    why = "it has the scale, growth_factor, backoff_factor and growth_interval that GradScaler writes"
    return Label("gradient scaler", True, why), PartFacts(
        node, "scaler", "GradScaler", _values(look, members, _SCALER)
    )


def _loss_scaler(look: Look, node: int, members: dict[str, int]) -> Found | None:
    # deepspeed/runtime/fp16/loss_scaler.py, apex/amp/scaler.py
    class_name = look.class_name(node)
    if "loss_scaler" not in class_name.lower() and "lossscaler" not in class_name.lower():
        if not {"loss_scale", "unskipped"} <= members.keys():
            return None
        why = "it has loss_scale and unskipped, as apex writes"
    else:
        why = f"the file names the class {class_name}"
    values = _values(look, members, ("cur_scale", "loss_scale", "unskipped", "scale_factor", "scale_window"))
    return Label("loss scaler", bool(class_name), why), PartFacts(node, "scaler", "loss scaler", values)


def rng_tensor(look: Look, node: int) -> Found | None:
    """A tensor that is the state of a torch generator."""
    number = look.tensor(node)
    if number is None or DTYPES[look.tensors.dtype[number]].name != "uint8":
        return None
    shape = look.tensors.shape[number]
    if len(shape) != 1:
        return None
    above = look.nodes.parent[node]
    keys = f"{look.key_text(node)} {look.key_text(above) if above >= 0 else ''}".lower()
    if shape[0] == _CPU_STATE_NBYTES:
        title, why = "CPU", "it is as long as the state of torch's CPU generator, 5,056 bytes"
    elif shape[0] in _CUDA_STATES_NBYTES and any(word in keys for word in ("rng", "random", "cuda", "generator")):
        title, why = "CUDA", f"its key says so, and it is as long as the state of a CUDA generator, {shape[0]} bytes"
    else:
        return None
    return Label(f"random state ({title})", False, why), PartFacts(
        node, "rng", f"random state ({title})", (("length", f"{shape[0]:,} bytes"),)
    )


def _numpy_rng(look: Look, node: int) -> Found | None:
    # numpy.random.get_state(): ("MT19937", 624 words, position, has_gauss, cached_gaussian)
    items = look.items(node)
    if len(items) != 5 or look.scalar(items[0]) != "MT19937":
        return None
    values = (("generator", "MT19937"), ("words", "624"), ("position", str(look.scalar(items[2]))))
    why = "it has the form of numpy.random.get_state()"
    return Label("random state (numpy)", True, why), PartFacts(node, "rng", "random state (numpy)", values)


def _python_rng(look: Look, node: int) -> Found | None:
    # random.getstate(): (3, 624 words and the position, gauss_next)
    items = look.items(node)
    if len(items) != 3 or look.scalar(items[0]) != 3 or look.nodes.n_children[items[1]] != 625:
        return None
    words = look.items(items[1])
    if len(words) != 625:
        return None
    values = (("generator", "MT19937"), ("words", "624"), ("position", str(look.scalar(words[-1]))))
    why = "it has the form of random.getstate()"
    return Label("random state (Python)", True, why), PartFacts(node, "rng", "random state (Python)", values)


def _list_of_rng(look: Look, node: int) -> Found | None:
    items = look.items(node) if look.nodes.n_children[node] <= 1024 else []
    if not items or any(rng_tensor(look, item) is None for item in items):
        return None
    title = f"random states of {len(items):,} {'device' if len(items) == 1 else 'devices'}"
    return Label(title, False, "each is as long as the state of a generator"), PartFacts(
        node, "rng", title, (("states", f"{len(items):,}"),)
    )


def _values(look: Look, members: dict[str, int], names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, short_text(look, members[name])) for name in names if name in members)


def short_text(look: Look, node: int) -> str:
    """A plain value, or the first of a sequence, as text."""
    kind = look.nodes.kind[node]
    if kind == Kind.SCALAR:
        return _plain(look.nodes.value[node])
    if kind == Kind.SEQUENCE:
        items = look.items(node)
        shown = ", ".join(short_text(look, item) for item in items[:_SHOWN_ITEMS])
        return f"[{shown}{', …' if len(items) > _SHOWN_ITEMS else ''}]"
    if kind == Kind.MAPPING:
        return f"{look.nodes.n_children[node]:,} items"
    return look.nodes.type_name(node)


_MAX_NCHARS: Final = 80


def _plain(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"an int of {value.bit_length():,} bits"
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= _MAX_NCHARS else text[: _MAX_NCHARS - 1] + "…"
