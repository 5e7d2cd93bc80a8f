"""Numbers as torch prints them: the rules of `torch.set_printoptions`, without torch.

Follows `torch/_tensor_str.py` of torch 2.13 step by step; the tests hold it against torch itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from viewer.tensors.results import Scalar

Nested: TypeAlias = Any
"""A scalar, or a list of Nested of one shape: what `torch.Tensor.tolist` gives."""


@dataclass(frozen=True, slots=True)
class PrintOptions:
    """The arguments of `torch.set_printoptions`, with torch's defaults.

    Attributes
    ----------
    precision
        Digits after the point.
    threshold
        Elements above which only the edges are shown.
    edgeitems
        Of each dimension, at either end, where only the edges are shown.
    linewidth
        Characters of a line.
    sci_mode
        Whether floats are written as 1.0000e+00; None to decide by the values.
    """

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


TORCH_DEFAULT: Final = PrintOptions()


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How the numbers of one tensor are written: all alike, aligned on the right.

    Attributes
    ----------
    width
        Characters of the widest.
    is_float
        False for ints and bools, which are written in full.
    is_whole
        True where all floats are whole: they are written "3.".
    """

    width: int
    is_float: bool
    is_whole: bool
    sci_mode: bool
    precision: int

    @classmethod
    def of(cls, values: Sequence[int | float], options: PrintOptions, *, is_float: bool) -> NumberFormat:
        """The format that fits these numbers."""
        if not is_float:
            return cls(max([1, *(len(f"{value}") for value in values)]), False, False, False, options.precision)
        counted = [value for value in values if math.isfinite(value) and value != 0]
        if not counted:
            return cls(1, True, True, False, options.precision)
        least, most = min(map(abs, counted)), max(map(abs, counted))
        is_whole = all(float(value).is_integer() for value in counted)
        sci_mode = options.sci_mode
        if sci_mode is None:
            sci_mode = _quotient(most, least) > 1000.0 or most > 1.0e8 or least < 1.0e-4
        if sci_mode:
            width = max(len(f"{value:.{options.precision}e}") for value in counted)
        elif is_whole:
            width = max(len(f"{value:.0f}") for value in counted) + 1
        else:
            width = max(len(f"{value:.{options.precision}f}") for value in counted)
        return cls(max(width, 1), True, is_whole, sci_mode, options.precision)

    def text(self, value: float) -> str:
        """A number with blanks before it."""
        if not self.is_float:
            text = f"{value}"
        elif self.sci_mode:
            text = f"{value:.{self.precision}e}"
        elif self.is_whole:
            text = f"{value:.0f}" + ("." if math.isfinite(value) else "")
        else:
            text = f"{value:.{self.precision}f}"
        return text.rjust(self.width)


@dataclass(frozen=True, slots=True)
class ComplexFormat:
    """How complex numbers are written: the parts each by its own format."""

    real: NumberFormat
    imaginary: NumberFormat

    @property
    def width(self) -> int:
        # As torch counts it: a sign between the parts is not counted where the second has none.
        return self.real.width + self.imaginary.width + 1

    def text(self, value: complex) -> str:
        imaginary = (self.imaginary.text(value.imag) + "j").lstrip()
        return self.real.text(value.real) + ("" if imaginary[0] in "+-" else "+") + imaginary


def format_for(values: Sequence[Scalar], options: PrintOptions = TORCH_DEFAULT) -> NumberFormat | ComplexFormat:
    """The format that fits the elements of one tensor, which are all of one kind."""
    if any(isinstance(value, complex) for value in values):
        numbers = [complex(value) for value in values]
        return ComplexFormat(
            NumberFormat.of([number.real for number in numbers], options, is_float=True),
            NumberFormat.of([number.imag for number in numbers], options, is_float=True),
        )
    real = [value for value in values if not isinstance(value, complex)]
    return NumberFormat.of(real, options, is_float=any(isinstance(value, float) for value in real))


