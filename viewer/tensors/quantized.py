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
        One entry, or one for each channel. Scales are float32, but float64 for channels.
    run
        Consecutive elements in logical order that share a channel; 0 for one channel in all.
    """

    scales: npt.NDArray[Any]
    zero_points: npt.NDArray[Any]
    run: int = 0

    def real(self, stored: npt.NDArray[np.int64], first: int) -> npt.NDArray[np.float32]:
        """The real numbers of consecutive stored integers, of which `first` is the flat index of the first.

        Follows torch step by step. One scale: integers are subtracted as integers, and one float32 multiplication
        follows (`dequantize_val` in `aten/src/ATen/native/quantized/AffineQuantizerBase.cpp`). Channels: float32 are
        subtracted and multiplied by the scale as it is (`dequantize_tensor_per_channel_affine_cpu` in
        `aten/src/ATen/native/quantized/cpu/kernels/QuantizedOpKernels.cpp`).
        """
        import numpy as np

        real: npt.NDArray[np.float32]
        with np.errstate(over="ignore", invalid="ignore"):  # a file may say any scale
            if not self.run:
                difference = (stored - self.zero_points[0]).astype(np.float32)
                real = np.multiply(difference, self.scales[0], dtype=np.float32)
                return real
            channels = (np.arange(first, first + stored.size) // self.run) % self.scales.size
            difference = stored.astype(np.float32) - self.zero_points[channels].astype(np.float32)
            real = (difference * self.scales[channels]).astype(np.float32)
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
        if not isinstance(scale, int | float) or not isinstance(point, int) or abs(point) >= 1 << 62:
            raise _broken(checkpoint, tensor, "its scale or zero point is missing")
        with np.errstate(over="ignore"):
            return Quantizer(np.array([float(scale)]).astype(np.float32), np.array([point], np.int64))
    axis = extra.get("axis")
    if not isinstance(axis, int) or not 0 <= axis < len(tensor.shape):
        raise _broken(checkpoint, tensor, "the axis of its channels is missing")
    channels = tensor.shape[axis]
    scales = _column(checkpoint, tensor, "scales", channels)
    points = _column(checkpoint, tensor, "zero_points", channels)
    run = 1
    for extent in tensor.shape[axis + 1 :]:
        run *= extent
    return Quantizer(scales, points, max(run, 1))


def _column(checkpoint: Checkpoint, tensor: TensorRef, name: str, channels: int) -> npt.NDArray[Any]:
    """One parameter for each channel: a sequence of numbers, or the tensor that holds them."""
    import numpy as np
    import torch

    from viewer.tensors.reading import read_values

    found = tensor.extra.get(name)
    fault = f"its {name} are not {channels:,} numbers"
    if isinstance(found, int) and 0 <= found < len(checkpoint.tensors):
        parameters = checkpoint.tensor(found)
        kind = parameters.dtype.kind
        if parameters.numel != channels or channels > _MAX_CHANNELS or kind not in ("float", "int", "uint"):
            raise _broken(checkpoint, tensor, fault)
        values = read_values(checkpoint, parameters)
        if kind != "float":
            values = values.to(torch.int64)
        elif parameters.dtype.itemsize < 4:
            values = values.to(torch.float32)
        numbers: npt.NDArray[Any] = values.numpy()
        return numbers
    if (
        isinstance(found, Sequence)
        and len(found) == channels
        and all(isinstance(entry, int | float) for entry in found)
    ):
        return np.array(found, dtype=np.float64)
    raise _broken(checkpoint, tensor, fault)


def _broken(checkpoint: Checkpoint, tensor: TensorRef, fault: str) -> MalformedFile:
    return MalformedFile(
        f"the real numbers of quantized tensor {tensor.number} cannot be computed: {fault}", path=checkpoint.path
    )
