"""A sandbox built ahead is used once, gets its own run's binds and streams, holds no less, and is never stale."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import Bench, Who, refusing, staged_packages
from support.sandbox import bench as make_bench
from support.slots import at_rest, children, groups, life, mounts_change, newborns, vacancies
from support.waiting import later, until

from skillkeep.kernel.cgroup_choice import sweep_groups

_ATTEMPTS = 20
FORKS = "import os\nfor _ in range(20):\n  if os.fork() == 0:\n    import time; time.sleep(9)"


def ask(bench: Bench, *argv: str, **policy: Any) -> dict[str, Any]:
    """A run in a process of its own: this one has more filters than others where it confined itself."""
    request = bench.request(argv, None, 2, policy)
    done = subprocess.run(bench.driver(), input=request, capture_output=True, **bench.identity())
    assert done.returncode == 0, done.stderr.decode()
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def warm(bench: Bench, **policy: Any) -> int:
    """A server of the bench's own, after it has built what it keeps for runs of this kind."""
    if not bench.runtime.exists():
        bench.own_server()
    assert ask(bench, "true", **policy)["exit_code"] == 0
    server = bench.server()
    if _beside(policy) != _beside({}):
        assert ask(bench, "true")["exit_code"] == 0  # what is kept for others is kept beside it
    assert until(lambda: at_rest(server, **_beside(policy)))
    return server


def _beside(policy: dict[str, Any]) -> dict[str, bool]:
    """What is kept for runs of this kind beside what is kept for all."""
    whole = any(bind["source"].startswith("/proc/") for bind in policy.get("binds", ())) or "egress" in policy
    return {"writes": "binds" in policy and not whole, "whole": whole}


def asked_of_slots(bench: Bench, *argv: str, **policy: Any) -> tuple[dict[str, Any], set[int]]:
    """The answer of a run that comes when slots are kept, and which of them were gone after it.

    It is run again when a mount may have made them stale, but not without end: the server itself must mount nothing.
    And once more when none was taken: on a busy machine one may still be being built.
    """
    taken_none = 0
    with mounts_change() as changed:
        for _ in range(_ATTEMPTS):
            changed()
            server = warm(bench, **{name: policy[name] for name in ("binds", "egress") if name in policy})
            assert until(lambda server=server: _is_settled(server))
            before = children(server)
            answer = ask(bench, *argv, **policy)
            assert until(lambda server=server: at_rest(server, **_beside(policy)))
            used = set(before) - set(children(server))
            if changed():
                continue
            taken_none += not used
            if used or taken_none > 1:
                return answer, used
    raise AssertionError(f"something was mounted during each of {_ATTEMPTS} runs")


def _is_settled(server: int) -> bool:
    """Whether it does not change what it keeps any more: one may make room for one that is furnished."""
    kept = children(server)
    later(0.1)
    return children(server) == kept


def test_each_run_takes_a_slot_of_its_own_and_ends_it(bench: Bench) -> None:
    server = warm(bench)
    for _ in range(2):
        answer, used = asked_of_slots(bench, "true")
        assert answer["exit_code"] == 0
        assert len(used) == 1
    assert bench.server() == server


def test_a_slot_gets_the_binds_streams_and_words_of_its_run(bench: Bench) -> None:
    (bench.tool / "hello").write_text("from the tool")
    code = (
        "cat /tool/hello; pwd; echo $MARK; echo late >&2; echo no >/tool/new || echo read-only; ls /proc/self/fd|wc -l"
    )
    answer, used = asked_of_slots(bench, "sh", "-c", code, env=[["MARK", "a b"]], workdir="/tool")
    assert answer["stdout"].splitlines() == ["from the tool/tool", "a b", "read-only", "4"]
    assert answer["stderr"].startswith("late\n")
    assert 1 <= len(used) <= 2  # one makes room for one that is furnished for runs like this