def tensor_text(values: Nested, options: PrintOptions = TORCH_DEFAULT, *, indent: int = 0) -> str:
    """Nested lists of elements as the inside of `tensor(...)` reads in torch.

    Parameters
    ----------
    indent
        Characters before the text in its first line.
    """
    count = _count(values)
    if count == 0:
        return "[]"
    summarised = count > options.threshold
    shown: list[Scalar] = []
    _collect(values, options.edgeitems if summarised else None, shown)
    return _text(values, format_for(shown, options), options, indent, summarised)


def _quotient(most: float, least: float) -> float:
    """`most / least`, inf where that is beyond float64."""
    return most / least if least >= 1 or most < least * 1e300 else math.inf


def _count(values: Nested) -> int:
    return sum(map(_count, values)) if isinstance(values, list) else 1


def _edges(values: list[Nested], edgeitems: int) -> tuple[list[Nested], list[Nested]]:
    return values[:edgeitems], values[len(values) - edgeitems :]


def _collect(values: Nested, edgeitems: int | None, into: list[Scalar]) -> None:
    """The elements by which the format is chosen: those that are shown."""
    if not isinstance(values, list):
        into.append(values)
        return
    if edgeitems is not None and len(values) > 2 * edgeitems:
        values = [item for edge in _edges(values, edgeitems) for item in edge]
    for item in values:
        _collect(item, edgeitems, into)


def _text(
    values: Nested, form: NumberFormat | ComplexFormat, options: PrintOptions, indent: int, summarised: bool
) -> str:
    if not isinstance(values, list):
        return form.text(values)
    is_long = summarised and len(values) > 2 * options.edgeitems
    if not values or not isinstance(values[0], list):
        return _vector(values, form, options, indent, summarised)
    if is_long:
        first, last = _edges(values, options.edgeitems)
        parts = [_text(item, form, options, indent + 1, summarised) for item in first]
        parts += ["...", *(_text(item, form, options, indent + 1, summarised) for item in last)]
    else:
        parts = [_text(item, form, options, indent + 1, summarised) for item in values]
    breaks = "\n" * (_dimensions(values) - 1)
    return "[" + f",{breaks}{' ' * (indent + 1)}".join(parts) + "]"


def _dimensions(values: Nested) -> int:
    return 1 + _dimensions(values[0]) if isinstance(values, list) and values else int(isinstance(values, list))


def _vector(
    values: list[Scalar], form: NumberFormat | ComplexFormat, options: PrintOptions, indent: int, summarised: bool
) -> str:
    write: Callable[[Any], str] = form.text
    # A blank and a comma between two.
    per_line = max(1, math.floor((options.linewidth - indent) / (form.width + 2)))
    if summarised and not options.edgeitems:
        texts = ["..."]
    elif summarised and len(values) > 2 * options.edgeitems:
        first, last = _edges(values, options.edgeitems)
        texts = [*(write(value) for value in first), " ...", *(write(value) for value in last)]
    else:
        texts = [write(value) for value in values]
    lines = [", ".join(texts[at : at + per_line]) for at in range(0, len(texts), per_line)]
    return "[" + f",\n{' ' * (indent + 1)}".join(lines) + "]"


_UNNAMED: Final = frozenset({"float32", "complex64", "int64", "bool"})
"""dtypes that torch does not print, since they follow from the values."""


def printed_tensor(values: Nested, dtype: str, shape: tuple[int, ...], options: PrintOptions = TORCH_DEFAULT) -> str:
    """A tensor as `print` shows it in torch: `tensor([...], dtype=torch.bfloat16)`."""
    prefix = "tensor("
    text = tensor_text(values, options, indent=len(prefix))
    suffixes: list[str] = []
    if 0 in shape:
        suffixes += [f"size={shape}"] if len(shape) != 1 else []
        suffixes += [f"dtype=torch.{dtype}"] if dtype != "float32" else []
    elif dtype not in _UNNAMED:
        suffixes.append(f"dtype=torch.{dtype}")
    written = prefix + text
    length = len(written) - (written.rfind("\n") + 1) + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > options.linewidth:
            written += ",\n" + " " * len(prefix) + suffix
            length = len(prefix) + len(suffix)
        else:
            written += ", " + suffix
            length += len(suffix) + 2
    return written + ")"
