"""What a tool may have beyond the default sandbox: ``net:HOST:PORT``, ``env:NAME``, ``write:PATH``.

Recorded with the approval. A grant is the user's word, so it is checked strictly and never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from skillkeep.ingest.errors import IngestError

__all__ = ["check_grants"]

_HOST = r"(?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]"
_FORMS = (
    re.compile(rf"net:(?:{_HOST}):[0-9]{{1,5}}\Z"),
    re.compile(r"env:[A-Za-z_][A-Za-z0-9_]{0,127}\Z"),
    re.compile(r"write:/[^\0-\x1f\x7f]{0,1023}\Z"),
)


def check_grants(grants: Iterable[str]) -> tuple[str, ...]:
    """The grants, each once and sorted. Raises `IngestError` (`bad_selection`) for one that is malformed."""
    for grant in grants:
        parts = grant.split("/") if grant.startswith("write:") else []
        bad_port = (
            grant.startswith("net:") and not 0 < int(grant.rpartition(":")[2][:5].strip() or 0) < 65_536
            if grant.rpartition(":")[2].isdigit()
            else False
        )
        if not any(form.match(grant) for form in _FORMS) or ".." in parts or bad_port:
            raise IngestError(
                "bad_selection",
                "a grant is malformed",
                "Write net:HOST:PORT, env:NAME or write:/absolute/path, for example --grant net:api.example.com:443.",
                grant=grant[:200],
            )
    return tuple(sorted(set(grants)))
