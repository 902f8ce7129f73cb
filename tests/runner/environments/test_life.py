"""Environments come up once, outlive their makers, and go without a trace."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from support.environments import Stage, next_said
from support.waiting import kill, until

WAITING = """
with environments.open(project) as e:
    e.command(["true"], How())
    said(holder=e.standing.holder)
    try:
        result = sh(e, "echo up >up; exec sleep 300", fresh={fresh})
        said(cause=str(result.cause), signal=result.signal)
    except SkillkeepError as error:
        said(code=error.code)
"""


def standing(stage: Stage) -> Path:
    (found,) = stage.home.glob("environments/*/standing.json")
    return found


def test_two_makers_at_once_get_one_environment(stage: Stage) -> None:
    scene = "with environments.open(project) as e:\n    said(holder=e.standing.holder, text=out(e, 'echo in'))"
    started = [stage.start(scene) for _ in range(3)]
    said = [json.loads(process.communicate(timeout=120)[0]) for process in started]
    assert len({each["holder"] for each in said}) == 1
    assert {each["text"] for each in said} == {"in"}


def test_what_runs_in_it_outlives_its_maker(stage: Stage) -> None:
    stage.play("with environments.open(project) as e:\n    sh(e, 'sleep 300 >/dev/null 2>&1 & echo $! >~/pid')")
    looked = stage.play("said(**vars(environments.look(environments.find(str(project)))))")
    assert (looked["state"], looked["busy"], looked["processes"]) == ("running", False, 1)


def test_when_the_holder_was_killed_the_next_command_has_it_built_anew_with_its_home(stage: Stage) -> None:
    seen = stage.play("""
import select, signal
with environments.open(project) as e:
    before = e.standing
    sh(e, "echo kept >~/kept; echo gone >/tmp/gone")
    ended = os.pidfd_open(before.holder)
    os.kill(before.holder, signal.SIGKILL)
    assert select.select([ended], [], [], 60)[0]
    said(text=out(e, "cat ~/kept; ls /tmp/gone"), other=e.standing.holder != before.holder)
    said(left=[part.path for part in before.groups if os.path.exists(part.path)])
""")
    assert seen["text"].startswith("kept\n")
    assert "cannot access" in seen["text"]
    assert seen["other"]
    assert seen["left"] == []


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("by", ["stop", "kill"])
def test_a_command_under_way_says_that_the_environment_ended(stage: Stage, fresh: bool, by: str) -> None:
    with stage.start(WAITING.format(fresh=fresh)) as process:
        holder = next_said(process)["holder"]
        assert until((stage.project / "up").exists)
        if by == "stop":
            said = stage.play("said(ran=environments.stop(environments.find(str(project)), kill=True))")
            assert said == {"ran": True}
        else:
            os.kill(holder, signal.SIGKILL)
        assert next_said(process) == {"code": "environment_ended"}


def test_stop_waits_for_no_command_whose_holder_was_killed(stage: Stage) -> None:
    with stage.start(WAITING.format(fresh=True)) as process:
        holder = next_said(process)["holder"]
        assert until((stage.project / "up").exists)
        os.kill(holder, signal.SIGKILL)
        stage.play("environments.delete(environments.find(str(project)), kill=True)")
        assert next_said(process) == {"code": "environment_ended"}
    assert list(stage.home.glob("environments/*/*")) == []


def test_a_pid_that_was_given_away_again_is_not_taken_for_the_holder(stage: Stage) -> None:
    stage.play("with environments.open(project) as e:\n    sh(e, 'echo kept >~/kept')")
    first = json.loads(standing(stage).read_bytes())
    forged = {**first, "holder": os.getpid()}
    standing(stage).write_text(json.dumps(forged))
    kill(first["holder"])
    seen = stage.play(
        "with environments.open(project) as e:\n    said(text=out(e, 'cat ~/kept'), holder=e.standing.holder)"
    )
    assert seen["text"] == "kept"
    assert seen["holder"] not in (os.getpid(), first["holder"])


def test_one_that_is_in_use_is_deleted_only_when_its_commands_may_be_killed(stage: Stage) -> None:
    with stage.start(WAITING.format(fresh=False)) as process:
        holder = next_said(process)["holder"]
        assert until((stage.project / "up").exists)
        refused = stage.play("""
try:
    environments.delete(environments.find(str(project)))
