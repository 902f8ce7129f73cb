"""From fetched files to tools, each in a folder of its own: starts the confined discovery worker, judges its answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from skillkeep.auditor.interface import Observation
from skillkeep.confined import Confinement, WorkerError, run_confined
from skillkeep.errors import SkillkeepError
from skillkeep.ingest.cut import CutLimits
from skillkeep.ingest.discovery import Candidate, Kind, slug
from skillkeep.ingest.fetching import Fetched
from skillkeep.ingest.observations import INCOMPLETE, TOO_DEEP, TOO_LARGE, UNREADABLE, WHOLE_SOURCE, bounded, from_wire
from skillkeep.ingest.paths import why_refused
from skillkeep.ingest.quarantine import Quarantine
from skillkeep.ingest.source import SourceRef
from skillkeep.manifest import Manifest
from skillkeep.sealed import Sealed, sealer
from skillkeep.settings import LimitSettings
from skillkeep.tree import TreeLimits, TreeView

__all__ = ["Artifact", "Discovery", "Uncut", "discover"]

_PATH_DEPTH = 1000
_NOT_TAKEN = {
    TOO_LARGE: ("it is larger than a file may be", "Raise file_bytes under [limits] in config.toml"),
    TOO_DEEP: ("it lies in too many folders", "Raise depth under [limits] in config.toml"),
    UNREADABLE: ("it cannot be read", "Make it readable"),
}


@dataclass(frozen=True)
class Artifact(Sealed):
    """One tool in quarantine. `root` holds plain files only; `path` is where it lay in the source (POSIX).

    `name` fits the vault and is the tool's own claim; `description` is raw. `manifest` was made here, from `root`.
    """

    name: str
    kind: Kind
    path: str
    root: Path
    description: str
    manifest: Manifest
    observations: tuple[Observation, ...]


_seal = sealer(Artifact)


@dataclass(frozen=True)
class Uncut:
    """A chosen tool that could not be taken, and why."""

    name: str
    kind: Kind
    path: str
    error: SkillkeepError


@dataclass(frozen=True)
class Discovery:
    """The chosen tools, and whether the source holds others besides."""

    chosen: tuple[Artifact | Uncut, ...]
    several: bool


def discover(
    fetched: Fetched, quarantine: Quarantine, limits: LimitSettings, select: Sequence[str], *, everything: bool
) -> Discovery:
    """Find, choose and cut out the tools of `fetched`.

    Raises `SkillkeepError`: `no_artifact`, `choose_artifact`, `unknown_artifact`, `worker_failed`, `io_error`.
    """
    into = quarantine.work / "artifacts"
    request = {
        "tree": str(fetched.root),
        "into": str(into),
        "name": _fallback_name(fetched.source),
        "select": list(select),
        "all": everything,
        "room": limits.source_bytes,
        "view": asdict(_view_limits(limits)),
        "cut": asdict(
            CutLimits(limits.artifact_files, limits.artifact_bytes, limits.depth + 32, limits.unpack_seconds)
        ),
    }
    confinement = Confinement(
        read=(str(fetched.root),),
        write=(str(quarantine.work),),
        wall_seconds=limits.unpack_seconds,
        cpu_seconds=int(limits.unpack_seconds) + 1,
        file_bytes=limits.artifact_bytes + (1 << 20),
    )
    answer = run_confined("skillkeep.ingest.worker:discover", request, confinement)
    try:
        found = [_candidate(raw) for raw in answer["found"]]
        parts = [(found[raw["index"]], into / str(int(raw["index"])), raw) for raw in answer["cut"]]
        chosen = tuple(_artifact(fetched, candidate, root, raw, limits) for candidate, root, raw in parts)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise WorkerError(
            "worker_failed",
            "the discovery worker gave a malformed answer",
            "Do not use this source: it took over the process that read it, or report a defect.",
            cause="protocol",
        ) from error
    return Discovery(chosen, several=len(found) > 1)


def _artifact(
    fetched: Fetched, candidate: Candidate, root: Path, raw: dict[str, Any], limits: LimitSettings
) -> Artifact | Uncut:
    path = "/".join(part for part in (fetched.source.path, candidate.path) if part)
    try:
        if "error" in raw:
            raise _rebuilt(raw["error"])
        outside = list(_of_artifact(fetched.observations, candidate.path))
        observations = [*outside, *from_wire(raw["observations"])]
        _check_complete(observations)
        with TreeView.open(root, _view_limits(limits)) as view:
            manifest = Manifest.of_tree(view)
    except SkillkeepError as error:
        return Uncut(candidate.name, candidate.kind, path, error)
    return _seal(
        name=candidate.name,
        kind=candidate.kind,
        path=path,
        root=root,
        description=candidate.description,
        manifest=manifest,
        observations=bounded(observations),
    )


def _of_artifact(observations: Sequence[Observation], path: str) -> Iterator[Observation]:
    """What fetching saw below `path`, relative to it, and what concerns the whole source."""
    for item in observations:
        if not path or item.rule in WHOLE_SOURCE or not item.path:
            yield item
        elif item.path.startswith(path + "/"):
            yield Observation(item.rule, item.path[len(path) + 1 :], item.detail)


def _check_complete(observations: Sequence[Observation]) -> None:
    """A copy that lacks a file is not the tool: refuse it, whatever an audit of the rest would say."""
    for item in observations:
        if item.rule in INCOMPLETE:
            what, remedy = _NOT_TAKEN[item.rule]
            raise SkillkeepError(
                "limit_exceeded",
                f"a file of the tool was not taken, so the copy would not be the tool: {what}",
                f"{remedy} if the file is wanted, or ask the author to leave it out.",
                path=item.path,
                reason=item.rule,
                detail=item.detail,
            )


def _candidate(raw: dict[str, Any]) -> Candidate:
    """A candidate as the worker tells it; the worker may be hostile by now. Raises `ValueError`, `KeyError`."""
    name, path, owner, description = raw["name"], raw["path"], raw["owner"], raw["description"]
    texts = isinstance(name, str) and isinstance(path, str) and isinstance(description, str)
    if not texts or not name or slug(name) != name or not (owner is None or isinstance(owner, str)):
        raise ValueError("a candidate is malformed")
    if path and why_refused(path, _PATH_DEPTH):
        raise ValueError("a candidate's path is not below the source")
    return Candidate(name, Kind(raw["kind"]), path, description[:500], owner)


def _rebuilt(raw: dict[str, Any]) -> SkillkeepError:
    code = raw["error_code"] if raw["error_code"] in SkillkeepError.codes else "io_error"
    return SkillkeepError(code, str(raw["error_message"]), str(raw["hint"]) or "Look at the source.", **raw["context"])


def _view_limits(limits: LimitSettings) -> TreeLimits:
    # one deeper than fetching writes; links that became copies of folders may nest further
    return TreeLimits(
        entries=limits.source_files + 1,
        file_bytes=limits.file_bytes,
        total_bytes=limits.source_bytes,
        depth=2 * limits.depth + 64,
        seconds=limits.unpack_seconds,
    )


def _fallback_name(source: SourceRef) -> str:
    """What to call a tool at the root that does not name itself: the last part of what the user named."""
    last = (source.path or source.key).rstrip("/").rpartition("/")[2]
    for suffix in (".tar.gz", ".tar.bz2", ".tar.xz", ".git"):
        last = last.removesuffix(suffix)
    stem, dot, suffix = last.rpartition(".")
    return stem if dot and source.local is not None and len(suffix) <= 5 else last
