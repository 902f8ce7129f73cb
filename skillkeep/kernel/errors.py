"""What a refused kernel mechanism is raised as."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import ClassVar

from skillkeep.errors import Code, SkillkeepError

__all__ = ["KernelError"]

_HINTS = {
    errno.ENOSYS: "This kernel does not have the mechanism; a newer kernel or another sandbox backend is needed.",
    errno.EOPNOTSUPP: "The mechanism is built in but switched off at boot; add it to the kernel's lsm= list.",
    errno.EPERM: "The kernel forbids it here (a container, AppArmor or a sysctl); `runner doctor` names the switch.",
    errno.EACCES: "Permission was denied; check the owner and mode of the path, or the surrounding container.",
    errno.ENOSPC: "A kernel limit is used up; for namespaces raise the sysctl user.max_user_namespaces.",
    errno.ENOENT: "A path that the sandbox needs is missing on this machine.",
}


class KernelError(SkillkeepError):
    """A mechanism the kernel refused. `layer` names the protection that is therefore missing."""

    codes: ClassVar[Mapping[str, Code]] = {
        "kernel_refused": Code("The kernel refused a sandbox mechanism; the context names it and the errno."),
    }

    def __init__(self, layer: str, number: int, detail: str, hint: str = "") -> None:
        self.what = f"{detail}: {os.strerror(number)}" if number else detail
        super().__init__(
            "kernel_refused",
            f"{layer}: {self.what}",
            hint or _HINTS.get(number, "Run `runner doctor` to see which protections this kernel offers."),
            layer=layer,
            errno=errno.errorcode.get(number, str(number)),
            detail=detail,
        )
        self.layer = layer
        self.number = number
        self.detail = detail

    def __reduce__(self) -> tuple[type[KernelError], tuple[str, int, str, str]]:
        return (KernelError, (self.layer, self.number, self.detail, self.hint))
