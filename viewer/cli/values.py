"""`checkpoint-viewer values`: elements of one tensor on standard output, as torch prints them or to take along."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from viewer.cli.output import EXIT_DONE, print_error, write_all
from viewer.cli.parser import natural_number
from viewer.cli.progress import run_with_bar

if TYPE_CHECKING:
    from viewer.report.print_options import Nested
    from viewer.tensors.slice_results import SliceAxes, ValueBlock

EPILOG = """\
PATH is written as `checkpoint-viewer show` prints it. INDEX is written as in Python: a number or a range (2, -1, :,
10:20) for each axis, a range for two of them at most; axes at the end may be left out. One that begins with a minus
is joined on (--index=-5:). Without an index the last two axes are shown, at index 0 of the others. Only the bytes of
what is shown are read, and at most 1,048,576 elements; of a longer slice the first rows are shown, and a line on
standard error says so.

Formats:
  torch       what print(tensor[INDEX]) shows after torch.set_printoptions with the same numbers (the default)
  tsv         a line for each row, columns between tabs; floats with every digit that makes them up
  expression  torch.tensor(..., dtype=...) that gives the same bits
  numpy       numpy.array(..., dtype=...); types that numpy lacks as float32

Exit status: 0; 2, with one line on standard error, when the values cannot be read.

Examples:
  checkpoint-viewer values model.pth model/layer1.0.conv1.weight
  checkpoint-viewer values model.pth model/embedding.weight --index 1000:1010,:8 --precision 6
  checkpoint-viewer values model.pth model/fc.bias --format expression
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the checkpoint; nothing in it is executed")
    parser.add_argument("path", metavar="PATH", help="the tensor")
    parser.add_argument("--index", metavar="INDEX", help="which elements (default: a slice along the last two axes)")
    parser.add_argument(
        "--format", choices=("torch", "tsv", "expression", "numpy"), default="torch", help="how to write them"
    )
    options = parser.add_argument_group("format torch, as torch.set_printoptions")
    options.add_argument("--precision", metavar="N", type=natural_number, default=4, help="digits (default: 4)")
    options.add_argument(
        "--threshold",
        metavar="N",
        type=natural_number,
        default=1000,
        help="elements above which only the edges are shown (default: 1000)",
    )
    options.add_argument("--edgeitems", metavar="N", type=natural_number, default=3, help="at each edge (default: 3)")
    options.add_argument(
        "--linewidth", metavar="N", type=natural_number, default=80, help="characters of a line (default: 80)"
    )
    options.add_argument(
        "--sci-mode", choices=("on", "off"), help="with or without exponents (default: by the values)"
    )


def run(args: argparse.Namespace) -> int:
    from viewer.errors import BadPath, ViewerError
    from viewer.formats.opening import open_task
    from viewer.report.index_text import parse_index
    from viewer.report.print_options import PrintOptions, printed_tensor
    from viewer.report.values_text import numpy_expression, torch_expression, values_tsv
    from viewer.tensors.slice_block import block_task
    from viewer.tensors.slice_results import MAX_BLOCK, value_shape

    checkpoint = run_with_bar(open_task(args.file), "reading")
    try:
        node = checkpoint.find(args.path)
    except BadPath as error:
        raise error.about(args.file) from None
    tensor = checkpoint.tensor_of_node(node)
    if tensor is None:
        raise ViewerError(f"{args.path or 'the root'} is no tensor", path=args.file, advice="Choose one of `show`")
    axes, rows, columns = parse_index(args.index, value_shape(tensor))
    most = max(MAX_BLOCK // max(len(columns), 1), 1)
    if len(rows) > most:
        print_error(f"{args.path}: rows {rows.start:,} to {rows.start + most - 1:,} of {len(rows):,} are shown")
    block = run_with_bar(
        block_task(
            checkpoint,
            tensor.number,
            axes,
            first_row=rows.start,
            n_rows=min(len(rows), most),
            first_column=columns.start,
            n_columns=len(columns),
        ),
        "reading",
    )
    if args.format == "tsv":
        write_all(values_tsv(block))
    elif args.format == "expression":
        write_all([torch_expression(block), "\n"])
    elif args.format == "numpy":
        write_all([numpy_expression(block), "\n"])
    else:
        sci_mode = None if args.sci_mode is None else args.sci_mode == "on"
        options = PrintOptions(args.precision, args.threshold, args.edgeitems, args.linewidth, sci_mode)
        values, shape = _nested(block, axes)
        write_all([printed_tensor(values, block.dtype, shape, options), "\n"])
    return EXIT_DONE


def _nested(block: ValueBlock, axes: SliceAxes) -> tuple[Nested, tuple[int, ...]]:
    """The values with as many dimensions as the slice has, and their shape."""
    lines = [block.row_values(row) for row in range(block.first_row, block.first_row + block.n_rows)]
    if axes.row_axis is not None and axes.column_axis is not None:
        return lines, (block.n_rows, block.n_columns)
    flat = [value for line in lines for value in line]
    if axes.row_axis is None and axes.column_axis is None:
        return flat[0], ()
    return flat, (len(flat),)
