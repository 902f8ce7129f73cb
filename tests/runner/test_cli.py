"""`skill run` and `runner doctor` as a user meets them."""

from __future__ import annotations

import base64
import json
import os
import pty
import subprocess
import tempfile
from pathlib import Path

import pytest
from support.commands import BIN, Done, environment, run_command
from support.dryruns import project_for
from support.vaults import make_tool

from skillkeep.cli.entry import run_app
from skillkeep.dispatch.cli.compose import compose
from skillkeep.home import Home
from skillkeep.runner.native import NativeBackend
from skillkeep.vault.interface import Tier

NATIVE = NativeBackend().probe()
needs_native = pytest.mark.skipif(not NATIVE.available, reason=f"no native sandbox: {NATIVE.reason}")
FILES = {
    "run.py": "import sys\nprint('hello', *sys.argv[1:])\n",
    "fail.sh": "echo oops >&2; exit 7\n",
    "cat.sh": "cat\n",
    "odd.sh": "printf '\\377\\000\\033[31mred'\n",
    "SKILL.md": "# x\n",
}
LOCAL = ("--backend", "local", "--quiet")


def mine(home: Home) -> None:
    make_tool(home, "mine", FILES, Tier.LOCAL)


def skill_run(home: Home, *words: str, stdin: bytes = b"", **env: str) -> Done:
    return run_command("skill", "run", *words, home=home.root, stdin=stdin, env=env)


@needs_native
@pytest.mark.parametrize("program", ["skill", "runner"])
def test_a_strangers_tool_runs_in_the_native_sandbox_without_being_asked(home: Home, program: str) -> None:
    make_tool(home, "tool", FILES)
    done = run_command(program, "run", "tool", "run", "a b", "--json", home=home.root)
    assert (done.code, done.out, done.err) == (0, "hello a b --json\n", "")
    result = run_command(program, "run", "tool", "--json", "run", home=home.root).json
    assert (result["ok"], result["schema"], result["backend"], result["tier"]) == (
        True,
        "skillkeep/run-v1",
        "native",
        3,
    )
    assert result["assurance"]["level"] == NATIVE.level.name.lower()
    assert result["passed_over"] == []


@needs_native
def test_any_command_runs_in_the_tools_folder(home: Home) -> None:
    make_tool(home, "tool", FILES)
    done = skill_run(home, "tool", "--", "ls")
    assert done.out.split() == sorted(FILES)
    again = skill_run(home, "tool", "--", "sh", "-c", "echo -- $0 $1", "--", "--json")
    assert again.out == "-- -- --json\n"


@needs_native
def test_exit_codes_tell_what_happened(home: Home) -> None:
    make_tool(home, "tool", FILES)
    assert skill_run(home, "tool", "fail").code == 7
    assert skill_run(home, "tool", "--", "sh", "-c", "kill -TERM $$").code == 143
    assert skill_run(home, "tool", "--", "no-such-program").code == 127


@needs_native
def test_how_a_run_was_stopped_is_said_on_standard_error(home: Home) -> None:
    make_tool(home, "tool", FILES)
    late = skill_run(home, "--timeout", "1", "tool", "--", "sleep", "60")
    assert late.code == 124
    assert "time limit" in late.err
    flood = skill_run(home, "--output-limit", "1k", "tool", "--", "cat", "/dev/zero")
    assert flood.code == 137
    assert "output limit" in flood.err
    assert "stdout was cut after 1024 bytes" in flood.err
    short = skill_run(home, "--output-limit", "10", "tool", "--", "echo", "more than ten bytes")
    assert (short.code, short.out) == (137, "more than "), "whether it ended before it was killed is a race"
    assert skill_run(home, "-q", "--timeout", "1", "tool", "--", "sleep", "60").err == ""


def test_the_tools_streams_pass_through_byte_for_byte(home: Home) -> None:
    mine(home)
    argv = [BIN / "skill", "run", *LOCAL, "mine", "odd"]
    done = subprocess.run(argv, env=environment(home.root), stdin=subprocess.DEVNULL, capture_output=True, check=True)
    assert done.stdout == b"\xff\x00\x1b[31mred"


