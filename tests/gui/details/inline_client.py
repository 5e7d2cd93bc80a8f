"""A client whose engine is this process: the real tasks, run by the event loop, on a file that torch saved."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch
from PySide6.QtCore import QCoreApplication, QEvent, QTimer

from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.engine.handlers import HANDLERS
from viewer.engine.protocol import Failure, Result
from viewer.errors import ViewerError
from viewer.gui.details.summaries import SummaryStore
from viewer.gui.details.tabs import TabTools
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.mailbox import Mailbox
from viewer.gui.theme import Theme
from viewer.task import run

DOCUMENT = 5


class InlineClient:
    """Answers each request with what the engine's task returns; `held` ones when `release` is called."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.mailbox = Mailbox()
        self.requests: list[Any] = []
        self.cancelled: list[int] = []
        self.is_holding = False
        self._checkpoint = checkpoint
        self._held: list[tuple[int, Any]] = []

    def submit(self, request: Any, *, supersede: str | None = None) -> int:
        self.requests.append(request)
        job = len(self.requests)
        if self.is_holding:
            self._held.append((job, request))
        else:
            QTimer.singleShot(0, partial(self._answer, job, request))  # the bridge must know the job first
        return job

    def release(self) -> None:
        """Answer what is held; what is asked from now on is answered by itself."""
        self.is_holding = False
        held, self._held = self._held, []
        for job, request in held:
            self._answer(job, request)

    def cancel(self, job: int) -> None:
        self.cancelled.append(job)

    def close(self) -> None:
        self._held.clear()

    def of(self, kind: type) -> list[Any]:
        """The requests of one kind, in the order in which they came."""
        return [request for request in self.requests if isinstance(request, kind)]

    def _answer(self, job: int, request: Any) -> None:
        try:
            self.mailbox.put(Result(job, run(HANDLERS[type(request)](request, self._checkpoint))))
        except ViewerError as error:
            self.mailbox.put(Failure(job, error))
        QCoreApplication.sendPostedEvents(None, QEvent.Type.MetaCall)


class Stage:
    """A checkpoint of some tensors, a bridge to an engine in this process, and what pages are made with."""

    def __init__(self, folder: Path, theme: Theme, tensors: dict[str, torch.Tensor]) -> None:
        path = folder / "tensors.pt"
        torch.save(tensors, path)
        self.tensors = tensors
        self.checkpoint = open_checkpoint(path)
        self.client = InlineClient(self.checkpoint)
        self.bridge = EngineBridge(self.client, self.client.mailbox)
        self.gone_to: list[int] = []
        self.tools = TabTools(self.bridge, theme, SummaryStore(self.bridge, self.bridge), self.gone_to.append)

    def node(self, name: str) -> int:
        return self.checkpoint.find(name)
