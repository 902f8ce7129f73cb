"""Which files a reviewer sees, and how much of each: most relevant first, within a budget of tokens.

What is left out is said: each file has a ledger line, with the lines that were not reviewed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from skillkeep.auditor.interface import LedgerEntry
from skillkeep.auditor.rubric.text import Rubric
from skillkeep.auditor.sources import decode
from skillkeep.errors import SkillkeepError
from skillkeep.tree import TreeEntry, TreeView

__all__ = ["ENGINE", "Material", "Shown", "estimated_tokens", "lines_of", "select"]

ENGINE = "rubric"
_LARGEST_FILE = 1 << 20
_HEADER_TOKENS = 80
_LINE_TOKENS = 3
_SHARE = 4  # before the rest is given out, one file may take at most a quarter of the budget


@dataclass(frozen=True)
class Shown:
    """One file as the reviewer sees it: its first lines, of `total`; `sha256` is that of all its bytes."""

    path: str
    sha256: str
    lines: tuple[str, ...]
    total: int


@dataclass(frozen=True)
class Material:
    """What goes into the prompt, and what the ledger says about every file."""

    files: tuple[Shown, ...]
    ledger: tuple[LedgerEntry, ...]


@dataclass
class _Candidate:
    path: str
    sha256: str
    lines: list[str]
    taken: int = 0


def estimated_tokens(text: str) -> int:
    """About how many tokens a model makes of `text`: one for three bytes, more than is usual for code."""
    return (len(text.encode("utf-8", "surrogatepass")) + 2) // 3


def lines_of(path: str, data: bytes) -> list[str] | None:
    """A file's lines as reports number them (split at line feeds, CR LF is one), or None when it is not text."""
    text = decode(path, data).text
    if text is None:
        return None
    return text.replace("\r\n", "\n").split("\n")


def select(view: TreeView, hot: frozenset[str], tokens: int, rubric: Rubric) -> Material:
    """Choose from `view`; the files in `hot` (those with findings) go first within their kind."""
    ledger: list[LedgerEntry] = []
    candidates: list[_Candidate] = []
    left = tokens
    for entry in sorted(view.files(), key=lambda entry: _rank(entry, hot, rubric)):
        if left <= _HEADER_TOKENS:
            ledger.append(_skipped(entry.path, "beyond the token budget"))
            continue
        candidate = _read(view, entry, ledger)
        if candidate is not None:
            left -= _take(candidate, min(left, max(tokens // _SHARE, _HEADER_TOKENS + 1)), _HEADER_TOKENS)
            candidates.append(candidate)
    for candidate in candidates:
        left -= _take(candidate, left, 0)
    ledger += [_entry(candidate) for candidate in candidates]
    shown = tuple(
        Shown(each.path, each.sha256, tuple(each.lines[: each.taken]), len(each.lines))
        for each in candidates
        if each.taken
    )
    return Material(shown, tuple(ledger))


def _rank(entry: TreeEntry, hot: frozenset[str], rubric: Rubric) -> tuple[int, bool, int, str]:
    name = entry.path.rpartition("/")[2].lower()
    suffix = name.rpartition(".")[2] if "." in name else ""
    if name in rubric.instruction_names:
        kind = 0
    elif suffix in rubric.script_suffixes or entry.executable:
        kind = 1
    elif suffix in rubric.instruction_suffixes:
        kind = 2
    else:
        kind = 3 if suffix in rubric.config_suffixes else 4
    return kind, entry.path not in hot, entry.size, entry.path


def _read(view: TreeView, entry: TreeEntry, ledger: list[LedgerEntry]) -> _Candidate | None:
    try:
        data = view.read(entry.path, _LARGEST_FILE)
    except SkillkeepError as error:
        ledger.append(_skipped(entry.path, error.message))
        return None
    lines = lines_of(entry.path, data)
    if lines is None:
        ledger.append(_skipped(entry.path, "not text"))
        return None
    return _Candidate(entry.path, hashlib.sha256(data).hexdigest(), lines)


def _take(candidate: _Candidate, most: int, used: int) -> int:
    """Show as many further whole lines as fit into `most` tokens, `used` of which are gone; returns what was used."""
    while candidate.taken < len(candidate.lines):
        cost = estimated_tokens(candidate.lines[candidate.taken]) + _LINE_TOKENS
        if used + cost > most:
            break
        used += cost
        candidate.taken += 1
    return used


def _entry(candidate: _Candidate) -> LedgerEntry:
    total = len(candidate.lines)
    if candidate.taken == total:
        return LedgerEntry(candidate.path, ENGINE, "read")
    first = candidate.taken + 1
    return _skipped(candidate.path, f"lines {first}-{total} of {total} are beyond the token budget")


def _skipped(path: str, why: str) -> LedgerEntry:
    return LedgerEntry(path, ENGINE, "skipped", f"not reviewed: {why}")
