"""What is said of each way: name, a sentence, what it is known to lose, what it is meant to keep, and its code."""

from __future__ import annotations

from typing import Final

from viewer.roundtrip.results import WayFacts

_VALUES: Final = frozenset({"bits", "numbers", "dtype", "shape"})
_TREE: Final = frozenset({"structure", "values"})
_CLONED: Final = _VALUES | _TREE | {"device", "layout", "coalesced", "quantizer"}
_ALL: Final = _CLONED | {
    "stride", "storage_offset", "storage_nbytes", "requires_grad", "class", "sharing", "attributes", "conj", "neg",
}  # fmt: skip
_LOAD: Final = "y = torch.load('x.pth', weights_only=True)"


def torch_save(*, legacy: bool) -> WayFacts:
    if legacy:
        return WayFacts(
            "torch.save-legacy",
            "torch.save, legacy format",
            "torch.save(x, _use_new_zipfile_serialization=False), as PyTorch 1.5 and older wrote",
            "Views save their whole storage; storage keys are memory addresses",
            _ALL,
            f"torch.save(x, 'x.pth', _use_new_zipfile_serialization=False)\n{_LOAD}",
            makes_bytes=True,
        )
    return WayFacts(
        "torch.save",
        "torch.save",
        "torch.save(x) and torch.load, as PyTorch 1.6 and newer do",
        "Views save their whole storage",
        _ALL,
        f"torch.save(x, 'x.pth')\n{_LOAD}",
        makes_bytes=True,
    )


def pickled(protocol: int) -> WayFacts:
    return WayFacts(
        f"pickle-{protocol}",
        f"pickle, protocol {protocol}",
        f"pickle.dumps(x, {protocol}) and pickle.loads",
        "Each storage is written in the legacy format, whose keys are memory addresses; tensors that share memory "
        "may no longer do",
        _ALL - {"sharing"},
        f"import pickle\ny = pickle.loads(pickle.dumps(x, {protocol}))",
        makes_bytes=True,
    )


DEEPCOPY: Final = WayFacts(
    "deepcopy",
    "copy.deepcopy(x)",
    "copy.deepcopy: new memory, everything else as it is",
    "Only tensors that no graph of autograd made (leaves) can be copied",
    _ALL,
    "import copy\ny = copy.deepcopy(x)",
)
CLONE: Final = WayFacts(
    "clone",
    "x.clone()",
    "New memory, part of the graph of autograd",
    "Not a leaf where x requires grad; a Parameter becomes a tensor; expanded views become dense",
    _CLONED | {"requires_grad"},
    "y = x.clone()",
    each=True,
)
DETACH: Final = WayFacts(
    "detach",
    "x.detach()",
    "The same memory, apart from the graph",
    "Shares memory with x, so a change of one is a change of both; requires_grad is off",
    _CLONED | {"stride", "storage_offset", "storage_nbytes", "sharing"},
    "y = x.detach()",
    each=True,
)
DETACH_CLONE: Final = WayFacts(
    "detach-clone",
    "x.detach().clone()",
    "New memory, apart from the graph",
    "requires_grad is off; a Parameter becomes a tensor; expanded views become dense",
    _CLONED,
    "y = x.detach().clone()",
    each=True,
)


def to_device(device: str) -> WayFacts:
    return WayFacts(
        f"to-{device}",
        f"x.to('{device}') and back",
        f"To {device}, and to the device that it came from",
        "Nothing is copied where x is there already",
        _CLONED,
        f"y = x.to('{device}').to(x.device)",
        each=True,
    )


NUMPY: Final = WayFacts(
    "numpy",
    "numpy and back",
    "torch.from_numpy(x.detach().cpu().numpy())",
    "Shares memory with x on the CPU; numpy has no bfloat16, no float8 and no conjugate bit",
    _VALUES | _TREE,
    "y = torch.from_numpy(x.detach().cpu().numpy())",
    each=True,
)
NPY: Final = WayFacts(
    "npy",
    ".npy file",
    "np.save and np.load of each tensor",
    "numpy has no bfloat16 and no float8; strides, requires_grad and Parameter are not kept",
    _VALUES | _TREE,
    "import numpy as np\nnp.save('x.npy', x.detach().cpu().numpy())\ny = torch.from_numpy(np.load('x.npy'))",
    makes_bytes=True,
    each=True,
)
SAFETENSORS: Final = WayFacts(
    "safetensors",
    "safetensors",
    "safetensors.torch.save_file and load_file, tensors by their path",
    "Refuses tensors that share memory and what is not contiguous; holds tensors alone",
    _VALUES,
    "from safetensors.torch import load_file, save_file\nsave_file(dict(named(x)), 'x.safetensors')\n"
    "y = load_file('x.safetensors')",
    makes_bytes=True,
)
_CANONICAL_CAVEATS: Final = (
    "Always on the CPU; each tensor gets a compact storage of its own, but one tensor under two names stays one"
)
CANONICAL_PTH: Final = WayFacts(
    "canonical-pth",
    "canonical form, .pth",
    "checkpoint-viewer export: same content, same bytes",
    _CANONICAL_CAVEATS,
    _VALUES | _TREE | {"class", "requires_grad"},
    f"import viewer\ntorch.save(x, 'saved.pth')\nviewer.export_canonical('saved.pth', 'x.pth', force=True)\n{_LOAD}",
    makes_bytes=True,
)
CANONICAL_SAFETENSORS: Final = WayFacts(
    "canonical-safetensors",
    "canonical form, .safetensors",
    "checkpoint-viewer export --flavour safetensors: same content, same bytes",
    _CANONICAL_CAVEATS,
    _VALUES | _TREE,
    "import viewer\nfrom viewer.export.options import ExportOptions\nfrom safetensors.torch import load_file\n"
    "torch.save(dict(named(x)), 'saved.pth')\n"
    "viewer.export_canonical('saved.pth', 'x.safetensors', ExportOptions(flavour='safetensors'), force=True)\n"
    "y = load_file('x.safetensors')",
    makes_bytes=True,
)
STATE_DICT: Final = WayFacts(
    "state_dict",
    "a new module",
    "A new nn.Module with these names, load_state_dict, and its state_dict()",
    "For a plain state_dict only; values are copied into the module's own tensors, which are contiguous and apart",
    _VALUES,
    """model = torch.nn.Module()
for name, tensor in x.items():
    *parents, last = name.split('.')
    owner = model
    for parent in parents:
        if parent not in owner._modules:
            owner.add_module(parent, torch.nn.Module())
        owner = owner._modules[parent]
    empty = torch.zeros(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    if isinstance(tensor, torch.nn.Parameter) or tensor.requires_grad:
        owner.register_parameter(last, torch.nn.Parameter(empty, requires_grad=tensor.requires_grad))
    else:
        owner.register_buffer(last, empty)
model.load_state_dict(x)
y = model.state_dict()""",
)


def cast(dtype: str) -> WayFacts:
    return WayFacts(
        f"cast-{dtype}",
        f"as {dtype} and back",
        f"x.to(torch.{dtype}).to(x.dtype) of every tensor of floats",
        "Values are rounded",
        frozenset({"dtype", "shape", "device"}),
        f"y = x.to(torch.{dtype}).to(x.dtype) if x.is_floating_point() else x",
        each=True,
    )
