"""A program and the text that it reads, as one shell script."""

from __future__ import annotations

from typing import Final

__all__ = ["reading"]

_END: Final = "END_OF_WHAT_IS_READ"


def reading(program: str, text: str) -> str:
    """``program`` with `text` as its input, in a here-document that ends nowhere in the text."""
    end = _END
    while end in text:
        end += "_"
    return f"{program} <<'{end}'\n{text}\n{end}\n"
