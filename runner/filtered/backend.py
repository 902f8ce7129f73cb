"""The rung below namespaces, used only where the settings say so: files by Landlock, the kernel by seccomp.

For machines where nobody may make a user namespace: Ubuntu's AppArmor rule without an administrator, the inside of a
container. It holds less than the other sandboxes and says what; a run with a secret or a network grant is refused.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import math
import os
import shutil
import socket
import stat
import subprocess
import sys
from dataclasses import replace
from typing import Any, ClassVar

import skillkeep
import skillkeep.kernel
from skillkeep.clock import SYSTEM_CLOCK, Clock
from skillkeep.kernel.confine import tasks_of_user
from skillkeep.kernel.procfs import read_text
from skillkeep.kernel.rlimits import OF_EVERY_PAYLOAD, files_within
from skillkeep.runner.containers.policy_file import write_policy
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import (
    PATH,
    Assurance,
    AssuranceLevel,
    Availability,
    Backend,
    Cause,
    Layer,
    RunRequest,
    RunResult,
    SandboxPolicy,
)
from skillkeep.runner.local import Launched, LocalBackend, Seen
from skillkeep.runner.native.asking import heard
from skillkeep.runner.native.identity import DEFAULT_ID_BASE
from skillkeep.runner.native.layout import ETC_FROM_HOST, SYSTEM
from skillkeep.runner.native.plan import POLICY_VARIABLE
from skillkeep.runner.native.prepare import cores_for
from skillkeep.runner.native.watch import memory_of

__all__ = ["LOSSES", "FilteredBackend"]

LOSSES = (
    "no namespaces: one kernel interface and one user id with the caller's own processes",
    "names, sizes, times and links of the host's files can be asked for by path; contents, attributes and lists cannot",
    "processes of the host can be asked for by number: whose they are and of which session, and no more",
    "no /proc, no network and no sockets at all, no changes of mode, owner or times, no job control",
    "memory and processes are bounded in total by a watchdog that looks every 50 ms, processor time by whole cores",
    "scratch is a folder of the host's /tmp, bounded only by the size of a file",
)
_READY_SECONDS = 20.0
_MOST = 1 << 16
_SLOTS = 1 << 22
_HERE = os.path.dirname(os.path.abspath(__file__))
_RUNNER = os.path.dirname(_HERE)


class FilteredBackend(Backend):
    """Landlock, seccomp and rlimits around an ordinary process. `AssuranceLevel.FILTERED`."""

    name: ClassVar[str] = "landlock"

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._works: Availability | None = None

    def probe(self) -> Availability:
        if self._works is None:
            found = self._try()
            if not found.available:
                return found
            self._works = found
        return self._works

    def _try(self) -> Availability:
        request = RunRequest(("true",), SandboxPolicy(wall_seconds=_READY_SECONDS))
        try:
            result = self._run(request)
        except RunnerError as error:
            return Availability(self.name, False, error.message, error.hint)
        if not result.ok:
            return Availability(self.name, False, f"`true` ended with {result.cause} in it", "Run it by hand.")
        return Availability(self.name, True, level=AssuranceLevel.FILTERED, losses=LOSSES)

    def _run(self, request: RunRequest) -> RunResult:
        return _Confined(self._clock)._run(request)


class _Confined(LocalBackend):
    """One run: an ordinary process that waits, confined and measured, before it becomes the program."""

    name: ClassVar[str] = FilteredBackend.name

    def _launch(self, request: RunRequest, home: str, held: contextlib.ExitStack) -> Launched:
        _check(request.policy)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        held.callback(ours.close)
        plan = os.memfd_create("skillkeep-filtered-plan", os.MFD_CLOEXEC)
        try:
            uid = _unprivileged_id()
            os.write(plan, json.dumps(_plan(request, home, uid), ensure_ascii=True).encode())
            process = subprocess.Popen(
                [*_command(), str(plan), str(theirs.fileno())],
                stdin=subprocess.DEVNULL if request.stdin is None else _stdin(request.stdin, held),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={},
                cwd="/",
                pass_fds=(plan, theirs.fileno()),
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise _failed("launcher", str(error), "") from error
        finally:
            os.close(plan)
            theirs.close()
        self._channel = ours
        try:
            self._layers, self._host_uid = _measured(ours, process.pid)
        except BaseException:
            process.kill()
            with process:
                raise
        return Launched(process, lambda: ours.send(b"go"))

    def _excess(self, process: subprocess.Popen[bytes], request: RunRequest) -> Cause | None:
        """All that the run started is in its session, which nothing in it can leave."""
        pids = _in_session(process.pid)
        if memory_of(pids, request.policy.memory_bytes) > request.policy.memory_bytes:
            return Cause.OOM
        return Cause.DENIED if len(pids) > request.policy.processes else None

    def _describe(self, request: RunRequest, seen: Seen, code: int, wall: float, usage: Any) -> RunResult:
        self._channel.settimeout(0)
        with contextlib.suppress(OSError):
            if said := heard(self._channel.recv, _MOST):
                raise _not_started(request.argv[0], int(json.loads(said)["errno"]))
        assurance = Assurance(AssuranceLevel.FILTERED, self._layers, self._host_uid, LOSSES)
        return replace(super()._describe(request, seen, code, wall, usage), backend=self.name, assurance=assurance)


def _check(policy: SandboxPolicy) -> None:
    if policy.egress or policy.env:
        what = "a network grant" if policy.egress else "a granted variable"
        raise RunnerError(
            "assurance_too_low",
            f"a run with {what} is not made without namespaces",
            "Withdraw the grant, or mend the native sandbox or a container: `runner doctor` says how.",
            backend=FilteredBackend.name,
        )
    moved = next((bind for bind in policy.binds if bind.source != bind.target), None)
    if moved:
        raise RunnerError(
            "bad_policy",
            f"without namespaces {moved.source} cannot be shown as {moved.target}",
            "Show folders at their own paths.",
        )


def _plan(request: RunRequest, home: str, uid: int | None) -> dict[str, Any]:
    policy, tool = request.policy, request.tool
    scratch = os.path.join(home, "scratch")
    os.mkdir(scratch, 0o700)
    os.chmod(home, 0o711)  # noqa: S103  others may pass, to nothing that they know of
    tree = str(tool.path) if tool else scratch
    if uid is not None:
        _give_away(scratch, uid)
        if tool:
            tree = os.path.join(home, "tool")
            shutil.copytree(tool.path, tree)
            os.chmod(tree, 0o755)  # noqa: S103  the copy that the other user reads
    shown = replace(policy, tool_mount=tree) if tool else policy
    policy_file = write_policy(home, shown, 0o400) if uid is None else write_policy(home, shown, 0o440, uid)
    writable = [bind.source for bind in policy.binds if bind.writable]
    workdir = policy.workdir if policy.workdir and not policy.workdir.startswith(policy.tool_mount) else tree
    return {
        "argv": list(request.argv),
        "env": {
            "PATH": PATH,
            "HOME": scratch,
            "TMPDIR": scratch,
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            POLICY_VARIABLE: policy_file,
        },
        "workdir": workdir,
        "read": [
            *SYSTEM,
            *ETC_FROM_HOST,
            tree,
            policy_file,
            *(bind.source for bind in policy.binds if not bind.writable),
        ],
        "write": [os.path.realpath(scratch), *writable],
        "uid": uid,
        "parent": os.getpid(),
        "limits": _limits(policy, uid),
        "cores": cores_for(policy.cpus),
    }


def _give_away(folder: str, uid: int) -> None:
    try:
        os.chown(folder, uid, uid)
    except OSError as error:
        hint = "Run as an ordinary user, or where root may give files away."
        raise _failed("user_map", f"user {uid} cannot be had here: {error.strerror}", hint) from error


def _limits(policy: SandboxPolicy, uid: int | None) -> dict[str, int]:
    limits = OF_EVERY_PAYLOAD | {"open_files": policy.open_files, "file_bytes": policy.file_bytes}
    limits["data"] = policy.memory_bytes
    limits["open_files"] = files_within(policy.open_files, policy.memory_bytes, policy.processes)
    limits["cpu_seconds"] = math.ceil(policy.wall_seconds * max(policy.cpus, 1.0))
    # The kernel counts all tasks of a user, so without an id of its own the run's share comes on top of what there is.
    limits["processes"] = policy.processes + (0 if uid is not None else tasks_of_user())
    return limits


def _unprivileged_id() -> int | None:
    """Who the payload is when the caller is root; None: the caller itself."""
    return DEFAULT_ID_BASE + 2 * (os.getpid() % _SLOTS) + 1 if os.geteuid() == 0 else None


def _command() -> list[str]:
    folders = {
        "skillkeep": os.path.dirname(str(skillkeep.__file__)),
        "skillkeep.kernel": os.path.dirname(str(skillkeep.kernel.__file__)),
        "skillkeep.runner": _RUNNER,
        "skillkeep.runner.filtered": _HERE,
    }
    pairs = [f"{package}={place}" for package, place in folders.items()]
    return [sys.executable, "-I", "-S", "-B", os.path.join(_HERE, "boot.py"), *pairs, "--"]


def _in_session(leader: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if int(read_text(f"/proc/{name}/stat").rpartition(")")[2].split()[3]) == leader:
                    found.append(int(name))
    return found


def _stdin(source: bytes | int, held: contextlib.ExitStack) -> int:
    """A pipe for bytes; a descriptor only when nothing but reading can be done with it.

    A pipe is opened anew, so that a mode set on it stays the payload's; not where it is somebody else's (`sudo -u`).
    """
    if isinstance(source, bytes):
        return subprocess.PIPE
    state, flags = os.fstat(source), fcntl.fcntl(source, fcntl.F_GETFL)
    kind = state.st_mode
    if stat.S_ISCHR(kind) and state.st_rdev == os.stat(os.devnull).st_rdev:
        return subprocess.DEVNULL
    if flags & os.O_ACCMODE != os.O_RDONLY or not (stat.S_ISFIFO(kind) or stat.S_ISREG(kind)):
        raise RunnerError(
            "bad_policy",
            "without namespaces standard input has to be a pipe or a file opened for reading",
            "Pass --no-stdin, or send the input through a pipe.",
        )
    if stat.S_ISFIFO(kind):
        with contextlib.suppress(PermissionError):
            own = os.open(f"/proc/self/fd/{source}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            held.callback(os.close, own)
            os.set_blocking(own, True)
            return own
    return source


def _measured(channel: socket.socket, pid: int) -> tuple[tuple[Layer, ...], int]:
    """The layers in force around the waiting launcher, as the kernel shows them. Raises RunnerError."""
    channel.settimeout(_READY_SECONDS)
    try:
        said = json.loads(channel.recv(_MOST) or b'{"layer": "launcher", "detail": "it ended without a word"}')
        if "layer" in said:
            raise _failed(said["layer"], said["detail"], said.get("hint", ""))
        lines = read_text(f"/proc/{pid}/status").splitlines()
        status = {key: value.split() for key, _, value in (line.partition(":") for line in lines)}
    except (OSError, ValueError) as error:
        raise _failed("attestation", f"the waiting launcher could not be measured: {error}", "") from error
    held = {name: status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
    # An ordinary user's bounding set cannot be emptied; no_new_privs keeps it from giving anything.
    bare = all(int(value[0], 16) == 0 for name, value in held.items() if name != "CapBnd")
    for layer, holds in (
        ("seccomp", status["Seccomp"] == ["2"]),
        ("no_new_privs", status["NoNewPrivs"] == ["1"]),
        ("capabilities", bare),
        ("user_map", "0" not in status["Uid"]),
    ):
        if not holds:
            raise _failed(layer, "it is not in force around the waiting launcher", "")
    layers = (
        Layer("landlock", True, {"abi": str(said["landlock"]), "handles": ", ".join(said["handled"])}),
        Layer("seccomp", True, {"mode": "filter"}),
        Layer("no_new_privs", True),
        Layer("capabilities", True, {name: value[0] for name, value in held.items()}),
        Layer("rlimits", True),
        Layer("namespaces", False),
        Layer("cgroup", False),
    )
    return layers, int(status["Uid"][0])


def _failed(layer: str, detail: str, hint: str) -> RunnerError:
    return RunnerError(
        "sandbox_layer_failed",
        f"The sandbox layer {layer} failed: {detail}",
        hint or "Run `runner doctor` to see which layers work here.",
        layer=layer,
        backend=FilteredBackend.name,
    )


def _not_started(program: str, number: int) -> RunnerError:
    if number in (errno.ENOENT, errno.ENOTDIR):
        return RunnerError("program_not_found", f"There is no program {program!r}.", "Check the name.")
    hint = (
        "Check its mode, its first line (#!) and its architecture; outside the tool and /usr nothing can be executed."
    )
    return RunnerError("program_not_runnable", f"{program!r} cannot be executed: {os.strerror(number)}.", hint)
