"""A warm call is what an ordinary run is, and leaves nothing to the next one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support.environments import Stage
from support.sandbox import attackers
from support.warm import play

from skillkeep.runner.warm import zygote
from skillkeep.runner.warm.tapes import ROOM_BASE

BOTH = """
cold = [facts(NativeBackend()._run(asked)) for asked in calls]
warm = WarmInterpreter(calls[0], calls[0].argv[1], 60)
hot = [facts(warm.run(asked)) for asked in calls]
warm.close()
said(cold=cold, hot=hot)
"""
ABOUT = """
import json, os, sys, signal
print(json.dumps([sys.argv, __file__, __name__, sys.path[0], os.getcwd(), os.getpid(), os.getuid(), os.getgid()]))
print(json.dumps([sorted(os.environ.items()), os.listdir("/proc/self/fd"), sorted(os.listdir("/tmp")), os.getppid()]))
print([p for p in os.listdir("/proc") if p.isdigit()], sys.flags, sys.orig_argv[1:], os.getsid(0), os.umask(0))
print([(s.name, s.isatty(), s.seekable(), s.encoding, s.errors) for s in (sys.stdin, sys.stdout, sys.stderr)])
print(sorted(vars()), __doc__, __package__, __spec__, [signal.getsignal(n) for n in (2, 13, 15)])
print(open("/proc/self/status").read().split("Uid")[1].split("Gid")[0], os.sched_getaffinity(0))
print(sys.stdin.read())
"""


def test_a_call_sees_what_an_ordinary_run_sees(stage: Stage) -> None:
    scene = 'calls = [request("./about.py", "a b", "--x", stdin=b"given"), request("./about.py")]'
    said = play(stage, scene + BOTH, about=ABOUT)
    assert said["hot"] == said["cold"]
    assert "given" in said["hot"][0][3]


def test_a_call_has_the_variables_that_an_ordinary_run_has(stage: Stage) -> None:
    granted = r'(("API_KEY", "k\u00e9y = \udcff"), ("EMPTY", ""), ("SKILLKEEP_POLICY", "/elsewhere"), ("A", "b"))'
    scene = f"calls = [request('./script.py', env={granted}) for _ in range(2)]"
    script = """
import json, os, site, subprocess, sys
print(json.dumps([list(os.environ.items()), sys.path, sys.flags]))
print(site.USER_BASE, site.USER_SITE, site.ENABLE_USER_SITE)
print(subprocess.run(["/usr/bin/env"], capture_output=True).stdout)
"""
    said = play(stage, scene + BOTH, script=script)
    assert said["hot"] == said["cold"]
    assert "API_KEY" in said["hot"][0][3]


# Once is enough: what differs between users is not how Python ends.
@pytest.mark.parametrize("bench", attackers()[:1], indirect=True, ids=lambda who: who.name)
@pytest.mark.parametrize(
    "text",
    [
        "import sys; sys.exit(7)",
        "import sys; sys.exit('words')",
        "raise SystemExit",
        "raise SystemExit([1])",
        "def f():\n    raise ValueError('no')\nf()",
        "print('x'\n",
        "import os; os._exit(9)",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import os; os.abort()",
        "raise KeyboardInterrupt",
        "import atexit; atexit.register(print, 'end'); print('begin')",
        "import threading, time; threading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()",
        "import os; f = open('/tmp/f', 'w'); f.write('kept'); os.set_inheritable(f.fileno(), True)",
        "import missing_module",
        "import sys; sys.stdout.write('no newline'); sys.stderr.write('err')",
        "import helper; print(helper.NAME, helper.__file__)",
        "import subprocess; print(subprocess.run(['sh', '-c', 'echo $$; exit 3']).returncode)",
        "if __name__ == '__main__':\n    import sys\n    print(sys.modules['__main__'].__file__)",
    ],
)
def test_a_call_ends_as_an_ordinary_run_ends(stage: Stage, text: str) -> None:
    said = play(stage, 'calls = [request("./script.py")]' + BOTH, script=text, helper="NAME = 'helper'")
    assert said["hot"] == said["cold"]


def test_a_compiled_file_beside_the_script_is_not_taken_for_it(stage: Stage) -> None:
    """Python itself never does; one that is marked as unchecked would be believed whatever the script says."""
    planted = """
