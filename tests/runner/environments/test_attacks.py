"""Commands of one environment against each other, against their holder and against their limits."""

from __future__ import annotations

import errno
import json
import os
import sys

import pytest
from support.environments import Stage
from support.sandbox import refusing, staged_packages
from support.waiting import until

from skillkeep.kernel import landlock

SLEEPER = """
with environments.open(project) as e:
    try:
        sh(e, "true; true; true; sh -c 'echo $$ >~/pid; echo up >up; exec sleep 300'; true")
    except SkillkeepError as error:
        said(code=error.code)
"""
ATTACK = r"""
import os, signal, json, sys
pid = int(open(os.path.expanduser("~/pid")).read())
found = {}
for number in (signal.SIGTERM, signal.SIGKILL):
    try:
        os.kill(pid, number); found[f"signal {number}"] = "done"
    except OSError as error:
        found[f"signal {number}"] = error.errno
for name in ("mem", "environ", "fd/1", "maps", "cwd", "root/etc/passwd"):
    for target in (pid, 1):
        try:
            with open(f"/proc/{target}/{name}", "rb") as file:
                file.read(1)
            found[f"{target} {name}"] = "done"
        except OSError as error:
            found[f"{target} {name}"] = error.errno
print(json.dumps(found))
"""


@pytest.mark.parametrize("fresh", [False, True])
def test_a_command_cannot_signal_or_look_into_another_one_or_the_holder(stage: Stage, fresh: bool) -> None:
    if not fresh and landlock.abi_or_none() < 6:
        pytest.skip("Landlock of this kernel does not keep processes apart; a fresh command is kept apart")
    with stage.start(SLEEPER) as process:
        assert until((stage.project / "up").exists)
        seen = stage.play(f"""
with environments.open(project) as e:
    result = e.run(["python3", "-I", "-c", {ATTACK!r}], How(fresh={fresh}))
    said(out=result.stdout.decode(), err=result.stderr.decode())
environments.stop(environments.find(str(project)), kill=True)
""")
        assert process.wait(60) is not None
    tried = json.loads(seen["out"])
    assert [key for key, value in tried.items() if value == "done"] == []
    assert set(tried.values()) <= {errno.EPERM, errno.EACCES, errno.ENOENT, errno.ESRCH}


def test_a_time_limit_ends_what_was_started_however_it_hides(stage: Stage) -> None:
    seen = stage.play("""
with environments.open(project) as e:
    hidden = "trap '' TERM HUP; (setsid sleep 300 &) ; (sleep 300 &); sleep 300"
    result = sh(e, hidden, fresh=True, seconds=0.5)
    said(cause=str(result.cause), late=result.wall_seconds)
    said(left=environments.look(e.place).processes)
    result = sh(e, "sleep 300 & sleep 300", seconds=0.3)
    said(shared=str(result.cause), shared_left=environments.look(e.place).processes)
""")
    assert seen["cause"] == seen["shared"] == "timeout"
    assert seen["left"] == seen["shared_left"] == 0


def test_a_command_dies_with_its_caller(stage: Stage) -> None:
    with stage.start(
        "with environments.open(project) as e:\n    sh(e, 'echo up >up; exec sleep 300', fresh=True)"
    ) as process:
        assert until((stage.project / "up").exists)
        process.kill()
    look = "said(**vars(environments.look(environments.find(str(project)))))"
    assert until(lambda: stage.play(look)["processes"] == 0)


def test_memory_and_processes_are_bounded_for_all_commands_together(stage: Stage) -> None:
    seen = stage.play("""
with environments.open(project) as e:
    result = e.run(["python3", "-I", "-c", "x = bytearray(600 << 20); print(len(x))"])
    said(hog=[result.ok, str(result.cause)], own=str(e.run(["sh", "-c", "kill -9 $$"]).cause))
    child = "import time; time.sleep(300)"
    bomb = f"import os\\ntry:\\n while True:\\n  if not os.fork(): {child}\\nexcept OSError as e: print(e.errno)"
    result = e.run(["python3", "-I", "-c", bomb], How(fresh=True, seconds=60))
    said(bomb=result.stdout.decode().strip(), after=out(e, "echo well"))
""")
    assert seen["hog"][0] is False
    assert seen["own"] == "signal"  # nobody passes his own end off as the kernel's
    assert seen["bomb"] == str(errno.EAGAIN)
    assert seen["after"] == "well"


