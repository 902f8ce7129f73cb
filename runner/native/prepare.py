"""From a plan to the bytes of a tape: the shape of the run, the program for it, and what is patched in.

A program is made once for each shape and kept: nearly all runs differ only in names, numbers and texts.
"""

from __future__ import annotations

import math
import os
import stat
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from skillkeep.kernel import landlock
from skillkeep.kernel.cgroups import Group
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.rlimits import OF_EVERY_PAYLOAD, files_within, within_hard
from skillkeep.kernel.tape import Program
from skillkeep.runner.interface import Bind
from skillkeep.runner.native.binds import is_mapped
from skillkeep.runner.native.layout import Host, look_at_host
from skillkeep.runner.native.notices import can_be_noticed
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.program import Shape, make_program, make_rest
from skillkeep.runner.native.rootfs import BindShape
from skillkeep.runner.native.tail import Tail, candidates

__all__ = [
    "Prepared",
    "bind_shapes",
    "cores_for",
    "cores_of",
    "limits_of",
    "prepare",
    "prepare_ahead",
    "prepare_tenant",
    "prepare_vacant",
]

_LONGEST_SECONDS = 1e9


@dataclass(frozen=True)
class Prepared:
    """A tape ready to be carried out, and the program that explains its steps."""

    shape: Shape
    program: Program
    image: bytes


def prepare(plan: Plan, group: Group) -> Prepared:
    """The tape for one run of `plan` inside `group`. Raises KernelError."""
    paths, limits = candidates(plan), limits_of(plan, group.enforces)
    shape = replace(
        _shape(plan, group, look_at_host(), limits),
        binds=bind_shapes(plan),
        candidates=len(paths),
        egress=bool(plan.egress),
    )
    shape = replace(shape, terminal=plan.terminal)
    program = _program(shape)
    return Prepared(shape, program, _patched(plan, program, limits, paths))


def _patched(plan: Plan, program: Program, limits: dict[str, int], paths: list[bytes]) -> bytes:
    values, tail = _cells(limits), Tail(program.tail)
    values["policy"], values["policy_size"] = tail.text(policy := plan.policy_text.encode()), len(policy)
    values["workdir"] = tail.text(os.fsencode(plan.workdir))
    for number, bind in enumerate(plan.binds):
        values[f"source{number}"] = tail.text(os.fsencode(bind.source))
    for number, path in enumerate(paths):
        values[f"program{number}"] = tail.text(path)
    values["argv"] = tail.strings([os.fsencode(word) for word in plan.argv])
    values["env"] = tail.strings([os.fsencode(f"{key}={value}") for key, value in plan.env])
    try:
        return bytes(program.patched(values, bytes(tail.data)))
    except ValueError as error:
        raise KernelError("setup", 0, f"the command is too long: {error}", "Pass less on the command line.") from error


def prepare_ahead(plan: Plan, group: Group, host: Host) -> Prepared:
    """The first half of the tape for runs on `host` that are bounded as `plan` is. Raises KernelError."""
    limits = limits_of(plan, group.enforces)
    shape = replace(_shape(plan, group, host, limits), ahead=True)
    program = _program(shape)
    return Prepared(shape, program, bytes(program.patched(_cells(limits))))


def prepare_vacant(plan: Plan, group: Group, host: Host) -> Prepared:
    """The first part of the tape for runs on `host` that are bounded as `plan` is, whatever they write."""
    shape = replace(_shape(plan, group, host, {}), vacant=True)
    program = _program(shape)
    return Prepared(shape, program, program.image)


def prepare_tenant(plan: Plan, group: Group, vacant: Shape) -> tuple[Shape, Program, bytes]:
    """What follows on the tape of a `vacant` sandbox for one run of `plan`, and its shape. Raises KernelError."""
    paths, limits = candidates(plan), limits_of(plan, group.enforces)
    shape = replace(vacant, vacant=False, binds=bind_shapes(plan), candidates=len(paths), limits=tuple(limits))
    program = _rest(shape)
    return shape, program, _patched(plan, program, limits, paths)


def _shape(plan: Plan, group: Group, host: Host, limits: dict[str, int]) -> Shape:
    """The shape of `plan` without its binds and its program."""
    return Shape(
        host=host,
        as_root=os.geteuid() == 0,
        groups=len(group.join_fds),
        into_group=group.into_fd is not None,
        landlock=_landlock(),
        binds=(),
        limits=tuple(limits),
        cores=cores_of(plan, group.enforces),
        tmp_bytes=plan.tmp_bytes,
        candidates=0,
        notices=_notices(),
    )


def _cells(limits: dict[str, int]) -> dict[str, int]:
    return {f"{kind}_{name}": value for name, value in limits.items() for kind in ("soft", "hard")}


@lru_cache(maxsize=16)
def _program(shape: Shape) -> Program:
    return make_program(shape)


@lru_cache(maxsize=16)
def _rest(shape: Shape) -> Program:
    return make_rest(shape)


@cache
def _notices() -> bool:
    with guarded("seccomp", "look at this process's own filters"):
        return can_be_noticed()


@cache
def _landlock() -> int:
    """0 where the kernel has none, which the probe has said already."""
    return landlock.abi_or_none()


def bind_shapes(plan: Plan) -> tuple[BindShape, ...]:
    """The binds of `plan` as their sources are now. Raises KernelError("bind")."""
    return tuple(_bind_shape(bind, os.geteuid() == 0) for bind in plan.binds)


def _bind_shape(bind: Bind, as_root: bool) -> BindShape:
    with guarded("bind", f"look at {bind.source}"):
        state = os.stat(bind.source)
    return BindShape(bind.target, stat.S_ISDIR(state.st_mode), bind.writable, is_mapped(bind, state, as_root))


def limits_of(plan: Plan, enforced: tuple[str, ...]) -> dict[str, int]:
    """The resource limits of `plan`'s processes, where control groups enforce `enforced`, within this process's own."""
    limits = OF_EVERY_PAYLOAD | {"open_files": plan.open_files, "file_bytes": plan.file_bytes}
    if "memory" not in enforced:
        limits["data"] = plan.memory_bytes
        limits["open_files"] = files_within(plan.open_files, plan.memory_bytes, plan.processes)
    if "pids" not in enforced:
        # Counted by id in this user namespace only (Linux 5.14 on); without root init has the same id.
        limits["processes"] = plan.processes + (0 if os.geteuid() == 0 else 1)
    if "cpu" not in enforced:
        limits["cpu_seconds"] = math.ceil(min(plan.wall_seconds * max(plan.cpus, 1.0), _LONGEST_SECONDS))
    return {name: within_hard(name, value) for name, value in limits.items()}


def cores_of(plan: Plan, enforced: tuple[str, ...]) -> tuple[int, ...]:
    """The cores that `plan`'s processes are held to where no control group shares out CPU time."""
    if "cpu" in enforced:
        return ()
    return cores_for(plan.cpus)


def cores_for(cpus: float) -> tuple[int, ...]:
    """As many of this process's cores as `cpus` needs, and at most all of them."""
    cores = sorted(os.sched_getaffinity(0))
    return tuple(cores[: math.ceil(min(cpus, len(cores)))])
