"""The payload's system call filter as a container engine takes it: a profile in the OCI's JSON form.

The same rules as the native sandbox's, as far as libseccomp can say them: an argument may be named once in a rule, so
`ioctl` is allowed whole, and no terminal is shown to a container. The internet families are allowed, since the
container's network holds nothing but a loopback. Source: OCI runtime specification, "Seccomp".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from skillkeep.kernel.calls import AF_INET, AF_INET6, AF_UNIX, families, ordinary_rules
from skillkeep.kernel.seccomp import ALLOW, Check, Rule
from skillkeep.kernel.syscalls import machine

__all__ = ["seccomp_profile"]

_ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}
_ENOSYS, _ERRNO_MASK, _ALL = 38, 0xFFFF, 0xFFFFFFFF
_RLIMIT_CORE = 4
_Condition = dict[str, Any]


@cache
def seccomp_profile() -> str:
    """The profile as JSON text. Raises KernelError on an architecture that the filter does not know."""
    rules = ordinary_rules()
    rules["socket"] = families(AF_UNIX, AF_INET, AF_INET6)
    rules["ioctl"] = ALLOW
    by_errno: dict[int, list[str]] = {}
    allowed, conditional = [], []
    for name, rule in rules.items():
        if isinstance(rule, Rule):
            conditional += [_allow([name], conditions) for conditions in _ways(name, rule)]
        elif rule == ALLOW:
            allowed.append(name)
        else:
            by_errno.setdefault(rule & _ERRNO_MASK, []).append(name)
    refused = [{"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": number} for number, names in by_errno.items()]
    profile = {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": _ENOSYS,
        "architectures": [_ARCHITECTURES[machine()]],
        "syscalls": [_allow(allowed, []), *conditional, *refused],
    }
    return json.dumps(profile, sort_keys=True, separators=(",", ":"))


def _allow(names: list[str], conditions: list[_Condition]) -> dict[str, Any]:
    return {"names": names, "action": "SCMP_ACT_ALLOW", "args": conditions}


def _ways(name: str, rule: Rule) -> Iterator[list[_Condition]]:
    """The sets of conditions under each of which the call is allowed."""
    if name == "prlimit64":
        yield [_equal(0, 0), _equal(2, 0, 2**64 - 1)]
        yield [_equal(0, 0), _different(1, _RLIMIT_CORE)]
    elif name == "setrlimit":
        yield [_different(0, _RLIMIT_CORE)]
    elif rule.otherwise == ALLOW:
        # Refused when a bit is set, unless an earlier check allows it.
        yield from ([_of(check, value)] for check in rule.checks if check.action == ALLOW for value in check.values)
        refusing = [check for check in rule.checks if check.action != ALLOW]
        bits = 0
        for check in refusing:
            bits |= check.mask
        yield [_equal(refusing[0].index, 0, bits)]
    else:
        yield from ([_of(check, value)] for check in rule.checks if check.action == ALLOW for value in check.values)


def _of(check: Check, value: int) -> _Condition:
    return _equal(check.index, value, check.mask)


def _equal(index: int, value: int, mask: int = _ALL) -> _Condition:
    return {"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}


def _different(index: int, value: int) -> _Condition:
    return {"index": index, "value": value, "op": "SCMP_CMP_NE"}
