"""The profile that engines get allows exactly what the native filter allows."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from skillkeep.kernel.calls import ordinary_rules
from skillkeep.kernel.seccomp import ALLOW, Rule
from skillkeep.runner.containers.seccomp import profile
from skillkeep.runner.native.filters import payload_filter

CHECKED = sorted(name for name, rule in ordinary_rules().items() if isinstance(rule, Rule))
INTERESTING = [
    0, 1, 2, 3, 4, 10, 16, 38, 42, 0x5412, 0x541C, 0x1_0000_5412, 0x10000000, 0x7E020000, 0o100, 0o6000, 0o4755, 0o2000,
    0o20000000, 26, 50, 0x40049409, 0x541B, 0x8901, 0x8008662C, 0xFFFFFFFF, 2**64 - 1, 0x53564D41, 0x80001, 0x80002,
    0x801,
]  # fmt: skip
numbers = st.one_of(st.sampled_from(INTERESTING), st.integers(0, 2**64 - 1), st.integers(0, 255))


def allows(text: str, name: str, arguments: list[int]) -> bool:
    """What an engine makes of the profile: any entry all of whose comparisons hold."""
    for entry in json.loads(text)["syscalls"]:
        if name in entry["names"] and entry["action"] == "SCMP_ACT_ALLOW":
            tests = entry.get("args", [])
            assert len({test["index"] for test in tests}) == len(tests)
            if all(arguments[test["index"]] & test["value"] == test["valueTwo"] for test in tests):
                return True
    return False


@given(st.sampled_from(CHECKED), st.lists(numbers, min_size=6, max_size=6), st.booleans())
def test_every_call_is_allowed_or_not_as_by_the_native_filter(name: str, arguments: list[int], network: bool) -> None:
    if name not in ("open", "creat", "mknod", "chmod"):  # older calls that not every architecture has
        native = payload_filter(network).decide(name, arguments) == ALLOW
        assert allows(profile(network), name, arguments) == native


def test_calls_without_a_check_are_the_same() -> None:
    for name, rule in ordinary_rules().items():
        if isinstance(rule, int):
            assert allows(profile(), name, [0] * 6) == (rule == ALLOW), name


def test_the_rest_does_not_exist_and_no_other_architecture_does() -> None:
    text = json.loads(profile())
    assert (text["defaultAction"], text["defaultErrnoRet"]) == ("SCMP_ACT_ERRNO", 38)
    assert len(text["architectures"]) == 1
    said = [entry for entry in text["syscalls"] if "io_uring_setup" in entry["names"]]
    assert [(entry["action"], entry["errnoRet"]) for entry in said] == [("SCMP_ACT_ERRNO", 38)]
