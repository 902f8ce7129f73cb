"""What waits for commands to come holds what a command holds that enters when it comes, and is never met by two."""

from __future__ import annotations

import json
import os

import pytest
from support.environments import Stage, next_said
from support.waiting import until

from skillkeep.kernel import landlock

pytestmark = pytest.mark.skipif(landlock.abi_or_none() == 0, reason="without Landlock nothing waits")

ABOUT = r"""
import json, os, resource, sys
status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines())
rights = [status[name] for name in ("Uid", "Gid", "Groups", "CapPrm", "CapEff", "CapInh", "CapBnd", "CapAmb",
                                    "NoNewPrivs", "Seccomp", "Seccomp_filters", "SigBlk", "SigIgn", "Cpus_allowed")]
fds = {fd: os.readlink(f"/proc/self/fd/{fd}").partition(":")[0] for fd in os.listdir("/proc/self/fd") if fd < "3"}
print(json.dumps([
    rights, fds, len(os.listdir("/proc/self/fd")), sorted(os.environ.items()), os.getcwd(), sys.argv, os.umask(0),
    [resource.getrlimit(number) for number in range(16)], open("/proc/self/cgroup").read(), os.listdir("/tmp"),
    [os.readlink(f"/proc/self/ns/{kind}") for kind in ("user", "net", "uts", "cgroup")], os.getsid(0) == os.getpid(),
    open("/proc/self/oom_score_adj").read(), sys.stdin.read(), os.getpriority(os.PRIO_PROCESS, 0),
]))
"""
# What waits is made a moment after a command, and after a failure nothing is made for five seconds: so the commands
# that only bring about that some wait come with pauses, and for longer than that.
USED = """
import time
def waiting(e, fresh):
    return [each.payload for each in e._waiters._waiting if each.fresh == fresh]
def until_some_wait(e, fresh):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if waiting(e, fresh):
            return waiting(e, fresh)
        sh(e, "true", fresh=fresh)
        time.sleep(0.03)
    raise AssertionError("nothing waits")
"""


@pytest.mark.parametrize("fresh", [False, True])
def test_a_command_that_was_waited_for_is_what_any_command_is(stage: Stage, fresh: bool) -> None:
    seen = stage.play(f"""
{USED}
fresh = {fresh}
how = How(fresh=fresh, stdin=b"given", env=(("WORD", "said"),), workdir="/usr")
def run(e):
    result = e.run(["python3", "-I", "-c", {ABOUT!r}, "a b"], how)
    held = [int(result.assurance.level), [[layer.name, layer.in_force] for layer in result.assurance.layers]]
    return [result.stdout.decode(), result.stderr.decode(), held, list(result.assurance.losses)]
with environments.open(project) as e:
    cold = run(e)
    before = until_some_wait(e, fresh)
    hot = run(e)
    said(cold=cold, hot=hot, used=before[0] not in waiting(e, fresh))
""")
    assert seen["hot"] == seen["cold"]
    assert seen["used"]
    assert json.loads(seen["hot"][0])[13] == "given"


def test_one_that_ended_or_whose_maker_has_other_limits_now_is_not_used(stage: Stage) -> None:
    seen = stage.play(f"""
{USED}
import resource, select, signal
with environments.open(project) as e:
    for pid in until_some_wait(e, False):
        ended = os.pidfd_open(pid)
        os.kill(pid, signal.SIGKILL)
        select.select([ended], [], [])
    said(well=out(e, "echo well"))
    before = until_some_wait(e, False)
    resource.setrlimit(resource.RLIMIT_STACK, (3 << 20, 3 << 20))
    said(stack=out(e, "ulimit -s"), again=out(e, "ulimit -s"), gone=before[0] not in waiting(e, False))
""")
    assert seen == {"well": "well", "stack": "3072", "again": "3072", "gone": True}


def test_each_serves_once_and_every_thread_that_is_bounded_as_its_maker(stage: Stage) -> None:
    seen = stage.play(f"""
{USED}
import threading
def run(number):
    if number:
        os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})  # of this thread alone
    before = waiting(e, False)
    said(**{{f"text{{number}}": out(e, "echo other"), f"used{{number}}": before[0] not in waiting(e, False)}})
    said(**{{f"cores{{number}}": out(e, "nproc")}})
with environments.open(project) as e:
    pids = [e.run(["sh", "-c", "echo $PPID $$"]).stdout for _ in range(12)]
    for number in range(2):
        until_some_wait(e, False)
        other = threading.Thread(target=run, args=(number,))
        other.start()
        other.join()
    said(different=len(set(pids)), after=out(e, "echo well"), cores=out(e, "nproc"))
""")
    cores = seen.pop("cores")
    assert seen == {
        "text0": "other",
        "used0": True,
        "cores0": cores,
        "text1": "other",
        "used1": True,
        "cores1": "1",
        "different": 12,
        "after": "well",
    }


def test_a_command_goes_on_when_its_environment_is_closed_in_the_middle(stage: Stage) -> None:
    seen = stage.play(f"""
{USED}
import threading
e = environments.open(project)
until_some_wait(e, False)
os.mkfifo(project / "go")
os.chmod(project / "go", 0o666)
other = threading.Thread(target=lambda: said(text=out(e, "echo began > began; cat go; echo done")))
before = waiting(e, False)
other.start()
while not (project / "began").exists():
    time.sleep(0.01)
used = before[0] not in waiting(e, False)
e.close()
left = threading.active_count()
(project / "go").write_text("went ")
other.join()
end = time.monotonic() + 20
while threading.active_count() > 1 and time.monotonic() < end:
    time.sleep(0.01)
said(used=used, left=left, threads=threading.active_count())
""")
    assert seen == {"text": "went done", "used": True, "left": 3, "threads": 1}


