"""What a person chose about how values are shown stays so for the next document and the next session.

A range of the histogram does not: a part of the values must not stay out of sight until another day.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from viewer.gui.settings import Settings

if TYPE_CHECKING:
    from viewer.gui.details.distribution_bar import DistributionBar
    from viewer.gui.details.map_options import MapOptions
    from viewer.gui.tree.header import TreeHeader

_BINS: Final = "histogram/bins"
_LOG_COUNTS: Final = "histogram/log_counts"
_AXIS: Final = "histogram/axis"
_CUMULATIVE: Final = "histogram/cumulative"
_MAP: Final = "map/view"
_COLUMNS: Final = "tree/columns"


def remember_distribution(bar: DistributionBar, settings: Settings) -> None:
    """Choose bins, counts and axis as they were chosen last, and keep what is chosen from now on."""
    bins = settings.get(_BINS)
    bar.choose_bins(int(bins) if bins.isdigit() else bins)
    bar.choose_log_counts(settings.get(_LOG_COUNTS))
    bar.options.choose(settings.get(_AXIS))
    bar.options.cumulative.setChecked(settings.get(_CUMULATIVE))
    bar.bins_chosen.connect(partial(_keep_bins, bar, settings))
    bar.log_counts_chosen.connect(partial(settings.set, _LOG_COUNTS))
    bar.options.axis_changed.connect(partial(_keep_axis, bar, settings))
    bar.options.cumulative_changed.connect(partial(settings.set, _CUMULATIVE))


def remember_map(options: MapOptions, settings: Settings) -> None:
    """The same for the colours of a map, their range, and what a pixel shows."""
    for name in settings.get(_MAP):
        options.choose(name)
    options.colours_changed.connect(partial(_keep_map, options, settings))
    options.reduce_changed.connect(partial(_keep_map, options, settings))


def remember_columns(header: TreeHeader, settings: Settings, *, restore: bool) -> None:
    """The same for the columns of a tree.

    Parameters
    ----------
    restore
        False for a tree that has taken over the columns of another.
    """
    if restore:
        header.choose_named(settings.get(_COLUMNS))
    header.columns_changed.connect(partial(_keep_columns, header, settings))


def _keep_bins(bar: DistributionBar, settings: Settings) -> None:
    settings.set(_BINS, bar.bins_choice)


def _keep_axis(bar: DistributionBar, settings: Settings, *_: object) -> None:
    settings.set(_AXIS, bar.options.axis)


def _keep_map(options: MapOptions, settings: Settings, *_: object) -> None:
    settings.set(_MAP, options.chosen)


def _keep_columns(header: TreeHeader, settings: Settings) -> None:
    names = [column.name for column in sorted(header.chosen)]
    if names != settings.get(_COLUMNS):
        settings.set(_COLUMNS, names)
