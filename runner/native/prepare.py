"""From a plan to the bytes of a tape: the shape of the run, the program for it, and what is patched in.

A program is made once for each shape and kept: nearly all runs differ only in names, numbers and texts.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cache, lru_cache

from skillkeep.kernel import landlock
from skillkeep.kernel.cgroups import Group
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.rlimits import NO_CORE_DUMP, within_hard
from skillkeep.kernel.tape import Program, strings
from skillkeep.runner.native.binds import is_mapped
from skillkeep.runner.native.layout import look_at_host
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.program import Shape, make_program
from skillkeep.runner.native.rootfs import BindShape

__all__ = ["Prepared", "prepare"]

_LONGEST_SECONDS = 1e9
_LOCKED_BYTES = 8 * 1024 * 1024
_PENDING_SIGNALS = 4096


@dataclass(frozen=True)
class Prepared:
    """A tape ready to be carried out, and the program that explains its steps."""

    shape: Shape
    program: Program
    image: bytes


def prepare(plan: Plan, group: Group) -> Prepared:
    """The tape for one run of `plan` inside `group`. Raises KernelError."""
    as_root = os.geteuid() == 0
    limits = _limits(plan, group, as_root)
    paths = _candidates(plan)
    shape = Shape(
        host=look_at_host(),
        as_root=as_root,
        groups=len(group.join_fds),
        into_group=group.into_fd is not None,
        landlock=_landlock(),
        binds=tuple(_bind_shape(plan, number, as_root) for number in range(len(plan.binds))),
        limits=tuple(limits),
        cores=_cores(plan) if "cpu" not in group.enforces else (),
        tmp_bytes=plan.tmp_bytes,
        candidates=len(paths),
        egress=bool(plan.egress),
    )
    program = _program(shape)
    values: dict[str, int] = {}
    for name, value in limits.items():
        values[f"soft_{name}"] = values[f"hard_{name}"] = within_hard(name, value)
    tail = _Tail(program.tail)
    values["policy"], values["policy_size"] = tail.text(policy := plan.policy_text.encode()), len(policy)
    values["workdir"] = tail.text(os.fsencode(plan.workdir))
    for number, bind in enumerate(plan.binds):
        values[f"source{number}"] = tail.text(os.fsencode(bind.source))
    for number, path in enumerate(paths):
        values[f"program{number}"] = tail.text(path)
    values["argv"] = tail.strings([os.fsencode(word) for word in plan.argv])
    values["env"] = tail.strings([os.fsencode(f"{key}={value}") for key, value in plan.env])
    try:
        return Prepared(shape, program, bytes(program.patched(values, bytes(tail.data))))
    except ValueError as error:
        raise KernelError("setup", 0, f"the command is too long: {error}", "Pass less on the command line.") from error


class _Tail:
    """Data behind the program, and the addresses it gets."""

    def __init__(self, address: int) -> None:
        self._address, self.data = address, bytearray()

    def text(self, text: bytes) -> int:
        at = self._address + len(self.data)
        self.data += text + b"\0"
        self.data += bytes(-len(self.data) % 8)
        return at

    def strings(self, words: list[bytes]) -> int:
        at = self._address + len(self.data)
        self.data += strings(words, at)
        return at


@lru_cache(maxsize=16)
def _program(shape: Shape) -> Program:
    return make_program(shape)


@cache
def _landlock() -> int:
    """0 where the kernel has none, which the probe has said already."""
    return landlock.abi_or_none()


def _bind_shape(plan: Plan, number: int, as_root: bool) -> BindShape:
    bind = plan.binds[number]
    with guarded("bind", f"look at {bind.source}"):
        state = os.stat(bind.source)
    folder = os.path.isdir(bind.source)
    return BindShape(bind.target, folder, bind.writable, is_mapped(bind, state, as_root))


def _limits(plan: Plan, group: Group, as_root: bool) -> dict[str, int]:
    limits = {"core": NO_CORE_DUMP, "open_files": plan.open_files, "file_bytes": plan.file_bytes}
    limits |= {"locked": _LOCKED_BYTES, "queues": 0, "realtime": 0, "nice": 0, "signals": _PENDING_SIGNALS}
    if "memory" not in group.enforces:
        limits["data"] = plan.memory_bytes
    if "pids" not in group.enforces:
        # Counted by id in this user namespace only (Linux 5.14 on); without root init has the same id.
        limits["processes"] = plan.processes + (0 if as_root else 1)
    if "cpu" not in group.enforces:
        limits["cpu_seconds"] = math.ceil(min(plan.wall_seconds * max(plan.cpus, 1.0), _LONGEST_SECONDS))
    return limits


def _cores(plan: Plan) -> tuple[int, ...]:
    cores = sorted(os.sched_getaffinity(0))
    return tuple(cores[: math.ceil(min(plan.cpus, len(cores)))])


def _candidates(plan: Plan) -> list[bytes]:
    """The paths to try, as execvp(3) does."""
    program, path = plan.argv[0], dict(plan.env)["PATH"]
    folders = [""] if "/" in program else [f"{folder or '.'}/" for folder in path.split(":")]
    return [os.fsencode(folder + program) for folder in folders]