def test_at_a_terminal_what_a_tool_prints_is_escaped(home: Home) -> None:
    mine(home)
    ours, theirs = pty.openpty()
    argv = [BIN / "skill", "run", *LOCAL, "mine", "odd"]
    env = {**environment(home.root), "TERM": "xterm"}
    with subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs) as child:
        os.close(theirs)
        seen = b""
        while chunk := read_some(ours):
            seen += chunk
        child.wait(240)
    os.close(ours)
    assert seen == b"\\xff\\x00\\x1b[31mred"


def read_some(fd: int) -> bytes:
    try:
        return os.read(fd, 4096)
    except OSError:  # the other end of a terminal is gone
        return b""


def test_json_carries_bytes_that_are_no_text(home: Home) -> None:
    mine(home)
    result = skill_run(home, *LOCAL, "--json", "mine", "odd").json
    assert result["stdout_encoding"] == "base64"
    assert base64.b64decode(result["stdout"]) == b"\xff\x00\x1b[31mred"
    plain = skill_run(home, *LOCAL, "--json", "mine", "fail").json
    assert (plain["ok"], plain["exit_code"], plain["stderr"], plain["stderr_encoding"]) == (True, 7, "oops\n", "utf-8")


def test_standard_input_is_passed_on_off_a_terminal_unless_told_otherwise(home: Home) -> None:
    mine(home)
    assert skill_run(home, *LOCAL, "mine", "cat", stdin=b"in").out == "in"
    assert skill_run(home, *LOCAL, "--no-stdin", "mine", "cat", stdin=b"in").out == ""
    script = f'"{BIN}/skill" run --backend local --quiet mine cat <&-'
    closed = subprocess.run(["sh", "-c", script], env=environment(home.root), capture_output=True, timeout=240)
    assert (closed.returncode, closed.stdout) == (0, b"")


def test_without_an_entry_the_entries_are_listed(home: Home) -> None:
    mine(home)
    assert [line.split()[0] for line in skill_run(home, "mine").out.splitlines()] == [
        "entry", "cat", "fail", "odd", "run",
    ]  # fmt: skip
    shown = skill_run(home, "mine", "--json").json
    assert shown["schema"] == "skillkeep/entries-v1"
    assert {"name": "run", "path": "run.py", "interpreter": ["python3"]} in shown["entries"]


