"""What the doctor says of the parts that sandboxes are made of."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from support.sandbox import refusing, staged_packages, without_namespaces

from skillkeep.runner.mechanisms import look_at_mechanisms

LOOK = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); from skillkeep.runner.mechanisms import look_at_mechanisms;"
    "print(json.dumps([each.to_json() for each in look_at_mechanisms()]))"
)


def _seen(done: subprocess.CompletedProcess[bytes]) -> dict[str, dict[str, object]]:
    assert done.returncode == 0, done.stderr.decode()
    return {each["name"]: each for each in json.loads(done.stdout)}


@pytest.mark.skipif(sys.platform != "linux", reason="mechanisms of Linux")
def test_each_mechanism_is_named_with_what_was_seen() -> None:
    found = {each.name: each for each in look_at_mechanisms()}
    assert set(found) == {
        *("user namespaces", "control groups", "Landlock", "seccomp", "refused calls are told", "no core dumps")
    }
    assert found["user namespaces"].works
    assert all(each.seen and (each.works or each.mend) for each in found.values())


def test_a_switched_off_namespace_names_the_switch() -> None:
    found = _seen(without_namespaces([sys.executable, "-I", "-c", LOOK, str(staged_packages())], capture_output=True))
    assert found["user namespaces"]["works"] is False
    assert "user.max_user_namespaces" in str(found["user namespaces"]["mend"])


def test_a_surrounding_filter_and_a_missing_landlock_are_said() -> None:
    names = {"unshare": 1, "landlock_create_ruleset": 38}
    done = refusing(names, [sys.executable, "-I", "-c", LOOK, str(staged_packages())], capture_output=True)
    found = _seen(done)
    assert [name for name, each in found.items() if not each["works"]][:1] == ["user namespaces"]
    assert "container" in str(found["user namespaces"]["mend"]) or "sysctl" in str(found["user namespaces"]["mend"])
    assert (found["Landlock"]["works"], found["refused calls are told"]["works"]) == (False, False)
