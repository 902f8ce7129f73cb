"""From a parsed source to files in quarantine: starts the confined fetch worker and judges its answer."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from skillkeep.auditor.interface import Observation
from skillkeep.confined import WorkerError, run_confined
from skillkeep.ingest.errors import IngestError
from skillkeep.ingest.fetchers.interface import FetchOrder, fetcher_for
from skillkeep.ingest.giturl import is_commit
from skillkeep.ingest.observations import from_wire
from skillkeep.ingest.quarantine import Quarantine
from skillkeep.ingest.source import SourceKind, SourceRef
from skillkeep.ingest.writer import SourceLimits
from skillkeep.sealed import Sealed, sealer
from skillkeep.settings import LimitSettings

__all__ = ["Fetched", "fetch"]


@dataclass(frozen=True)
class Fetched(Sealed):
    """A source in quarantine. `root` is its tree (links are still links); nobody vouches for any of it.

    `commit` is the fetched commit, or None for what is no git repository. `proven` is False when no branch or tag
    of the repository points at it.
    """

    source: SourceRef
    root: Path
    commit: str | None
    proven: bool
    observations: tuple[Observation, ...]


_seal = sealer(Fetched)


def fetch(source: SourceRef, quarantine: Quarantine, limits: LimitSettings, proxy: str = "") -> Fetched:
    """Fetch `source` into `quarantine` inside a worker that may write nowhere else.

    `proxy` is the user's own https proxy, if any. Raises `SkillkeepError`: what the fetcher raises, `worker_failed`.
    """
    order = _order(source, quarantine, limits, proxy)
    try:
        answer = run_confined(
            "skillkeep.ingest.worker:fetch", order.to_wire(), fetcher_for(source.kind).confinement(order)
        )
    except WorkerError as error:
        raise _explained(error, order.limits.seconds) from error
    commit, proven = answer.get("commit"), answer.get("proven")
    try:
        observations = tuple(from_wire(answer["observations"]))
        if not (commit is None or (isinstance(commit, str) and is_commit(commit))) or not isinstance(proven, bool):
            raise ValueError("the commit is none")
    except (KeyError, TypeError, ValueError) as error:
        raise WorkerError(
            "worker_failed",
            "the fetch worker gave a malformed answer",
            "Do not use this source: it took over the process that read it, or report a defect.",
            cause="protocol",
        ) from error
    return _seal(source=source, root=order.tree, commit=commit, proven=proven, observations=observations)


def _order(source: SourceRef, quarantine: Quarantine, limits: LimitSettings, proxy: str) -> FetchOrder:
    is_git = source.kind is SourceKind.GIT
    return FetchOrder(
        kind=source.kind,
        folder=os.fspath(quarantine.work),
        limits=SourceLimits(
            entries=limits.source_files,
            total_bytes=limits.source_bytes,
            file_bytes=limits.file_bytes,
            depth=limits.depth,
            seconds=limits.fetch_seconds if is_git else limits.unpack_seconds,
        ),
        url=source.url,
        scheme=source.scheme,
        port=source.port,
        ref=source.ref or "",
        path=source.path,
        local=os.fspath(source.local) if source.local else "",
        program=_git_program(source) if is_git else "",
        proxy=proxy,
    )


def _git_program(source: SourceRef) -> str:
    for program in ("git", "ssh") if source.scheme == "ssh" else ("git",):
        if shutil.which(program) is None:
            raise IngestError("program_missing", f"{program} is not installed", f"Install {program}.", program=program)
    return os.path.abspath(shutil.which("git") or "git")


def _explained(error: WorkerError, seconds: float) -> WorkerError | IngestError:
    if error.context.get("cause") != "timeout":
        return error
    return IngestError(
        "fetch_timeout",
        "the source could not be read in time",
        "Take a part of it with --path, or raise fetch_seconds and unpack_seconds in config.toml.",
        seconds=seconds,
    )
