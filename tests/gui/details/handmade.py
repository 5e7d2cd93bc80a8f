"""A checkpoint made by hand, an engine that answers when the test says so, and summaries computed by numpy."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QCoreApplication, QEvent, QTimer

from viewer.checkpoint.document import Checkpoint, FileFacts, GlobalUse
from viewer.checkpoint.dtypes import DTYPE_CODE
from viewer.checkpoint.nodes import Key, Kind, NodeTable
from viewer.checkpoint.tensors import (
    NO_STORAGE,
    STORED,
    UNREADABLE,
    StorageTable,
    TensorFlag,
    TensorTable,
    contiguous_stride,
)
from viewer.engine.protocol import Failure, ProgressEvent, Result, Summarise
from viewer.errors import Cancelled, ViewerError
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.mailbox import Mailbox
from viewer.task import Progress
from viewer.tensors.results import Histogram, Quantile, Statistics, TensorSummary

DOCUMENT = 7

Tree = dict[Key, "Tree | tuple[Kind, str, object]"]


class CheckpointBuilder:
    """Collects storages, tensors and a tree, and numbers the nodes breadth first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.storages = StorageTable()
        self.tensors = TensorTable()

    def storage(self, nbytes: int, *, location: str = "cuda:0", problem: str | None = None) -> int:
        table, number = self.storages, len(self.storages)
        table.key.append(str(number))
        table.dtype.append(DTYPE_CODE["float32"])
        table.nbytes.append(nbytes)
        table.location.append(location)
        table.encoding.append(STORED if problem is None else UNREADABLE)
        table.file.append(0)
        table.offset.append(4096 * (number + 1))
        table.length.append(nbytes)
        table.big_endian.append(0)
        if problem is not None:
            table.problem[number] = problem
        return number

    def tensor(
        self,
        dtype: str,
        shape: tuple[int, ...],
        storage: int | None = None,
        *,
        offset: int = 0,
        stride: tuple[int, ...] | None = None,
        flags: int = 0,
    ) -> int:
        number = len(self.tensors)
        if storage is None:
            storage = self.storage(math.prod(shape) * 4)
        self.tensors.dtype.append(DTYPE_CODE[dtype])
        self.tensors.shape.append(shape)
        self.tensors.stride.append(contiguous_stride(shape) if stride is None else stride)
        self.tensors.storage.append(storage)
        self.tensors.storage_offset.append(offset)
        self.tensors.flags.append(flags)
        return number

    def tensor_leaf(self, *args: Any, type_name: str = "tensor", **named: Any) -> tuple[Kind, str, object]:
        return Kind.TENSOR, type_name, self.tensor(*args, **named)

    def build(self, tree: Tree, **others: Any) -> Checkpoint:
        nodes = NodeTable()
        types: dict[str, int] = {}
        level: list[tuple[int, Key, Any]] = [(-1, "", tree)]
        while level:
            below: list[tuple[int, Key, Any]] = []
            for parent, key, item in level:
                node = len(nodes)
                if parent >= 0:
                    if not nodes.n_children[parent]:
                        nodes.first_child[parent] = node
                    nodes.n_children[parent] += 1
                kind, name, value = (Kind.MAPPING, "dict", None) if isinstance(item, dict) else item[:3]
                children = item if isinstance(item, dict) else (item[3] if len(item) > 3 else {})
                nodes.kind.append(kind)
                nodes.type_id.append(types.setdefault(name, len(types)))
                nodes.parent.append(parent)
                nodes.first_child.append(0)
                nodes.n_children.append(0)
                nodes.key.append(key)
                nodes.value.append(value)
                below += [(node, child_key, child) for child_key, child in children.items()]
            level = below
        nodes.types = list(types)
        others.setdefault("files", [FileFacts(self.path, 46_871_347, 0, 1, 1)])
        return Checkpoint(self.path, "torch zip", nodes=nodes, tensors=self.tensors, storages=self.storages, **others)


def training_checkpoint() -> Checkpoint:
    """Tensors of many sorts, plain values, an object, a link, a problem, a text."""
    make = CheckpointBuilder(Path("/models/runs/resnet18-epoch12.pth"))
    shared = make.storage(4 * 1000 * 512)
    bad = make.storage(256, problem="the record data/5 ends after 100 of 256 bytes")
    learned = TensorFlag.PARAMETER | TensorFlag.REQUIRES_GRAD
    same = make.tensor_leaf("float32", (64,))
    sparse = make.tensor("float32", (10, 10), NO_STORAGE, stride=())
    make.tensors.layout[sparse] = "sparse_coo"
    quantized = make.tensor("qint8", (16,))
    make.tensors.extra[quantized] = {"qscheme": "per_tensor_affine", "scale": 0.1, "zero_point": 3}
    tree: Tree = {
        "model": {
            "layer1.0.conv1.weight": make.tensor_leaf(
                "float32", (64, 64, 3, 3), type_name="Parameter", flags=learned
            ),
            "layer1.0.bn1.weight": same,
            "tied": same,
            "fc.weight": make.tensor_leaf("float32", (1000, 512), shared),
            "fc.top": make.tensor_leaf("float32", (100, 512), shared, offset=512),
            "fc.transposed": make.tensor_leaf("float32", (512, 1000), shared, stride=(1, 512)),
            "steps": make.tensor_leaf("int64", ()),
            "mask": make.tensor_leaf("bool", (32, 32)),
            "empty": make.tensor_leaf("float32", (0, 3)),
            "spectrum": make.tensor_leaf("complex64", (128,)),
            "broken": make.tensor_leaf("float32", (64,), bad),
            "sparse": (
                Kind.TENSOR,
                "tensor",
                sparse,
                {"indices": make.tensor_leaf("int64", (2, 5)), "values": make.tensor_leaf("float32", (5,))},
            ),
            "quantized": (Kind.TENSOR, "tensor", quantized),
        },
        "epoch": (Kind.SCALAR, "int", 12),
        "lr": (Kind.SCALAR, "float", 1e-05),
        "seed": (Kind.SCALAR, "int", 2**80),
        "note": (Kind.SCALAR, "str", "first line\nsecond <b>line</b>"),
        "net": (Kind.OBJECT, "models.net.TinyNet", None, {"width": (Kind.SCALAR, "int", 3)}),
        "maker": (Kind.REFERENCE, "type", "torch.nn.modules.conv.Conv2d"),
        "again": (Kind.LINK, "dict", 1),
        "lost": (Kind.PROBLEM, "", "the pickle asks for object 5, which is not there"),
        "source": (Kind.TEXT, "text", "class TinyNet(Module):\n    width: int\n"),
    }
    return make.build(
        tree,
        globals=[
            GlobalUse("collections", "OrderedDict", True, 2),
            GlobalUse("models.net", "TinyNet", False),
            GlobalUse("torch._utils", "_rebuild_tensor_v2", True, 10),
        ],
        warnings=["The record data/5 is shorter than its tensor needs"],
        facts={"byte order": "little", "format version": "3"},
    )


