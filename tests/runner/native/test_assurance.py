"""A result says what held, measured from outside; a layer that does not hold stops the run and is named."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from support.sandbox import Bench, Who, refusing, staged_packages, without_control_groups, without_namespaces
from support.sandbox import bench as make_bench
from support.slots import children
from support.waiting import until

from skillkeep.runner.interface import Layer
from skillkeep.runner.native import NativeBackend, seen_root
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.native.filters import payload_filter
from skillkeep.runner.native.seen_root import SeenRoot

PROBE = (
    "import sys; sys.path.insert(0, sys.argv[1]); from skillkeep.runner.native import NativeBackend;"
    "import json; print(json.dumps(NativeBackend().probe().to_json()))"
)


def test_a_result_names_each_layer_with_what_was_measured(bench: Bench) -> None:
    result = bench.run("sh", "-c", "stat -L -c %i /proc/self/ns/user; cut -d: -f3 /proc/self/cgroup | sort -u")
    assurance = result["assurance"]
    layers = {layer["name"]: layer for layer in assurance["layers"]}
    assert set(layers) >= {"identity", "namespaces", "root", "capabilities", "no_new_privs", "seccomp", "landlock"}
    inode, *groups = result["stdout"].split()
    assert layers["namespaces"]["facts"]["user"] == inode != str(os.stat("/proc/self/ns/user").st_ino)
    assert "/" in groups
    assert not any("skillkeep-" in group for group in groups)
    bounded = "memory" in layers["cgroup"]["facts"]
    filters = {payload_filter(bounded=bounded, noticed=noticed, pinned=not bounded).sha256 for noticed in (True, False)}
    assert layers["seccomp"]["facts"]["sha256"] in filters
    host_uid = assurance["payload_host_uid"]
    assert host_uid == (bench.who.uid or os.geteuid() or int(layers["identity"]["facts"]["host_uid"]))
    assert host_uid != 0
    if bench.who.name == "root":
        assert host_uid >= 0x7000_0000
        if layers["cgroup"]["in_force"]:
            assert (assurance["level"], assurance["losses"]) == ("bounded", [])
    else:
        assert any("caller's own" in loss for loss in assurance["losses"])


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has one id to give")
def test_two_runs_of_root_do_not_share_a_host_id() -> None:
    with make_bench(Who("root", None)) as made:
        first, second = (made.run("true")["assurance"]["payload_host_uid"] for _ in range(2))
    assert first != second


def test_a_run_that_demands_more_than_holds_is_refused(bench: Bench) -> None:
    marker = bench.folder / "ran"
    marker.mkdir()
    os.chmod(marker, 0o777)
    binds = [{"source": str(marker), "target": "/data", "writable": True}]
    level = bench.run("true")["assurance"]["level"]
    answer = bench.run("touch", "/data/yes", level=3, binds=binds)
    if level == "bounded":
        assert answer["exit_code"] == 0
    else:
        assert answer["error_code"] == "assurance_too_low"
        assert os.listdir(marker) == []


REFUSED = {
    "unshare": "cgroup_namespace",
    "mount": "root",
    "pivot_root": "root",
    "open_tree": "root",
    "move_mount": "root",
    "mount_setattr": "root",
    "sethostname": "hostname",
    "capset": "capabilities",
    "seccomp": "seccomp",
    "landlock_restrict_self": "landlock",
    "landlock_add_rule": "landlock",
    "close_range": "descriptors",
}


@pytest.mark.parametrize("call", REFUSED)
def test_a_layer_that_cannot_be_set_up_stops_the_run_and_is_named(call: str) -> None:
    who = Who("current", None)
    with make_bench(who) as made:
        marker = made.folder / "ran"
        marker.mkdir()
        os.chmod(marker, 0o777)
        policy = {"binds": [{"source": str(marker), "target": "/data", "writable": True}]}
        request = made.request(["touch", "/data/yes"], None, 2, policy)
        assert _answer(subprocess.run(made.driver(), input=request, capture_output=True))["exit_code"] == 0
        os.unlink(marker / "yes")
        done = refusing({call: errno.EPERM}, made.driver(), input=request, capture_output=True)
        answer = _answer(done)
        assert (answer["error_code"], answer["context"]["layer"]) == ("sandbox_layer_failed", REFUSED[call])
        assert answer["context"]["errno"] == "EPERM"
        assert answer["hint"]
        assert os.listdir(marker) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has no control groups to lose here")
def test_root_without_control_groups_is_held_by_rlimits_and_the_watchdog_and_says_so() -> None:
    code = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        held = bytearray(30 << 20)
        time.sleep(30)
        os._exit(0)
print([os.wait() for _ in range(6)])
"""
    with make_bench(Who("root", None)) as made:
        policy = {"memory_bytes": 100 << 20, "wall_seconds": 60}
        request = made.request(["python3", "-c", code], None, 2, policy)
        answer = _answer(without_control_groups(made.driver(), input=request, capture_output=True))
        assert (answer["cause"], answer["assurance"]["level"]) == ("oom", "isolated")
        assert len(answer["assurance"]["losses"]) == 3
        request = made.request(["true"], None, 3, policy)
        answer = _answer(without_control_groups(made.driver(), input=request, capture_output=True))
        assert answer["error_code"] == "assurance_too_low"


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's ids are not changed")
@pytest.mark.parametrize("call", ["setresuid", "setresgid", "setgroups"])
def test_root_never_runs_a_payload_whose_ids_cannot_be_changed(call: str) -> None:
    with make_bench(Who("root", None)) as made:
        request = made.request(["true"], None, 2, {})
        answer = _answer(refusing({call: errno.EPERM}, made.driver(), input=request, capture_output=True))
        assert (answer["error_code"], answer["context"]["layer"]) == ("sandbox_layer_failed", "user_map")


