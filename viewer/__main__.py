"""`python -m viewer` is `checkpoint-viewer`."""

from __future__ import annotations

import os
import sys


def _main() -> int:
    # `-m` puts the working folder first, where a checkpoint may lie beside a json.py that is not ours.
    if sys.path[:1] == [os.getcwd()]:  # noqa: PTH109 - pathlib might be the one beside the checkpoint
        del sys.path[0]
    from viewer.cli.main import main

    return main()


if __name__ == "__main__":
    sys.exit(_main())
