"""Carries every attack out in one sandbox and says of each how it ended."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from skillkeep.errors import SkillkeepError
from skillkeep.runner.interface import AssuranceLevel, Backend, Bind, RunRequest, SandboxPolicy
from skillkeep.runner.selftest.bait import Bait
from skillkeep.runner.selftest.catalogue import attacks, command, input_text, read_answers
from skillkeep.runner.selftest.inside.harness import Answer, Attack
from skillkeep.runner.selftest.measured import MEASURED, Measured
from skillkeep.runner.selftest.row import Row, judged

__all__ = ["BY_EGRESS", "attack_all", "attack_with_network", "known_names"]

_SECONDS = 50.0
_AT_ONCE = 4
_OWN_PATHS = "landlock"
_MIB = 1 << 20
BY_EGRESS = (
    "host_loopback_tcp", "host_loopback_udp", "host_abstract", "host_socket_path", "metadata_service", "dns",
    "family_netlink", "family_packet", "family_vsock", "family_alg", "raw_socket", "other_protocols", "interfaces",
    "host_connections",
)  # fmt: skip
"""The attacks that a run with a network grant is tried with again."""
_IMAGE_FOLDERS = (
    "/root", "/home", "/var/lib", "/var/log", "/etc/ssh", "/boot", "/mnt", "/media", "/etc/sudoers", "/etc/shadow",
)  # fmt: skip


def known_names() -> frozenset[str]:
    """The names of all attacks."""
    return frozenset([each.name for each in attacks()] + [each.name for each in MEASURED])


def attack_all(backend: Backend, bait: Bait, names: Iterable[str] = ()) -> list[Row]:
    """A row for each of the named attacks, or of all, in `backend`.

    What the sandbox's own image brings along is its own; the rest is compared with `bait`.
    """
    wanted = set(names)
    small = [each for each in attacks() if not wanted or each.name in wanted]
    large = [each for each in MEASURED if not wanted or each.name in wanted]
    rows = _small(backend, bait, small, _facts_for(backend.name)) if small else []
    return [*rows, *_large(backend, bait, large)]


def attack_with_network(backend: Backend, bait: Bait) -> list[Row]:
    """The attacks of `BY_EGRESS` again, in a run that may reach one host: the rest has to stay as closed."""
    chosen = attacks(BY_EGRESS)
    rows = _small(backend, bait, chosen, _facts_for(backend.name), ("example.invalid:443",))
    return [
        Row(f"{row.attack}_with_grant", row.area, f"{row.title}, with a grant for another host", row.backend,
            row.verdict, row.seen, row.reason)
        for row in rows
    ]  # fmt: skip


def _facts_for(backend: str) -> dict[str, Any]:
    return {"own_pids": backend == "native", "image_folders": _IMAGE_FOLDERS if backend == "docker" else ()}


def _small(
    backend: Backend, bait: Bait, chosen: Iterable[Attack], facts: Mapping[str, Any], egress: tuple[str, ...] = ()
) -> list[Row]:
    chosen = tuple(chosen)
    if backend.name == _OWN_PATHS:  # it can show folders at their own paths only
        binds: tuple[Bind, ...] = (Bind(str(bait.tool), str(bait.tool)),)
        given = {**bait.facts, **facts, "writable": ""}
    else:
        binds = (Bind(str(bait.tool), "/tool"), Bind(str(bait.grant), "/grant", writable=True))
        given = bait.for_inside(**facts)
    policy = SandboxPolicy(wall_seconds=_SECONDS, binds=binds, egress=egress)
    text = input_text(given, [each.name for each in chosen])
    try:
        result = backend.run(RunRequest(command(), policy, stdin=text, min_assurance=AssuranceLevel.FILTERED))
        answers, failure = read_answers(result.stdout), result.stderr.decode("utf-8", "replace").strip()[-200:]
    except SkillkeepError as error:
        answers, failure = {}, error.message
    rows = []
    for each in chosen:
        answer: Answer | None = answers.get(each.name)
        if answer is None and not answers:
            answer = ("absent", f"no attack could be carried out: {failure or 'no Python 3 in the sandbox'}")
        rows.append(judged((each.name, each.area, each.title), backend.name, answer, _reasons(backend, each.intended)))
    return rows


def _reasons(backend: Backend, intended: Mapping[str, str]) -> Mapping[str, str]:
    """`intended` with what holds for containers under the engine's own filter only where this one is."""
    if "engine" in intended and any("engine's own profile" in loss for loss in backend.probe().losses):
        return {**intended, backend.name: intended["engine"]}
    return intended


def _large(backend: Backend, bait: Bait, chosen: Iterable[Measured]) -> list[Row]:
    """Several at once: most of them wait."""
    pending, rows, lock = list(chosen), dict[str, Row](), threading.Lock()

    def work() -> None:
        while True:
            with lock:
                if not pending:
                    return
                each = pending.pop(0)
            row = _measured(backend, bait, each)
            with lock:
                rows[each.name] = row

    # Whoever is told to end waits for none of them.
    threads = [threading.Thread(target=work, daemon=True) for _ in range(_AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [rows[each.name] for each in MEASURED if each.name in rows]


def _measured(backend: Backend, bait: Bait, each: Measured) -> Row:
    about = (each.name, each.area, each.title)
    try:
        return judged(about, backend.name, each.run(backend, bait), each.intended)
    except (SkillkeepError, OSError, ValueError) as error:
        return judged(about, backend.name, ("absent", f"{type(error).__name__}: {error}"))
