"""The pages that every document has, made one at a time: each is some dozen widgets and costs some 30 ms."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from viewer.gui.details.distribution import DistributionPage
from viewer.gui.details.overview import OverviewPage
from viewer.gui.details.storage import StoragePage
from viewer.gui.details.summaries import SummaryStore
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.theme import Theme
from viewer.task import Progress, Task


@dataclass(frozen=True, slots=True)
class Pages:
    """What a panel is made of; the panel becomes the parent of all."""

    store: SummaryStore
    overview: OverviewPage
    distribution: DistributionPage
    storage: StoragePage


def pages_task(bridge: EngineBridge, theme: Theme, parent: QWidget) -> Task[Pages]:
    """Make them, with a step after each. `parent` has them until a panel takes them."""
    overview = OverviewPage(theme, parent)
    overview.hide()
    yield Progress(1, 3, "pages")
    store = SummaryStore(bridge, parent)
    distribution = DistributionPage(store, theme, parent)
    distribution.hide()
    yield Progress(2, 3, "pages")
    storage = StoragePage(theme, parent)
    storage.hide()
    yield Progress(3, 3, "pages")
    return Pages(store, overview, distribution, storage)
