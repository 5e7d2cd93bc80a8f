"""Where the frozen program begins: the command line, or the engine process of a window (`--engine`)."""

from __future__ import annotations

import sys

from viewer.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
