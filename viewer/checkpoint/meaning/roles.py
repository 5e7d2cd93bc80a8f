"""What a tensor of a state_dict is for, by its name, shape and neighbours. Inferred, never known."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final

from viewer.checkpoint.meaning.results import ROLES

_CODE: Final = {role: code for code, role in enumerate(ROLES)}
NO_ROLE: Final = 0

_BUFFERS: Final = {
    "running_mean": "running mean",
    "running_var": "running variance",
    "num_batches_tracked": "batch count",
    # fake quantization and its observers (torch/ao/quantization/fake_quantize.py, observer.py)
    "fake_quant_enabled": "buffer",
    "observer_enabled": "buffer",
    "min_val": "buffer",
    "max_val": "buffer",
    # counters of profilers (thop), left in checkpoints
    "total_ops": "buffer",
    "total_params": "buffer",
}
"""Last parts of names that modules give to buffers and nobody to parameters."""

_NORM: Final = re.compile(
    r"(?:^|[._])(?:\w*norm\w*|bn\w*|ln\w*|gn\w*|in\d+|layernorm\w*|rms\w*)(?:$|[._])", re.IGNORECASE
)
_EMBEDDING: Final = re.compile(
    r"embed|(?:^|\.)(?:wte|wpe|emb|tok_embeddings|token_emb\w*|shared)(?:\.|$)", re.IGNORECASE
)
_LORA_A: Final = re.compile(r"lora_(?:A|down|embedding_A)(?:$|[._])")
_LORA_B: Final = re.compile(r"lora_(?:B|up|embedding_B)(?:$|[._])")
_SCALE: Final = re.compile(r"(?:^|[._])(?:\w*scale|gamma|gain|ls\d)$", re.IGNORECASE)


def role_of(name: str, shape: tuple[int, ...], names: Container[str], *, is_floating: bool) -> int:
    """Index into ROLES; `names` are all names of the state_dict."""
    stem, _, last = name.rpartition(".")
    found = _BUFFERS.get(last)
    if found is not None:
        return _CODE[found]
    if "lora" in name:
        if _LORA_A.search(name):
            return _CODE["LoRA A"]
        if _LORA_B.search(name):
            return _CODE["LoRA B"]
    if not is_floating or (last.endswith(_HELPERS) and _is_helper(name, last, names)):
        return _CODE["buffer"]
    if last == "weight":
        if len(shape) == 2:
            return _CODE["embedding"] if _EMBEDDING.search(stem) else _CODE["weight"]
        if len(shape) == 1 and (f"{stem}.running_mean" in names or f"{stem}.bias" in names or _NORM.search(stem)):
            return _CODE["norm weight"]
        return _CODE["weight"]
    if last == "bias":
        if f"{stem}.running_mean" in names or (len(shape) == 1 and _NORM.search(stem)):
            return _CODE["norm bias"]
        return _CODE["bias"]
    if last.startswith(("weight", "kernel")) or last.endswith("weight"):
        return _CODE["weight"]
    if last.startswith("bias") or last.endswith("bias"):
        return _CODE["bias"]
    if _SCALE.search(name):
        return _CODE["scale"]
    return NO_ROLE


_HELPERS: Final = ("_u", "_v", "_mask")


def is_buffer(role: int) -> bool:
    """Whether a role is one that parameters never have."""
    return ROLES[role] in ("running mean", "running variance", "batch count", "buffer")


def _is_helper(name: str, last: str, names: Container[str]) -> bool:
    """Buffers beside a parameter `…_orig`: spectral norm's vectors and pruning masks (torch/nn/utils)."""
    if last.endswith(("_u", "_v")):
        return f"{name[:-2]}_orig" in names
    return last.endswith("_mask") and f"{name[:-5]}_orig" in names