@pytest.mark.parametrize("fresh", [False, True])
def test_a_command_has_no_priority_of_its_callers_and_few_signals(stage: Stage, fresh: bool) -> None:
    seen = stage.play(f"""
import contextlib, resource
with contextlib.suppress(ValueError):  # not every root may raise its limits
    resource.setrlimit(resource.RLIMIT_RTPRIO, (9, 9))
    resource.setrlimit(resource.RLIMIT_NICE, (30, 30))
with environments.open(project) as e:
    said(limits=out(e, "cat /proc/self/limits", fresh={fresh}))
""")
    hard = {line[:26].strip(): line[26:].split()[1] for line in seen["limits"].splitlines()[1:]}
    held = [hard["Max realtime priority"], hard["Max nice priority"], hard["Max pending signals"]]
    assert held == ["0", "0", "256"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may have what is not to be handed on")
@pytest.mark.parametrize("fresh", [False, True])
def test_a_command_of_a_caller_in_real_time_is_an_ordinary_one(stage: Stage, fresh: bool) -> None:
    seen = stage.play(f"""
import contextlib
with contextlib.suppress(PermissionError):
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
with environments.open(project) as e:
    said(policy=out(e, "python3 -c 'import os; print(os.sched_getscheduler(0))'", fresh={fresh}))
""")
    assert seen == {"policy": "0"}


def test_output_above_its_limit_ends_the_command(stage: Stage) -> None:
    seen = stage.play("""
with environments.open(project) as e:
    result = sh(e, "yes", output_bytes=10_000)
    said(cause=str(result.cause), kept=len(result.stdout), cut=result.stdout_truncated)
""")
    assert seen == {"cause": "output_cap", "kept": 10_000, "cut": True}


def test_what_cannot_be_executed_is_named(stage: Stage) -> None:
    seen = stage.play("""
codes = []
with environments.open(project) as e:
    (project / "plain").write_text("text")
    for argv in (["nothere"], ["./plain"], ["a\\0b"], [""]):
        for fresh in (False, True):
            try:
                e.run(argv, How(fresh=fresh))
            except SkillkeepError as error:
                codes.append(error.code)
said(codes=codes)
""")
    not_found, not_runnable, bad = "program_not_found", "program_not_runnable", "bad_policy"
    assert seen["codes"] == [not_found] * 2 + [not_runnable] * 2 + [bad] * 4


def test_nothing_is_left_open_or_waiting_after_many_commands(stage: Stage) -> None:
    seen = stage.play("""
def open_files():
    return sorted(os.listdir("/proc/self/fd"))
def children():
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
with environments.open(project) as e:
    sh(e, "true")
before = open_files()
with environments.open(project) as e:
    most = [0, 0]
    for n in range(40):
        sh(e, "true", fresh=bool(n % 2))
        try:
            e.run(["nothere"], How(fresh=bool(n % 3)))
        except SkillkeepError:
            pass
        most = [max(most[0], len(open_files()) - len(before)), max(most[1], len(children()))]
said(most=most, fds=open_files() == before, children=children())
""")
    # Two of a kind wait, each with what shows it; on a busy machine a few are just ending.
    assert seen["most"][0] <= 30
    assert seen["most"][1] <= 20
    assert (seen["fds"], seen["children"]) == (True, [])


@pytest.mark.parametrize(
    ("call", "layer"),
    [("setns", "namespaces"), ("landlock_restrict_self", "landlock"), ("setsid", "descriptors"), ("prctl", "dumpable")],
)
def test_a_step_that_fails_names_its_layer_and_nothing_runs(stage: Stage, call: str, layer: str) -> None:
    if stage.bench.who.uid is not None:
        pytest.skip("the filter that refuses the call is laid by root")
    stage.play("with environments.open(project) as e:\n    pass")
    scene = f"""
import sys; sys.path.insert(0, {str(staged_packages())!r})
from pathlib import Path
from types import SimpleNamespace
from skillkeep.errors import SkillkeepError
from skillkeep.home import Home
from skillkeep.runner.environments.manager import Environments
environments = Environments(Home(Path({str(stage.home)!r})).ensure(), None)
place = environments.find({str(stage.project)!r})
from skillkeep.runner.environments.environment import Environment
presence = place.lock()
presence.share()
with Environment(place, place.standing(), presence, place.standing) as e:
    try:
        e.run(["/usr/bin/touch", "ran"])
    except SkillkeepError as error:
        sys.stdout.write(error.code + " " + str(error.context.get("layer")))
sys.stdout.write(" " + Path("/proc/thread-self/children").read_text())
"""
    done = refusing({call: errno.EPERM}, [sys.executable, "-I", "-c", scene], capture_output=True)
    assert done.stdout.decode().strip() == f"sandbox_layer_failed {layer}", done.stderr.decode()
    assert not (stage.project / "ran").exists()


def test_a_caller_that_is_filtered_enters_with_its_filter(stage: Stage) -> None:
    if stage.bench.who.uid is not None:
        pytest.skip("the filter is laid by root")
    code = "import os\ntry:\n os.mkfifo('f')\nexcept OSError as e:\n print(e.errno)"
    scene = f"""
import sys; sys.path.insert(0, {str(staged_packages())!r})
from pathlib import Path
from types import SimpleNamespace
from skillkeep.home import Home
from skillkeep.runner.environments.manager import Environments
settings = SimpleNamespace(cpus=1.0, memory_bytes=1 << 28, processes=40, output_bytes=10**5, tmp_bytes=1 << 24)
with Environments(Home(Path({str(stage.home)!r})).ensure(), settings).open({str(stage.project)!r}) as e:
    sys.stdout.write(e.run(["python3", "-I", "-c", {code!r}]).stdout.decode())
"""
    stage.play("with environments.open(project) as e:\n    pass")
    argv = [sys.executable, "-I", "-c", scene]
    done = refusing({"mknod": errno.EDOM, "mknodat": errno.EDOM}, argv, capture_output=True)
    assert done.stdout.decode().strip() == str(errno.EDOM), done.stderr.decode()


def test_a_program_that_waits_for_any_child_is_told_that_it_took_the_status(stage: Stage) -> None:
    seen = stage.play("""
def reap():
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass
with environments.open(project) as e:
    command = e.command(["true"], How())
    with open("/dev/null", "r+b") as null:
        entered = e.enter(command, (null.fileno(),) * 3)
        reap()
        try:
            e.finish(entered)
        except SkillkeepError as error:
            said(code=error.code)
""")
    assert seen == {"code": "sandbox_died"}
