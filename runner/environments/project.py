"""Which folder may be the project of an environment, and what the environment shows of the host."""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from skillkeep.grants import holds_program, holds_server
from skillkeep.home import Home
from skillkeep.runner.environments.errors import EnvironmentsError
from skillkeep.runner.environments.place import Place
from skillkeep.runner.interface import Bind, RunRequest, SandboxPolicy
from skillkeep.runner.native.identity import DEFAULT_ID_BASE
from skillkeep.runner.native.plan import Plan, make_plan
from skillkeep.runner.sizes import size_of
from skillkeep.text import printable_path

if TYPE_CHECKING:
    from skillkeep.settings import SandboxSettings

__all__ = ["base_policy", "plan_of", "policy_for", "real_project", "require_strange"]


_SHARED = ("/", "/home", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var")  # noqa: S108  refused, not used


def real_project(home: Home, path: str | Path) -> str:
    """The absolute path of the project at `path`, every link followed: two ways to a folder lead to one environment.

    Raises `EnvironmentsError` (`project_unusable`).
    """
    if not os.fspath(path):
        raise _unusable("''", "the path is empty")
    try:
        found = Path(path).resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it cannot be a path"
        raise _unusable(os.fspath(path), f"it cannot be opened: {reason}") from error
    if not found.is_dir():
        raise _unusable(str(found), "it is not a folder")
    root = home.root.resolve()
    if found == root or found in root.parents or root in found.parents:
        raise _unusable(str(found), "it holds Skillkeep's own home, or is a part of it")
    if holds_server(found):
        raise _unusable(str(found), "it holds the socket of Skillkeep's own fork server")
    if str(found) in _SHARED:
        raise _unusable(str(found), "it holds more than one project")
    if any(found == own or found in own.parents for own in _own_homes()):
        raise _unusable(str(found), "it is or holds your own home, with your keys and settings")
    return str(found)


def require_strange(project: str) -> None:
    """Raise `EnvironmentsError` (`project_unusable`) for a folder in which commands could change what runs outside."""
    if holds_program(Path(project)):
        raise EnvironmentsError(
            "project_unusable",
            f"the folder {printable_path(project)} cannot be written by commands: Skillkeep's own program lies in it, "
            "or around it, and runs outside of the sandbox",
            "Show it with --read-only, or install Skillkeep elsewhere, as pipx and `uv tool` do.",
        )


def _own_homes() -> Iterator[Path]:
    """The caller's, by the variable and by the accounts."""
    named = [os.environ.get("HOME", "")]
    with contextlib.suppress(KeyError):
        named.append(pwd.getpwuid(os.geteuid()).pw_dir)
    for path in filter(os.path.isabs, named):
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            yield Path(path).resolve()


def base_policy(settings: SandboxSettings) -> SandboxPolicy:
    """The limits of an environment, for all its commands together; a command has no time limit of its own."""
    return SandboxPolicy(
        cpus=settings.cpus,
        memory_bytes=settings.memory_bytes,
        processes=settings.processes,
        wall_seconds=1e8,
        output_bytes=settings.output_bytes,
        tmp_bytes=settings.tmp_bytes,
    )


def policy_for(
    settings: SandboxSettings, *, memory: str = "", cpus: float | None = None, processes: int | None = None
) -> SandboxPolicy:
    """The settings' limits with those that a call names. Raises `UsageError`, `RunnerError` (`bad_policy`)."""
    base, memory_bytes = base_policy(settings), size_of(memory, "--memory")
    return replace(
        base,
        memory_bytes=base.memory_bytes if memory_bytes is None else memory_bytes,
        cpus=base.cpus if cpus is None else cpus,
        processes=base.processes if processes is None else processes,
    )


def plan_of(place: Place, project: str, policy: SandboxPolicy, *, read_only: bool = False) -> Plan:
    """All that the builder needs, for no command. Raises `RunnerError` (`bad_policy`) for what cannot be shown."""
    home = Bind(os.path.realpath(place.home), f"/home/{place.name}", writable=True)
    binds = (Bind(project, project, writable=not read_only), home)
    request = RunRequest(("/bin/sh",), replace(policy, binds=binds, workdir=project))
    return make_plan(request, DEFAULT_ID_BASE).without_command()


def _unusable(path: str, why: str) -> EnvironmentsError:
    return EnvironmentsError(
        "project_unusable",
        f"the folder {printable_path(path)} cannot be a project: {why}",
        "Name one project's own folder, such as ~/code/website.",
    )
