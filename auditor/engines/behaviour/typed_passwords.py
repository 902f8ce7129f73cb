"""A password that a Tcl or expect program has its user type, sent to a host that no document names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.acts import code_of
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.interface import Context, SourceTree
from skillkeep.auditor.engines.network import host_of, is_near
from skillkeep.auditor.interface import Location

__all__ = ["typed_passwords"]

Typed = tuple[Location, str, str]  # where it is sent, that line, and what goes to whom

_ASKED: Final = compiled(r"(?i)\bstty[ \t]{1,3}-echo\b|\bpass(?:word|phrase|wd)\b|\b(?:pin|pw|otp)[ \t]{0,3}(?:code|:)")
_TYPED: Final = compiled(
    r"\bset[ \t]{1,3}(?P<set>\w{1,40})[ \t]{1,3}(?:\[[ \t]{0,3}gets[ \t]{1,3}stdin|\$expect_out\()"
    r"|\bgets[ \t]{1,3}stdin[ \t]{1,3}(?P<got>\w{1,40})|\bexpect_user\b"
)
_SENDS: Final = r"(?:\b(?:curl|wget|nc|ncat)\b|\bhttp::geturl\b)"
_ADDRESS: Final = compiled(r"https?://[^\s\"'`;|$\\]{3,200}")
_MOST: Final = 20


def typed_passwords(tree: SourceTree, documents: Documents) -> Iterator[Typed]:
    """Every line of `tree` that sends what was typed after a question for a password to a stranger."""
    for file in tree.files:
        for segment in code_of(file):
            text = segment.text
            if segment.context is not Context.TEXT or ("stdin" not in text and "expect_user" not in text):
                continue
            typed = list(islice(_TYPED.finditer(text), _MOST)) if _ASKED.search(text) else []
            names = {re.escape(found["set"] or found["got"]) for found in typed if found["set"] or found["got"]}
            held = "|".join([*(rf"\$\{{?{name}\b" for name in sorted(names)), r"\$expect_out\("])
            sent = re.compile(rf"^[^#\n]{{0,300}}?{_SENDS}[^\n]{{0,300}}?(?:{held})[^\n]{{0,300}}", re.MULTILINE)
            for found in islice(sent.finditer(text), _MOST) if typed else ():
                address = _ADDRESS.search(found[0])
                host = host_of(address[0]).name if address else ""
                if host and not is_near(host) and not documents.names(host, exact=True):
                    shown = found[0].strip()[:200]
                    yield segment.locate(found.start(), found.end()), shown, f"what the user types is sent to {host}"
