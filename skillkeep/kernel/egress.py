"""What the egress proxy of a run gives up before it reads a byte of the payload's.

It keeps: accepting on the socket it was handed, connecting to the granted ports and to resolvers, reading the
resolver's files, threads. No program, no write to any file, no other port (Landlock), no right of root.
"""

from __future__ import annotations

import os

from skillkeep.kernel import capabilities, landlock, process
from skillkeep.kernel.confine import worker_rules
from skillkeep.kernel.libc import guarded
from skillkeep.kernel.rlimits import NO_CORE_DUMP, set_limits
from skillkeep.kernel.seccomp import ALLOW, Filter

__all__ = ["confine_proxy"]

_NOBODY = 65534
_RESOLVER_PORT = 53
_RESOLVER = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/run/systemd/resolve",
)
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/dev/urandom")
_MEMORY_BYTES = 1 << 30  # of addresses: each thread reserves a stack
_OPEN_FILES = 256


def confine_proxy(parent: int, ports: list[int]) -> None:
    """Confine this process for good, and end with the process `parent`. Raises KernelError naming the layer."""
    process.require_single_thread()
    process.close_above(2)
    if os.geteuid() == 0:
        with guarded("identity", "become nobody"):
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    process.die_with_parent(parent)
    process.forbid_new_privileges()
    process.hide_memory()
    capabilities.keep_only()
    set_limits({"core": NO_CORE_DUMP, "open_files": _OPEN_FILES, "address_space": _MEMORY_BYTES, "queues": 0})
    rules = landlock.Ruleset()
    rules.allow_read((*_RESOLVER, *_LIBRARIES))
    rules.allow_connect((*ports, _RESOLVER_PORT))
    rules.restrict_self()
    calls = worker_rules(network=True, programs=False, writes=False, signals_scoped="signals" in rules.handled)
    Filter({**calls, "accept4": ALLOW, "accept": ALLOW}).install()
