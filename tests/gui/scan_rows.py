"""Rows of a scan as numpy finds them, to compare with and to feed to a window."""

from __future__ import annotations

import numpy as np

from viewer.tensors.scan_results import MINI_BINS, ScanRow


def scan_row_of(number: int, values: np.ndarray) -> ScanRow:
    """The row of a tensor with these values."""
    flat = values.astype(np.float64).ravel()
    finite = flat[np.isfinite(flat)]
    rows = values.reshape(values.shape[0], -1) if values.ndim > 1 and values.size else None
    constant_rows = None
    if rows is not None and rows.shape[1] > 1:
        constant_rows = int(sum(np.isfinite(row).all() and (row == row[0]).all() for row in rows))
    return ScanRow(
        number,
        count=flat.size,
        min=float(finite.min()) if finite.size else None,
        max=float(finite.max()) if finite.size else None,
        mean=float(finite.mean()) if finite.size else None,
        std=float(finite.std()) if finite.size else None,
        l2=float(np.sqrt((finite**2).sum())) if finite.size else None,
        zeros=int((flat == 0).sum()),
        nan=int(np.isnan(flat).sum()),
        posinf=int(np.isposinf(flat).sum()),
        neginf=int(np.isneginf(flat).sum()),
        constant=bool(flat.size and finite.size == flat.size and finite.min() == finite.max()),
        all_zero=bool(flat.size and (flat == 0).all()),
        constant_rows=constant_rows,
        rows=values.shape[0] if constant_rows is not None else 0,
        counts=_counts(finite),
    )


def _counts(finite: np.ndarray) -> tuple[int, ...]:
    if not finite.size:
        return ()
    if finite.min() == finite.max():
        return (*[0] * (MINI_BINS // 2), finite.size, *[0] * (MINI_BINS // 2 - 1))
    return tuple(np.histogram(finite, MINI_BINS)[0].tolist())
