"""`checkpoint-viewer show`: the tree of a checkpoint on standard output."""

from __future__ import annotations

import argparse

from viewer.cli.output import EXIT_DONE, write_all
from viewer.cli.parser import natural_number
from viewer.cli.progress import run_with_bar

EPILOG = """\
A PATH is written as it stands in the output:
  model/layer1.0.conv1.weight   string keys are separated by slashes; dots in a key are left alone
  optimizer/state[0]/exp_avg    list indexes and integer keys stand in brackets, with no slash before them
  files["a/b.py"]  [""]         a string key that is empty, begins or ends with a blank, or holds / [ ] " \\ or a
                                character that does not print stands in brackets as a JSON string
  cache[{"(1, 2)"}]             any other key (tuple, None, float, bytes ...) stands in brackets and braces, as its
                                repr in a JSON string; a second sibling with the same repr carries its number:
                                cache[{"nan"}2]
The root is the empty path.

In JSON every node is an entry, in tree order. Values that JSON cannot hold are strings: "nan", "inf" and "-inf" for
non-finite numbers, and what Python prints for bytes, complex numbers and the like; the entry's kind says what it is.

Exit status: 0, also when only a part of the file can be shown (a warning says so); 2, with one line on standard
error, when nothing can.

Examples:
  checkpoint-viewer show model.pth
  checkpoint-viewer show model.pth --stats --path model/layer1.0.conv1.weight
  checkpoint-viewer show model.pth --json --values 5 | jq '.entries[] | select(.kind == "tensor") | .path'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the checkpoint; nothing in it is executed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--stats", action="store_true", help="compute statistics of each tensor shown")
    parser.add_argument("--path", metavar="PATH", default="", help="show only this node and what is below it")
    parser.add_argument(
        "--values", metavar="N", type=natural_number, help="show the first N elements of every tensor"
    )
    parser.add_argument("--device", metavar="NAME", default="cpu", help="compute on this device (default: cpu)")


def run(args: argparse.Namespace) -> int:
    from viewer.errors import BadPath
    from viewer.formats.opening import open_task
    from viewer.report.extract import Extract, distinct_tensors
    from viewer.report.json_report import iter_json
    from viewer.report.measures import check_device, measure_task
    from viewer.report.text_report import iter_text

    checkpoint = run_with_bar(open_task(args.file), "reading")
    try:
        root = checkpoint.find(args.path)
    except BadPath as error:
        raise error.about(args.file) from None
    # To look for the device brings torch, which a file without tensors does not need.
    if (args.stats or args.values is not None) and any(True for _ in distinct_tensors(checkpoint, root)):
        check_device(args.device)
    measures = run_with_bar(measure_task(checkpoint, root, device=args.device), "measuring") if args.stats else None
    extract = Extract(checkpoint, root, measures, args.values, args.device)
    write_all(iter_json(extract) if args.json else iter_text(extract))
    return EXIT_DONE
