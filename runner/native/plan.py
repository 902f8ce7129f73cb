"""A run request resolved into plain data: all that the fork server needs, as JSON."""

from __future__ import annotations

import hashlib
import json
import math
import os
import resource
import sys
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Any

from skillkeep.grants import RESERVED
from skillkeep.runner.egress.place import VARIABLES
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import PATH, Bind, RunRequest, SandboxPolicy
from skillkeep.value import Value, field, fields, replace

__all__ = [
    "HOME",
    "INSIDE_ID",
    "POLICY_FILE",
    "POLICY_VARIABLE",
    "SHARED",
    "Plan",
    "make_plan",
    "policy_text",
    "scratch_beside",
]

HOME = "/tmp/home"  # noqa: S108  a path inside the sandbox's own tmpfs
SHARED = "/dev/shm"  # noqa: S108  likewise
POLICY_FILE = "/run/sandbox/policy.json"
POLICY_VARIABLE = "SKILLKEEP_POLICY"
"""Names that file to the program, in every backend; a granted variable of that name does not lead elsewhere."""
INSIDE_ID = 1000


class Plan(Value):
    """One sandboxed command. Sizes in bytes, times in seconds, paths as seen inside unless named source."""

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = field(repr=False)
    workdir: str
    binds: tuple[Bind, ...]
    policy_text: str
    run_id: str
    memory_bytes: int
    processes: int
    cpus: float
    wall_seconds: float
    output_bytes: int
    tmp_bytes: int
    file_bytes: int
    open_files: int
    min_level: int
    id_base: int
    egress: tuple[str, ...] = ()
    explain: bool = False
    terminal: bool = False

    @cached_property
    def plain(self) -> bool:
        """Whether it needs no way out, no tracer, no terminal, and no bind but for reading."""
        return self.simple and not any(bind.writable for bind in self.binds)

    @property
    def simple(self) -> bool:
        """Whether it needs no way out, no tracer, no terminal, no overlay, and no path that leads others elsewhere."""
        # Links of /proc lead elsewhere when they are followed by another process.
        usual = not any(bind.overlay_bytes or bind.source.startswith("/proc/") for bind in self.binds)
        return usual and not (self.egress or self.explain or self.terminal)

    @cached_property
    def room(self) -> str:
        """A name for all that a sandbox has to be and to show for it, whatever the command is: 64 hex digits."""
        return _room(*(value for name, value in self._facts().items() if name not in _COMMAND))

    def without_command(self) -> Plan:
        """The same room, for nobody: no word, variable or folder of the run is left."""
        return replace(self, argv=("true",), env=(("PATH", PATH),), workdir="/", run_id="0")

    def for_run(self, argv: tuple[str, ...], run_id: str) -> Plan:
        """The same for another command and run: with what was found out about this one, which `replace` forgets."""
        plan = object.__new__(Plan)
        vars(plan).update(vars(self), argv=argv, run_id=run_id)
        return plan

    def to_text(self) -> str:
        """JSON, one object."""
        return json.dumps({**self._facts(), "binds": [vars(bind) for bind in self.binds]})

    def _facts(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(Plan)}

    @classmethod
    def from_text(cls, text: str) -> Plan:
        """The plan that `to_text` wrote. Raises ValueError for anything else: whoever may connect may send it."""
        try:
            data = json.loads(text)
            data["argv"] = tuple(data["argv"])
            data["env"] = tuple((key, value) for key, value in data["env"])
            data["egress"] = tuple(data["egress"])
            data["binds"] = tuple(Bind(**bind) for bind in data["binds"])
            plan = cls(**data)
            _check_types(plan)
        except (TypeError, KeyError, AttributeError, RecursionError, RunnerError) as error:
            raise ValueError(f"not a plan: {error}") from error
        return plan


_FOLDERS = PATH.split(":")
_PYTHONS = tuple(f"{folder}/python3" for folder in reversed(_FOLDERS))
"""Where the host may have one, likely places first."""
_LEFT_FILES, _FEWEST_FILES = 256, 64
_COMMAND = ("argv", "env", "workdir", "run_id", "output_bytes")
"""What of a plan is of one run alone."""


@lru_cache(maxsize=64)
def _room(*facts: object) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _check_types(plan: Any) -> None:
    words = [*plan.argv, *(part for pair in plan.env for part in pair), plan.workdir, plan.policy_text, plan.run_id]
    words += plan.egress
    words += [path for bind in plan.binds for path in (bind.source, bind.target)]
    if not plan.argv or any(not isinstance(word, str) or "\0" in word for word in words):
        raise TypeError("a text is missing, or holds a NUL byte")
    if not plan.run_id.isalnum() or "PATH" not in dict(plan.env):
        raise TypeError("the run id or the PATH is missing")
    sizes = (plan.memory_bytes, plan.processes, plan.output_bytes, plan.tmp_bytes, plan.file_bytes, plan.open_files)
    if any(type(size) is not int or not 0 < size < 2**62 for size in sizes):
        raise TypeError("a size is not a positive number")
    if any(type(number) is not int or not 0 <= number < 2**31 for number in (plan.min_level, plan.id_base)):
        raise TypeError("a level or an id is not a number")
    times = (plan.cpus, plan.wall_seconds)
    if any(not isinstance(time, int | float) or not (math.isfinite(time) and time > 0) for time in times):
        raise TypeError("a time is not a positive number")
    if type(plan.explain) is not bool or type(plan.terminal) is not bool:
        raise TypeError("it is not said whether it is explained, or has a terminal")
    if any(type(bind.writable) is not bool or type(bind.overlay_bytes) is not int for bind in plan.binds):
        raise TypeError("a bind is not one")


