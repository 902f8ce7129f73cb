"""The seven kinds of HTML block of CommonMark (section 4.6): what opens one and what closes it."""

from __future__ import annotations

import re

from skillkeep.auditor.compiled import compiled

__all__ = ["UNTIL_BLANK", "closing_of", "opens_html"]

_NAMES = (
    "address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link "
    "main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th thead "
    "title tr track ul"
)
_VALUE = r"(?:[^\"'=<>`\x00-\x20]++|'[^']*+'|\"[^\"]*+\")"
_ATTRIBUTE = rf"(?:\s++[a-zA-Z_:][a-zA-Z0-9:._-]*+(?:\s*+=\s*+{_VALUE})?+)"
UNTIL_BLANK = compiled("")
# Kinds 1 to 6 end a paragraph; the last does not.
_KINDS = (
    (compiled(r"<(?a:script|pre|style|textarea)(?=\s|>|$)", re.IGNORECASE),
     compiled(r"</(?a:script|pre|style|textarea)>", re.IGNORECASE)),
    (compiled(r"<!--"), compiled(r"-->")),
    (compiled(r"<\?"), compiled(r"\?>")),
    (compiled(r"<![A-Za-z]"), compiled(r">")),
    (compiled(r"<!\[CDATA\["), compiled(r"\]\]>")),
    (compiled(rf"</?(?a:{'|'.join(_NAMES.split())})(?=\s|/?>|$)", re.IGNORECASE), UNTIL_BLANK),
)  # fmt: skip
_ANY_TAG = compiled(rf"(?:<[A-Za-z][A-Za-z0-9-]*+{_ATTRIBUTE}*+\s*+/?>|</[A-Za-z][A-Za-z0-9-]*+\s*+>)\s*$")


def opens_html(text: str, start: int, stop: int) -> bool:
    """True when the line ``text[start:stop]`` opens an HTML block that ends the paragraph before it."""
    return any(opening.match(text, start, stop) for opening, _ in _KINDS)


def closing_of(text: str, start: int, stop: int) -> re.Pattern[str] | None:
    """What ends the HTML block that ``text[start:stop]`` opens: `UNTIL_BLANK` for a blank line, None for no block."""
    for opening, closing in _KINDS:
        if opening.match(text, start, stop):
            return closing
    return UNTIL_BLANK if _ANY_TAG.match(text, start, stop) else None
