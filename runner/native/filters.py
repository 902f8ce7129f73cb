"""The two seccomp filters of a sandbox: the payload's, and the one of the init that waits for it."""

from __future__ import annotations

import errno
from dataclasses import replace
from functools import cache

from skillkeep.kernel.calls import loopback_sockets, ordinary_rules, socket_options
from skillkeep.kernel.seccomp import ALLOW, NOTICE, UNKNOWN, Action, Check, Filter, Rule, deny

__all__ = ["init_filter", "no_unseen_memory", "payload_filter"]

_WORTH_A_NOTICE = (deny(), deny(errno.EAFNOSUPPORT))
_UNSEEN_MEMORY = """
    memfd_create shmget shmat semget msgget mq_open vmsplice landlock_create_ruleset landlock_add_rule
"""
_NAMELESS = 0x21  # MAP_SHARED, or MAP_SHARED_VALIDATE, with MAP_ANONYMOUS
_BUFFER_SIZES = (7, 32)  # SO_SNDBUF, SO_SNDBUFFORCE
_INIT_CALLS = "wait4 getrusage write sched_yield exit_group restart_syscall"


@cache
def payload_filter(network: bool = False, bounded: bool = True, noticed: bool = False, pinned: bool = False) -> Filter:
    """Ordinary calls; sockets of the UNIX family only, which reach no further than the sandbox.

    With `network` also TCP: the sandbox's network holds a loopback and the egress proxy.
    Without `bounded`, where no control group counts memory, there is none that a look from outside cannot see: no
    files without a name, no shared pages without a file, no System V objects, no pages given to a pipe, no rules of
    Landlock's, no larger socket buffers. With `noticed` a refused call is asked about (`notices`) instead of being
    refused at once; what is unknown, and clone3, are not. `pinned` processes, whose CPU time is bounded by the cores
    they are on, stay on them.

    UNIX sockets may bind, listen and connect: multiprocessing and asyncio need them, the network namespace
    holds abstract names, and no socket file of the host is in sight but those that lie in a granted folder.
    """
    rules = ordinary_rules()
    if network:
        rules["socket"] = loopback_sockets()
    if not bounded:
        rules |= no_unseen_memory(rules["mmap"])
        # A size is a wish, so it is heard and not granted: an error would end programs that never needed it.
        rules["setsockopt"] = Rule(socket_options(Check(2, _BUFFER_SIZES, deny(0))), ALLOW)
    if pinned:
        rules["sched_setaffinity"] = deny()
    return Filter({name: _noticed(rule) for name, rule in rules.items()} if noticed else rules)


def no_unseen_memory(mapping: Action | Rule) -> dict[str, Action | Rule]:
    """Rules against memory that is held and mapped by nobody; `mapping` is the one of `mmap` so far.

    Shared pages without a file stay when they are no longer mapped, for as long as one byte of their mapping is.
    """
    checks, otherwise = (mapping.checks, mapping.otherwise) if isinstance(mapping, Rule) else ((), mapping)
    nameless = Check(3, (_NAMELESS,), deny(errno.ENOMEM), mask=_NAMELESS)
    return {**dict.fromkeys(_UNSEEN_MEMORY.split(), UNKNOWN), "mmap": Rule((nameless, *checks), otherwise)}


def _noticed(rule: Action | Rule) -> Action | Rule:
    if isinstance(rule, Rule):
        checks = tuple(replace(check, action=_asked(check.action)) for check in rule.checks)
        return Rule(checks, _asked(rule.otherwise))
    return _asked(rule)


def _asked(action: Action) -> Action:
    return NOTICE if action in _WORTH_A_NOTICE else action


@cache
def init_filter() -> Filter:
    """What init needs to reap, report, give way and end."""
    return Filter(dict.fromkeys(_INIT_CALLS.split(), ALLOW))
