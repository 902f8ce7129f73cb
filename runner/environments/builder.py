"""Builds one environment in a bare interpreter, writes down where it stands, and leaves it to itself.

The request is one JSON object on descriptor 0, the answer one on descriptor 1: ``{"kind": "standing"}`` or a layer
that failed. What is made here dies with a failure here; with success, nothing of it is a child of anybody.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from skillkeep.kernel import landlock
from skillkeep.kernel.cgroup_choice import make_group
from skillkeep.kernel.cgroups import Group, GroupLimits
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.id_maps import write_maps
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.procfs import KINDS, started_at
from skillkeep.kernel.tape import Program
from skillkeep.runner.environments.holder import LIFELINE_AT, HolderShape, make_holder
from skillkeep.runner.environments.standing import BESIDE, GroupPart, Standing, boot_id, own_pid_namespace
from skillkeep.runner.native import messages
from skillkeep.runner.native.binds import is_mapped, open_mapped
from skillkeep.runner.native.identity import DEFAULT_ID_BASE, Identity, choose_identity
from skillkeep.runner.native.launch import group_places, launch
from skillkeep.runner.native.layout import look_at_host
from skillkeep.runner.native.messages import Kind
from skillkeep.runner.native.plan import Plan
from skillkeep.runner.native.rootfs import BindShape

__all__ = ["main"]

_SETUP_SECONDS = 20.0
_LOW_FDS = 32
_GROUP = re.compile(r"skillkeep-(\d+)-(\d+)-(\d+)-env\.")
_ID_BASE = DEFAULT_ID_BASE + 2 * (1 << 22)  # behind the ids of one-shot runs


@dataclass(frozen=True)
class Request:
    """What to build. `slot` is the number of the environment's own ids, `passwd` the file to show as /etc/passwd."""

    plan: Plan
    name: str
    slot: int
    home: str
    passwd: str
    project: str
    standing: str
    lifeline: int = -1
    """A descriptor of this process: the environment ends when its other end is closed."""


def main() -> int:
    """Build what descriptor 0 asks for."""
    asked = json.loads(sys.stdin.buffer.read())
    if (lifeline := asked.get("lifeline", -1)) >= 0:
        asked["lifeline"] = fcntl.fcntl(lifeline, fcntl.F_DUPFD_CLOEXEC, _LOW_FDS)
        os.close(lifeline)
    while os.dup(0) < _LOW_FDS:  # nothing low is free: a descriptor is never where a sandbox's own will be
        pass
    try:
        request = Request(**{**asked, "plan": Plan.from_text(asked["plan"])})
        _build(request)
        answer: dict[str, Any] = {"kind": "standing"}
    except KernelError as error:
        answer = {"kind": "layer", "layer": error.layer, "detail": error.what, "hint": error.hint}
        answer["errno"] = error.context["errno"]
    except (OSError, ValueError, TimeoutError) as error:
        answer = {"kind": "layer", "layer": "setup", "detail": f"{type(error).__name__}: {error}", "hint": ""}
        answer["errno"] = ""
    os.write(1, json.dumps(answer).encode())
    return 0


def _build(request: Request) -> None:
    plan = request.plan
    group = make_group(GroupLimits(plan.memory_bytes, plan.processes + BESIDE, plan.cpus), f"env.{request.name}")
    _sweep({os.path.dirname(part.path) for part in group.parts})
    try:
        init, identity = _raise(request, group)
    except BaseException:
        group.close()
        raise
    try:
        _write_down(request, group, init, identity)
    except BaseException:
        os.kill(init, signal.SIGKILL)
        raise


def _sweep(parents: set[str]) -> None:
    """Remove the empty control groups that builders left which were killed; one that is in use cannot be removed."""
    for parent in parents:
        for name in os.listdir(parent):
            match = _GROUP.match(name)
            if match and int(match[1]) == own_pid_namespace() and started_at(int(match[2])) != int(match[3]):
                with contextlib.suppress(OSError):
                    os.rmdir(f"{parent}/{name}")