def test_a_command_that_has_begun_goes_on_when_its_environment_is_closed_before_it_is_served(stage: Stage) -> None:
    seen = stage.play(f"""
{USED}
def run(waits, fresh):
    with environments.open(project) as e:
        if waits:
            until_some_wait(e, False)
        fds, serve = [], e.serve
        def late(*all):
            e.close()
            fds.append(len(os.listdir("/proc/self/fd")))
            return serve(*all)
        e.serve = late
        text = e.run(["echo", "done"], How(fresh=fresh)).stdout.decode().strip()
        try:
            again = out(e, "echo well")
        except SkillkeepError as error:
            again = error.code
    return text, again, len(os.listdir("/proc/self/fd")) < fds[0]
said(one=run(True, False), two=run(False, False), three=run(False, True))
""")
    each = ["done", "environment_ended", True]
    assert seen == {"one": each, "two": each, "three": each}


def test_once_closed_a_command_that_still_runs_makes_no_more(stage: Stage) -> None:
    seen = stage.play(f"""
{USED}
with environments.open(project) as e:
    until_some_wait(e, False)
    e._waiters.close()  # as when another thread closes the environment in the middle of a command
    said(texts=[out(e, "echo well") for _ in range(4)], left=len(e._waiters._waiting))
""")
    assert seen == {"texts": ["well"] * 4, "left": 0}


def test_of_two_processes_one_alone_has_any_and_none_outlives_its_maker(stage: Stage) -> None:
    scene = f"""
{USED}
with environments.open(project) as e:
    said(waiting=until_some_wait(e, False) + until_some_wait(e, True))
    sys.stdin.read()
"""
    with stage.start(scene) as process:
        pids = next_said(process)["waiting"]
        other = stage.play("""
with environments.open(project) as e:
    for _ in range(6):
        assert out(e, "echo well") == "well"
    said(waiting=len(e._waiters._waiting))
""")
        process.kill()
    assert other == {"waiting": 0}
    assert until(lambda: not any(os.path.exists(f"/proc/{pid}/ns/pid") for pid in pids))
    looked = stage.play("said(**vars(environments.look(environments.find(str(project)))))")
    assert (looked["processes"], looked["busy"]) == (0, False)


def test_a_command_cannot_reach_what_waits(stage: Stage) -> None:
    if landlock.abi_or_none() < 6:
        pytest.skip("Landlock of this kernel does not keep processes apart; a fresh command is kept apart")
    attack = """
import os, signal
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) in (os.getpid(), os.getppid()):
        continue
    for number in (signal.SIGKILL, signal.SIGSTOP):
        try:
            os.kill(int(pid), number)
            print("signalled", pid)
        except OSError:
            pass
    for name in ("mem", "environ", "maps", "fd/4"):
        try:
            open(f"/proc/{pid}/{name}", "rb").read(1)
            print("read", name)
        except OSError:
            pass
"""
    seen = stage.play(f"""
{USED}
with environments.open(project) as e:
    until_some_wait(e, False)
    attacked = [e.run(["python3", "-I", "-c", {attack!r}]).stdout.decode() for _ in range(3)]
    said(attacked=attacked, after=out(e, "echo well"))
""")
    assert seen == {"attacked": [""] * 3, "after": "well"}


def test_a_folder_or_program_that_is_not_there_is_named_as_before(stage: Stage) -> None:
    seen = stage.play(f"""
{USED}
found = []
def code(how, *argv):
    try:
        return e.run(argv, how).exit_code
    except SkillkeepError as error:
        return [error.code, error.context.get("layer")]
with environments.open(project) as e:
    for fresh in (False, True):
        calls = [(How(fresh=fresh, workdir="/missing"), "true"), (How(fresh=fresh), "nothere")]
        cold = [code(*call) for call in calls]
        hot = []
        for call in calls:
            until_some_wait(e, fresh)
            hot.append(code(*call))
        found.append([cold, hot, out(e, "echo well", fresh=fresh)])
said(found=found)
""")
    expected = [["sandbox_layer_failed", "workdir"], ["program_not_found", None]]
    assert seen["found"] == [[expected, expected, "well"]] * 2


def test_when_the_holder_was_killed_what_waited_has_ended_with_it(stage: Stage) -> None:
    seen = stage.play(f"""
{USED}
import select, signal
with environments.open(project) as e:
    pids = until_some_wait(e, True) + until_some_wait(e, False)
    ending = [os.pidfd_open(pid) for pid in waiting(e, False)]  # a fresh one has pid 1 of its own
    os.kill(e.standing.holder, signal.SIGKILL)
    for each in ending:
        select.select([each], [], [])
    said(fresh=out(e, "echo anew", fresh=True), text=out(e, "echo anew"))
    end = time.monotonic() + 60  # a fresh one was killed with the others, and may end after them
    while (left := [pid for pid in pids if os.path.exists(f"/proc/{{pid}}/ns/pid")]) and time.monotonic() < end:
        time.sleep(0.01)
    said(left=left)
""")
    assert seen == {"text": "anew", "fresh": "anew", "left": []}
