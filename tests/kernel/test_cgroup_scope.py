"""A scope of one's own from a real systemd, on a real cgroup v2. `make test-vm` has both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.waiting import until

from skillkeep.kernel.cgroup_choice import unified_place

PLACE = unified_place()
BUS = Path(f"/run/user/{os.geteuid()}/bus" if os.geteuid() else "/run/dbus/system_bus_socket")
needs_systemd = pytest.mark.skipif(
    PLACE is None or not BUS.exists(),
    reason="no systemd of this user, or no controller on cgroup v2 (make test-vm has both)",
)
_SHOW = """
import os
from skillkeep.kernel.cgroup_choice import make_group
from skillkeep.kernel.cgroup_scope import enter_own_scope
from skillkeep.kernel.cgroups import GroupLimits
before = open("/proc/self/cgroup").read().strip()
why = enter_own_scope()
print(repr(why))
print(open("/proc/self/cgroup").read().strip() == before)
group = make_group(GroupLimits(64 << 20, 11, 0.5), "scope")
print(group.enforces)
for part in group.parts if not why else ():
    names = ("memory.max", "memory.swap.max", "pids.max", "cpu.max")
    print(*(open(f"{part.path}/{name}").read().strip() for name in names))
    scope = os.path.dirname(part.path)
    print(os.path.basename(scope), sorted(name for name in os.listdir(scope) if os.path.isdir(f"{scope}/{name}"))[0])
group.close()
"""


def _shown() -> list[str]:
    return subprocess.run([sys.executable, "-c", _SHOW], check=True, capture_output=True, text=True).stdout.splitlines()


@needs_systemd
def test_systemd_hands_over_a_scope_in_which_all_limits_hold() -> None:
    why, stayed, enforced, knobs, made = _shown()
    assert (why, stayed) == ("''", "False")
    assert enforced == "('memory', 'pids', 'cpu')"
    assert knobs == f"{64 << 20} 0 11 50000 100000"
    scope, inner = made.split(" ")
    assert scope.startswith("skillkeep-")
    assert scope.endswith(".scope")
    assert inner == "server"


_STAY = """
import os, sys
from skillkeep.kernel.cgroup_choice import make_group, unified_place
from skillkeep.kernel.cgroup_scope import enter_own_scope
from skillkeep.kernel.cgroups import GroupLimits
why = enter_own_scope()
make_group(GroupLimits(64 << 20, 11, 0.5), "left")
print(why or os.path.dirname(unified_place().path), flush=True)
sys.stdin.read()
"""


@needs_systemd
def test_a_scope_whose_process_was_killed_goes_with_the_groups_left_in_it() -> None:
    words = [sys.executable, "-c", _STAY]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        scope = Path(process.stdout.readline().strip())
        assert any(child.name.endswith("-left") for child in scope.iterdir())
        process.kill()
    assert until(lambda: not scope.exists())


@pytest.mark.skipif(PLACE is not None and BUS.exists(), reason="this user has a systemd, which grants the scope")
def test_without_systemd_the_process_stays_where_it_is_and_says_why() -> None:
    why, stayed, *_ = _shown()
    assert why != "''"
    assert stayed == "True"