def test_running_ones_own_tool_without_a_sandbox_is_said(home: Home) -> None:
    mine(home)
    done = skill_run(home, "--backend", "local", "mine", "run")
    assert done.out == "hello\n"
    assert "no sandbox" in done.err


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (["nothing", "run"], "not_vaulted", 126),
        (["\x1b[31m", "run"], "not_vaulted", 126),
        (["stranger", "rum"], "entry_not_found", 127),
        (["--backend", "local", "stranger", "run"], "tier_needs_sandbox", 126),
        (["--backend", "dokcer", "stranger", "run"], "unknown_backend", 2),
        (["--memory", "many", "stranger", "run"], "usage", 2),
        (["--memory", "0", "stranger", "run"], "bad_policy", 2),
        (["--timeout", "-1", "stranger", "run"], "bad_policy", 2),
        (["--cpus", "nan", "stranger", "run"], "bad_policy", 2),
        (["--min-assurance", "total", "stranger", "run"], "usage", 2),
        (["--env", "TOKEN", "stranger", "run"], "not_granted", 126),
        (["stranger", "--"], "usage", 2),
        ([], "usage", 2),
    ],
)
def test_a_refusal_is_one_typed_error_with_a_hint(
    home: Home, words: list[str], code: str, exit_code: int,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    make_tool(home, "stranger", FILES)
    monkeypatch.setenv("SKILLKEEP_HOME", str(home.root))
    monkeypatch.setenv("TOKEN", "t")
    argv = ["run", "--json", *words]
    assert run_app(compose("skill", argv), argv, "skill") == exit_code
    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert (answer["ok"], answer["error_code"], said.err) == (False, code, "")
    assert answer["hint"]


def test_a_failure_of_ours_is_125_and_the_tools_own_json_option_is_not_ours(home: Home) -> None:
    make_tool(home, "tool", FILES)
    (home.journal / "HEAD").write_text("garbage")
    done = skill_run(home, "tool", "run", "--json")
    assert (done.code, done.out) == (125, "")
    assert "error[journal_broken]" in done.err
    assert skill_run(home, "--json", "tool", "run").json["error_code"] == "journal_broken"


@pytest.mark.parametrize("change", ["one byte", "one file more", "one mode bit"])
def test_a_copy_that_was_changed_is_named_and_does_not_run(home: Home, change: str) -> None:
    tool = make_tool(home, "tool", FILES)
    script = tool.path / "run.py"
    script.chmod(0o644)
    tool.path.chmod(0o755)
    if change == "one byte":
        script.write_text(FILES["run.py"].replace("hello", "hellO"))
        script.chmod(0o444)
    elif change == "one file more":
        script.chmod(0o444)
        (tool.path / "new.py").write_text("")
    else:
        script.chmod(0o445)
    tool.path.chmod(0o555)
    done = skill_run(home, "--json", "tool", "run")
    assert (done.code, done.json["error_code"]) == (126, "vault_tampered")
    named = run_command("vault", "verify", "--json", home=home.root).json["mismatches"]
    assert {each["path"] for each in named} & {"run.py", "new.py"}


def test_every_run_and_refusal_is_in_a_journal_that_holds(home: Home) -> None:
    mine(home)
    make_tool(home, "tool", FILES)
    skill_run(home, *LOCAL, "mine", "run")
    skill_run(home, *LOCAL, "tool", "run")
    shown = run_command("skill", "journal", "show", "--json", "--event", "run.", home=home.root).json["lines"]
    assert [line["event"] for line in shown] == ["run.start", "run.end", "run.refused"]
    assert run_command("skill", "journal", "verify", home=home.root).code == 0


def test_doctor_names_each_backend_and_what_would_mend_it(home: Home) -> None:
    done = run_command("runner", "doctor", "--json", home=home.root, env={"DOCKER_HOST": "unix:///nowhere.sock"})
    found = {each["backend"]: each for each in done.json["backends"]}
    assert list(found) == ["native", "docker", "apple", "lima", "local"]
    assert (found["docker"]["available"], bool(found["docker"]["mend"])) == (False, True)
    assert done.json["ok"] is found["native"]["available"] is (done.code == 0)
    assert "docker" in run_command("runner", "doctor", home=home.root).out


@needs_native
def test_doctor_says_what_its_words_mean_and_nothing_of_other_systems(home: Home) -> None:
    said = run_command("runner", "doctor", home=home.root, env={"DOCKER_HOST": "unix:///nowhere.sock", "PATH": "/bin"})
    lines = said.out.splitlines()
    level = NATIVE.level.name.lower()
    assert any(line.startswith(f"{level}: own namespaces") for line in lines)
    assert ["docker", "no", "-"] in [line.split() for line in lines]
    assert any(line.startswith("docker: to have it too: ") for line in lines)
    assert not any(line.startswith(("apple", "lima", "local: loses")) for line in lines)
    assert said.err == "Runs use: native\n"


def test_help_explains_where_options_end(home: Home) -> None:
    shown = skill_run(home, "--help")
    assert shown.code == 0
    assert "before ENTRY" in shown.out


# A machine with neither namespaces nor a container engine, made of a user namespace that may have no children.
BARE = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'


def on_a_bare_machine(home: Home, *words: str) -> Done:
    argv = ["unshare", "--user", "--map-root-user", "sh", "-c", BARE, "sh", str(BIN / words[0]), *words[1:]]
    env = environment(home.root, {"DOCKER_HOST": "unix:///nowhere.sock"})
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
    return Done(done.returncode, done.stdout, done.stderr)


def can_be_bare() -> str:
    probe = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c", BARE, "sh", "unshare", "-U", "true"],
                           capture_output=True, text=True)  # fmt: skip
    made = subprocess.run(["unshare", "--user", "--map-root-user", "true"], capture_output=True)
    return "" if made.returncode == 0 and probe.returncode != 0 else "no user namespace can be made to be bare in"


WHY_NOT_BARE = can_be_bare()
needs_bare = pytest.mark.skipif(bool(WHY_NOT_BARE), reason=WHY_NOT_BARE or "-")


@needs_bare
@pytest.mark.parametrize("tier", [Tier.TRUSTED, Tier.UNKNOWN])
def test_without_any_sandbox_a_strangers_tool_is_blocked_and_the_way_out_is_named(home: Home, tier: Tier) -> None:
    make_tool(home, "tool", FILES, tier)
    done = on_a_bare_machine(home, "skill", "run", "--json", "tool", "run")
    assert (done.code, done.json["error_code"]) == (126, "sandbox_unavailable")
    assert [rung["backend"] for rung in done.json["context"]["rungs"]] == ["native", "docker"]
    assert "max_user_namespaces" in done.json["hint"]
    assert "Docker" in done.json["hint"]


