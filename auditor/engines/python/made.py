"""Programs that a program writes and starts: as a shell script that does the same, which the shell's engine judges."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from skillkeep.auditor.engines.python.contents import Contents
from skillkeep.auditor.engines.python.folding import Folder
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.values import HOLE, texts_of

__all__ = ["made_by"]

_MARK: Final = "END_OF_THE_TEXT"
_NAME: Final = "./made"
_MOST: Final = 8  # texts and words


def made_by(
    contents: Contents, folder: Folder, argument: ast.expr | None, scope: Scope, words: Sequence[str]
) -> Iterator[str]:
    """For each of `words`, a command's, that names a file with a known text: how a shell writes and starts it."""
    elements = argument.elts if isinstance(argument, ast.List | ast.Tuple) else []
    for at, word in enumerate(words[:_MOST]):
        element = elements[at] if at < len(elements) and len(elements) == len(words) else None
        given = contents.put(element if element is not None else word, scope)
        parts = [text for node, home in given[:_MOST] for text in texts_of(folder.fold(node, home))[:1]]
        command = " ".join([*words[:at], _NAME, *words[at + 1 :]])
        for text in dict.fromkeys([*parts, "".join(parts)]):
            if text.strip(HOLE + " \n"):
                body = text.replace(HOLE, "NOT_KNOWN")
                yield f"cat > {_NAME} <<'{_MARK}'\n{body}\n{_MARK}\n{command}\n"


def words_of(command: str) -> list[str]:
    """The words of a command line; none where its quotes are not closed."""
    try:
        return shlex.split(command)
    except ValueError:
        return []
