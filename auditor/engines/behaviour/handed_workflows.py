"""A workflow for the user's repository that hands all of its secrets to somebody else's, which may change every day.

``jobs.<id>.uses`` with ``secrets: inherit`` (GitHub, Reusing workflows) gives the called workflow every secret; a
branch names whatever its owner puts there. ``include: remote:`` of GitLab runs what an address
answers, with all variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.interface import Context, Segment, SourceFile, SourceTree
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.interface import Location

__all__ = ["Handed", "handed_workflows"]

Handed = tuple[Location, str, str]  # where, that text, and what is handed to whom

_BREAK: Final = r"(?:\n|\\n)"  # of a line, in a file or in a program's text
_CALLED: Final = compiled(
    r"\buses:[ \t]*[\"']?(?P<owner>[A-Za-z0-9][\w-]{0,38})/(?P<repo>[\w.-]{1,100})/\.github/workflows/[\w.-]{1,80}"
    r"@(?P<ref>[\w./-]{1,80})"
)
_INHERITS: Final = compiled(r"\bsecrets:[ \t]*[\"']?inherit\b")
_ANOTHER: Final = compiled(r"\b(?:uses|runs-on|steps):")
_PINNED: Final = compiled(r"[0-9a-f]{40}|[0-9a-f]{64}|(?:[\w-]{1,30}[-/])?v?\d+(?:\.\d+){0,3}(?:[-+.][\w.]{1,20})?")
_INCLUDED: Final = compiled(
    rf"\binclude:[ \t]*(?:{_BREAK}[ \t]*-?[ \t]*)?(?:\[?\{{?[ \t]*)?[\"']?remote[\"']?:[ \t]*[\"']?(?P<url>https?://[^\s\"'\\]{{4,300}})"
)
_PLACEHOLDER: Final = compiled(
    r"(?i)(?:your|my|our|the|some)?[-_]?(?:org(?:ani[sz]ation)?|owner|company|user(?:name)?|team|name|acme"
    r"|example|octo-?org|octocat|foo)(?:[-_]?(?:name|corp|inc))?"
)
_OWN: Final = compiled(
    r"(?i)^(?:\./)?\.github/workflows/[^/]+$"
    r"|^\.gitlab-ci\.ya?ml$"
)  # runs in the author's repository
_REACH: Final = 500
_MOST: Final = 20


def handed_workflows(tree: SourceTree, documents: Documents) -> Iterator[Handed]:
    """Every workflow that files of `tree` hold or write, and that hands secrets to an owner whom no document names."""
    for file in tree.files:
        text = file.text
        if text is None or ("uses:" not in text and "remote:" not in text) or not _may(file):
            continue
        whole = Segment(file.path, Context.TEXT, text, anchor=file.place)
        for found in islice(_CALLED.finditer(text), _MOST):
            owner = found["owner"]
            if _is_mutable(found) and _inherits(text, found) and not _is_named(owner, documents):
                what = f"all secrets are handed to whatever {owner} has at {found['ref']}"
                yield whole.locate(found.start(), found.end()), found[0], what
        for found in islice(_INCLUDED.finditer(text), _MOST):
            host = host_of(found["url"]).name
            if not documents.names(host, exact=True) and "/gitlab-org/" not in found["url"]:
                yield (
                    whole.locate(found.start(), found.end()),
                    found[0][:200],
                    f"what {host} answers runs in the pipeline",
                )


def _may(file: SourceFile) -> bool:
    return (file.is_program or not file.of(Context.INSTRUCTION)) and not _OWN.search(file.path)


def _is_mutable(found: re.Match[str]) -> bool:
    return _PINNED.fullmatch(found["ref"]) is None and _PLACEHOLDER.fullmatch(found["owner"]) is None


def _inherits(text: str, found: re.Match[str]) -> bool:
    """True where the job that calls the workflow hands it every secret: below its name or above it."""
    below = text[found.end() : found.end() + _REACH]
    stop = _ANOTHER.search(below)
    if _INHERITS.search(below[: stop.start()] if stop else below):
        return True
    above = text[max(0, found.start() - _REACH) : found.start()]
    others = list(_ANOTHER.finditer(above))
    return _INHERITS.search(above, others[-1].end() if others else 0) is not None


def _is_named(owner: str, documents: Documents) -> bool:
    return documents.holds(owner) or documents.holds(owner.replace("-", " "))