except SkillkeepError as error:
    said(code=error.code, hint=error.hint)
""")
        assert refused["code"] == "environment_busy"
        groups = [Path(group["path"]) for group in json.loads(standing(stage).read_bytes())["groups"]]
        stage.play("environments.delete(environments.find(str(project)), kill=True)")
        assert next_said(process) == {"code": "environment_ended"}
    assert not os.path.exists(f"/proc/{holder}") or until(lambda: not os.path.exists(f"/proc/{holder}"))
    assert [path for path in groups if path.exists()] == []
    assert list(stage.home.glob("environments/*/*")) == []
    assert list(stage.project.iterdir()) == [stage.project / "up"]


def test_a_home_full_of_traps_is_removed_and_nothing_beyond_it(stage: Stage) -> None:
    canary = stage.project / "canary"
    canary.write_text("stays")
    seen = stage.play("""
with environments.open(project) as e:
    sh(e, f"cd; ln -s {project} out; ln -s / root; mkdir -p shut/in; touch shut/in/x; chmod 0 shut/in shut; mkfifo f")
environments.delete(environments.find(str(project)))
said(left=os.listdir(os.path.join(sys.argv[2], "environments")))
""")
    assert [name for name in seen["left"] if not name.startswith(".")] == []
    assert canary.read_text() == "stays"


def test_only_what_is_idle_is_collected(stage: Stage) -> None:
    seen = stage.play("""
with environments.open(project) as e:
    said(busy=environments.collect(0))
said(recent=environments.collect(), idle=environments.collect(0))
with environments.open(project) as e:
    sh(e, "sleep 300 >/dev/null 2>&1 &")
said(working=environments.collect(0), states=[each.state for each in environments.seen()])
""")
    assert seen["busy"] == seen["recent"] == seen["working"] == []
    assert len(seen["idle"]) == 1
    assert seen["states"] == ["running"]


OPEN = """
try:
    with environments.open(project) as e:
        said(text=out(e, "ls -A; cat ~/kept"))
except SkillkeepError as error:
    said(code=error.code, hint=error.hint)
"""


def make_project(stage: Stage) -> None:
    stage.project.mkdir()
    os.chmod(stage.project, 0o777)
    if stage.bench.who.uid is not None:
        os.chown(stage.project, stage.bench.who.uid, stage.bench.who.uid)


@pytest.mark.parametrize("by", ["rename", "remove"])
@pytest.mark.parametrize("running", [False, True])
def test_another_project_at_the_same_path_does_not_inherit_the_home(stage: Stage, by: str, running: bool) -> None:
    stage.play("with environments.open(project) as e:\n    sh(e, 'echo old >file; echo mine >~/kept')")
    if not running:
        stage.play("environments.stop(environments.find(str(project)))")
    if by == "rename":
        stage.project.rename(stage.project.with_name("old"))
    else:
        (stage.project / "file").unlink()
        stage.project.rmdir()  # ext4 gives its number to the next one
    make_project(stage)
    refused = stage.play(OPEN)
    assert refused["code"] == "project_replaced"
    assert "runner env adopt web-" in refused["hint"]
    adopted = stage.play(f"environments.adopt(environments.find(str(project)))\n{OPEN}")
    assert adopted == {"text": "mine"}


def test_a_project_that_was_moved_back_has_its_home_again(stage: Stage) -> None:
    stage.play("with environments.open(project) as e:\n    sh(e, 'echo old >file; echo mine >~/kept')")
    old = stage.project.with_name("old")
    stage.project.rename(old)
    make_project(stage)
    assert stage.play(OPEN)["code"] == "project_replaced"
    stage.project.rmdir()
    old.rename(stage.project)
    assert stage.play(OPEN) == {"text": "file\nmine"}


def test_a_project_that_was_replaced_under_way_is_not_shown_when_it_is_built_anew(stage: Stage) -> None:
    seen = stage.play("""
import select, signal
inner = project / "inner"
def make():
    inner.mkdir()
    os.chmod(inner, 0o777)
make()
with environments.open(inner) as e:
    ended = os.pidfd_open(e.standing.holder)
    inner.rename(project / "old")
    make()
    os.kill(e.standing.holder, signal.SIGKILL)
    select.select([ended], [], [], 60)
    try:
        out(e, "true")
    except SkillkeepError as error:
        said(code=error.code)
