"""What a tool may be granted beyond the default sandbox: ``net:HOST:PORT``, ``env:NAME``, ``write:PATH``.

One definition for the door, where a grant is given, and the runner, which enforces it: what cannot be enforced is not
given, or the tool could not be run at all.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

__all__ = [
    "RESERVED",
    "check_path",
    "grant_of_place",
    "holds_program",
    "holds_server",
    "is_grantable",
    "normal_grant",
    "widest",
]

RESERVED: Final = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/etc", "/dev", "/proc", "/run",
)  # fmt: skip
"""Folders that a sandbox makes for itself."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_LONGEST: Final = 1024
_FORK_SERVER: Final = re.compile(r"/tmp/skillkeep-\d+-\d+/")  # noqa: S108


def normal_grant(grant: str) -> str:
    """A grant in its one spelling. Raises ValueError for one that nobody could enforce, and says why."""
    kind, _, value = grant.partition(":")
    if kind == "env" and _NAME.fullmatch(value):
        return grant
    if kind == "net":
        from skillkeep.hosts import parse_place, place_text  # ipaddress costs milliseconds; few grants have a network

        return f"net:{place_text(*parse_place(value))}"
    if kind == "write" and value.startswith("/") and len(value) < _LONGEST and value.isprintable():
        if ".." in value.split("/"):
            raise ValueError("the path has '..' in it")
        return f"write:{_of_its_own(os.path.normpath(value).replace('//', '/'))}"
    raise ValueError("it is none of net:HOST:PORT, env:NAME and write:/absolute/path")


def is_grantable(grant: str) -> bool:
    """True for a grant that may be given, in its one spelling."""
    try:
        return normal_grant(grant) == grant
    except ValueError:
        return False


def _of_its_own(path: str) -> str:
    if path in ("/", "/tmp"):  # noqa: S108
        raise ValueError(f"{path} is the sandbox's own; name a folder below it")
    reserved = next((each for each in RESERVED if f"{path}/".startswith(f"{each}/")), None)
    if reserved:
        raise ValueError(f"{reserved} is the sandbox's own")
    return path


def widest(grants: Iterable[str]) -> tuple[str, ...]:
    """The grants, each once and sorted, without a path that lies in another granted one: that is granted with it, and
    a sandbox cannot show both."""
    kept: list[str] = []
    for grant in sorted({*grants}, key=lambda grant: f"{grant}/"):
        if not (kept and grant.startswith("write:") and f"{grant}/".startswith(f"{kept[-1]}/")):
            kept.append(grant)
    return tuple(sorted(kept))


def check_path(path: str, home: Path) -> Path:
    """The real path of a folder or file that may be shown to a tool. Raises ValueError, and says why not.

    A link is none: it could be turned elsewhere after the grant. Nor is what holds `home` or this program, or lies in
    one of them.
    """
    try:
        info = os.lstat(path)
        real = Path(path).resolve(strict=True)
    except OSError as error:
        raise ValueError(f"it cannot be used: {error.strerror}") from error
    if not (stat.S_ISDIR(info.st_mode) or stat.S_ISREG(info.st_mode)):
        raise ValueError("it is not a folder or a file")
    if str(real) != os.path.normpath(path):
        raise ValueError("it leads through a link")
    root = home.resolve()
    if real == root or real in root.parents or root in real.parents:
        raise ValueError("it holds Skillkeep's own home, or is a part of it")
    if holds_server(real):
        raise ValueError("it holds the socket of Skillkeep's fork server, which runs whatever it is told")
    if holds_program(real):
        raise ValueError("it holds Skillkeep's own program, or is a part of it: what is written there runs unbounded")
    return real


def holds_program(real: Path) -> bool:
    """True for a real path that holds, or lies in, what this process runs: whoever writes it runs outside later."""
    return any(real == each or real in each.parents or each in real.parents for each in _own_program())


@cache
def _own_program() -> tuple[Path, ...]:
    """The folder in which the package and what it imports lie, and where it and its Python are installed."""
    beside = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    places = {Path(place).resolve() for place in (beside, sys.prefix, sys.base_prefix)}
    return tuple(sorted(place for place in places if place != Path("/")))


def holds_server(real: Path) -> bool:
    """True for a real path that holds, or lies in, a folder in which a user's fork server may listen."""
    if _FORK_SERVER.match(f"{real}/"):
        return True
    bases = (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.geteuid()}")
    places = [Path(base, "skillkeep").resolve() for base in bases if base.startswith("/")]
    return any(real == each or real in each.parents or each in real.parents for each in places)


def grant_of_place(host: str, port: int) -> str:
    """The grant that would let a run reach a place; empty where none can."""
    from skillkeep.hosts import place_text

    text = place_text(host, port) if host else ""
    return f"net:{text}" if text else ""
