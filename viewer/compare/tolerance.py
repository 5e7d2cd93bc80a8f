"""Tolerances that fit a pair of dtypes."""

from __future__ import annotations

from typing import Final

from viewer.compare.results import Tolerance

_PRESETS: Final = {
    "float16": Tolerance(1e-3, 1e-5),
    "bfloat16": Tolerance(1.6e-2, 1e-5),
    "float32": Tolerance(1.3e-6, 1e-5),
    "float64": Tolerance(1e-7, 1e-7),
    "complex32": Tolerance(1e-3, 1e-5),
    "complex64": Tolerance(1.3e-6, 1e-5),
    "complex128": Tolerance(1e-7, 1e-7),
    "quint8": Tolerance(1.3e-6, 1e-5),
    "quint2x4": Tolerance(1.3e-6, 1e-5),
    "quint4x2": Tolerance(1.3e-6, 1e-5),
    "qint8": Tolerance(1.3e-6, 1e-5),
    "qint32": Tolerance(1.3e-6, 1e-5),
}
"""As `torch.testing.assert_close` takes them (`torch/testing/_comparison.py`, `_DTYPE_PRECISIONS`)."""

_NARROW: Final = {
    "float8_e4m3fn": Tolerance(2.0**-4, 2.0**-10),
    "float8_e4m3fnuz": Tolerance(2.0**-4, 2.0**-11),
    "float8_e5m2": Tolerance(2.0**-3, 2.0**-17),
    "float8_e5m2fnuz": Tolerance(2.0**-3, 2.0**-18),
    "float8_e8m0fnu": Tolerance(2.0**-1, 0.0),
    "float4_e2m1fn_x2": Tolerance(2.0**-2, 2.0**-2),
}
"""torch has none for these: half the distance of two neighbours, relative and among the smallest."""

EXACT: Final = Tolerance(0.0, 0.0)


def preset(dtype_a: str, dtype_b: str) -> Tolerance:
    """The wider of the two dtypes' tolerances; integers have none."""
    both = [_PRESETS.get(name) or _NARROW.get(name) or EXACT for name in (dtype_a, dtype_b)]
    return Tolerance(max(each.rtol for each in both), max(each.atol for each in both))
