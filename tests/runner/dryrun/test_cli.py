"""`skill run --dry-run` and `runner dry-run` as a user meets them."""

from __future__ import annotations

import json
import os
import pty
import subprocess

import pytest
from support.commands import BIN, Done, environment, run_command
from support.dryruns import Project, picture, project_for
from support.vaults import make_tool
from support.waiting import until

from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.runner.errors import RunnerError

FILES = {"a": "one\n", "b": "two\n"}
CODE = 'cd "$0" && echo hello && rm a && echo three >> b'


def skill(project: Project, *options: str, code: str = CODE) -> Done:
    words = ("run", "tool", "--dry-run", *options, "--", "sh", "-c", code, str(project.root))
    return run_command("skill", *words, home=project.floor.home.root)


def test_without_a_word_it_is_shown_and_kept_and_committed_later(home: Home) -> None:
    project = project_for(home, FILES)
    before = picture(project.root)
    done = run_command("skill", "run", "tool", "--dry-run", "--", "sh", "-c", CODE, str(project.root), home=home.root)
    assert (done.code, done.out) == (0, "hello\n")
    assert "deleted: a" in done.err
    assert picture(project.root) == before
    listed = run_command("runner", "dry-run", "list", "--json", home=home.root).json["dry_runs"]
    assert [run["tool"] for run in listed] == ["tool"]
    identity = listed[0]["id"]
    assert "+three" in run_command("runner", "dry-run", "show", identity[:6], home=home.root).out
    seen = run_command("runner", "dry-run", "show", identity, "--json", home=home.root).json["folders"][0]["difference"]
    assert ("    +three" in seen["lines"], seen["truncated"]) == (True, False)
    done = run_command("runner", "dry-run", "commit", identity[:6], "--json", home=home.root)
    assert (done.code, done.json["done"], done.json["refused"]) == (0, 2, [])
    assert (project.root / "b").read_text() == "two\nthree\n"
    assert run_command("runner", "dry-run", "show", identity, home=home.root).code == 2


def test_commit_at_once_only_when_the_tool_succeeds(home: Home) -> None:
    project = project_for(home, FILES)
    before = picture(project.root)
    failed = skill(project, "--commit", code=CODE + " && exit 7")
    assert failed.code == 7
    assert picture(project.root) == before
    assert run_command("runner", "dry-run", "list", home=home.root).out.count("tool") == 1 + 1
    done = skill(project, "--commit", "--json")
    assert (done.code, done.json["dry_run"]["state"]) == (0, "committed")
    assert "    +three" in done.json["dry_run"]["folders"][0]["difference"]["lines"]
    assert not (project.root / "a").exists()


def test_drop_forgets_it(home: Home) -> None:
    project = project_for(home, FILES)
    identity = skill(project, "--json").json["dry_run"]["id"]
    assert run_command("runner", "dry-run", "drop", identity, home=home.root).code == 0
    assert run_command("runner", "dry-run", "commit", identity, home=home.root).code == 2
    assert (project.root / "a").exists()


def test_a_run_that_is_killed_changes_nothing_and_leaves_nothing_for_long(home: Home) -> None:
    project = project_for(home, FILES)
    before = picture(project.root)
    words = ["run", "tool", "--dry-run", "--commit", "--", "sh", "-c", 'cd "$0"; rm a; echo x > b; sleep 60']
    child = subprocess.Popen(
        [str(BIN / "skill"), *words, str(project.root)], env=environment(home.root), stdin=subprocess.DEVNULL
    )
    try:
        assert until(lambda: any(line.event == "run.start" for line in Journal(home.journal).read()))
    finally:
        child.kill()
        child.wait()
    assert picture(project.root) == before
    _, run = project.run("true")
    assert run.empty
    assert os.listdir(home.root / "dry_runs") == [".lock"]


def test_a_refused_change_is_an_exit_code(home: Home) -> None:
    project = project_for(home, FILES)
    identity = skill(project, "--json").json["dry_run"]["id"]
    (project.root / "b").write_text("mine\n")
    done = run_command("runner", "dry-run", "commit", identity, home=home.root)
    assert done.code == 1
    assert "not committed: b" in done.err
    assert (project.root / "b").read_text() == "mine\n"


@pytest.mark.parametrize("backend", ["docker", "local"])
def test_no_other_backend_pretends_to_make_a_dry_run(home: Home, backend: str) -> None:
    project = project_for(home, FILES)
    with pytest.raises(RunnerError) as caught:
        project.run("true", backend=backend)
    assert (caught.value.code, caught.value.exit_code) == ("bad_policy", 2)


def test_without_a_granted_folder_there_is_nothing_to_keep_apart(home: Home) -> None:
    project_for(home, FILES)
    make_tool(home, "other", {"SKILL.md": "# x\n"})
    done = run_command("skill", "run", "other", "--dry-run", "--json", "--", "true", home=home.root)
    assert (done.code, done.json["error_code"]) == (2, "bad_policy")
    assert run_command("skill", "run", "tool", "--commit", "--", "true", home=home.root).code == 2


@pytest.mark.parametrize(("answer", "left"), [(b"c\n", "two\nthree\n"), (b"d\n", "two\n"), (b"\n", "two\n")])
def test_at_a_terminal_it_asks(home: Home, answer: bytes, left: str) -> None:
    project = project_for(home, FILES)
    ours, theirs = pty.openpty()
    try:
        child = subprocess.Popen(
            [str(BIN / "skill"), "run", "tool", "--no-stdin", "--dry-run", "--", "sh", "-c", CODE, str(project.root)],
            stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=environment(home.root),
        )  # fmt: skip
        os.write(ours, answer)
        out, _ = child.communicate(timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)
    assert (child.returncode, out) == (0, b"hello\n")
    assert (project.root / "b").read_text() == left
    kept = run_command("runner", "dry-run", "list", "--json", home=home.root).json["dry_runs"]
    assert len(kept) == (1 if answer == b"\n" else 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("inside", ["in", "in/deeper down"])
@pytest.mark.parametrize("kind", ["tmpfs", "proc"])  # with id-mapped mounts, on a new kernel, and without
def test_what_lies_beneath_a_mount_is_not_shown(home: Home, inside: str, kind: str) -> None:
    project = project_for(home, {"in/hidden": "x\n", "in/deeper down/hidden": "x\n"})
    own = f'mount -t {kind} own "$0" && exec "$@"'
    words = [
        str(BIN / "skill"),
        "run",
        "tool",
        "--no-stdin",
        "--json",
        "--dry-run",
        "--",
        "ls",
        "-R",
        str(project.root),
    ]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", own, str(project.root / inside), *words],
        env=environment(home.root), capture_output=True, text=True,
    )  # fmt: skip
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["error_code"], answer["context"]["layer"]) == (
        125,
        "sandbox_layer_failed",
        "overlay",
    )
    assert f"a mount at {inside.split(' ')[0]}" in answer["error_message"]
    assert "hidden" not in done.stdout