def _data(folder: Path) -> list[dict[str, Any]]:
    """A bind for writing."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    return [{"source": str(folder), "target": "/data", "writable": True}]


SHOW = "cat /proc/self/mountinfo | cut -d' ' -f4- | sort; ls -la / /dev /run /tmp; ulimit -a"


def test_a_run_that_writes_takes_a_sandbox_built_ahead_that_holds_what_one_built_for_it_does(bench: Bench) -> None:
    binds = _data(bench.folder / "shared")
    bench.own_server()
    first = ask(bench, "sh", "-c", SHOW, binds=binds)
    code = f"echo $MARK > $(mktemp -p /data); chmod a+r /data/*; echo no > /tool/new || {{ {SHOW}; }}"
    second, used = asked_of_slots(bench, "sh", "-c", code, env=[["MARK", "a b"]], binds=binds)
    assert len(used) == 1
    assert {file.read_text() for file in (bench.folder / "shared").iterdir()} == {"a b\n"}
    assert _without_numbers(first["assurance"]) == _without_numbers(second["assurance"])
    assert _lines(first["stdout"]) == _lines(second["stdout"])


def _with_proc(folder: Path) -> list[dict[str, Any]]:
    """A bind whose path may lead elsewhere when another process follows it: init has to, after it was born."""
    return [*_data(folder), {"source": "/proc/sys/kernel/ostype", "target": "/ostype"}]


def test_a_run_that_needs_more_than_binds_takes_namespaces_made_ahead_and_holds_what_one_built_for_it_does(
    bench: Bench,
) -> None:
    binds = _with_proc(bench.folder / "shared")
    bench.own_server()
    first = ask(bench, "sh", "-c", SHOW, binds=binds)
    code = f"cat; echo late >&2; echo $MARK > $(mktemp -p /data); chmod a+r /data/*; {SHOW}"
    second, used = asked_of_slots(bench, "sh", "-c", code, env=[["MARK", "a b"]], binds=binds)
    assert len(used) == 1
    assert {file.read_text() for file in (bench.folder / "shared").iterdir()} == {"a b\n"}
    assert second["stderr"].startswith("late\n")
    assert _without_numbers(first["assurance"]) == _without_numbers(second["assurance"])
    assert _lines(first["stdout"]) == _lines(second["stdout"])


def test_a_run_that_may_reach_a_host_takes_namespaces_made_ahead_and_has_its_way_out(bench: Bench) -> None:
    code = "import socket; s = socket.create_connection(('127.0.0.1', 3128), 9); print('there')"
    for _ in range(2):
        answer, used = asked_of_slots(bench, "python3", "-c", code, egress=["example.invalid:443"])
        assert (answer["stdout"], len(used)) == ("there\n", 1), answer


def test_what_cannot_be_shown_is_refused_as_ever_where_namespaces_are_made_ahead(bench: Bench) -> None:
    binds = _with_proc(bench.folder / "shared")
    server = warm(bench, binds=binds)
    gone = [{**binds[0], "source": "/proc/no/such/folder"}]
    assert ask(bench, "true", binds=gone)["error_code"] == "sandbox_layer_failed"
    assert ask(bench, "no-such-program", binds=binds)["error_code"] == "program_not_found"
    assert ask(bench, "true", binds=binds)["exit_code"] == 0
    assert until(lambda: at_rest(server, whole=True))


def test_namespaces_made_ahead_that_were_killed_do_no_harm(bench: Bench) -> None:
    binds = _with_proc(bench.folder / "shared")
    server = warm(bench, binds=binds)
    for init in newborns(server):
        os.kill(init, signal.SIGKILL)
    assert ask(bench, "echo", "well", binds=binds)["stdout"] == "well\n"
    assert until(lambda: at_rest(server, whole=True))


def test_a_server_that_is_bounded_more_than_before_uses_no_older_namespaces(bench: Bench) -> None:
    binds = _with_proc(bench.folder / "shared")
    server = warm(bench, binds=binds)
    code = "import resource, sys; resource.prlimit(int(sys.argv[1]), resource.RLIMIT_NOFILE, (500, 500))"
    assert bench.outside(code, server).returncode == 0
    before = newborns(server)
    assert before
    assert ask(bench, "sh", "-c", "ulimit -n", binds=binds)["stdout"] == "500\n"
    assert until(lambda: not set(before) & set(children(server)))


def test_a_server_that_is_bounded_more_than_before_uses_no_older_slot_for_a_run_that_writes(bench: Bench) -> None:
    binds = _data(bench.folder / "shared")
    server = warm(bench, binds=binds)
    code = "import resource, sys; resource.prlimit(int(sys.argv[1]), resource.RLIMIT_NOFILE, (500, 500))"
    assert bench.outside(code, server).returncode == 0
    before = vacancies(server)
    assert before
    assert ask(bench, "sh", "-c", "ulimit -n", binds=binds)["stdout"] == "500\n"
    assert until(lambda: not set(before) & set(children(server)))  # killed at once, and listed until it has ended


@pytest.mark.parametrize("shown", [_data, _with_proc], ids=["writes", "whole"])
def test_a_slot_for_another_run_whose_control_group_was_changed_is_not_used(
    bench: Bench, shown: Callable[[Path], list[dict[str, Any]]]
) -> None:
    binds = shown(bench.folder / "shared")
    server = warm(bench, processes=5, binds=binds)
    knobs = [knob for place in groups(life(server)) if os.path.exists(knob := f"{place}/pids.max")]
    if not knobs:
        pytest.skip("no control group can be made by this user here")
    for knob in knobs:
        Path(knob).write_text("max", encoding="ascii")
    answer = ask(bench, "python3", "-c", FORKS, processes=5, binds=binds)
    assert "Resource temporarily unavailable" in answer["stderr"]


def test_what_cannot_be_written_is_refused_as_ever_where_a_slot_is_kept(bench: Bench) -> None:
    binds = _data(bench.folder / "shared")
    warm(bench, binds=binds)
    gone = [{**binds[0], "source": "/no/such/folder"}]
    assert ask(bench, "true", binds=gone)["error_code"] == "sandbox_layer_failed"
    assert ask(bench, "no-such-program", binds=binds)["error_code"] == "program_not_found"
    assert ask(bench, "true", binds=binds)["exit_code"] == 0


def test_a_slot_holds_what_a_sandbox_built_for_the_run_holds(bench: Bench) -> None:
    first = ask(bench, "sh", "-c", SHOW)
    second, used = asked_of_slots(bench, "sh", "-c", SHOW)
    assert len(used) == 1
    assert _without_numbers(first["assurance"]) == _without_numbers(second["assurance"])
    assert _lines(first["stdout"]) == _lines(second["stdout"])


def _without_numbers(assurance: dict[str, Any]) -> dict[str, Any]:
    """Without what no two runs share: namespaces by inode, host ids, and groups by name."""
    layers = {layer["name"]: (layer["in_force"], layer["facts"]) for layer in assurance["layers"]}
    for name in ("namespaces", "identity", "cgroup"):
        held, facts = layers[name]
        layers[name] = held, sorted(facts)
    return {**assurance, "layers": layers, "payload_host_uid": None}


def _lines(listing: str) -> list[str]:
    """Words that are no times, sizes, or mount numbers."""
    rows = ([word for word in line.split() if not any(c.isdigit() for c in word)] for line in listing.splitlines())
    return sorted(" ".join(row) for row in rows)


def test_slots_that_were_killed_do_no_harm(bench: Bench) -> None:
    server = warm(bench)
    for init in children(server):
        os.kill(init, signal.SIGKILL)
    assert ask(bench, "echo", "well")["stdout"] == "well\n"
    assert bench.server() == server
    assert until(lambda: at_rest(server))


def test_a_server_that_is_bounded_more_than_before_uses_no_older_slot(bench: Bench) -> None:
    server = warm(bench)
    code = "import resource, sys; resource.prlimit(int(sys.argv[1]), resource.RLIMIT_NOFILE, (500, 500))"
    assert bench.outside(code, server).returncode == 0
    assert ask(bench, "sh", "-c", "ulimit -n")["stdout"] == "500\n"


def test_a_run_that_asks_for_other_bounds_gets_them(bench: Bench) -> None:
    warm(bench)
    answer = ask(bench, "sh", "-c", "ulimit -n; df -k /tmp | tail -n 1", open_files=77, tmp_bytes=1 << 20)
    assert answer["stdout"].split()[0] == "77"
    assert "1024" in answer["stdout"].split()


def test_a_slot_whose_control_group_was_changed_is_not_used(bench: Bench) -> None:
    server = warm(bench, processes=5)
    knobs = [knob for place in groups(life(server)) if os.path.exists(knob := f"{place}/pids.max")]
    if not knobs:
        pytest.skip("no control group can be made by this user here")
    for knob in knobs:
        Path(knob).write_text("max", encoding="ascii")
    answer = ask(bench, "python3", "-c", FORKS, processes=5)
    assert answer["exit_code"] == 1
    assert "Resource temporarily unavailable" in answer["stderr"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("whole", [False, True])
def test_a_mount_that_appears_later_is_seen_in_the_next_run(whole: bool) -> None:
    code = """
