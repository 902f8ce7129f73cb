"""Reports of audits made before, kept by the caller: unchanged bytes, rules, options and programs give the same answer.

Why this is safe: the cache lies in the user's home beside the registry, mode 0600 in folders of 0700. Who can write
there can write the registry, so a forged entry gives nothing new; a file of another owner, a link, or one that others
may write is not read. The key covers everything the answer depends on (`_key`), the entry repeats the key and carries
a checksum, and any doubt is a miss. An incomplete audit is never kept. `skill ingest` and `auditor scan` have separate
folders: a tree that its owner changes while it is scanned can at most mislead later scans, not the gate, whose trees
lie in quarantine where nobody else writes. Engines never see the cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from skillkeep.auditor.audit import audit_tree
from skillkeep.auditor.checkout import state_of
from skillkeep.auditor.engines.semgrep import find_semgrep
from skillkeep.auditor.interface import AuditOptions, Observation, Report
from skillkeep.auditor.kept import states
from skillkeep.auditor.ruleset import RULES_FOLDER
from skillkeep.errors import SkillkeepError
from skillkeep.files import write_atomic
from skillkeep.manifest import Manifest
from skillkeep.progress import SILENT, Progress
from skillkeep.tree import TreeView
from skillkeep.version import __version__

__all__ = ["ReportCache"]

_SCHEMA = "skillkeep/cached-report-v2"
_MOST_BYTES_OF_ONE = 4 << 20
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PACKAGES = (
    "bandit", "semgrep", "google-re2", "markdown-it-py", "pyyaml", "tree-sitter", "tree-sitter-javascript",
    "tree-sitter-typescript", "tree-sitter-bash", "tree-sitter-powershell", "tree-sitter-python", "tree-sitter-ruby",
)  # fmt: skip
_STALE_SECONDS = 3600.0


class ReportCache:
    """Reports below `folder`, which is made (0700) on the first write; the oldest go when bytes or entries run out."""

    def __init__(self, folder: Path, most_bytes: int = 64 << 20, most_entries: int = 2000) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._most_entries = most_entries

    def audit(
        self,
        root: Path,
        options: AuditOptions,
        observations: Sequence[Observation] = (),
        progress: Progress = SILENT,
    ) -> Report:
        """`audit_tree`, or its earlier answer. A cache that cannot be read or written is as if there were none."""
        start = time.perf_counter()
        key = _key(root, options, observations)
        if key is None:
            return audit_tree(root, options, observations, progress)
        if (known := self._get(key)) is not None:
            return replace(known, seconds=round(time.perf_counter() - start, 3))
        report = audit_tree(root, options, observations, progress)
        if _complete(report) and report.digest == key.digest and _key(root, options, observations) == key:
            self._put(key, report)
        return report

    def _get(self, key: _Key) -> Report | None:
        try:
            fd = os.open(os.path.join(self._folder, key.name), _FILE)
            with os.fdopen(fd, "rb") as stream:
                info = os.fstat(fd)
                if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o022:
                    return None
                checksum, _, body = stream.read(_MOST_BYTES_OF_ONE + 1).partition(b"\n")
            own, _, stored = body.partition(b"\n")
            if hashlib.sha256(body).hexdigest().encode() != checksum or own != key.text:
                return None
            report = Report.from_json(json.loads(stored))
        except (OSError, ValueError, TypeError, KeyError, RecursionError, SkillkeepError):
            return None
        return report if report.digest == key.digest else None

    def _put(self, key: _Key, report: Report) -> None:
        body = key.text + b"\n" + _bytes(report.to_json())
        data = hashlib.sha256(body).hexdigest().encode() + b"\n" + body
        if len(data) > min(_MOST_BYTES_OF_ONE, self._most_bytes):
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            info = os.lstat(self._folder)
            if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o022:
                return
            self._evict(len(data))
            write_atomic(self._folder / key.name, data, 0o600)
        except (OSError, SkillkeepError):
            return

    def _evict(self, coming: int) -> None:
        """Make room: what a killed writer left, then the oldest entries."""
        entries = []
        with os.scandir(self._folder) as listing:
            for item in listing:
                info = item.stat(follow_symlinks=False)
                if item.name.endswith(".tmp"):
                    if time.time() - info.st_mtime > _STALE_SECONDS:
                        os.unlink(item.path)
                elif stat.S_ISREG(info.st_mode):
                    entries.append((info.st_mtime_ns, info.st_size, item.path))
        entries.sort()
        size = sum(entry[1] for entry in entries) + coming
        while entries and (size > self._most_bytes or len(entries) >= self._most_entries):
            _, freed, path = entries.pop(0)
            os.unlink(path)
            size -= freed


@dataclass(frozen=True)
class _Key:
    """Everything an answer depends on, as one line of JSON, and the tree's digest among it."""

    text: bytes
    digest: str

    @property
    def name(self) -> str:
        """The name of the entry's file."""
        return hashlib.sha256(self.text).hexdigest()


def _key(root: Path, options: AuditOptions, observations: Sequence[Observation]) -> _Key | None:
    """Everything an answer depends on, or None for a tree that is not fully read: its answer is not kept."""
    if options.rubric is not None:  # a model may answer otherwise the next time
        return None
    try:
        with TreeView.open(root, options.limits) as view:
            if view.unread:
                return None
            digest = Manifest.of_tree(view).digest
            seen = "".join([f"{e.path!r} {e.kind} {e.mode} {e.size} {e.target!r} {e.links}\n" for e in view.entries])
            shape = hashlib.sha256(seen.encode("utf-8", "replace")).hexdigest()
    except SkillkeepError:
        return None
    key = {
        "schema": _SCHEMA,
        "digest": digest,
        "shape": shape,
        "options": {**vars(options), "engines": sorted(options.engines) if options.engines is not None else None},
        "advisories": _state_of(options.advisories),
        "checkout": state_of(root) if options.checkout else "",
        "observations": [asdict(item) for item in observations],
        "made_by": _made_by(),
    }
    return _Key(_bytes(key), digest)


def _state_of(path: str) -> list[int]:
    """Size, inode and time of change of a file the answer depends on; empty when there is none."""
    try:
        info = os.stat(path) if path else None
    except (OSError, ValueError):
        return [-1]
    return [info.st_size, info.st_ino, info.st_mtime_ns] if info else []


@cache
def _made_by() -> str:
    """One digest over the program: its code and rules by size and time of change, and the packages engines use."""
    from importlib import metadata

    state = hashlib.sha256(__version__.encode())
    code = RULES_FOLDER.parent / "auditor"
    for path, info in sorted((*states(code, ".py"), *states(RULES_FOLDER, ""))):
        state.update(f"{path}\0{info[0]}\0{info[1]}\0".encode())
    for package in _PACKAGES:
        try:
            state.update(f"{package} {metadata.version(package)}\0".encode())
        except metadata.PackageNotFoundError:
            state.update(f"{package} absent\0".encode())
    program = find_semgrep()
    state.update(f"{program} {_state_of(str(program)) if program else []}".encode("utf-8", "surrogateescape"))
    return state.hexdigest()


def _complete(report: Report) -> bool:
    return not (
        any(entry.state == "failed" for entry in report.ledger)
        or any(run.state == "failed" for run in report.engines)
        or any(finding.category == "audit" for finding in report.findings)
    )


def _bytes(data: dict[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=True, sort_keys=True, default=os.fspath).encode("ascii")
