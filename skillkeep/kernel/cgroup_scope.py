"""A control group of this process's own, from systemd: a scope whose inside is handed over (cgroup v2 only).

systemd is the one writer of its tree, and a login session's group belongs to nobody else. What it hands over on request
is a scope with `Delegate=yes`: a user asks the manager of its own session, root the system's. Inside, limits can be set
that systemd never touches. Source: systemd.io/CGROUP_DELEGATION, org.freedesktop.systemd1(5).
"""

from __future__ import annotations

import contextlib
import os
import time

from skillkeep.kernel.cgroup_choice import unified_place
from skillkeep.kernel.cgroups import CONTROLLERS
from skillkeep.kernel.dbus import Call, DBusError, Writer, call
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.procfs import read_text, started_at, write_text

__all__ = ["enter_own_scope"]

_SECONDS = 5.0
_PAUSE_SECONDS = 0.002
_SENDER = 0
"""The pid that stands for whoever sends the call: our own number may be somebody else's where systemd is."""
_INNER = "server"
"""Processes and limits for others may not be in the same group, so this process has one below the scope."""


def enter_own_scope() -> str:
    """Move this single-threaded process into a scope of its own, below which `make_group` then finds its place.

    Returns why that was not done, in words; an empty text when it was. The process has no children yet.
    """
    try:
        if unified_place() is None:
            return "no controller is left to cgroup v2"
        unit = f"skillkeep-{os.getpid()}-{started_at(os.getpid())}.scope"
        call(_bus(), _start_scope(unit))
        scope = _moved_to(unit)
        _pass_on(scope)
    except (DBusError, KernelError, OSError) as error:
        return str(error)
    return ""


def _bus() -> str:
    user = os.geteuid()
    return f"/run/user/{user}/bus" if user else "/run/dbus/system_bus_socket"


def _start_scope(unit: str) -> Call:
    body = Writer()

    def text(name: str, value: str) -> None:
        body.text(name)
        body.signature("s")
        body.text(value)

    def delegate() -> None:
        body.text("Delegate")
        body.signature("b")
        body.number(True)

    def processes() -> None:
        body.text("PIDs")
        body.signature("au")
        body.array(4, [lambda: body.number(_SENDER)])

    body.text(unit)
    body.text("fail")
    description = "Skillkeep's sandboxes"
    properties = [
        lambda: text("Description", description),
        lambda: text("CollectMode", "inactive-or-failed"),
        delegate,
        processes,
    ]
    body.array(8, properties)
    body.array(8, [])
    place = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")
    return Call(*place, "StartTransientUnit", "ssa(sv)a(sa(sv))", bytes(body.data))


def _moved_to(unit: str) -> str:
    """The scope's folder, once this process is in it: the answer to the call comes before that."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        place = unified_place()
        if place is not None and place.path.endswith(f"/{unit}"):
            return place.path
        time.sleep(_PAUSE_SECONDS)
    raise KernelError("cgroup", 0, f"systemd did not move this process into {unit}")


def _pass_on(scope: str) -> None:
    os.mkdir(f"{scope}/{_INNER}")
    write_text(f"{scope}/{_INNER}/cgroup.procs", "0")
    for controller in CONTROLLERS:
        if controller in read_text(f"{scope}/cgroup.controllers").split():
            with contextlib.suppress(OSError):  # the others still bound a run, and the result says what does not
                write_text(f"{scope}/cgroup.subtree_control", f"+{controller}")