import sys; sys.path.insert(0, sys.argv[1])
import subprocess
from skillkeep.runner.native import NativeBackend
from skillkeep.runner.interface import Bind, RunRequest, SandboxPolicy
def look():
    binds = (Bind("/proc/sys/kernel/ostype", "/data"),) if len(sys.argv) > 3 else ()
    return NativeBackend()._run(RunRequest(("ls", "/usr/share"), SandboxPolicy(binds=binds))).stdout.split()
print(len(look()) > 1, flush=True)
sys.stdin.readline()
subprocess.run(["mount", "--bind", sys.argv[2], "/usr/share"], check=True)
print(look())
"""
    with make_bench(Who("root", None)) as made:
        made.own_server()
        (made.tool / "only-this").write_text("")
        words = ["unshare", "--mount", sys.executable, "-I", "-c", code, str(staged_packages()), str(made.tool)]
        words += ["whole"] * whole
        with subprocess.Popen(words, stdin=-1, stdout=-1, text=True, **made.identity()) as caller:
            assert caller.stdin
            assert caller.stdout
            assert caller.stdout.readline() == "True\n"
            server = made.server()
            assert until(lambda: len(newborns(server)) == 1 if whole else at_rest(server))
            caller.stdin.write("\n")
            caller.stdin.flush()
            assert caller.stdout.readline() == "[b'only-this']\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="a group of control group v1 that this process may join")
def test_a_server_that_was_moved_to_another_control_group_sees_another_standing() -> None:
    code = """
