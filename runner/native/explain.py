"""Says in the user's words why the native sandbox does not work here and what would mend it."""

from __future__ import annotations

from skillkeep.runner.errors import RunnerError

__all__ = ["mend"]

_APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_DEBIAN = "/proc/sys/kernel/unprivileged_userns_clone"
_MOST = "/proc/sys/user/max_user_namespaces"
_REFUSED = ("EPERM", "EACCES")


def mend(error: RunnerError) -> str:
    """What to do about a failed probe, by the layer that failed and the switches that this machine has set."""
    layer, number = error.context.get("layer"), error.context.get("errno")
    if layer == "namespaces" and number == "ENOSPC":
        if _read(_MOST) == "0":
            return "User namespaces are switched off: sudo sysctl -w user.max_user_namespaces=15000"
        return "A limit below /proc/sys/user/max_*_namespaces is used up: raise it, or end other sandboxes."
    if _read(_DEBIAN) == "0" and number in _REFUSED:
        return "Ordinary users may not make namespaces: sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if _read(_APPARMOR) == "1" and number in _REFUSED:
        return (
            "AppArmor keeps ordinary users from namespaces: allow this Python by an AppArmor profile with "
            "`userns,`, or use the container backend"
        )
    if layer == "proc" and number in _REFUSED:
        return "A surrounding container hides parts of /proc: start it with --security-opt systempaths=unconfined"
    if layer == "namespaces" and number in _REFUSED:
        return "A surrounding container forbids namespaces: allow them there, or use the container backend"
    return error.hint


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
