"""The filter that a container engine gets says the same as the native sandbox's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from skillkeep.kernel.calls import ordinary_rules
from skillkeep.kernel.seccomp import ALLOW, Filter
from skillkeep.runner.seccomp_profile import seccomp_profile

ONLY_NATIVE = {"ioctl"}
ARGUMENTS = (
    (0, 0, 0, 0, 0, 0),
    (1, 1, 0, 0, 0, 0),
    (2, 2, 0, 0, 0, 0),
    (16, 3, 0, 0, 0, 0),
    (40, 1, 0, 0, 0, 0),
    (0x10000000 | 17, 0, 0, 0, 0, 0),
    (0x3D0F00, 0, 0, 0, 0, 0),
    (0, 0o4755, 0, 0, 0, 0),
    (0, 0, 0o2755, 0, 0, 0),
    (0, 0o100, 0o4755, 0, 0, 0),
    (0, 0, 0o100, 0o4755, 0, 0),
    (0, 4, 0x1000, 0, 0, 0),
    (0, 7, 0x1000, 0, 0, 0),
    (0, 4, 0, 0, 0, 0),
    (1, 7, 0, 0, 0, 0),
    (22, 2, 0, 0, 0, 0),
    (38, 1, 0, 0, 0, 0),
    (0x0040000, 0, 0, 0, 0, 0),
    (0xFFFFFFFF, 0, 0, 0, 0, 0),
)


def _holds(condition: dict[str, Any], arguments: tuple[int, ...]) -> bool:
    value = arguments[condition["index"]]
    if condition["op"] == "SCMP_CMP_NE":
        return bool(value != condition["value"])
    assert condition["op"] == "SCMP_CMP_MASKED_EQ"
    return bool(value & condition["value"] == condition["valueTwo"])


def _decide(profile: dict[str, Any], name: str, arguments: tuple[int, ...]) -> int:
    """What libseccomp makes of it: any rule whose conditions all hold; none names one argument twice."""
    found = [profile["defaultErrnoRet"]]
    for rule in profile["syscalls"]:
        conditions = rule.get("args", [])
        assert len({each["index"] for each in conditions}) == len(conditions)
        if name in rule["names"] and all(_holds(each, arguments) for each in conditions):
            found.append(0 if rule["action"] == "SCMP_ACT_ALLOW" else rule["errnoRet"])
    return found[-1]


@pytest.mark.parametrize("name", sorted(set(ordinary_rules()) - ONLY_NATIVE))
def test_a_call_is_let_through_by_both_filters_or_by_none(name: str) -> None:
    profile, own = json.loads(seccomp_profile()), Filter(ordinary_rules())
    for arguments in ARGUMENTS:
        if name == "socket" and arguments[0] in (2, 10):
            assert _decide(profile, name, arguments) == 0  # the container's network holds nothing but a loopback
            continue
        try:
            expected = own.decide(name, arguments) == ALLOW
        except ValueError:
            pytest.skip("no such call on this architecture")
        assert (_decide(profile, name, arguments) == 0) is expected, arguments


def test_what_is_unknown_looks_like_an_older_kernel_and_other_architectures_are_not_named() -> None:
    profile = json.loads(seccomp_profile())
    assert (profile["defaultAction"], profile["defaultErrnoRet"]) == ("SCMP_ACT_ERRNO", 38)
    assert len(profile["architectures"]) == 1
    assert _decide(profile, "io_uring_setup", (0,) * 6) == 38
    assert _decide(profile, "clone3", (0,) * 6) == 38
    assert _decide(profile, "mount", (0,) * 6) == 1
