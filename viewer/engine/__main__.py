"""`python -m viewer.engine` serves requests from standard input; the client starts it, nobody by hand."""

from __future__ import annotations

from viewer.engine.server import main
from viewer.interpreter import give_up_rights

if __name__ == "__main__":
    give_up_rights()
    main()
