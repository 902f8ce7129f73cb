"""What an attacker of warm interpreters found: moved folders, variables that reach the zygote, callers that forked."""

from __future__ import annotations

import os

import pytest
from support.environments import Stage, next_said
from support.waiting import kill, until
from support.warm import OPENING, play

WATCH = """
from skillkeep.runner.interface import new_run_id
backend = WarmBackend()
def interpreters():
    return [kept.interpreter for kept in backend._kept.values() if kept.interpreter is not None]
def shared(name):
    folder = project / name
    folder.mkdir()
    (folder / "which").touch()
    os.chmod(folder, 0o777)
    os.chmod(folder / "which", 0o666)
    return folder
def afresh(asked):
    return replace(asked, run_id=new_run_id())
def answer(asked):
    try:
        return facts(backend._run(afresh(asked)))[3]
    except SkillkeepError as error:
        return [error.code, error.context.get("layer")]
"""
SPY = """
import builtins, os
rights = open("/proc/self/status").read().split("CapEff:")[1].split()[0]
if int(rights, 16):
    builtins.seen = rights
"""
TELL = """
import argparse, builtins, json, os, sys
print(getattr(builtins, "seen", "clean"), os.path.dirname(argparse.__file__))
"""


def test_a_granted_folder_that_was_moved_away_is_no_longer_written(stage: Stage) -> None:
    scene = """
data = shared("data")
(data / "which").write_text("first")
asked = request("./script.py", str(data), binds=(Bind(str(data), str(data), writable=True),))
before = [answer(asked) for _ in range(3)]
warm = len(interpreters())
os.rename(data, old := data.with_name("old"))
(shared("data") / "which").write_text("second")
after = [answer(asked) for _ in range(3)]
again = len(interpreters())
os.rename(data, data.with_name("gone"))
gone = answer(asked)
data.symlink_to(old)
said(before=before, warm=warm, after=after, again=again, gone=gone, link=answer(asked), old=(old / "which").read_text())
backend.close()
"""
    script = """
import sys
with open(sys.argv[1] + "/which", "r+") as file:
    print(file.read(), end="")
    file.write("+")
"""
    said = play(stage, WATCH + scene, script=script)
    assert (said["before"], said["warm"]) == (["first", "first+", "first++"], 1)
    assert (said["after"], said["again"]) == (["second", "second+", "second++"], 1)
    assert said["gone"] == said["link"] == ["sandbox_layer_failed", "bind"]
    assert said["old"] == "first+++"


def test_a_tools_tree_that_was_replaced_is_the_one_that_runs(stage: Stage) -> None:
    scene = """
tree = project / "tree"
def make(text):
    tree.mkdir()
    (tree / "script.py").write_text(text)
make("print(1)")
tool = SimpleNamespace(name="tool", digest="sha256:" + "0" * 64, path=tree)
before = [answer(request("./script.py")) for _ in range(3)]
os.rename(tree, project / "old")
make("print(2)")
said(before=before, after=[answer(request("./script.py")) for _ in range(3)])
backend.close()
"""
    said = play(stage, WATCH + scene)
    assert said == {"before": ["1\n"] * 3, "after": ["2\n"] * 3}


def test_a_path_that_leads_elsewhere_while_an_interpreter_is_made_makes_none(stage: Stage) -> None:
    scene = """
from skillkeep.runner.native.failures import LayerError
from skillkeep.runner.warm import interpreter
data = shared("data")
def build(*words, build=interpreter.build):
    build(*words)
    os.rename(data, data.with_name("old"))
    shared("data")
interpreter.build = build
try:
    WarmInterpreter(request("./script.py", binds=(Bind(str(data), str(data), writable=True),)), "./script.py", 60)
except LayerError as error:
    said(layer=error.layer)
"""
    assert play(stage, WATCH + scene, script="pass") == {"layer": "bind"}


@pytest.mark.parametrize(
    "granted",
    [
        'env=(("PYTHONPATH", "/work/lib"),)',
        'env=(("PYTHONPATH", "/work/lib"), ("PYTHONSTARTUP", "/work/lib/argparse.py"), ("LD_PRELOAD", "/work/none"))',
        'env=(("PATH", "/work/bin:/usr/bin"),)',
        'env=(("HOME", "/work/home"),)',
        'binds=(Bind(str(project / "home" / ".local"), "/tmp/home/.local"),)',
        'binds=(Bind(str(project / "lib" / "decoder.py"), "/base64.py"),)',
    ],
    ids=["path", "start", "program", "home", "home-bind", "root-file"],
)
def test_what_is_granted_brings_no_code_into_the_zygote(stage: Stage, granted: str) -> None:
    scene = f"""
import base64
from skillkeep.runner.native.failures import LayerError
library, binaries = project / "lib", project / "bin"
site = project / "home" / ".local" / "lib" / f"python{{sys.version_info[0]}}.{{sys.version_info[1]}}" / "site-packages"
for folder in (library, binaries, site):
    folder.mkdir(parents=True)
for path in (library / "argparse.py", site / "usercustomize.py"):
    path.write_text({SPY!r})
(library / "decoder.py").write_text({SPY!r} + Path(base64.__file__).read_text())
(binaries / "python3").write_text("#!/bin/sh\\necho planted $@\\n")
(binaries / "python3").chmod(0o755)
asked = request("./script.py", {granted})
cold = facts(NativeBackend()._run(asked))
calls = [facts(backend._run(afresh(asked))) for _ in range(3)]
backend.close()
try:
    warm = WarmInterpreter(asked, "./script.py", 60)
    direct = facts(warm.run(asked))[3].split()[0]
    warm.close()
except LayerError:
    direct = "none"
said(same=[each == cold for each in calls], direct=direct, cold=cold)
"""
    said = play(stage, WATCH + scene, script=TELL)
    assert said["same"] == [True] * 3, said
    assert said["direct"] in {"clean", "none"}