""")
    assert seen == {"code": "project_replaced"}


def test_one_of_another_pid_namespace_is_neither_ended_nor_forgotten_nor_made_twice(stage: Stage) -> None:
    stage.play("with environments.open(project) as e:\n    sh(e, 'sleep 300 >/dev/null 2>&1 &')")
    file = standing(stage)
    here = file.read_text()
    elsewhere = json.dumps({**json.loads(here), "seen_from": 1})
    file.write_text(elsewhere)
    seen = stage.play("""
def code(call):
    try:
        call()
    except SkillkeepError as error:
        return error.code
place = environments.find(str(project))
said(state=environments.look(place).state, collected=environments.collect(0))
said(codes=[code(lambda: environments.open(project)), code(lambda: environments.stop(place, kill=True)),
            code(lambda: environments.delete(place, kill=True))])
""")
    assert seen == {"state": "elsewhere", "collected": [], "codes": ["environment_busy"] * 3}
    assert file.read_text() == elsewhere
    file.write_text(here)
    looked = stage.play("said(**vars(environments.look(environments.find(str(project)))))")
    assert (looked["state"], looked["processes"]) == ("running", 1)


def test_other_limits_are_refused_while_it_runs_and_taken_once_it_was_stopped(stage: Stage) -> None:
    seen = stage.play("""
from dataclasses import replace
from skillkeep.runner.environments.project import base_policy
wanted = replace(base_policy(settings), processes=7)
with environments.open(project):
    pass
try:
    environments.open(project, wanted)
except SkillkeepError as error:
    said(code=error.code)
environments.stop(environments.find(str(project)))
with environments.open(project, wanted) as e:
    said(processes=e.standing.plan.processes)
""")
    assert seen == {"code": "environment_differs", "processes": 7}


def test_folders_that_hold_more_than_a_project_are_refused(stage: Stage) -> None:
    scene = """
try:
    environments.open(project)
except SkillkeepError as error:
    said(code=error.code)
"""
    for folder in ("/", "/tmp", str(stage.bench.home), str(stage.project / "missing"), "/etc/passwd"):
        assert stage.play(scene, folder) == {"code": "project_unusable"}
    assert stage.play(scene, "/usr/bin")["code"] == "bad_policy"


def test_a_folder_that_skillkeep_itself_runs_from_is_shown_for_reading_alone(stage: Stage) -> None:
    """As one whose own .venv it is installed in: what a command writes there runs outside, with the next command."""
    scene = """
import sys
sys.prefix = str(project / ".venv")
def tried(**how):
    try:
        with environments.open(project, **how) as e:
            return out(e, "pwd")
    except SkillkeepError as error:
        return [error.code, "--read-only" in error.hint]
said(written=tried(), left=len(list(environments.seen())), read=tried(read_only=True))
"""
    assert stage.play(scene) == {"written": ["project_unusable", True], "left": 0, "read": str(stage.project)}


def test_the_callers_own_home_is_no_project_nor_what_holds_it(stage: Stage) -> None:
    scene = """
for own in (project, project / "below"):
    own.mkdir(exist_ok=True)
    os.environ["HOME"] = str(own)
    try:
        environments.open(project)
    except SkillkeepError as error:
        said(**{own.name: [error.code, error.hint]})
os.environ["HOME"] = str(project / "below")
with environments.open(project / "below" / "code") as e:
    said(text=out(e, "pwd"))
"""
    (stage.project / "below" / "code").mkdir(parents=True)
    for folder in (stage.project / "below", stage.project / "below" / "code"):
        folder.chmod(0o777)
        if stage.bench.who.uid is not None:
            os.chown(folder, stage.bench.who.uid, stage.bench.who.uid)
    seen = stage.play(scene)
    assert seen.pop("text") == str(stage.project / "below" / "code")
    assert [code for code, hint in seen.values() if hint] == ["project_unusable"] * 2


def test_a_name_that_does_not_exist_is_answered_with_the_one_that_was_meant(stage: Stage) -> None:
    seen = stage.play("""
with environments.open(project) as e:
    name = e.record.name
try:
    environments.find(name[:-1] + "x")
except SkillkeepError as error:
    said(code=error.code, hint=error.hint, name=name)
""")
    assert seen["code"] == "environment_not_found"
    assert seen["name"] in seen["hint"]