def _raise(request: Request, group: Group) -> tuple[int, Identity]:
    """Carry out the tape; the init's pid and its ids."""
    as_root = os.geteuid() == 0
    binds = tuple(_shown(request, number, as_root) for number in range(len(request.plan.binds)))
    shape = HolderShape(
        host=look_at_host(),
        as_root=as_root,
        groups=len(group.join_fds),
        into_group=group.into_fd is not None,
        binds=binds,
        tmp_bytes=request.plan.tmp_bytes,
        hostname=request.name,
        lifeline=request.lifeline >= 0,
    )
    program = make_holder(shape)
    sock, launcher = _spawn(_image(program, request), group, request.lifeline)
    init = -1
    try:
        init = _expect(sock, program, Kind.HELLO)
        os.waitpid(launcher, 0)
        group.release()
        identity = choose_identity(request.slot, _ID_BASE)
        write_maps(init, identity.ids)
        if as_root:
            os.chown(request.home, identity.host_uid, identity.host_gid, follow_symlinks=False)
        trees = open_mapped(_without_home(request), identity, [])
        messages.tell(sock, messages.IDS, list(trees.values()))
        for fd in trees.values():
            os.close(fd)
        _expect(sock, program, Kind.WAITING)
        return init, identity
    except BaseException:
        if init >= 0:
            os.kill(init, signal.SIGKILL)
            os.waitpid(init, 0)
        raise
    finally:
        sock.close()


def _shown(request: Request, number: int, as_root: bool) -> BindShape:
    bind = request.plan.binds[number]
    with guarded("bind", f"look at {bind.source}"):
        state = os.stat(bind.source)
    mapped = bind.source != request.home and is_mapped(bind, state, as_root)
    return BindShape(bind.target, os.path.isdir(bind.source), bind.writable, mapped)


def _without_home(request: Request) -> Plan:
    """The plan without the home, which belongs to the environment's own id and needs no other owner."""
    binds = tuple(bind for bind in request.plan.binds if bind.source != request.home)
    return replace(request.plan, binds=binds)


def _image(program: Program, request: Request) -> bytes:
    tail, values = bytearray(), {}
    texts = {"policy": request.plan.policy_text.encode(), "passwd": os.fsencode(request.passwd)}
    texts |= {f"source{number}": os.fsencode(bind.source) for number, bind in enumerate(request.plan.binds)}
    for name, text in texts.items():
        values[name] = program.tail + len(tail)
        tail += text + b"\0"
        tail += bytes(-len(tail) % 8)
    values["policy_size"] = len(texts["policy"])
    return bytes(program.patched(values, bytes(tail)))


def _spawn(image: bytes, group: Group, lifeline: int) -> tuple[socket.socket, int]:
    places = group_places(group) + ([] if lifeline < 0 else [(LIFELINE_AT, lifeline)])
    sock, launcher = launch(image, None, places, "environment")
    sock.settimeout(_SETUP_SECONDS)
    return sock, launcher


def _expect(sock: socket.socket, program: Program, kind: Kind) -> int:
    """Wait for one message; its sender's pid."""
    message = messages.receive(sock, program.steps)
    if message is None or message.kind is not kind:
        raise KernelError("setup", 0, "the environment's init ended early", "Look at the kernel log for the reason.")
    return message.pid


def _write_down(request: Request, group: Group, init: int, identity: Identity) -> None:
    """Look at what stands, from outside, and keep it beside the environment's home."""
    kinds: Mapping[str, int] = {kind: os.stat(f"/proc/{init}/ns/{kind}").st_ino for kind in KINDS}
    for kind, inode in kinds.items():
        if inode == os.stat(f"/proc/self/ns/{kind}").st_ino:
            raise KernelError(f"{kind}_namespace", 0, "the environment shares it with the host")
    state = os.stat(request.project)
    parts = tuple(GroupPart(part.path, part.enforces, _unified(part.path)) for part in group.parts)
    standing = Standing(
        holder=init,
        started=started_at(init),
        boot=boot_id(),
        seen_from=own_pid_namespace(),
        host_uid=identity.host_uid,
        host_gid=identity.host_gid,
        as_root=identity.as_root,
        landlock=landlock.abi_or_none(),
        groups=parts,
        namespaces=kinds,
        project=(state.st_dev, state.st_ino),
        plan=request.plan,
    )
    temporary = f"{request.standing}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o600)
    try:
        os.write(fd, standing.to_text().encode())
    finally:
        os.close(fd)
    os.rename(temporary, request.standing)


def _unified(path: str) -> bool:
    return os.path.exists(f"{path}/cgroup.procs") and not os.path.exists(f"{path}/tasks")
