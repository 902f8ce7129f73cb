"""From a command to the bytes of its tape; programs are made once for each shape and kept."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.rlimits import OF_EVERY_PAYLOAD, files_within, within_hard
from skillkeep.kernel.tape import Program, strings
from skillkeep.runner.environments.entrance import EntranceShape, make_entrance
from skillkeep.runner.environments.standing import BESIDE, Standing
from skillkeep.runner.native.layout import Host, look_at_host
from skillkeep.runner.native.rootfs import BindShape

__all__ = ["Command", "Ground", "look_around", "prepare_entrance", "prepare_waiting", "shape_of"]


@dataclass(frozen=True)
class Command:
    """What enters: the program with its arguments, its whole environment, and how it enters.

    `fresh` gives it pid, ipc and mount namespaces of its own and an empty /tmp; `terminal` says that its streams are
    a terminal's.
    """

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    workdir: str
    fresh: bool = False
    terminal: bool = False


@dataclass(frozen=True)
class Ground:
    """What of a command is the same for all that enter one standing environment."""

    host: Host
    binds: tuple[BindShape, ...]
    limits: tuple[tuple[str, int], ...]
    cores: tuple[int, ...]
    joined: int
    """How many control groups it joins by writing into them."""


def look_around(standing: Standing) -> Ground:
    """Look at what the standing environment shows and bounds. Raises KernelError."""
    plan, bounded = standing.plan, standing.bounded_by
    with guarded("bind", "look at what the environment shows"):
        binds = tuple(
            BindShape(bind.target, os.path.isdir(bind.source), bind.writable, mapped=False) for bind in plan.binds
        )
    limits = OF_EVERY_PAYLOAD | {"open_files": plan.open_files, "file_bytes": plan.file_bytes}
    if "memory" not in bounded:
        limits["data"] = plan.memory_bytes
        limits["open_files"] = files_within(plan.open_files, plan.memory_bytes, plan.processes)
    if "pids" not in bounded:
        # Counted by id in this user namespace only (Linux 5.14 on); without root init has the same id.
        limits["processes"] = plan.processes + BESIDE
    return Ground(
        host=look_at_host(),
        binds=binds,
        limits=tuple((name, within_hard(name, value)) for name, value in limits.items()),
        cores=() if "cpu" in bounded else _cores(plan.cpus),
        joined=len(standing.groups),
    )


def shape_of(command: Command, standing: Standing, ground: Ground) -> EntranceShape:
    """Which tape fits a command."""
    return EntranceShape(
        host=ground.host,
        as_root=standing.as_root,
        groups=ground.joined,
        landlock=standing.landlock,
        binds=ground.binds,
        limits=tuple(name for name, _ in ground.limits),
        cores=ground.cores,
        tmp_bytes=standing.plan.tmp_bytes,
        candidates=len(_paths(command)),
        fresh=command.fresh,
        terminal=command.terminal,
    )


def prepare_entrance(
    command: Command, standing: Standing, ground: Ground, make: Callable[[EntranceShape], Program] = make_entrance
) -> tuple[Program, bytes]:
    """The program and the image of one command's tape. Raises KernelError when it is too long."""
    program, paths = _program(make, shape_of(command, standing, ground)), _paths(command)
    values, tail = _limits(ground), bytearray()
    for name, text in (("workdir", os.fsencode(command.workdir)), *((f"program{i}", x) for i, x in enumerate(paths))):
        values[name] = program.tail + len(tail)
        tail += text + b"\0"
        tail += bytes(-len(tail) % 8)
    environment = [os.fsencode(f"{key}={value}") for key, value in command.env]
    for name, words in (("argv", [os.fsencode(word) for word in command.argv]), ("env", environment)):
        values[name] = program.tail + len(tail)
        tail += strings(words, values[name])
    try:
        return program, bytes(program.patched(values, bytes(tail)))
    except ValueError as error:
        raise KernelError("setup", 0, f"the command is too long: {error}", "Pass less on the command line.") from error


def prepare_waiting(fresh: bool, standing: Standing, ground: Ground) -> tuple[Program, bytes]:
    """The same for a command that is to come: see `native.rest.prepare_command`."""
    nobody = Command(("/",), (), "/", fresh)
    program = _program(make_entrance, replace(shape_of(nobody, standing, ground), candidates=0, ahead=True))
    return program, bytes(program.patched(_limits(ground)))


def _limits(ground: Ground) -> dict[str, int]:
    return {f"{which}_{name}": value for name, value in ground.limits for which in ("soft", "hard")}


@lru_cache(maxsize=16)
def _program(make: Callable[[EntranceShape], Program], shape: EntranceShape) -> Program:
    return make(shape)


def _cores(cpus: float) -> tuple[int, ...]:
    cores = sorted(os.sched_getaffinity(0))
    return tuple(cores[: math.ceil(min(cpus, len(cores)))])


def _paths(command: Command) -> list[bytes]:
    """The paths to try, as execvp(3) does."""
    program, path = command.argv[0], dict(command.env).get("PATH", "")
    folders: Sequence[str] = [""] if "/" in program else [f"{folder or '.'}/" for folder in path.split(":")]
    return [os.fsencode(folder + program) for folder in folders]
