"""Whole files and their usual entries: Lightning, Trainer, DeepSpeed, ultralytics, mmcv, detectron2, timm."""

from __future__ import annotations

from typing import Final

from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.parts import short_text
from viewer.checkpoint.meaning.results import Label, PartFacts, Recognition
from viewer.checkpoint.nodes import Kind

_LIGHTNING: Final = {
    "callbacks": ("callback", "states of callbacks"),
    "loops": ("loop", "progress of the loops"),
    "hyper_parameters": ("hyperparameters", "hyperparameters"),
    "datamodule_hyper_parameters": ("hyperparameters", "hyperparameters of the data module"),
    "optimizer_states": ("", "optimizers"),
    "lr_schedulers": ("", "schedulers"),
    "native_amp_scaling_state": ("", "gradient scaler"),
    "MixedPrecision": ("", "gradient scaler"),
}
"""Keys of a Lightning checkpoint (lightning/pytorch/trainer/connectors/checkpoint_connector.py)."""

_SIGNS: Final = (
    ("DeepSpeed", {"ds_version"}),
    ("DeepSpeed", {"ds_config", "module"}),
    ("detectron2", {"model", "iteration", "__author__"}),
    ("ultralytics", {"train_args", "ema", "model"}),
    ("mmcv / mmengine", {"meta", "state_dict"}),
    ("timm", {"arch", "state_dict", "version", "args"}),
    ("fairseq", {"extra_state", "last_optimizer_state", "optimizer_history"}),
    ("AllenNLP", {"metric_tracker", "optimizer"}),
)
"""Keys at the root that tell who wrote the file."""

_MAX_COUNTERS: Final = 500
_SHOWN_COUNTERS: Final = 8
_HYPER: Final = frozenset(
    {"args", "cfg", "config", "hparams", "hyper_parameters", "train_args", "opt", "params_config"}
)
_COUNTERS: Final = frozenset(
    {"epoch", "epochs", "step", "steps", "global_step", "global_steps", "iter", "iteration", "it", "num_updates"}
)
_BEST: Final = ("best", "loss", "acc", "metric", "score", "map", "miou", "f1", "perplexity", "fitness")


def label_habits(look: Look, found: Recognition) -> None:
    """Label what is known by who wrote the file or by its key, and say what the file is."""
    writer = ""
    members = look.named(0) if look.is_mapping(0) else {}
    version = members.get("pytorch-lightning_version")
    if version is not None:
        writer = f"PyTorch Lightning {short_text(look, version)}"
        _label_lightning(look, found, members)
    else:
        writer = next((name for name, keys in _SIGNS if keys <= members.keys()), "")
    _label_objects(look, found, members)
    _label_scalars(look, found, members)
    if writer == "DeepSpeed":
        _note_deepspeed(look, found, members)
    found.what = _summary(found, writer)


def _label_lightning(look: Look, found: Recognition, members: dict[str, int]) -> None:
    why = "Lightning checkpoints have it under this key"
    for key, (kind, text) in _LIGHTNING.items():
        node = members.get(key)
        if node is None or node in found.labels:
            continue
        found.labels[node] = Label(text, True, why)
        if kind:
            names = look.named(node) if look.is_mapping(node) else {}
            values = tuple((name, short_text(look, child)) for name, child in list(names.items())[:8])
            if kind == "loop":
                values = _progress_of_loops(look, node) or values
            found.parts.append(PartFacts(node, kind, text, values))


def _progress_of_loops(look: Look, node: int) -> tuple[tuple[str, str], ...]:
    """How much each loop has completed (lightning/pytorch/loops/progress.py keeps counters within counters)."""
    found: list[tuple[str, str]] = []
    stack = [("", node)]
    for _ in range(_MAX_COUNTERS):
        if not stack or len(found) == _SHOWN_COUNTERS:
            break
        lead, at = stack.pop()
        names = look.named(at) if look.is_mapping(at) else {}
        done = look.number(names.get("completed"))
        if done is not None:
            found.append((f"{lead}completed", str(done)))
        stack += [(f"{lead}{name}.", child) for name, child in names.items() if look.is_mapping(child)][::-1]
    return tuple(found)


def _label_objects(look: Look, found: Recognition, members: dict[str, int]) -> None:
    for key, node in members.items():
        if node in found.labels or not look.is_container(node):
            continue
        class_name = look.class_name(node)
        if class_name.endswith("TrainingArguments"):
            text, known, why = "training arguments", True, f"the file names the class {class_name}"
        elif class_name.endswith("Namespace"):
            text, known, why = "hyperparameters", True, f"the file names the class {class_name}"
        elif key.lower() in _HYPER and look.is_mapping(node):
            text, known, why = "hyperparameters", False, f"its key is {key}"
        else:
            continue
        found.labels[node] = Label(text, known, why)
        names = [(name, short_text(look, child)) for name, child in look.named(node).items()]
        found.parts.append(PartFacts(node, "hyperparameters", text, tuple(names[:8])))
    root_class = look.class_name(0)
    if root_class.endswith("TrainingArguments") and 0 not in found.labels:
        text = "training arguments"
        found.labels[0] = Label(text, True, f"the file names the class {root_class}")
        names = [(name, short_text(look, child)) for name, child in members.items() if not look.is_container(child)]
        found.parts.append(PartFacts(0, "hyperparameters", text, tuple(names[:8])))


def _label_scalars(look: Look, found: Recognition, members: dict[str, int]) -> None:
    for key, node in members.items():
        if look.nodes.kind[node] != Kind.SCALAR or isinstance(look.nodes.value[node], str):
            continue
        low = key.lower()
        if low in _COUNTERS:
            text = "epoch" if low.startswith("epoch") else "step count"
        elif look.number(node) is not None and any(word in low for word in _BEST):
            text = "best metric" if "best" in low else "metric"
        else:
            continue
        found.labels[node] = Label(text, False, f"its key is {key}")
        found.parts.append(PartFacts(node, "metric", text, ((key, short_text(look, node)),)))


def _note_deepspeed(look: Look, found: Recognition, members: dict[str, int]) -> None:
    shapes = members.get("param_shapes")
    module = members.get("module")
    if shapes is None or module is None:
        return
    empty = sum(1 for child in look.named(module).values() if look.shape(child) == (0,))
    if empty:
        found.notes.append(
            f"{empty:,} parameters are empty here: ZeRO stage 3 keeps them in the optimizer's files of all ranks; "
            "their real shapes are in param_shapes"
        )


def _summary(found: Recognition, writer: str) -> str:
    """The whole file in a few words."""
    kinds = [facts.kind for facts in found.optimizers]
    parts = {part.kind for part in found.parts}
    n_models = len(found.state_dicts)
    if kinds and (n_models or parts):
        what = "training checkpoint"
    elif kinds:
        what = "optimizer state" if len(kinds) == 1 else f"{len(kinds)} optimizer states"
    elif n_models == 1:
        what = "module" if found.state_dicts[0].form == "module" else "model state_dict"
    elif n_models:
        what = f"{n_models:,} models"
    elif (root := found.labels.get(0)) is not None:
        what = root.text
    else:
        what = "checkpoint" if writer else ""
    if kinds and len(kinds) <= 3:
        what += f" with {', '.join(kinds)}" if what == "training checkpoint" else f" ({', '.join(kinds)})"
    return f"{what} ({writer})" if writer and what else what
