"""The real numbers behind quantized tensors: (stored - zero point) · scale in float32, as torch dequantizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorRef
from viewer.errors import MalformedFile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_MAX_CHANNELS: Final = 1 << 26
"""No layer has more channels; a file that says so would only fill the memory."""


@dataclass(frozen=True, slots=True)
class Quantizer:
    """The parameters of one quantized tensor.

    Attributes
    ----------
    scales, zero_points
        float32 and float32 or int64, one entry, or one for each channel.
    run
        Consecutive elements in logical order that share a channel; 0 for one channel in all.
    """

    scales: npt.NDArray[np.float32]
    zero_points: npt.NDArray[Any]
    run: int = 0

    def real(self, stored: npt.NDArray[np.int64], first: int) -> npt.NDArray[np.float32]:
        """The real numbers of consecutive stored integers, of which `first` is the flat index of the first.

        Follows `aten/src/ATen/native/quantized/AffineQuantizer.cpp` (`dequantize_val`): integers are subtracted as
        integers, then one float32 multiplication. Per-channel parameters in floats subtract in float32.
        """
        import numpy as np

        scales, points = self.scales, self.zero_points
        if self.run:
            channels = (np.arange(first, first + stored.size) // self.run) % self.scales.size
            scales = self.scales[channels]
            points = self.zero_points[channels]
        if self.zero_points.dtype == np.float32:
            difference = stored.astype(np.float32) - points
        else:
            difference = (stored - points).astype(np.float32)
        real: npt.NDArray[np.float32] = np.multiply(difference, scales, dtype=np.float32)
        return real

    @property
    def is_per_tensor(self) -> bool:
        return not self.run


def quantizer_of(checkpoint: Checkpoint, tensor: TensorRef) -> Quantizer:
    """The parameters in `TensorRef.extra`, where entries of per-channel ones may be numbers of tensors.

    Raises
    ------
    MalformedFile
        When they are missing or contradict the shape.
    """
    import numpy as np

    extra = tensor.extra
    scheme = str(extra.get("qscheme", "")).removeprefix("torch.")
    if scheme.startswith("per_tensor") or (not scheme and "scale" in extra):
        scale, point = extra.get("scale"), extra.get("zero_point", 0)
        if not isinstance(scale, int | float) or not isinstance(point, int | float):
            raise _broken(checkpoint, tensor, "its scale or zero point is missing")
        return Quantizer(np.array([scale], np.float32), np.array([int(point)], np.int64))
    axis = extra.get("axis")
    if not isinstance(axis, int) or not 0 <= axis < len(tensor.shape):
        raise _broken(checkpoint, tensor, "the axis of its channels is missing")
    channels = tensor.shape[axis]
    scales = _column(checkpoint, tensor, "scales", channels)
    points = _column(checkpoint, tensor, "zero_points", channels)
    run = 1
    for extent in tensor.shape[axis + 1 :]:
        run *= extent
    kind = np.float32 if scheme.endswith("float_qparams") else np.int64
    return Quantizer(scales.astype(np.float32), points.astype(kind), max(run, 1))


def _column(checkpoint: Checkpoint, tensor: TensorRef, name: str, channels: int) -> npt.NDArray[Any]:
    """One parameter for each channel: a sequence of numbers, or the tensor that holds them."""
    import numpy as np

    from viewer.tensors.reading import read_values

    found = tensor.extra.get(name)
    values: npt.NDArray[Any]
    if isinstance(found, int) and 0 <= found < len(checkpoint.tensors):
        parameters = checkpoint.tensor(found)
        if (
            parameters.numel != channels
            or channels > _MAX_CHANNELS
            or parameters.dtype.kind in ("quantized", "complex")
        ):
            raise _broken(checkpoint, tensor, f"its {name} are not {channels:,} numbers")
        values = read_values(checkpoint, parameters).numpy()
    elif isinstance(found, Sequence) and not isinstance(found, str) and len(found) == channels:
        values = np.array(found, dtype=np.float64)
    else:
        raise _broken(checkpoint, tensor, f"its {name} are not {channels:,} numbers")
    return values


def _broken(checkpoint: Checkpoint, tensor: TensorRef, fault: str) -> MalformedFile:
    return MalformedFile(
        f"the real numbers of quantized tensor {tensor.number} cannot be computed: {fault}", path=checkpoint.path
    )
