"""What a list or a variable from elsewhere puts where an interpreter takes its program: xargs, lines of a document."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.evaluate import HOLE
from skillkeep.auditor.engines.shell.model import Variable, Word
from skillkeep.auditor.engines.shell.site import Call, ShellSite

__all__ = ["holds_download", "is_run_by_xargs", "listed_in"]

_ALONE: Final = compiled(rf"^[ \t]*{HOLE}[ \t]*;?[ \t]*$", re.MULTILINE)
_CODE: Final = frozenset({"-c", "-e", "-lc", "-xc", "-ec"})
_PLACES: Final = frozenset({"{}", "%", "@", "_", "$0", "$1", "$@", "$*"})
_LIST: Final = compiled(r"(?:--arg-file=|-a)(.+)")


def holds_download(site: ShellSite, word: Word, text: str) -> bool:
    """True when a line of the program is a variable that holds what came from the network."""
    names = [piece.name for piece in word.pieces if isinstance(piece, Variable)]
    return bool(_ALONE.search(text)) and any("download" in site.scope.labels.get(name, ()) for name in names)


def listed_in(site: ShellSite, call: Call) -> frozenset[str]:
    """The labels of the file that ``xargs -a file`` takes its words from."""
    texts = [site.scope.text(word) for word in call.command.words]
    labels: frozenset[str] = frozenset()
    for at, text in enumerate(texts[:-1]):
        found = _LIST.fullmatch(text)
        name, word = (texts[at + 1], call.command.words[at + 1]) if text in {"-a", "--arg-file"} else ("", None)
        if word is not None:
            labels |= site.files.of(site.name(name, word))
        elif found:
            labels |= site.files.of(found[1])
    return labels


def is_run_by_xargs(call: Call, interpreter: bool) -> bool:
    """True where the words that xargs takes in are a program's name, or the program of an interpreter."""
    if call.name in _PLACES:
        return True
    if not interpreter:
        return False
    code = next((at for at, text in enumerate(call.arguments) if text in _CODE), None)
    if code is None:
        return False  # files that it is given
    return code + 1 >= len(call.arguments) or call.arguments[code + 1].strip("\"' ") in _PLACES