def test_a_granted_value_is_in_no_file_and_not_in_the_zygote(stage: Stage) -> None:
    scene = """
asked = request("./script.py", env=(("API_KEY", "s3cr3t-value"),))
answers = [answer(asked) for _ in range(3)]
(warm,) = interpreters()
found = []
for folder in (Path(os.environ["XDG_RUNTIME_DIR"]), Path(sys.argv[2])):
    for path in folder.rglob("*"):
        if path.is_file() and b"s3cr3t" in path.read_bytes():
            found.append(str(path))
from skillkeep.runner.environments.place import Place
standing = Place(warm._folder).standing()
said(answers=answers, found=found, env=standing.plan.env, inside="s3cr3t" in repr(vars(standing)))
backend.close()
"""
    said = play(stage, WATCH + scene, script="import os; print(os.environ['API_KEY'])")
    assert said["answers"] == ["s3cr3t-value\n"] * 3
    assert said["found"] == []
    assert not said["inside"]
    assert [name for name, _ in said["env"]] == ["PATH"]


def test_a_call_ends_with_its_caller_though_that_had_forked(stage: Stage) -> None:
    (stage.project / "script.py").write_text("import time; print('up', flush=True); time.sleep(300)")
    scene = """
asked = request("./script.py")
warm = WarmInterpreter(asked, "./script.py", 60)
child = os.fork()
if child == 0:
    os.setsid()
    os.closerange(0, 3)
    time.sleep(300)
    os._exit(0)
import threading
threading.Thread(target=warm.run, args=(asked,), daemon=True).start()
while warm._present is None or warm._present.feed >= 0:
    time.sleep(0.01)
said(child=child, inside=[warm._present._pid, warm._zygote, warm._standing.holder])
time.sleep(300)
"""
    with stage.start(OPENING + scene) as process:
        said = next_said(process)
        try:
            process.kill()
            assert until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in said["inside"]), 20)
            assert os.path.exists(f"/proc/{said['child']}")
        finally:
            kill(said["child"])


def test_a_fork_of_the_caller_neither_ends_nor_keeps_its_interpreter(stage: Stage) -> None:
    scene = """
import multiprocessing
asked = request("./script.py")
before = [answer(asked) for _ in range(3)]
(warm,) = interpreters()
def nothing():
    warm.close()
done = multiprocessing.get_context("fork").Process(target=nothing)
done.start()
done.join()
after = answer(asked), interpreters() == [warm], os.path.exists(warm._folder)
told, tell = os.pipe()
waiting = os.fork()
if waiting == 0:
    os.close(tell)
    os.read(told, 1)
    os._exit(0)
holder = warm._standing.holder
backend.close()
deadline = time.monotonic() + 20
while os.path.exists(f"/proc/{holder}") and time.monotonic() < deadline:
    time.sleep(0.01)
said(before=before, after=after, status=done.exitcode, left=os.path.exists(f"/proc/{holder}"))
os.close(tell)
os.waitpid(waiting, 0)
"""
    said = play(stage, WATCH + scene, script="print('x')")
    assert said == {"before": ["x\n"] * 3, "after": ["x\n", True, True], "status": 0, "left": False}


def test_a_call_whose_end_cannot_be_followed_is_not_run_again(stage: Stage) -> None:
    scene = """
data = shared("data")
asked = request("./script.py", binds=(Bind(str(data), "/shared", writable=True),))
before = [answer(asked) for _ in range(2)]
follow = WarmInterpreter._how_it_ended
def fail(self, *words):
    follow(self, *words)
    raise OSError("no way")
WarmInterpreter._how_it_ended = fail
failed = answer(asked)
WarmInterpreter._how_it_ended = follow
said(before=before, failed=failed, after=answer(asked), runs=len(os.listdir(data)) - 1)
backend.close()
"""
    script = "import os, uuid; open(f'/shared/{uuid.uuid4()}', 'w').close(); print('ran')"
    said = play(stage, WATCH + scene, script=script)
    assert said == {"before": ["ran\n"] * 2, "failed": ["sandbox_died", None], "after": "ran\n", "runs": 4}