def summary_of(
    values: np.ndarray, number: int, *, bins: int = 256, value_range: tuple[float, float] | None = None
) -> TensorSummary:
    """What the engine would say of these values, by numpy in float64."""
    flat = values.reshape(-1)
    finite = flat[np.isfinite(flat)]
    statistics = Statistics(
        count=flat.size,
        finite=finite.size,
        nan=int(np.isnan(flat).sum()),
        posinf=int(np.isposinf(flat).sum()),
        neginf=int(np.isneginf(flat).sum()),
        zeros=int((flat == 0).sum()),
        first_nan=int(np.isnan(flat).argmax()) if np.isnan(flat).any() else None,
    )
    if not finite.size:
        return TensorSummary(number, str(values.dtype), "value", statistics, Histogram(note="no finite value"))
    wide = finite.astype(np.float64)
    statistics = Statistics(
        count=statistics.count,
        finite=statistics.finite,
        nan=statistics.nan,
        posinf=statistics.posinf,
        neginf=statistics.neginf,
        zeros=statistics.zeros,
        first_nan=statistics.first_nan,
        min=finite.min().item(),
        max=finite.max().item(),
        mean=float(wide.mean()),
        std=float(wide.std()),
        std_sample=float(wide.std(ddof=1)) if finite.size > 1 else None,
        l1=float(np.abs(wide).sum()),
        l2=float(np.sqrt((wide**2).sum())),
        mean_abs=float(np.abs(wide).mean()),
        negative=int((finite < 0).sum()),
        argmin=int(np.nanargmin(np.where(np.isfinite(flat), flat, np.inf))),
        argmax=int(np.nanargmax(np.where(np.isfinite(flat), flat, -np.inf))),
        quantiles=tuple(
            Quantile(fraction, float(np.quantile(wide, fraction))) for fraction in (0.01, 0.25, 0.5, 0.75, 0.99)
        ),
    )
    counts, edges = np.histogram(wide, bins=bins, range=value_range)
    return TensorSummary(
        number,
        str(values.dtype),
        "value",
        statistics,
        Histogram(
            array("d", edges.tolist()),
            array("q", counts.tolist()),
            int((wide < edges[0]).sum()),
            int((wide > edges[-1]).sum()),
        ),
    )


class HandClient:
    """Stands in for the engine: it keeps what was asked, and answers when told."""

    def __init__(self) -> None:
        self.mailbox = Mailbox()
        self.asked: dict[int, Summarise] = {}
        self.cancelled: list[int] = []
        self._next = 1

    def submit(self, request: Any, *, supersede: str | None = None) -> int:
        job, self._next = self._next, self._next + 1
        self.asked[job] = request
        return job

    def cancel(self, job: int) -> None:
        self.cancelled.append(job)

    def close(self) -> None:
        self.asked.clear()

    @property
    def last(self) -> int:
        """The job asked for last."""
        return max(self.asked)

    def answer(self, job: int, value: object) -> None:
        self._deliver(Result(job, value))

    def progress(self, job: int, done: int, total: int, partial: object = None) -> None:
        self._deliver(ProgressEvent(job, Progress(done, total, "bytes", partial)))

    def fail(self, job: int, error: ViewerError) -> None:
        self._deliver(Failure(job, error))

    def _deliver(self, event: object) -> None:
        self.mailbox.put(event)
        # The bridge takes it out by a queued call; this makes the call now.
        QCoreApplication.sendPostedEvents(None, QEvent.Type.MetaCall)

    def fail_cancelled(self, job: int) -> None:
        self.fail(job, Cancelled("stopped"))


class AnsweringClient(HandClient):
    """Answers at once with the summary of the values that a test gives to each tensor."""

    def __init__(self, values: Callable[[int], np.ndarray]) -> None:
        super().__init__()
        self._values = values

    def submit(self, request: Any, *, supersede: str | None = None) -> int:
        job = super().submit(request, supersede=supersede)
        summary = summary_of(
            self._values(request.tensor), request.tensor, bins=request.bins, value_range=request.value_range
        )
        QTimer.singleShot(0, partial(self.answer, job, summary))  # the bridge must know the job first
        return job


def bridge_to(client: HandClient) -> EngineBridge:
    return EngineBridge(client, client.mailbox)
