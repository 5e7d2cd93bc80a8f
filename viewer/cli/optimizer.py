"""`checkpoint-viewer optimizer`: the optimizers of a checkpoint by parameter name, on standard output."""

from __future__ import annotations

import argparse

from viewer.cli.output import EXIT_DONE, write_all
from viewer.cli.progress import run_with_bar

EPILOG = """\
Names of the entries come from param_names where the groups have them, from the keys of the state, or from the model
in the same file (or in --model FILE) by order and shapes. A name stands only where it is certain; else "?" and the
candidates.

In JSON:
  {"optimizers": [{"path", "kind", "named_by", "groups": [{...}], "entries": [{"id", "name", "candidates": [...],
   "group", "state": {"step": ..., "exp_avg": {"shape", "dtype", "norm"} ...}, "fits": true}]}], "notes": [...]}
named_by is one of param_names, state_dict, key, none; name is null where it is not certain; fits is whether the
moments have the shape of the parameter that they would be loaded onto, null where that is not known.

Exit status: 0, also where the file holds no optimizer (a note says so); 2, with one line on standard error, when
nothing can be shown.

Examples:
  checkpoint-viewer optimizer run.ckpt
  checkpoint-viewer optimizer optimizer.pt --model pytorch_model.bin --json | jq '.optimizers[0].entries[].name'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the checkpoint; nothing in it is executed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--model", metavar="FILE", help="take the names from the model in this checkpoint")
    parser.add_argument("--device", metavar="NAME", default="cpu", help="compute norms on this device (default: cpu)")


def run(args: argparse.Namespace) -> int:
    from viewer.checkpoint.meaning.recognise import recognise_task
    from viewer.checks.run import optimizer_numbers_task
    from viewer.formats.opening import open_task
    from viewer.report.measures import check_device
    from viewer.report.optimizer_json import iter_optimizer_json
    from viewer.report.optimizer_text import iter_optimizer_text
    from viewer.tensors.brief import TensorBrief

    checkpoint = run_with_bar(open_task(args.file), "reading")
    model = None if args.model is None else run_with_bar(open_task(args.model), "reading")
    recognition = run_with_bar(recognise_task(checkpoint, model), "naming")
    briefs: dict[int, TensorBrief] = {}
    if recognition.optimizers:
        check_device(args.device)
    for optimizer in recognition.optimizers:
        numbers = run_with_bar(optimizer_numbers_task(checkpoint, optimizer, device=args.device), "measuring")
        briefs |= numbers.briefs
    pieces = iter_optimizer_json if args.json else iter_optimizer_text
    write_all(pieces(checkpoint, recognition, briefs))
    return EXIT_DONE
