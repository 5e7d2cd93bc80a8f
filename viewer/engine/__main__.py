"""`python -m viewer.engine` serves requests from standard input; the client starts it, nobody by hand."""

from __future__ import annotations

from viewer.engine.server import main

if __name__ == "__main__":
    main()
