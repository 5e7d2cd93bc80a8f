"""`checkpoint-viewer roundtrip`: does it survive being saved and reloaded?"""

from __future__ import annotations

import argparse
import warnings
from typing import Final

from viewer.cli.ending import tidy_ending
from viewer.cli.output import EXIT_DONE, EXIT_FOUND, write_all
from viewer.cli.progress import run_with_bar

_COMMA: Final = ","

EPILOG = """\
Saves a tensor, a part or the whole file in each way that people use (torch.save in both formats, pickle, deepcopy,
clone, detach, to and from each device, numpy, safetensors, the canonical form, a cast and back, a new module), loads
it again, and says what changed: bits, numbers, dtype, shape, stride, storage, device, requires_grad, class, sharing.
For the ways that write something, two fresh processes with different hash seeds write it too, and their bytes are
compared (up to 64 MB unless --bytes is given).

Nothing in FILE is executed: tensors and plain containers are rebuilt by the viewer itself, and what is something else
is left out and listed.

Exit status: 0; 1 when a way that should keep every bit brought back others, or another dtype or shape; 2, with one
line on standard error, when nothing could be tried. A way that refuses is a row, not a fault.

Examples:
  checkpoint-viewer roundtrip model.pth --path model/layer1.weight
  checkpoint-viewer roundtrip model.pth --ways torch.save,safetensors,cast-bfloat16 --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the checkpoint; nothing in it is executed")
    parser.add_argument("--path", metavar="PATH", default="", help="this part only (default: the whole file)")
    parser.add_argument("--ways", metavar="WAY,…", default="", help="these ways only, separated by commas")
    parser.add_argument("--list", action="store_true", help="list the ways and what each is known to lose, and stop")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--bytes", action="store_true", help="compare bytes of two processes at any size")
    parser.add_argument("--no-bytes", action="store_true", help="do not compare bytes")
    parser.add_argument("--large", action="store_true", help="try it with more than 1 GB, too")
    parser.add_argument("--device", metavar="NAME", default="cpu", help="rebuild on this device (default: cpu)")


def run(args: argparse.Namespace) -> int:
    from viewer.formats.opening import open_task
    from viewer.report.measures import check_device
    from viewer.report.roundtrip_json import roundtrip_json
    from viewer.report.roundtrip_text import roundtrip_lines
    from viewer.roundtrip.task import roundtrip_task
    from viewer.roundtrip.ways import all_ways

    if args.list:
        write_all(f"{way.facts.name:22}  {way.facts.says}. {way.facts.caveats}.\n" for way in all_ways())
        return EXIT_DONE
    checkpoint = run_with_bar(open_task(args.file), "reading")
    node = checkpoint.find(args.path)
    check_device(args.device)
    task = roundtrip_task(
        checkpoint,
        node,
        device=args.device,
        ways=[name.strip() for name in args.ways.split(_COMMA) if name.strip()],
        check_bytes=True if args.bytes else False if args.no_bytes else None,
        large=args.large,
    )
    with warnings.catch_warnings(), tidy_ending():
        # That a form is old or young is known, and it is tried all the same.
        warnings.simplefilter("ignore")
        found = run_with_bar(task, "trying")
    if args.json:
        write_all([roundtrip_json(args.file, found)])
    else:
        write_all(f"{line}\n" for line in roundtrip_lines(found))
    return EXIT_FOUND if found.lost else EXIT_DONE
