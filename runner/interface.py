"""What a run is asked with, what it answers, and the one interface every sandbox backend implements.

Standard library only: the fork server and the fast command path import it.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from skillkeep.runner.errors import RunnerError
from skillkeep.value import Value, as_dict, field

if TYPE_CHECKING:
    from skillkeep.runner.native.terminal import Terminal
    from skillkeep.vault.interface import VaultedTool

__all__ = [
    "PATH",
    "Assurance",
    "AssuranceLevel",
    "Attempt",
    "Availability",
    "Backend",
    "Bind",
    "Cause",
    "Denial",
    "Layer",
    "RunRequest",
    "RunResult",
    "SandboxPolicy",
    "new_run_id",
]

MIB = 1 << 20
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where a run looks for programs, unless it is told another PATH."""
_NESTED = frozenset({"stdout", "stderr", "assurance", "denials", "passed_over", "attempts"})


class Bind(Value):
    """One host path shown inside the sandbox at `target` (absolute); read-only unless `writable`.

    No link may stand in `source`: it could be turned elsewhere between a look at the path and the mount.

    With `overlay_bytes` the source is never written: changes, at most that many bytes, are kept apart in memory and
    handed to the request's `take_changes`.
    """

    source: str
    target: str
    writable: bool = False
    overlay_bytes: int = 0

    def __post_init__(self) -> None:
        if self.overlay_bytes and not (self.writable and 0 < self.overlay_bytes < 2**62):
            raise _bad("an overlay is for a writable bind, and has a size", "Give its size in bytes.")
        _check_path("bind source", self.source)
        _check_path("bind target", self.target)
        if posixpath.normpath("/" + self.target.lstrip("/")) in ("/", "/proc", "/dev", "/run/sandbox"):  # not "//"
            raise _bad(f"a bind may not replace {self.target}", "Choose a target of its own, such as /data.")


class SandboxPolicy(Value):
    """What a run may use; everything not granted here is refused. Sizes in bytes, times in seconds.

    `egress` are ``HOST:PORT`` texts, the only places a run reaches, through a proxy; none: it has no network.
    `tool_mount` is where the vaulted tree appears (read-only). `workdir` None means the tool's folder, or the
    empty home when there is no tool. `env` is the whole environment the caller grants, on top of the
    backend's own PATH, HOME, TMPDIR and LANG; nothing is inherited from the host.
    """

    cpus: float = 1.0
    memory_bytes: int = 512 * MIB
    processes: int = 100
    wall_seconds: float = 60.0
    output_bytes: int = 1_000_000
    tmp_bytes: int = 64 * MIB
    file_bytes: int = 512 * MIB
    open_files: int = 1024
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    binds: tuple[Bind, ...] = ()
    workdir: str | None = None
    tool_mount: str = "/tool"
    egress: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.egress:
            _check_egress(self.egress)
        for name in ("memory_bytes", "processes", "output_bytes", "tmp_bytes", "file_bytes", "open_files"):
            _check_number(name, getattr(self, name), 2**62)
        _check_number("cpus", self.cpus)
        _check_number("wall_seconds", self.wall_seconds)
        for key, value in self.env:
            if not key or "=" in key or "\0" in key + value:
                raise _bad("an environment entry is not usable", "A name needs at least one letter, no '=' or NUL.")
        for path in (self.tool_mount, *([] if self.workdir is None else [self.workdir])):
            _check_path("tool_mount or workdir", path)

    def to_json(self) -> dict[str, Any]:
        """Every field, JSON-able; environment values are left out because they may be secret."""
        return {**as_dict(self), "env": [key for key, _ in self.env], "network": self.network}

    @property
    def network(self) -> str:
        """``none`` or ``allow-list``."""
        return "allow-list" if self.egress else "none"

    @cached_property
    def digest(self) -> str:
        """`sha256:<hex>` over `to_json` in canonical JSON: records hold it, and a weak value could be found from it."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":")).encode()
        return f"sha256:{hashlib.sha256(text).hexdigest()}"


class AssuranceLevel(IntEnum):
    """How much holds the payload, weakest first; a run refuses a backend below its `min_assurance`."""

    NONE = 0
    """An ordinary process of the caller."""
    FILTERED = 1
    """Landlock and seccomp only, no namespaces."""
    ISOLATED = 2
    """Own namespaces and root, no capability, seccomp; limits by rlimits and a watchdog."""
    BOUNDED = 3
    """ISOLATED, and memory, processes and CPU are bounded by the kernel's control groups."""