import os
from skillkeep.kernel.cgroup_choice import make_group
from skillkeep.kernel.cgroups import GroupLimits
from skillkeep.runner.native.standing import Mounts, look_around
mounts = Mounts()
before = look_around(mounts).groups
print(before == look_around(mounts).groups)
group = make_group(GroupLimits(1 << 28, 20, 1.0), "moved")
for fd in group.join_fds:
    os.write(fd, b"0")
print(bool(group.join_fds), before != look_around(mounts).groups)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert until(lambda: not sweep_groups())
    same, (joined, noticed) = (line.split() for line in done.stdout.splitlines())
    if joined == "False":
        pytest.skip("no group of control group v1 can be made here")
    assert (same, noticed) == (["True"], "True")


def test_a_server_that_can_build_none_does_not_try_without_end() -> None:
    with make_bench(Who("current", None)) as made:
        made.own_server()
        request = made.request(["true"], None, 2, {})
        done = refusing({"mount": errno.EPERM}, made.driver(), input=request, capture_output=True, **made.identity())
        assert json.loads(done.stdout)["error_code"] == "sandbox_layer_failed"
        server = made.server()
        assert until(lambda: children(server) == [])
        began = _ticks(server)
        later(2.0)
        assert _ticks(server) - began < 40  # of 200; an emulated machine needs ten for looking about


def _ticks(pid: int) -> int:
    """Hundredths of a second of CPU time that a process and its dead children have taken."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