def test_the_probe_says_that_it_works_and_what_is_weaker(bench: Bench) -> None:
    done = subprocess.run(
        [bench.driver()[0], "-I", "-c", PROBE, str(staged_packages())], capture_output=True, **bench.identity()
    )
    state = _answer(done)
    assert state["available"] is True
    assert state["level"] in ("isolated", "bounded")
    # An ordinary user who has logged in with systemd bounds everything, and still has only one id to give.
    one_id = os.geteuid() != 0
    assert bool(state["losses"]) == (state["level"] == "isolated" or one_id)


def test_the_probe_is_paid_once_in_a_process() -> None:
    first = NativeBackend().probe()
    assert first.available, first.reason
    assert NativeBackend().probe() is first


def test_without_user_namespaces_the_probe_names_the_switch() -> None:
    done = without_namespaces([sys.executable, "-I", "-c", PROBE, str(staged_packages())], capture_output=True)
    state = _answer(done)
    assert state["available"] is False
    assert "namespaces" in state["reason"]
    assert "user.max_user_namespaces" in state["mend"]


def test_a_program_that_is_missing_or_not_runnable_has_its_own_code(bench: Bench) -> None:
    assert bench.run("no-such-program")["error_code"] == "program_not_found"
    assert bench.run("/etc/passwd")["error_code"] == "program_not_runnable"
    (bench.tool / "text").write_text("no program")
    os.chmod(bench.tool / "text", 0o755)
    assert bench.run("/tool/text")["error_code"] == "program_not_runnable"


def _answer(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr.decode()
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_what_is_kept_of_mount_lines_does_not_grow_with_the_sandboxes() -> None:
    seen_root._described.cache_clear()
    for number in range(50):
        line = f"{number} {number + 1} 0:{number} / /tmp rw,nosuid,nodev - tmpfs tmpfs rw"
        assert seen_root._mount(line)[0] == "/tmp"
    assert seen_root._described.cache_info().currsize == 1
    with pytest.raises(LayerError):
        seen_root._mount("1 2 0:3 / /tmp")


MOUNTS = "sleep 60 & read x; mount -t tmpfs none /tmp; echo mounted; sleep 60 & wait"


def test_a_root_is_read_again_when_a_mount_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_root, "_root", lambda rows: Layer("root", True, {"mounts": str(len(rows))}))
    words = ["unshare", "-rm", "--kill-child", "--fork", "sh", "-c", MOUNTS]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert until(lambda: len(children(process.pid)) == 1)
        (shell,) = children(process.pid)
        assert until(lambda: len(children(shell)) == 1)
        roots = [SeenRoot.of_child(process.pid), SeenRoot.of_child(shell)]
        assert [root and root.pid for root in roots] == [shell, *children(shell)]
        before = [root and root.layer() for root in roots]
        assert [root and root.layer() is known for root, known in zip(roots, before, strict=True)] == [True, True]
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"mounted\n"
        after = [root and root.layer() for root in roots]
        counts = [[int(layer.facts["mounts"]) for layer in layers if layer] for layers in (before, after)]
        assert counts[1] == [count + 1 for count in counts[0]]
        assert until(lambda: len(children(shell)) == 2)
        assert SeenRoot.of_child(shell) is None
        for root in filter(None, roots):
            root.close()
            root.close()
        process.kill()
