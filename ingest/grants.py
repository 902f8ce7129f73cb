"""Grants that are asked for at the door. A grant is the user's word, so it is checked strictly and never guessed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from skillkeep.grants import check_path, normal_grant, widest
from skillkeep.ingest.errors import IngestError

__all__ = ["check_grants"]


def check_grants(grants: Iterable[str], home: Path) -> tuple[str, ...]:
    """The grants in their one spelling, each once and sorted. Raises `IngestError` (`bad_selection`) for one that is
    malformed or that no run could be given: then the tool could not be run at all."""
    checked = set()
    for grant in grants:
        try:
            checked.add(_usable(normal_grant(grant), home))
        except ValueError as error:
            raise IngestError(
                "bad_selection",
                f"a grant cannot be given: {error}",
                "Write net:HOST:PORT, env:NAME or write:/absolute/path, for example --grant net:api.example.com:443.",
                grant=grant[:200],
            ) from error
    return widest(checked)


def _usable(grant: str, home: Path) -> str:
    if grant.startswith("write:"):
        check_path(grant.removeprefix("write:"), home)
    return grant
