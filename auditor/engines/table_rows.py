"""What a row of a Markdown table says of the text in one of its cells: it is denied, or a specimen of an attack."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["is_endpoint_row", "is_quotation", "is_shown_row", "shows_attacks"]

_ROW: Final = compiled(r"[ \t]*\|.*\|[ \t]*")
_MOST_ROWS: Final = 60
_MOST: Final = 8_000
_BETWEEN: Final = compiled(r"(?<!\\)\|")
_DENIED: Final = compiled(
    r"(?i)[\W_]*(?:den(?:y|ied)|block(?:ed|s)?|reject(?:ed)?|refused?|forbidden|prohibited|not allowed"
    r"|requires? approval)[\W_]*"
)
_QUOTED: Final = compiled(r"[ \t*]*[\"“«][^\"“”«»]+[\"”»][ \t*]*")
_ATTACKS: Final = compiled(
    r"(?i)[\W_]*(?:specimens?|attacks?(?: (?:text|example|string)s?)?|payloads?"
    r"|injections?(?: (?:text|example|attempt)s?)?"
    r"|red flags?|(?:warning )?sign(?:al)?s?|threats?|jailbreaks?|manipulations?"
    r"|scam(?:mer)?s?(?: (?:text|line)s?)?)[\W_]*"
)
_RISK: Final = compiled(r"(?i)[\W_]*risks?[\W_]*")
_IMPACT: Final = compiled(r"(?i)[\W_]*(?:impacts?|consequences?|severity)[\W_]*")
_ADDRESS: Final = compiled(r"://|@|\bwww\.|\bwebhook\b")
_SHORT: Final = 60
_METHODS: Final = compiled(r"(?i)[\W_]*(?:(?:http )?(?:method|verb))s?[\W_]*")
_METHOD: Final = compiled(r"[\W_]*(?:POST|PUT|PATCH)[\W_]*")
_LOGINS: Final = compiled(r"(?i)[\W_]*auth(?:entication|orization)?(?: required)?[\W_]*")
_LOGIN: Final = compiled(r"(?i)[\W_]*(?:api[ _-]?key|bearer(?: token)?|(?:access |auth )?token)[\W_]*")
_PATHS: Final = compiled(r"(?i)[\W_]*(?:endpoint|path|route)s?[\W_]*")
_PATH: Final = compiled(r"[ \t`*]*/[\w/{}<>:.-]*[ \t`*]*")
_PRIVATE: Final = compiled(
    r"(?i)(?:credential|key|token|secret|env|passw|private|ssh|wallet|mnemonic|seed|cookie|conversation|chat|file|all\b)"
)


def is_quotation(cell: str) -> bool:
    """True for a cell that is one quotation."""
    return _QUOTED.fullmatch(cell) is not None


def shows_attacks(head: str) -> bool:
    """True for a table's first row with a column of attacks."""
    return any(map(_ATTACKS.fullmatch, _BETWEEN.split(head)))


def is_shown_row(text: str, start: int) -> bool:
    """True for a place in a row whose own cell says that it is denied, or in a cell that quotes an attack.

    The cell is one quotation, and the first row of its table names a column of attacks.
    """
    begin = text.rfind("\n", 0, start) + 1
    line = text[begin:].partition("\n")[0]
    if not _ROW.fullmatch(line):
        return False
    cells = _BETWEEN.split(line)
    at = len(_BETWEEN.split(line[: start - begin])) - 1
    if any(_DENIED.fullmatch(cell) for number, cell in enumerate(cells) if number != at and cell.strip()):
        return True
    head = _head(text[max(0, begin - _MOST) : begin])
    return (is_quotation(cells[at]) and shows_attacks(head)) or (_names_risks(head, at) and _is_bare(line))


def is_endpoint_row(text: str, start: int) -> bool:
    """True for the method in a row that says how a request to a path logs in: ``| /hooks | POST | API key |``.

    The table's head says what each cell is, and no other cell of the row names anything private.
    """
    begin = text.rfind("\n", 0, start) + 1
    line = text[begin:].partition("\n")[0]
    if not _ROW.fullmatch(line):
        return False
    cells, heads = _BETWEEN.split(line), _BETWEEN.split(_head(text[max(0, begin - _MOST) : begin]))
    if len(cells) != len(heads):
        return False
    kinds = ((_METHODS, _METHOD), (_LOGINS, _LOGIN), (_PATHS, _PATH))
    known = [
        [at for at, head in enumerate(heads) if kind.fullmatch(head) and value.fullmatch(cells[at])]
        for kind, value in kinds
    ]
    if any(len(at) != 1 for at in known) or known[0][0] != len(_BETWEEN.split(line[: start - begin])) - 1:
        return False
    return not any(_PRIVATE.search(cell) for at, cell in enumerate(cells) if [at] not in known)


def _names_risks(head: str, at: int) -> bool:
    """True for a table of risks and what comes of them, in which the cell number `at` is a risk."""
    cells = _BETWEEN.split(head)
    return (
        at < len(cells)
        and _RISK.fullmatch(cells[at]) is not None
        and any(map(_IMPACT.fullmatch, cells[at + 1 : at + 2]))
    )


def _is_bare(row: str) -> bool:
    """True for a row of a few words that names no place."""
    return all(len(cell.strip()) <= _SHORT for cell in _BETWEEN.split(row)) and _ADDRESS.search(row) is None


def _head(before: str) -> str:
    """The first row of the table that goes on after `before`."""
    head = ""
    for line in before.rstrip("\n").split("\n")[: -_MOST_ROWS - 1 : -1]:
        if not _ROW.fullmatch(line):
            break
        head = line
    return head
