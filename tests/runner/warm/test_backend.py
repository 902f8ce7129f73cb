"""Which calls are warm, how many interpreters there are, and when they go."""

from __future__ import annotations

import os

import pytest
from support.environments import Stage, next_said
from support.waiting import until
from support.warm import OPENING, play

WATCH = """
backend = WarmBackend()
def interpreters():
    return [kept.interpreter for kept in backend._kept.values() if kept.interpreter is not None]
def left():
    runtime = Path(os.environ["XDG_RUNTIME_DIR"]) / "skillkeep"
    return [name for name in os.listdir(runtime) if name.startswith("warm-")]
"""


def test_the_second_call_of_a_script_is_warm_and_answers_the_same(stage: Stage) -> None:
    scene = (
        WATCH
        + """
asked = request("./script.py", "x")
first = facts(backend._run(asked))
said(first=first, none=len(interpreters()))
said(second=facts(backend._run(asked)), one=len(interpreters()), folders=len(left()))
backend.close()
said(after=left(), third=facts(backend._run(asked)))
backend.close()
"""
    )
    said = play(stage, scene, script="import sys; print(sys.argv)")
    assert said["first"] == said["second"] == said["third"] == ["exit", 0, None, "['./script.py', 'x']\n", ""]
    assert (said["none"], said["one"], said["folders"], said["after"]) == (0, 1, 1, [])


@pytest.mark.parametrize(
    "patch", ["", "WarmInterpreter.bounded = property(lambda self: False)"], ids=["here", "patched"]
)
def test_where_an_ordinary_run_would_hold_more_nothing_is_warm(cold_stage: Stage, patch: str) -> None:
    """As for a user who has logged in to a systemd: control groups are given to the fork server alone."""
    scene = (
        WATCH
        + patch
        + """
levels = [backend._run(request("./script.py")).assurance.level.name for _ in range(3)]
said(levels=levels, ordinary=backend.probe().level.name, warm=len(interpreters()), left=left())
backend.close()
"""
    )
    said = play(cold_stage, scene, script="print('x')")
    assert set(said["levels"]) == {said["ordinary"]}
    if patch and said["ordinary"] == "BOUNDED":
        assert (said["warm"], said["left"]) == (0, [])


def test_what_cannot_be_warm_is_an_ordinary_run(stage: Stage) -> None:
    scene = (
        WATCH
        + """
outputs = []
for argv in (("sh", "-c", "echo x"), ("python3", "-c", "print('x')"), ("python3", "script.py")):
    for _ in range(2):
        outputs.append(backend._run(RunRequest(argv, policy, tool)).stdout.decode())
said(outputs=outputs, warm=len(interpreters()))
"""
    )
    said = play(stage, scene, script="print('x')")
    assert said == {"outputs": ["x\n"] * 6, "warm": 0}


def test_a_process_that_forked_off_takes_no_call_of_its_parents(stage: Stage) -> None:
    scene = (
        WATCH
        + """
def numbers(kind):
    return [facts(backend._run(request("./script.py", kind)))[3] for _ in range(3)]
before = numbers("before")
kept = interpreters()
told, tell = os.pipe()
over, end = os.pipe()
child = os.fork()
if child == 0:
    os.close(end)
    own = numbers("child")
    os.write(tell, json.dumps([own, len(interpreters())]).encode())
    backend.close()
    os.close(tell)
    os.read(over, 1)
    os._exit(0)
os.close(tell)
said(before=before, told=json.loads(os.read(told, 4096)))
said(after=numbers("after"), same=interpreters() == kept, over=kept[0].is_over)
backend.close()
os.read(told, 1)  # the end: the child has closed its own
said(left=left())
os.close(end)
said(waited=os.waitpid(child, 0)[1])
"""
    )
    said = play(stage, scene, script="import sys; print(sys.argv[1])")
    assert (said["before"], said["after"]) == (["before\n"] * 3, ["after\n"] * 3)
    assert (said["waited"], said["told"]) == (0, [["child\n"] * 3, 1])
    assert (said["same"], said["over"], said["left"]) == (True, False, [])


def test_another_digest_or_policy_stops_the_interpreter_of_before(stage: Stage) -> None:
    scene = (
        WATCH
        + """
for _ in range(2):
    backend._run(request("./script.py"))
(first,) = interpreters()
for _ in range(2):
    backend._run(request("./script.py", processes=19))
(second,) = interpreters()
tool = SimpleNamespace(name="tool", digest="sha256:" + "1" * 64, path=project)
backend._run(request("./script.py"))
said(first=first.is_over, second=second.is_over, left=len(interpreters()), folders=left())
for _ in range(2):
    backend._run(request("./script.py"))
(third,) = interpreters()
backend.forget("tool")
said(third=third.is_over, kept=len(backend._kept))
"""
    )
    said = play(stage, scene, script="pass")
    assert said == {"first": True, "second": True, "left": 0, "folders": [], "third": True, "kept": 0}


def test_there_are_never_more_interpreters_than_allowed(stage: Stage) -> None:
    scene = (
        WATCH
        + """
backend._most = 2
for name in ("one", "two", "three"):
    tool = SimpleNamespace(name=name, digest="sha256:" + "2" * 64 + name, path=project)
    for _ in range(2):
        backend._run(request("./script.py"))
said(count=len(interpreters()), folders=len(left()))
backend.close()
"""
    )
    assert play(stage, scene, script="pass") == {"count": 2, "folders": 2}


def test_an_interpreter_that_nobody_calls_ends_and_the_next_call_runs_all_the_same(stage: Stage) -> None:
    scene = (
        WATCH
        + """
backend._idle_seconds = 0.0
asked = request("./script.py")
backend._run(asked)
warm = backend._ready(backend._known(asked, "./script.py")[0], asked, "./script.py")
import select
poll = select.poll()
poll.register(os.pidfd_open(warm._zygote), select.POLLIN)
poll.poll()
said(text=backend._run(asked).stdout.decode(), over=warm.is_over)
backend.close()
"""
    )
    assert play(stage, scene, script="print('x')") == {"text": "x\n", "over": True}


def test_calls_at_once_all_get_their_own_answer(stage: Stage) -> None:
    scene = (
        WATCH
        + """
import threading
answers = {}
backend._run(request("./script.py", "0"))
def ask(n):
    answers[n] = backend._run(request("./script.py", str(n))).stdout.decode().strip()
threads = [threading.Thread(target=ask, args=(n,)) for n in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
said(right=all(answers[n] == str(n) for n in range(6)))
backend.close()
"""
    )
    assert play(stage, scene, script="import sys; print(sys.argv[1])") == {"right": True}


def test_nothing_is_left_when_the_caller_is_killed(stage: Stage) -> None:
    (stage.project / "script.py").write_text("import time; print('up', flush=True); time.sleep(300)")
    scene = (
        OPENING
        + WATCH
        + """
asked = request("./script.py")
warm = WarmInterpreter(asked, "./script.py", 60)
standing = warm._standing
said(processes=[warm._zygote, standing.holder], groups=[part.path for part in standing.groups])
warm.run(asked)
"""
    )
    with stage.start(scene) as process:
        said = next_said(process)
        process.kill()
    assert until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in said["processes"]))
    swept = stage.play(
        OPENING
        + WATCH
        + """
from skillkeep.runner.warm.interpreter import sweep
sweep()
said(left=left())
"""
    )
    assert swept == {"left": []}
    assert [path for path in said["groups"] if os.path.exists(path)] == []
