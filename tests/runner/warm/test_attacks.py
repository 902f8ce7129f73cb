"""Calls of one warm interpreter against the zygote, against pid 1 of their own room, and against the next call."""

from __future__ import annotations

import errno
import json
import sys

import pytest
from support.environments import Stage
from support.sandbox import refusing, staged_packages
from support.warm import OPENING, play

from skillkeep.kernel.syscalls import machine

ATTACK = r"""
import ctypes, json, os, resource, signal, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
fds = {}
for fd in range(3, 1024):
    try:
        fds[fd] = os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        pass
found = {}
def attempt(name, work):
    try:
        work()
        found[name] = "done"
    except OSError as error:
        found[name] = error.errno
def call(*words):
    if libc.syscall(*map(ctypes.c_long, words)) < 0:
        raise OSError(ctypes.get_errno(), "")
attempt("kill init", lambda: os.kill(1, signal.SIGKILL))
attempt("stop init", lambda: os.kill(1, signal.SIGSTOP))
attempt("kill parent", lambda: os.kill(os.getppid(), signal.SIGTERM))
attempt("kill group of zygote", lambda: os.killpg(0, 0) if os.getpgrp() != os.getpid() else os.kill(4194000, 0))
for name in ("mem", "environ", "maps", "fd", "root", "cwd", "exe", "ns/pid", "task/1/mem"):
    attempt("init " + name, lambda: os.readlink(f"/proc/1/{name}") if "/" in name or name in ("root", "cwd", "exe")
            else os.listdir("/proc/1/fd") if name == "fd" else open(f"/proc/1/{name}", "rb").read(1))
attempt("init oom", lambda: open("/proc/1/oom_score_adj", "w").write("1000"))
attempt("limits of init", lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (1, 1)))
attempt("ptrace", lambda: call(101, 16, 1, 0, 0))
attempt("unshare", lambda: call(272, 0x10000000))
attempt("setns", lambda: call(308, os.open("/proc/self/ns/pid", os.O_RDONLY), 0))
attempt("mount", lambda: call(165, 0, 0, 0, 0, 0))
attempt("pidfd", lambda: call(438, os.pidfd_open(1), 3, 0))
attempt("setuid", lambda: os.setresuid(0, 0, 0) if os.getuid() else None)
others = [p for p in os.listdir("/proc") if p.isdigit() and int(p) not in (os.getpid(),)]
found["others"], found["fds"] = others, list(fds.values())
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
found["rights"] = [status[name].strip() for name in ("CapPrm", "CapEff", "CapInh", "CapBnd", "CapAmb", "NoNewPrivs")]
# The zygote believes what pid 1 says on a socket; a call that says it everywhere is not heard.
forged = struct.pack("=QqqddQ", 2, 0, 0, 0.0, 0.0, 0)
for fd in range(0, 64):
    try:
        os.write(fd, forged) if fd > 2 else None
    except OSError:
        pass
print(json.dumps(found), flush=True)
os._exit(42)
"""


def test_a_call_reaches_neither_the_zygote_nor_its_init_nor_the_next_call(stage: Stage) -> None:
    if machine() != "x86_64":
        pytest.skip("the attack has the system call numbers of x86-64")
    scene = """
asked = request("./script.py")
warm = WarmInterpreter(asked, "./script.py", 60)
zygote = warm._zygote
results = [facts(warm.run(asked)) for _ in range(3)]
said(results=results, same=os.path.exists(f"/proc/{zygote}"), over=warm.is_over)
warm.close()
"""
    said = play(stage, scene, script=ATTACK)
    assert said["same"]
    assert not said["over"]
    for cause, code, number, out, err in said["results"]:
        assert [cause, code, number, err] == ["exit", 42, None, ""]
        found = json.loads(out)
        assert found.pop("others") == []
        assert found.pop("fds") == []
        assert found.pop("rights") == ["0000000000000000"] * 5 + ["1"]
        # A signal to a pid 1 that has no handler for it is dropped by the kernel, whoever is asked.
        ignored = {name: found.pop(name) for name in ("kill init", "stop init", "kill parent")}
        assert set(ignored.values()) <= {"done", errno.EPERM}
        assert [name for name, value in found.items() if value == "done"] == []


def test_a_call_that_kills_all_it_can_ends_alone(stage: Stage) -> None:
    script = """
import os, signal, sys
print("here", flush=True)
if len(sys.argv) > 1:
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.kill(os.getpid(), signal.SIGKILL)
"""
    scene = """
warm = WarmInterpreter(request("./script.py"), "./script.py", 60)
said(killed=facts(warm.run(request("./script.py", "all")))[2:4], after=facts(warm.run(request("./script.py"))))
warm.close()
"""
    said = play(stage, scene, script=script)
    assert said["killed"] == [9, "here\n"]
    assert said["after"] == ["exit", 0, None, "here\n", ""]


def test_no_module_of_the_tool_is_loaded_into_the_zygote(stage: Stage) -> None:
    planted = "open('/tmp/planted', 'w').close(); import sys; sys.stderr.write('planted')"
    script = "import json, argparse, helper\nimport os; print(os.path.exists('/tmp/planted'), json.__file__)"
    scene = """
asked = request("./script.py")
warm = WarmInterpreter(asked, "./script.py", 60)
said(cold=facts(NativeBackend()._run(asked)), hot=facts(warm.run(asked)), again=facts(warm.run(asked)))
warm.close()
"""
    said = play(stage, scene, script=script, helper="", sitecustomize=planted, usercustomize=planted)
    assert said["hot"] == said["again"] == said["cold"]
    assert said["hot"][3].startswith("False /usr/lib")


def test_a_layer_that_fails_in_a_call_stops_it_and_names_itself(stage: Stage) -> None:
    if stage.bench.who.uid is not None:
        pytest.skip("the filter that refuses the call is laid by root")
    (stage.project / "script.py").write_text("print('ran')")
    scene = f"""
import sys; sys.path.insert(0, {str(staged_packages())!r})
from pathlib import Path
from types import SimpleNamespace
project = Path({str(stage.project)!r})
{OPENING}
from skillkeep.runner.native.failures import LayerError
asked = request("./script.py")
warm = WarmInterpreter(asked, "./script.py", 60)
try:
    warm.run(asked)
except LayerError as error:
    sys.stdout.write(error.layer)
warm.close()
"""
    done = refusing({"landlock_restrict_self": errno.EPERM}, [sys.executable, "-I", "-c", scene], capture_output=True)
    assert done.stdout.decode() == "landlock", done.stderr.decode()