@needs_bare
@pytest.mark.parametrize("backend", ["native", "docker", "local"])
def test_no_backend_asked_for_by_name_changes_that(home: Home, backend: str) -> None:
    make_tool(home, "tool", FILES)
    asked = on_a_bare_machine(home, "skill", "run", "--backend", backend, "tool", "run")
    assert (asked.code, asked.out) == (126, "")
    assert "hint:" in asked.err


@needs_bare
def test_without_any_sandbox_ones_own_tool_runs_on_the_host_and_the_result_says_so(home: Home) -> None:
    mine(home)
    done = on_a_bare_machine(home, "skill", "run", "mine", "run")
    assert (done.code, done.out) == (0, "hello\n")
    assert "no sandbox" in done.err
    assert "native was passed over" in done.err
    result = on_a_bare_machine(home, "skill", "run", "--json", "mine", "run").json
    assert (result["backend"], result["assurance"]["level"]) == ("local", "none")
    assert [each["backend"] for each in result["passed_over"]] == ["native", "docker"]
    assert on_a_bare_machine(home, "skill", "run", "--min-assurance", "isolated", "mine", "run").code == 126


@needs_bare
def test_doctor_fails_where_no_sandbox_works(home: Home) -> None:
    done = on_a_bare_machine(home, "runner", "doctor", "--json")
    assert (done.code, done.json["ok"], done.json["chosen"]) == (1, False, None)
    assert done.json["hint"]


def test_a_record_of_the_run_is_kept(home: Home) -> None:
    mine(home)
    result = skill_run(home, *LOCAL, "--json", "mine", "run", "a").json
    record = json.loads((Path(home.runs) / result["run_id"] / "run.json").read_text())
    assert (record["tool"], record["argv"], record["result"]["exit_code"]) == ("mine", ["python3", "./run.py", "a"], 0)


@needs_native
def test_an_explained_run_names_the_files_it_was_refused_and_the_grant(home: Home, tmp_path: Path) -> None:
    make_tool(home, "tool", {**FILES, "read.py": "import sys\nfor name in sys.argv[1:]: print(open(name))\n"})
    (tmp_path / "notes").write_text("x")
    notes = (tmp_path / "notes").resolve()
    done = skill_run(home, "--explain", "tool", "read", str(notes))
    assert done.code == 1
    assert f"denied: file, read {notes}: ENOENT" in done.err
    assert f"(what would allow it: write:{notes})" in done.err
    assert "denied: file" not in skill_run(home, "tool", "read", str(notes)).err
    told = skill_run(home, "--explain", "--json", "tool", "read", str(notes)).json
    assert told["explained"]
    assert {"what": "file", "layer": "root"}.items() <= told["denials"][-1].items()


def test_only_a_sandbox_that_can_explains_a_run(home: Home) -> None:
    mine(home)
    refused = skill_run(home, *LOCAL, "--explain", "--json", "mine", "run")
    assert (refused.code, refused.json["error_code"]) == (2, "bad_policy")


@needs_native
@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs payloads under another id")
def test_root_is_told_that_no_later_run_can_change_what_this_one_wrote() -> None:
    with tempfile.TemporaryDirectory(prefix="skillkeep-of-root-") as name:
        home = Home(Path(name).resolve() / "home").ensure()
        Path(name).chmod(0o755)
        project = project_for(home, {"a": "x"})
        project.root.chmod(0o777)
        words = ("tool", "--", "sh", "-c", "echo x >> $0/new", str(project.root))
        assert skill_run(home, *words).code == 0
        again = skill_run(home, *words)
        assert (again.code, "Permission denied" in again.err) == (2, True)
        assert (
            f"{project.root} belongs to root: what the tool wrote there is of an id that later runs get again"
            in again.err
        )
        (project.root / "new").unlink()
        os.chown(project.root, 1234, 1234)
        assert [
            (done.code, "belongs to root" in done.err) for done in (skill_run(home, *words), skill_run(home, *words))
        ] == [
            (0, False),
            (0, False),
        ]
