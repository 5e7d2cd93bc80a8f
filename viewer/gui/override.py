"""`typing.override` for Python 3.11, which has none: type checkers see the real one, nothing is imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import override
else:
    _Method = TypeVar("_Method", bound=Callable[..., Any])

    def override(method: _Method) -> _Method:
        """Say that a method replaces one of the base class."""
        method.__override__ = True
        return method


__all__ = ["override"]