def make_plan(request: RunRequest, id_base: int) -> Plan:
    """Resolve a request: the tool becomes a read-only bind, the environment is built from nothing.

    Raises RunnerError("bad_policy") for binds that overlap.
    """
    kind = ""
    if request.terminal is not None:
        from skillkeep.runner.native.terminal import terminal_kind

        kind = terminal_kind()
    tool = None if request.tool is None else str(request.tool.path)
    facts = request.policy, tool, _interpreter_outside_usr(), int(request.min_assurance), id_base, request.explain, kind
    plan = _plan(*facts)
    if plan.plain:
        plan.room  # noqa: B018  known from now on
    return plan.for_run(request.argv, request.run_id)


@lru_cache(maxsize=16)
def _plan(
    policy: SandboxPolicy, tool: str | None, interpreter: str | None, level: int, id_base: int, explain: bool, kind: str
) -> Plan:
    """The plan of every run like that, for nobody; `kind` of terminal, empty for none."""
    binds = list(policy.binds)
    workdir = policy.workdir or HOME
    if tool is not None:
        binds.append(Bind(os.path.realpath(tool), policy.tool_mount))
        workdir = policy.workdir or policy.tool_mount
    path = list(_FOLDERS)
    if interpreter:
        binds.append(Bind(os.path.realpath(interpreter), interpreter))
        path.insert(0, f"{interpreter}/bin")
    _check_overlap(binds)
    scratch = scratch_beside(bind.target for bind in binds if bind.writable)
    env = {"PATH": ":".join(path), "HOME": HOME, "TMPDIR": scratch, "LANG": "C.UTF-8"}
    env |= VARIABLES if policy.egress else {}
    if kind:
        env["TERM"] = kind
    env |= {**dict(policy.env), POLICY_VARIABLE: POLICY_FILE}
    return Plan(
        argv=("true",),
        env=tuple(env.items()),
        workdir=workdir,
        binds=tuple(binds),
        policy_text=policy_text(policy),
        run_id="0",
        memory_bytes=policy.memory_bytes,
        processes=policy.processes,
        cpus=policy.cpus,
        wall_seconds=policy.wall_seconds,
        output_bytes=policy.output_bytes,
        tmp_bytes=policy.tmp_bytes,
        file_bytes=policy.file_bytes,
        open_files=_files_beside_others(policy.open_files),
        min_level=level,
        id_base=id_base,
        egress=policy.egress,
        explain=explain,
        terminal=bool(kind),
    )


def scratch_beside(writable: Iterable[str]) -> str:
    """The scratch folder in which pipes and sockets may be made, beside folders of the host that can be written.

    Landlock's rights add up on the way down, so that what may be made in /tmp may be made in whatever is shown there.
    """
    below = [target for target in writable if target.startswith("/tmp/")]  # noqa: S108
    if not below:
        return "/tmp"  # noqa: S108
    return SHARED if any(f"{target}/".startswith(f"{HOME}/") for target in below) else HOME


@lru_cache(maxsize=16)
def policy_text(policy: SandboxPolicy) -> str:
    """JSON, one object; the names of granted variables, never their values."""
    return json.dumps({"schema": "skillkeep/policy-v1", **policy.to_json()}, indent=1)


def _files_beside_others(value: int) -> int:
    """`value`, or less, so that a sandbox of this very user leaves its other programs some descriptors to pass on.

    Those on their way to another process are counted for the whole user, and nobody sends one while there are as many
    as its own soft limit (unix(7)). A sandbox of root has a user of its own.
    """
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if os.geteuid() == 0 or soft == resource.RLIM_INFINITY:
        return value
    return min(value, max(soft - _LEFT_FILES, _FEWEST_FILES))


def _interpreter_outside_usr() -> str | None:
    """The running Python's own folder, when the host has no python3 of its own to show.

    A system interpreter is preferred: one below a home (pyenv, uv) would show paths of that home, and its
    site-packages, to the payload.
    """
    for place in _PYTHONS:
        try:
            os.stat(place)
        except OSError:
            continue
        return None
    return sys.base_prefix


def _check_overlap(binds: list[Bind]) -> None:
    seen: list[str] = []
    for bind in sorted(binds, key=lambda bind: bind.target):
        target = bind.target.rstrip("/") + "/"
        taken = (*RESERVED, *seen, *(["/tmp"] if target in ("/tmp/", f"{HOME}/") else []))  # noqa: S108
        inside = next((other for other in taken if target.startswith(other.rstrip("/") + "/")), None)
        if inside:
            raise RunnerError(
                "bad_policy",
                f"the bind target {bind.target} lies inside {inside}",
                "Give every bind a target of its own, such as /data; none may lie inside another.",
            )
        seen.append(target)