import importlib.util, py_compile
compiled = importlib.util.cache_from_source(str(project / "script.py"))
py_compile.compile(str(project / "other.py"), compiled, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
"""
    said = play(
        stage, planted + 'calls = [request("./script.py")]' + BOTH, script="print('script')", other="print('other')"
    )
    assert said["hot"] == said["cold"] == [["exit", 0, None, "script\n", ""]]


def test_a_file_that_was_never_closed_is_written_out(stage: Stage) -> None:
    shared = stage.project.parent / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    if stage.bench.who.uid is not None:
        os.chown(shared, stage.bench.who.uid, stage.bench.who.uid)
    scene = f"""
bind = Bind({str(shared)!r}, "/shared", writable=True)
asked = request("./script.py", binds=(bind,))
warm = WarmInterpreter(asked, "./script.py", 60)
warm.run(asked)
warm.close()
said()
"""
    play(stage, scene, script="import keeper", keeper="f = open('/shared/file', 'w'); f.write('kept')")
    assert (shared / "file").read_text() == "kept"


def test_a_call_leaves_nothing_to_the_next_one(stage: Stage) -> None:
    script = """
import builtins, json, os, subprocess, sys, threading
found = [hasattr(builtins, "planted"), "planted" in sys.modules, os.environ.get("PLANTED"), json.loads is json.dumps,
         os.listdir("/tmp"), os.listdir("/dev/shm"), [p for p in os.listdir("/proc") if p.isdigit()], sys.path]
print(json.dumps(found) if json.loads is not json.dumps else "poisoned", flush=True)
builtins.planted = sys.modules["planted"] = os
os.environ["PLANTED"] = "yes"
for place in ("/tmp/planted", "/dev/shm/planted"):
    open(place, "w").close()
subprocess.Popen(["sleep", "300"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    import time
    time.sleep(300)
json.loads = json.dumps
sys.path.insert(0, "/tmp")
os._exit(0)
"""
    scene = """
asked = request("./script.py")
warm = WarmInterpreter(asked, "./script.py", 60)
said(outputs=[warm.run(asked).stdout.decode() for _ in range(4)], causes=[])
warm.close()
"""
    outputs = play(stage, scene, script=script)["outputs"]
    assert len(set(outputs)) == 1
    assert outputs[0].startswith("[false, false, null, false")


def test_every_call_is_measured_and_holds_what_an_ordinary_run_holds(stage: Stage) -> None:
    scene = """
asked = request("./script.py")
warm = WarmInterpreter(asked, "./script.py", 60)
def held(result):
    level = int(result.assurance.level)
    return [level, sorted(layer.name for layer in result.assurance.layers if layer.in_force), result.tool_digest]
said(cold=held(NativeBackend()._run(asked)), hot=held(warm.run(asked)))
warm.close()
"""
    said = play(stage, scene, script="pass")
    assert said["hot"] == said["cold"]


def test_the_limits_of_a_call_hold_and_the_next_one_is_well(stage: Stage) -> None:
    script = """
import sys, time
if sys.argv[1] == "hang":
    import signal
    for number in (1, 2, 15):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(300)
elif sys.argv[1] == "flood":
    while True:
        print("x" * 1000)
elif sys.argv[1] == "hog":
    x = bytearray(600 << 20)
print("well")
"""
    scene = """
warm = WarmInterpreter(request("./script.py", "well"), "./script.py", 60)
for word, limits in (("hang", {"wall_seconds": 0.5}), ("flood", {"output_bytes": 10_000}), ("hog", {})):
    result = warm.run(request("./script.py", word, **limits))
    said(**{word: [str(result.cause), result.ok, len(result.stdout), facts(warm.run(request("./script.py", "well")))]})
warm.close()
"""
    said = play(stage, scene, script=script)
    assert said["hang"][:2] == ["timeout", False]
    assert said["flood"][:3] == ["output_cap", False, 10_000]
    assert said["hog"][1] is False
    assert {tuple(each[3]) for each in said.values()} == {("exit", 0, None, "well\n", "")}


def test_the_tapes_of_calls_lie_where_no_heap_can() -> None:
    """The kernel lets a heap begin up to 1 GiB above a program that is not position-independent, as Debian's is."""
    fill = f"""
import ctypes, runpy
zygote = runpy.run_path({zygote.__file__!r})
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
for at in range(1 << 20, 3 << 30, 16 << 20):
    libc.mmap(ctypes.c_void_p(at), ctypes.c_size_t(16 << 20), 0, 0x100000 | 0x20 | 0x02, -1, ctypes.c_long(0))
zygote["Memory"]({ROOM_BASE}, 1 << 20)
"""
    subprocess.run([sys.executable, "-I", "-c", fill], check=True, timeout=60)


def test_calls_one_right_after_another_are_each_served(stage: Stage) -> None:
    """A call's room takes longer to go than its answer: the next one may be over before that is seen."""
    scene = """
asked = request("./script.py")
warm = WarmInterpreter(asked, "./script.py", 60)
outputs = [warm.run(asked).stdout.decode() for _ in range(60)]
said(outputs=outputs, over=warm.is_over)
warm.close()
"""
    said = play(stage, scene, script="print('here')")
    assert (set(said["outputs"]), len(said["outputs"]), said["over"]) == ({"here\n"}, 60, False)


def test_the_next_call_is_measured_when_its_run_has_come_and_a_dead_one_is_not_used(stage: Stage) -> None:
    scene = """
import signal, time
from skillkeep.runner.native.failures import LayerError
asked = request("./script.py")
warm = WarmInterpreter(asked, "./script.py", 60)
warm.run(asked)
def waiting():
    return list(warm._keeper._slots)
while len(waiting()) < 2:
    time.sleep(0.01)
first = waiting()[0]
ahead = first.looked_at
os.kill(first._pid, signal.SIGKILL)
try:
    while True:  # it leaves its control group some time before it has ended
        first.measured(warm._standing)
except LayerError as error:
    ending = error.layer
try:
    warm.run(asked)
    refused = ""
except LayerError as error:
    refused = error.layer
said(ahead=ahead, ending=ending, refused=refused)
warm.close()
"""
    said = play(stage, scene, script="pass")
    assert said == {"ahead": True, "ending": "attestation", "refused": "attestation"}


def test_an_end_that_is_seen_before_it_is_told_is_the_same_end(stage: Stage) -> None:
    scene = """
asked = [request("./script.py", word) for word in ("0", "7", "words", "signal")]
cold = [facts(NativeBackend()._run(each)) for each in asked]
warm = WarmInterpreter(asked[0], "./script.py", 60)
hot, seen = set(), 0
for n in range(60):
    result = warm.run(asked[n % 4])
    hot.add((n % 4, json.dumps(facts(result))))
    seen += warm._present.seen is not None
    assert result.peak_memory_bytes > 1 << 20
    assert 0 < result.user_seconds + result.system_seconds < 10
said(same=sorted(hot) == [(n, json.dumps(each)) for n, each in enumerate(cold)], seen=seen, can=warm._peak.counts)
warm.close()
"""
    script = """
import os, sys
word = sys.argv[1]
print("out", word)
if word == "signal":
    raise KeyboardInterrupt
sys.exit(int(word) if word.isdigit() else word)
"""
    said = play(stage, scene, script=script)
    assert said["same"]
    assert bool(said["seen"]) == said["can"]


def test_a_call_that_leaves_a_process_behind_is_answered_when_that_has_ended(stage: Stage) -> None:
    shared = stage.project.parent / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    if stage.bench.who.uid is not None:
        os.chown(shared, stage.bench.who.uid, stage.bench.who.uid)
    script = """
import fcntl, os, time
ready, told = os.pipe()
for moved in (False, True):
    if os.fork() == 0:
        if moved:
            os.setsid()
            if os.fork():
                os._exit(0)
        lock = os.open(f"/shared/lock{int(moved)}", os.O_CREAT | os.O_RDWR, 0o666)
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.closerange(0, 3)
        os.write(told, b"x")
        time.sleep(300)
for _ in range(2):
    os.read(ready, 1)
"""
    scene = f"""
import fcntl
bind = Bind({str(shared)!r}, "/shared", writable=True)
asked = request("./script.py", binds=(bind,))
warm = WarmInterpreter(asked, "./script.py", 60)
free, seen = [], []
for _ in range(10):
    warm.run(asked)
    seen.append(warm._present.seen is not None)
    for n in (0, 1):
        with open(f"{shared}/lock{{n}}", "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free.append(True)
said(free=len(free), seen=any(seen))
warm.close()
"""
    assert play(stage, scene, script=script) == {"free": 20, "seen": False}


def test_a_call_may_take_longer_than_the_interpreter_waits_for_one(stage: Stage) -> None:
    scene = """
asked = request("./script.py")
import time
from skillkeep.runner.native.failures import LayerError
for _ in range(10):  # a machine may stop for a second before or after a call
    warm = WarmInterpreter(asked, "./script.py", 1.0)
    try:
        before = facts(warm.run(asked))
    except LayerError:
        before = []
    if not (over := warm.is_over):
        break
    warm.close()
while not warm.is_over:
    time.sleep(0.05)
said(before=before, over=over)
warm.close()
"""
    said = play(stage, scene, script="import time; time.sleep(2.5); print('here')")
    assert said == {"before": ["exit", 0, None, "here\n", ""], "over": False}


def test_what_waits_costs_its_caller_no_processor_and_no_more_descriptors(stage: Stage) -> None:
    scene = """
import time
asked = request("./script.py")
warm = WarmInterpreter(asked, "./script.py", 60)
def calm():
    end = time.monotonic() + 5
    while len(warm._keeper._slots) < 2 or warm._keeper._done:
        time.sleep(0.01)
        if time.monotonic() > end:  # the next one came before the last was given back, which is closed with the next
            warm.run(asked)
            end += 5
    return len(os.listdir("/proc/self/fd"))
warm.run(asked)
first = calm()
for _ in range(20):
    warm.run(asked)
calm()
end = time.monotonic() + 60
while (more := len(os.listdir("/proc/self/fd")) - first) > 0 and time.monotonic() < end:
    time.sleep(0.01)  # the last of them may be closing
def switches():
    status = open(f"/proc/self/task/{warm._keeper._thread.native_id}/status").read()
    return int(status.split("voluntary_ctxt_switches:")[1].split()[0])
for _ in range(10):  # it may have had something left to do
    before = switches()
    time.sleep(1.5)
    if (spent := switches() - before) <= 2:
        break
said(more=more, switches=spent)
warm.close()
said(left=len([t for t in __import__("threading").enumerate() if t.name == "skillkeep-warm"]))
"""
    said = play(stage, scene, script="pass")
    assert said["more"] <= 0
    assert said["left"] == 0
    assert said["switches"] <= 2


def test_an_interpreter_outlives_the_thread_that_made_it(stage: Stage) -> None:
    """The kernel ends a process that asked for it with the thread, not the process, that started it."""
    scene = """
import threading
asked = request("./script.py")
made = []
thread = threading.Thread(target=lambda: made.append(WarmInterpreter(asked, "./script.py", 60)))
thread.start()
thread.join()
task = f"/proc/self/task/{thread.native_id}"
while os.path.exists(task):
    time.sleep(0.01)
(warm,) = made
said(outputs=[warm.run(asked).stdout.decode() for _ in range(5)], over=warm.is_over)
warm.close()
"""
    assert play(stage, scene, script="print('here')") == {"outputs": ["here\n"] * 5, "over": False}


def test_the_time_limit_of_a_call_holds_when_no_further_call_can_be_made_and_a_call_ends_with_its_zygote(
    stage: Stage,
) -> None:
    scene = """
import signal, threading
from skillkeep.runner.warm.slot import Slot
asked = request("./script.py", "hang", wall_seconds=2.0)
def ended(spoil):
    warm = WarmInterpreter(asked, "./script.py", 60)
    while len(warm._keeper._slots) < 2:
        time.sleep(0.01)
    helper = threading.Thread(target=spoil, args=(warm,), daemon=True)
    helper.start()
    try:
        cause = str(warm.run(asked).cause)
    except SkillkeepError as error:
        cause = error.code
    helper.join()
    over = warm.is_over
    warm.close()
    return [cause, over]
def under_way(warm):
    while warm._present is None or warm._present.feed >= 0:  # its input is taken when it has got its words
        time.sleep(0.01)
def kill_the_next(warm):  # the one after that is refused
    under_way(warm)
    def look(self, pid, standing):
        raise OSError("refused")
    Slot.look, kept = look, Slot.look
    os.kill(warm._keeper._slots[0]._pid, signal.SIGKILL)
    while not warm.is_over:
        time.sleep(0.01)
    Slot.look = kept
def kill_the_zygote(warm):
    under_way(warm)
    os.kill(warm._zygote, signal.SIGKILL)
said(refused=ended(kill_the_next), gone=ended(kill_the_zygote))
"""
    said = play(stage, scene, script="import time; time.sleep(300)")
    assert said == {"refused": ["timeout", True], "gone": ["sandbox_died", True]}
