"""The command that goes on from an outcome: complete, shell-quoted, ready to copy."""

from __future__ import annotations

import shlex

from skillkeep.ingest.request import IngestRequest
from skillkeep.ingest.source import SourceRef

__all__ = ["confirm_command", "restore_command", "show_command"]


def confirm_command(request: IngestRequest, source: SourceRef, selected: str | None, name: str, digest: str) -> str:
    """The call that vaults exactly these bytes. `selected` is the artifact's name or path where it has to be chosen."""
    words = ["skill", "ingest", source.text]
    if source.ref:
        words += ["--ref", source.ref]
    if source.path:
        words += ["--path", source.path]
    if selected:
        words += ["--select", selected]
    if request.name and name != selected:
        words += ["--name", name]
    if request.origin:
        words += ["--origin", request.origin]
    for grant in request.grants:
        words += ["--grant", grant]
    words += [*request.repeat, "--confirm", "--expect", digest]
    return shlex.join(words)


def show_command(name: str) -> str:
    """The call that shows a vaulted tool."""
    return shlex.join(["vault", "show", name])


def restore_command(name: str, digest: str) -> str:
    """The call that gives the name back to an archived version."""
    return shlex.join(["vault", "rollback", name, digest])