class Layer(Value):
    """One protection, and the facts measured about it from outside the sandbox before the payload ran."""

    name: str
    in_force: bool
    facts: Mapping[str, str] = field(default_factory=dict)


class Assurance(Value):
    """What really held during a run. `losses` names in words each protection that is weaker than the best."""

    level: AssuranceLevel
    layers: tuple[Layer, ...] = ()
    payload_host_uid: int | None = None
    losses: tuple[str, ...] = ()

    def layer(self, name: str) -> Layer | None:
        """The layer of that name, or None."""
        return next((layer for layer in self.layers if layer.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """JSON form: `level` by name, layers as objects."""
        return {
            "level": self.level.name.lower(),
            "payload_host_uid": self.payload_host_uid,
            "layers": [{"name": x.name, "in_force": x.in_force, "facts": dict(x.facts)} for x in self.layers],
            "losses": list(self.losses),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Assurance:
        """The record that `to_json` gave."""
        layers = tuple([Layer(x["name"], x["in_force"], x["facts"]) for x in data["layers"]])
        return cls(AssuranceLevel[data["level"].upper()], layers, data["payload_host_uid"], tuple(data["losses"]))


class Denial(Value):
    """Something the sandbox refused, seen from outside.

    `what` kind of thing, `detail` what was tried, `layer` who refused it; `hint` is the policy field or the grant that
    would allow it, empty when nothing does.
    """

    what: str
    detail: str
    hint: str
    layer: str = ""


class Attempt(Value):
    """One attempt to reach something through the egress proxy. `reason` says why not, or why it was not reached."""

    host: str
    port: int
    allowed: bool
    reason: str = ""


class Availability(Value):
    """Whether a backend works here, found by trying. `reason` and `mend` say why not and what would help."""

    backend: str
    available: bool
    reason: str = ""
    mend: str = ""
    level: AssuranceLevel = AssuranceLevel.NONE
    losses: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """JSON form, level by name."""
        return {**as_dict(self), "level": self.level.name.lower(), "losses": list(self.losses)}


class Cause(StrEnum):
    """Why a run ended."""

    EXIT = "exit"
    SIGNAL = "signal"
    TIMEOUT = "timeout"
    OOM = "oom"
    OUTPUT_CAP = "output_cap"
    DENIED = "denied"


def new_run_id() -> str:
    """A fresh random run id: 16 hex digits."""
    return os.urandom(8).hex()


class RunRequest(Value):
    """One command to run. `tool` is None only for host programs (a shell, a firewalled command).

    `stdin` is the whole input as bytes, a descriptor to read from, or None for /dev/null. `take_changes` is called
    when the run is over, with a descriptor for each overlaid bind, in their order: the folder of what was written
    there, as overlayfs notes it. They are closed afterwards. With `explain` the payload is traced from outside, so that
    the denials tell of files too; it runs many times slower. With `terminal` it gets a terminal of its own, joined to
    that one: its output is shown, and not in the result.
    """

    argv: tuple[str, ...]
    policy: SandboxPolicy = field(default_factory=SandboxPolicy)
    tool: VaultedTool | None = None
    stdin: bytes | int | None = None
    min_assurance: AssuranceLevel = AssuranceLevel.ISOLATED
    run_id: str = field(default_factory=new_run_id)
    take_changes: Callable[[Sequence[int]], None] | None = None
    explain: bool = False
    terminal: Terminal | None = None

    @property
    def overlaid(self) -> tuple[Bind, ...]:
        """The binds whose changes are kept apart."""
        return tuple(bind for bind in self.policy.binds if bind.overlay_bytes)

    def __post_init__(self) -> None:
        if not self.argv or not self.argv[0]:
            raise _bad("there is no command to run", "Give the program and its arguments.")
        if "\0" in "".join(self.argv):
            raise _bad("an argument holds a NUL byte", "Remove the NUL byte from the arguments.")


class RunResult(Value):
    """What a run did, as seen from outside it. Exactly one of `exit_code` and `signal` is set.

    A measurement that a backend cannot make is None. `passed_over` names the stronger rungs of the ladder
    that were not used, and why. Only where it is `explained` do the denials tell of files. `unrecorded` says what of
    its end could not be written down.
    """

    backend: str
    run_id: str
    exit_code: int | None
    signal: int | None
    cause: Cause
    stdout: bytes
    stderr: bytes
    stdout_truncated: bool
    stderr_truncated: bool
    wall_seconds: float
    user_seconds: float | None
    system_seconds: float | None
    peak_memory_bytes: int | None
    peak_processes: int | None
    assurance: Assurance
    policy_digest: str
    tool_digest: str | None = None
    denials: tuple[Denial, ...] = ()
    passed_over: tuple[Availability, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    explained: bool = False
    unrecorded: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the payload ended by itself with code 0."""
        return self.cause is Cause.EXIT and self.exit_code == 0

    def to_json(self) -> dict[str, Any]:
        """JSON form; a stream that is not UTF-8 is base64, and `<stream>_encoding` says which."""
        shape = {k: v for k, v in self.__dict__.items() if k not in _NESTED}
        shape["cause"] = self.cause.value
        for name, data in (("stdout", self.stdout), ("stderr", self.stderr)):
            shape[name], shape[f"{name}_encoding"] = _text_or_base64(data)
        shape["denials"] = [as_dict(denial) for denial in self.denials]
        shape["assurance"] = self.assurance.to_json()
        shape["attempts"] = [as_dict(attempt) for attempt in self.attempts]
        shape["passed_over"] = [rung.to_json() for rung in self.passed_over]
        return shape


class Backend(ABC):
    """One way to run a command apart from the host.

    `probe` tries for real and never raises for an unusable machine. `run` refuses before anything is
    executed when the backend is unavailable or holds less than `min_assurance`; a backend fills `_run`,
    which raises RunnerError when a layer cannot be set up and never runs the payload with less.
    """

    name: ClassVar[str]
    overlays: ClassVar[bool] = False
    """Whether it can keep the changes of a bind apart."""
    explains: ClassVar[bool] = False
    """Whether it can tell of files that a run was refused."""
    terminals: ClassVar[bool] = False
    """Whether it can give a run a terminal."""

    @abstractmethod
    def probe(self) -> Availability:
        """Whether a sandbox can be made here; the answer is cached for the life of the process."""

    @abstractmethod
    def _run(self, request: RunRequest) -> RunResult:
        """Run the request; the caller has checked `probe` and `min_assurance`."""

    def run(self, request: RunRequest) -> RunResult:
        """Run `request.argv` to its end and say what happened.

        Raises RunnerError: `bad_policy`, `sandbox_unavailable`, `assurance_too_low`, `sandbox_layer_failed`,
        `program_not_found`, `program_not_runnable`, `sandbox_died`.
        """
        what = "make a dry run" if not self.overlays and request.overlaid else ""
        what = what or ("explain a run" if not self.explains and request.explain else "")
        what = what or ("give a run a terminal" if not self.terminals and request.terminal else "")
        if what:
            raise _bad(f"the {self.name} backend cannot {what}", "Use --backend native, or leave that option out.")
        state = self.probe()
        if not state.available:
            raise RunnerError(
                "sandbox_unavailable",
                f"The {self.name} sandbox does not work here: {state.reason}",
                state.mend or "Run `runner doctor` to see what each backend needs.",
                backend=self.name,
            )
        if state.level < request.min_assurance:
            raise RunnerError(
                "assurance_too_low",
                f"The {self.name} sandbox reaches {state.level.name.lower()}, "
                f"the run demands {request.min_assurance.name.lower()}",
                "Choose a stronger backend, or mend what `runner doctor` lists as missing.",
                backend=self.name,
                losses=list(state.losses),
            )
        return self._run(request)


def _check_number(name: str, value: float, bound: float = float("inf")) -> None:
    if not value > 0:
        raise _bad(f"{name} must be a positive number", f"Set {name} to a value above zero.")
    if not value < bound:
        raise _bad(f"{name} is too large: {value}", f"Set {name} to a smaller value; no machine has as much.")


def _check_path(what: str, path: str) -> None:
    if not path.startswith("/") or "\0" in path or ".." in path.split("/"):
        raise _bad(f"{what} {path!r} is not an absolute path", "Give an absolute path without '..'.")


def _check_egress(entries: tuple[str, ...]) -> None:
    from skillkeep.hosts import parse_place  # ipaddress costs milliseconds; few runs have a network

    for entry in entries:
        try:
            parse_place(entry)
        except ValueError as error:
            raise _bad(f"not a place in a network: {error}", "Write HOST:PORT, such as api.example.com:443.") from error


def _bad(message: str, hint: str) -> RunnerError:
    return RunnerError("bad_policy", message, hint)


def _text_or_base64(data: bytes) -> tuple[str, str]:
    try:
        return data.decode(), "utf-8"
    except UnicodeDecodeError:
        import base64  # few tools write bytes

        return base64.b64encode(data).decode("ascii"), "base64"
