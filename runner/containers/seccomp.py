"""The native sandbox's seccomp rules in a container engine's words: the same default-deny filter in both.

An engine's own profile allows more than it has to, and the older the engine the more (io_uring, vsock, 32-bit calls).
Format: OCI runtime specification, "Seccomp". An engine knows only conjunctions of comparisons, one for each argument,
in no order; so every rule is turned into the set of cases that it allows. All else is ENOSYS.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

from skillkeep.files import write_all
from skillkeep.kernel.calls import loopback_sockets, ordinary_rules
from skillkeep.kernel.seccomp import ALLOW, Action, Check, Rule
from skillkeep.kernel.syscalls import machine, table

__all__ = ["allowed_cases", "as_taken", "profile"]

_ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}
_ERRNO_BITS = 0xFFFF

Case = tuple[tuple[int, int, int], ...]
"""(argument, mask, value) for each argument that matters: all have to hold."""


@cache
def profile(network: bool = False) -> str:
    """The profile as JSON text; with `network` for a run that has an egress proxy on its loopback."""
    rules = ordinary_rules()
    if network:
        rules["socket"] = loopback_sockets()
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "defaultErrnoRet": errno.ENOSYS,
            "architectures": [_ARCHITECTURES[machine()]],
            "syscalls": [
                *(entry for name in sorted(rules) for entry in _entries(name, rules[name])),
                # Said once more for engines that do not know a default errno (Docker before 23).
                _refused(sorted(set(table()) - set(rules)), errno.ENOSYS),
            ],
        }
    )


@contextlib.contextmanager
def as_taken(form: str, network: bool) -> Iterator[str]:
    """The profile as an engine takes it while the block lasts: "text" as JSON (Docker), "file" as the path of a file
    (Podman) that lies in memory and ends with this process, "" none.
    """
    if form != "file":
        yield profile(network) if form else ""
        return
    fd = os.memfd_create("skillkeep-seccomp", os.MFD_CLOEXEC)
    try:
        write_all(fd, profile(network).encode())
        yield f"/proc/{os.getpid()}/fd/{fd}"
    finally:
        os.close(fd)


def _entries(name: str, rule: Action | Rule) -> Iterator[dict[str, Any]]:
    if isinstance(rule, int):
        if rule == ALLOW:
            yield {"names": [name], "action": "SCMP_ACT_ALLOW"}
        else:
            yield _refused([name], rule & _ERRNO_BITS)
        return
    for case in allowed_cases(rule):
        arguments = [
            {"index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}
            for index, mask, value in case
        ]
        yield {"names": [name], "action": "SCMP_ACT_ALLOW", "args": arguments}


def _refused(names: list[str], number: int) -> dict[str, Any]:
    return {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": number}


def allowed_cases(rule: Rule) -> Iterator[Case]:
    """The cases that `rule` allows; together exactly those. Raises ValueError for a rule that cannot be said so."""
    refused: list[Check] = []
    for check in rule.checks:
        if check.action == ALLOW:
            yield from _cases([*_refusals(refused), _passing(check)])
        else:
            refused.append(check)
    if rule.otherwise == ALLOW:
        yield from _cases(_refusals(refused))


_Choice = list[tuple[int, int, int]]


def _cases(choices: list[_Choice]) -> Iterator[Case]:
    """What holds when one of each of `choices` does; comparisons of one argument become one."""
    of_argument: dict[int, _Choice] = {}
    for choice in choices:
        index = choice[0][0]
        known = of_argument.get(index)
        of_argument[index] = choice if known is None else list(_both(known, choice))
    yield from product(*of_argument.values())


def _both(one: _Choice, other: _Choice) -> Iterator[tuple[int, int, int]]:
    """The comparisons of one argument that say that one of `one` and one of `other` holds."""
    found = {
        (index, mask | mask_too, value | value_too)
        for index, mask, value in one
        for _, mask_too, value_too in other
        if (value ^ value_too) & mask & mask_too == 0
    }
    if not found:
        raise ValueError("two comparisons of one argument that never hold together")
    yield from sorted(found)


def _passing(check: Check) -> _Choice:
    """What has to hold for `check` to match."""
    if not check.negated:
        return _matching(check)
    if len(check.values) > 1:
        raise ValueError("a value that differs from any of several")
    return [(check.index, mask, value) for mask, value in _others(check.mask, set(check.values))]


def _matching(check: Check) -> _Choice:
    return [(check.index, check.mask, value) for value in check.values]


def _refusals(checks: list[Check]) -> list[_Choice]:
    """What has to hold for none of `checks` to match; single bits of one argument are one comparison."""
    bits: dict[int, int] = {}
    choices: list[_Choice] = []
    for check in checks:
        if check.negated:
            choices.append(_matching(check))
        elif check.values == (check.mask,) and check.mask & (check.mask - 1) == 0:
            bits[check.index] = bits.get(check.index, 0) | check.mask
        else:
            choices.append([(check.index, mask, value) for mask, value in _others(check.mask, set(check.values))])
    return [*choices, *([(index, mask, 0)] for index, mask in bits.items())]


def _others(mask: int, values: set[int]) -> Iterator[tuple[int, int]]:
    """Comparisons that cover every number within `mask` but `values`: the branches that leave their common tree."""
    positions = [bit for bit in range(mask.bit_length() - 1, -1, -1) if mask >> bit & 1]
    known = 0
    prefixes = {0}
    for bit in positions:
        known |= 1 << bit
        next_prefixes = {value & known for value in values}
        for prefix in prefixes:
            for branch in (prefix, prefix | 1 << bit):
                if branch not in next_prefixes:
                    yield known, branch
        prefixes = next_prefixes
