"""Data that goes to a host which no document of the tool names.

A tool that uploads says whom it serves: its documents name the host, its registered name or the service. What reads
something local and sends it to somebody unnamed does a second job that nobody asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.acts import Act
from skillkeep.auditor.engines.behaviour.defaults import default_hosts
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.interface import SourceTree
from skillkeep.auditor.engines.network import is_near
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Capability
from skillkeep.auditor.services import services

__all__ = ["READS", "SENDS", "Stranger", "strangers"]

Stranger = tuple[Act, str, bool]  # the sending act, why its host is a stranger, and whether it may be an account

_REACH: Final = 6  # lines between a request and the address that the parser saw
_LOGIN: Final = "login_address"  # what is read and where it goes stand in one expression
SENDS: Final = ("send", "query", "address", _LOGIN)
_PRIVATE: Final = frozenset({"secret", "identity", "clipboard", "screen", "keys", "typed_form", _LOGIN})
READS: Final = frozenset({"local", "coin_key", *_PRIVATE})
_NEAR: Final = 12  # lines between what is read and the request
_VARIABLE: Final = compiled(
    r"""(?:os\.)?(?:environ(?:\.get\(|\[)|getenv\(|process\.env(?:\.|\[)|ENV(?:\.fetch\(|\[))\s*["']?([A-Z][A-Z0-9_]+)["']?\s*[)\],]?"""
)
_ANSWERED: Final = compiled(  # the rest of a line, or the last one of a few, that gives a program what was fetched
    r"\b(?P<by>curl|wget|echo|printf)\b[^|\n]*\|[ \t]*(?:node|python3?|ruby|perl)[ \t]+-[ce]\b"
)
_PROGRAM: Final = 4  # lines of such a program in which it reads
_SAID_TO_SEND: Final = r"\b(?:apis?|endpoints?|webhooks?|cloud|upload\w*)\b|接口|上传|推送"
"""What is then sent to a host that no document names is shown as its connection is: nothing private was read near."""
_EXAMPLES: Final = frozenset(  # made for examples: they keep nothing, and nobody reads what is sent
    {
        "example.com",
        "example.net",
        "example.org",
        "jsonplaceholder.typicode.com",
        "httpbin.org",
        "reqres.in",
        "dummyjson.com",
        "postman-echo.com",
    }
)


def strangers(tree: SourceTree, acts: Sequence[Act], documents: Documents) -> Iterator[Stranger]:
    """Sends of local data to hosts that nobody named, and any send by a tool that promised to send nothing."""
    hosts: dict[str, list[Capability]] = {}
    for each in tree.capabilities:
        if each.kind == "network" and not is_near(each.value) and each.value not in _EXAMPLES:
            hosts.setdefault(each.evidence.path, []).append(each)
    _add_defaults(tree, acts, hosts)
    for act in acts:
        if act.kind not in SENDS:
            continue
        for each in hosts.get(act.path, ()):
            if abs(each.evidence.line - act.line) > _REACH or documents.names(each.value):
                continue
            if (found := _judged(tree, act, acts, each, documents)) is not None:
                yield act, *found


def _add_defaults(tree: SourceTree, acts: Sequence[Act], hosts: dict[str, list[Capability]]) -> None:
    """Add the hosts that requests of programs which send go to when nobody chooses another one."""
    sending = {act.path for act in acts if act.kind in SENDS}
    known: dict[str, list[str]] = {}
    for each in tree.capabilities:
        path = each.evidence.path
        if each.kind == "network" and each.value == "*" and path in sending:
            if path not in known:
                known[path] = list(default_hosts(tree, path))
            for host in known[path]:
                if not is_near(host) and host not in _EXAMPLES:
                    hosts.setdefault(path, []).append(replace(each, value=host))


def _judged(
    tree: SourceTree, act: Act, acts: Sequence[Act], each: Capability, documents: Documents
) -> tuple[str, bool] | None:
    """Why the host that `act` sends something to is a stranger, and whether it may be an account; None for nothing."""
    host = each.value
    read = act if act.kind == _LOGIN else _read_near(tree, act, acts, host)
    private = read is not None and read.kind in _PRIVATE
    if not private and (documents.silent or _is_expected(tree, act, acts, host)):
        return None
    if read is not None:
        return f"what {read.text.strip()[:40]} reads goes to {host}, which no document names", False
    if act.kind != "send" or not (documents.promise or _is_spelled(tree, act.path, host)):
        return None
    if documents.promise:
        return f'it says "{documents.promise[:60]}", and sends something to {host}', False
    told = documents.says(_SAID_TO_SEND)
    return None if told else (f"something is sent to {host}, which no document names", True)


def _is_expected(tree: SourceTree, act: Act, acts: Sequence[Act], host: str) -> bool:
    """True for what nobody's secret went into and where no stranger reads it: a public node, the user's own account."""
    return _is_public_node(host) or (_is_beside_send(act, acts) and _is_own_service(tree, act.path, host))


def _is_spelled(tree: SourceTree, path: str, host: str) -> bool:
    """False where another file than the one at `path` holds the whole name of `host`."""
    file = tree.get(path)
    if file is None or file.text is None or host in file.text.lower():
        return True
    return not any(host in other.text.lower() for other in tree.files if other.is_program and other.text is not None)


def _is_public_node(host: str) -> bool:
    """True for a node of a public chain that answers anybody and is run for all: a stranger reads nothing there."""
    return any(host == each or host.endswith(f".{each}") for each in table("acts")["public_nodes"])


def _is_beside_send(act: Act, acts: Sequence[Act]) -> bool:
    """True where something is sent in a request's body."""
    return any(
        other.kind == "send" and other.path == act.path and abs(other.line - act.line) <= _REACH for other in acts
    )


def _is_own_service(tree: SourceTree, path: str, host: str) -> bool:
    """True when the file reads the user's key of the service that `host` belongs to: the data goes to their account."""
    named = (each.value for each in tree.capabilities if each.kind == "env" and each.evidence.path == path)
    return any(services().owns(name, host) for name in named)


def _is_own_key(read: Act, host: str) -> bool:
    """True for a variable that only the service asks for which `host` belongs to: how its user is known there.

    A key that many tools share opens more than this tool is there for.
    """
    variable = _VARIABLE.fullmatch(read.text.strip())
    known = services()
    return variable is not None and not known.is_shared(variable[1]) and known.owns(variable[1], host)


def _read_near(tree: SourceTree, act: Act, acts: Sequence[Act], host: str) -> Act | None:
    """What is read near `act`, besides the key of the service that it is sent to; what is private comes first."""
    kinds = _PRIVATE if act.kind == "address" else READS
    found = (
        each
        for each in acts
        if each.path == act.path
        and each.kind in kinds
        and act.line - _NEAR <= each.line <= act.line + (_NEAR if each.kind == "coin_key" else 3)
        and not _is_own_key(each, host)
        and not _is_answer(tree, act, each)
    )
    return min(found, key=lambda each: each.kind not in _PRIVATE, default=None)


def _is_answer(tree: SourceTree, act: Act, read: Act) -> bool:
    """True for the standard input of a program that a shell script gives what was fetched, or what it holds since."""
    if "stdin" not in read.text.lower() or read.line < act.line or (file := tree.get(read.path)) is None:
        return False
    lines = (file.text or "").split("\n")[max(read.line - _PROGRAM, act.line - 1) : read.line]
    found = [given for line in lines for given in _ANSWERED.finditer(line)]
    return bool(found) and (found[-1]["by"] in {"curl", "wget"} or read.line > act.line)
