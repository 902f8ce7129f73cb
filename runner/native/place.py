"""Where a user's fork server listens, and which server is the right one for this process.

A run must get what it would get if the caller made it alone: the same ids, namespaces, control groups and limits. All
of these go into the socket's name, with the code's own state, so that callers that differ never share a server.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import stat
import sys
from collections.abc import Mapping
from functools import cache, lru_cache

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.procfs import KINDS, namespaces_of, read_record, started_at, status_of

__all__ = ["LAYER", "LIMITS", "alone", "rights", "server_folder", "server_name", "source_files"]

LAYER = "fork_server"
_FIRST_NAMES = 9
_LONGEST_BASE = 107 - len("/skillkeep/native-") - 20
"""So that the socket's path fits (unix(7)); a longer one is no place for it."""
_HERE = os.path.dirname(os.path.abspath(__file__))
LIMITS = tuple(
    getattr(resource, f"RLIMIT_{name}")
    for name in ("CORE", "NOFILE", "FSIZE", "NPROC", "DATA", "CPU", "MEMLOCK", "MSGQUEUE", "AS")
)
_RIGHTS = {
    "permitted": "CapPrm", "bounding": "CapBnd", "no_new_privs": "NoNewPrivs", "seccomp": "Seccomp",
    "filters": "Seccomp_filters",
}  # fmt: skip


def server_folder() -> str:
    """A folder that only this user can enter, made when it is missing. Raises KernelError("fork_server")."""
    uid = os.geteuid()
    for base in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{uid}"):
        if base.startswith("/") and len(os.fsencode(base)) <= _LONGEST_BASE and _is_private(base):
            return _made(os.path.join(base, "skillkeep"))
    # The name may be taken: by uid 0 of another user namespace, which shares this /tmp, or on purpose.
    for number in range(1, _FIRST_NAMES + 1):
        try:
            return _made(f"/tmp/skillkeep-{uid}-{number}")  # noqa: S108  ownership and mode are checked
        except KernelError:
            continue
    return _beside(f"skillkeep-{uid}-")


def _beside(prefix: str) -> str:
    """A folder in /tmp of this user's that is there, or a new one with a number that nobody can guess and take."""
    with guarded(LAYER, "look for a folder in /tmp"):
        found = sorted(name for name in os.listdir("/tmp") if name.startswith(prefix))  # noqa: S108
    for name in found:
        if name.removeprefix(prefix).isdecimal() and _is_private(f"/tmp/{name}"):  # noqa: S108
            return f"/tmp/{name}"  # noqa: S108
    return _made(f"/tmp/{prefix}{int.from_bytes(os.urandom(4)) + _FIRST_NAMES + 1}")  # noqa: S108


def alone(own: Mapping[str, str] | None = None) -> bool:
    """Whether this process is filtered more than its pid namespace is, by seccomp: then it shares no server.

    A filter cannot be compared with another one. The first process of a container has the container's filter, which
    all in there share; whoever has more filters than that would lose them through another one's server. `own` are
    this process's `rights`.
    """
    filters = (rights() if own is None else own)["filters"]
    return filters not in ("", "0") and filters != rights("1")["filters"]


def server_name(folders: tuple[str, ...], private: bool, own: Mapping[str, str] | None = None) -> str:
    """The name of the server for this process as it is now.

    `folders` hold the code the server runs; a `private` one is this very process's, whose `rights` are `own`.
    """
    with guarded(LAYER, "look at this process"):
        facts = (
            _code(folders),
            (os.getresuid(), os.getresgid(), tuple(sorted(os.getgroups()))),
            tuple(namespaces_of("self", KINDS).items()),
            read_record("/proc/self/cgroup"),
            tuple(map(resource.getrlimit, LIMITS)),
            tuple(sorted(os.sched_getaffinity(0))),
            tuple((rights() if own is None else own).items()),
            (os.getpid(), started_at(os.getpid())) if private else (),
        )
    return _name_of(facts)


@lru_cache(maxsize=4)
def _name_of(facts: tuple[object, ...]) -> str:
    return "native-" + hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:20]


def rights(pid: str = "self") -> dict[str, str]:
    """What bounds a process besides its ids: capabilities, no_new_privs, seccomp."""
    found = status_of(pid, _RIGHTS.values())
    return {name: found.get(key, "") for name, key in _RIGHTS.items()}


@cache
def _code(folders: tuple[str, ...]) -> str:
    """What tells one state of the code from another."""
    state = [sys.executable, sys.version, source_files(folders)]
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()


@cache
def source_files(folders: tuple[str, ...]) -> list[tuple[str, int, int]]:
    """Path, size and time of change of every module below `folders`: a changed program is another server."""
    found = []
    for folder in folders:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    state = entry.stat()
                    found.append((entry.path, state.st_size, state.st_mtime_ns))
    return sorted(found)


def _is_private(path: str) -> bool:
    try:
        state = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o077


def _made(path: str) -> str:
    if _is_private(path):
        return path
    with guarded(LAYER, f"make {path}"):
        os.makedirs(path, 0o700, exist_ok=True)
    if not _is_private(path):
        hint = "Set XDG_RUNTIME_DIR to a folder that only you can enter (mode 0700)."
        raise KernelError(LAYER, 0, f"{path} is not a folder of this user alone", hint)
    return path
