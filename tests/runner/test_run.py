"""`run_tool`: verified now, bounded by grants, in the journal before it starts, recorded after."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.backends import ScriptedBackend, broken, works
from support.floors import Floor
from support.vaults import make_tool, open_vault

from skillkeep.errors import SkillkeepError
from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.runner.interface import AssuranceLevel, RunRequest, SandboxPolicy
from skillkeep.runner.open_runs import OpenRun, settle
from skillkeep.runner.records import KEPT_RUNS, forget_oldest
from skillkeep.runner.run import RunOptions, run_tool
from skillkeep.settings import SandboxSettings, Settings
from skillkeep.vault.interface import Tier, VaultedTool

FILES = {"run.sh": "echo hello\n"}
POLICY = SandboxPolicy()


@pytest.fixture
def floor(home: Home) -> Floor:
    return Floor(home, Settings(), open_vault(home), Journal(home.journal))


def events(floor: Floor) -> list[tuple[str, dict[str, Any]]]:
    return [(line.event, line.facts) for line in floor.journal.read() if line.event.startswith("run.")]


def refused(floor: Floor, tool: VaultedTool, backend: ScriptedBackend, **how: Any) -> SkillkeepError:
    policy = how.pop("policy", POLICY)
    with pytest.raises(SkillkeepError) as caught:
        run_tool(tool, ("sh", "./run.sh"), policy, floor, RunOptions(**how), factories_of(backend))
    assert backend.asked == []
    assert [event for event, _ in events(floor)] == ["run.refused"]
    return caught.value


def factories_of(native: ScriptedBackend) -> dict[str, Any]:
    return {"native": lambda: native, "docker": lambda: broken("docker"), "local": lambda: works("local")}


def test_a_run_is_written_down_before_it_starts_and_after_it_ends(floor: Floor) -> None:
    tool = make_tool(floor.home, "tool", FILES)
    at_start: list[str] = []
    native = replace(works("native"), before=lambda request: at_start.extend(event for event, _ in events(floor)))
    result = run_tool(tool, ("sh", "./run.sh"), POLICY, floor, factories=factories_of(native))
    assert at_start == ["run.start"]
    (_, start), (end_event, end) = events(floor)
    assert end_event == "run.end"
    assert start["tool_digest"] == result.tool_digest == tool.digest
    assert start["argv"] == ["sh", "./run.sh"]
    assert start["policy_digest"] == POLICY.digest
    assert (end["run_id"], end["exit_code"], end["assurance"]) == (result.run_id, 0, "bounded")


def test_a_record_is_kept_without_the_output(floor: Floor) -> None:
    tool = make_tool(floor.home, "tool", FILES)
    policy = SandboxPolicy(memory_bytes=99 << 20)
    result = run_tool(tool, ("x", "\udcff"), policy, floor, factories=factories_of(works("native")))
    path = floor.home.runs / result.run_id / "run.json"
    record = json.loads(path.read_text())
    assert record["schema"] == "skillkeep/run-record-v1"
    assert (record["tool"], record["tier"], record["argv"]) == ("tool", 3, ["x", "\\xff"])
    assert record["policy"]["memory_bytes"] == 99 << 20
    assert record["result"]["stdout_bytes"] == 3
    assert "stdout" not in record["result"]
    assert path.stat().st_mode & 0o077 == 0


def test_old_records_make_room(floor: Floor) -> None:
    for number in range(KEPT_RUNS + 150):
        folder = floor.home.runs / f"old{number}"
        folder.mkdir()
        os.utime(folder, (number, number))
    tool = make_tool(floor.home, "tool", FILES)
    result = run_tool(tool, ("x",), POLICY, floor, factories=factories_of(works("native")))
    left = {path.name for path in floor.home.runs.iterdir()}
    assert len(left) == KEPT_RUNS
    assert result.run_id in left
    assert "old0" not in left


def test_runs_that_end_at_the_same_time_make_room_at_the_same_time(floor: Floor) -> None:
    for number in range(KEPT_RUNS + 150):
        folder = floor.home.runs / f"old{number}"
        folder.mkdir()
        (folder / "run.json").write_bytes(b"{}")
        os.utime(folder, (number, number))

    def one(number: int) -> tuple[str, ...]:
        run = OpenRun.begin(floor.home, f"{number:016x}", 0)
        said = run.end(floor.journal, "run.end", {}, "", {"run_id": number})
        forget_oldest(floor.home.runs)
        return said

    with ThreadPoolExecutor(8) as several:
        assert set(several.map(one, range(16))) == {()}
    assert all((floor.home.runs / f"{number:016x}" / "run.json").is_file() for number in range(16))


@pytest.mark.parametrize("change", ["content", "added", "mode"])
def test_a_copy_that_changed_after_it_was_opened_does_not_run(floor: Floor, change: str) -> None:
    tool = make_tool(floor.home, "tool", FILES)
    os.chmod(tool.path, 0o755)
    script = tool.path / "run.sh"
    if change == "content":
        os.chmod(script, 0o644)
        script.write_text("echo stolen\n")
    elif change == "added":
        (tool.path / "sitecustomize.py").write_text("")
    else:
        os.chmod(script, 0o777)
    error = refused(floor, tool, works("native"))
    assert (error.code, error.exit_code) == ("vault_tampered", 126)


def test_a_change_that_keeps_every_stat_is_found_when_every_byte_is_hashed(floor: Floor) -> None:
    """Same size and times, another inode time that only root's clock could hide: `paranoid` does not ask stat."""
    tool = make_tool(floor.home, "tool", FILES)
    script = tool.path / "run.sh"
    before = script.stat()
    os.chmod(script, 0o644)
    script.write_text("echo hellO\n")
    os.chmod(script, 0o444)
    os.utime(script, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert refused(floor, tool, works("native"), paranoid=True).code == "vault_tampered"


def test_a_version_that_was_replaced_meanwhile_does_not_run(floor: Floor) -> None:
    tool = make_tool(floor.home, "tool", FILES)
    make_tool(floor.home, "tool", {"run.sh": "echo second\n"})
    error = refused(floor, tool, works("native"))
    assert (error.code, error.exit_code) == ("tool_changed", 126)


def test_a_revoked_tool_does_not_run(floor: Floor) -> None:
    tool = make_tool(floor.home, "tool", FILES)
    floor.vault.revoke("tool", "because")
    assert refused(floor, tool, works("native")).code == "revoked"


def test_a_policy_wider_than_the_grants_does_not_run(floor: Floor) -> None:
    tool = make_tool(floor.home, "tool", FILES)
    error = refused(floor, tool, works("native"), policy=SandboxPolicy(env=(("TOKEN", "t"),)))
    assert error.code == "not_granted"


def test_without_a_sandbox_the_refusal_is_in_the_journal(floor: Floor) -> None:
    tool = make_tool(floor.home, "tool", FILES)
    assert refused(floor, tool, broken("native")).code == "sandbox_unavailable"
    assert events(floor)[0][1]["code"] == "sandbox_unavailable"


def test_a_demand_that_no_rung_meets_is_refused(floor: Floor) -> None:
    tool = make_tool(floor.home, "tool", FILES)
    native = works("native", AssuranceLevel.ISOLATED)
    assert refused(floor, tool, native, min_assurance=AssuranceLevel.BOUNDED).code == "sandbox_unavailable"


def test_what_was_passed_over_is_in_the_result(floor: Floor) -> None:
    tool = make_tool(floor.home, "tool", FILES, Tier.LOCAL)
    factories = {**factories_of(broken("native")), "docker": lambda: works("docker")}
    result = run_tool(tool, ("sh", "./run.sh"), POLICY, floor, factories=factories)
    assert result.backend == "docker"
    assert result.to_json()["passed_over"][0]["reason"] == "native is not here"


def test_the_settings_choose_the_backend_and_the_call_overrules_them(floor: Floor) -> None:
    tool = make_tool(floor.home, "tool", FILES)
    chosen = replace(floor, settings=Settings(sandbox=SandboxSettings(backend="docker")))
    assert refused(chosen, tool, works("native")).code == "sandbox_unavailable"
    native = works("native")
    run_tool(tool, ("x",), POLICY, chosen, RunOptions(backend="native"), factories_of(native))
    assert len(native.asked) == 1


def test_a_backend_that_fails_leaves_a_line_that_it_failed(floor: Floor) -> None:
    tool = make_tool(floor.home, "tool", FILES)

    def fail(request: RunRequest) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tool(tool, ("x",), POLICY, floor, factories=factories_of(replace(works("native"), before=fail)))
    assert [event for event, _ in events(floor)] == ["run.start", "run.failed"]


@pytest.mark.parametrize("thing", [Path("/bin"), "tool", None])
def test_only_a_vaulted_tool_can_be_run(floor: Floor, thing: object) -> None:
    with pytest.raises(TypeError):
        run_tool(thing, ("x",), POLICY, floor)  # type: ignore[arg-type]


def test_nothing_runs_when_the_journal_cannot_be_written(floor: Floor) -> None:
    tool = make_tool(floor.home, "tool", FILES)
    native = works("native")
    deaf = replace(floor, journal=Journal(floor.home.root / "config.toml" / "journal"))
    floor.home.config.write_text("")
    with pytest.raises(SkillkeepError) as caught:
        run_tool(tool, ("x",), POLICY, deaf, factories=factories_of(native))
    assert caught.value.code == "io_error"
    assert native.asked == []


def late(floor: Floor) -> list[tuple[str, Any]]:
    return [(event, facts.get("late")) for event, facts in events(floor)]


def test_a_run_whose_end_cannot_be_journaled_is_handed_over_and_told_by_the_next(floor: Floor) -> None:
    tool = make_tool(floor.home, "tool", FILES)
    away = floor.home.root / "away"

    def lose_the_journal(request: RunRequest) -> None:
        floor.home.journal.rename(away)
        floor.home.journal.write_text("")

    native = replace(works("native"), before=lose_the_journal)
    result = run_tool(tool, ("x",), POLICY, floor, factories=factories_of(native))
    assert (result.stdout, result.exit_code) == (b"out", 0)
    assert [text.split(":")[0] for text in result.unrecorded] == ["the journal does not have its end yet"]
    assert result.to_json()["unrecorded"] == result.unrecorded
    floor.home.journal.unlink()
    away.rename(floor.home.journal)
    again = run_tool(tool, ("x",), POLICY, floor, factories=factories_of(works("native")))
    assert again.unrecorded == ()
    assert late(floor) == [("run.start", None), ("run.end", True), ("run.start", None), ("run.end", None)]
    told = events(floor)[1][1]
    record = json.loads((floor.home.runs / result.run_id / "run.json").read_text())
    assert (told["run_id"], told["exit_code"], told["ended_at"]) == (result.run_id, 0, record["ended_at"])
    assert "untold" not in record
    assert os.listdir(floor.home.root / "open_runs") == [".lock"]
    floor.journal.verify()


def test_a_record_that_cannot_be_put_in_its_place_is_put_there_by_the_next_run(floor: Floor) -> None:
    tool = make_tool(floor.home, "tool", FILES)
    away = floor.home.root / "away"

    def lose_the_records(request: RunRequest) -> None:
        floor.home.runs.rename(away)
        floor.home.runs.write_text("")

    native = replace(works("native"), before=lose_the_records)
    result = run_tool(tool, ("x",), POLICY, floor, factories=factories_of(native))
    assert result.stdout == b"out"
    assert result.unrecorded[0].startswith("its record is not in its place yet: ")
    floor.home.runs.unlink()
    away.rename(floor.home.runs)
    run_tool(tool, ("x",), POLICY, floor, factories=factories_of(works("native")))
    assert json.loads((floor.home.runs / result.run_id / "run.json").read_text())["run_id"] == result.run_id
    assert late(floor) == [("run.start", None), ("run.end", None)] * 2


def test_nothing_runs_when_there_is_no_place_for_its_record(floor: Floor) -> None:
    tool = make_tool(floor.home, "tool", FILES)
    floor.home.runs.rmdir()
    floor.home.runs.write_text("")
    native = works("native")
    with pytest.raises(SkillkeepError) as caught:
        run_tool(tool, ("x",), POLICY, floor, factories=factories_of(native))
    assert (caught.value.code, native.asked, events(floor)) == ("io_error", [], [])
    assert os.listdir(floor.home.root / "open_runs") == []


def test_a_failure_that_cannot_be_journaled_is_the_same_failure_and_told_by_the_next_run(floor: Floor) -> None:
    tool = make_tool(floor.home, "tool", FILES)
    away = floor.home.root / "away"

    def lose_the_journal(request: RunRequest) -> None:
        floor.home.journal.rename(away)
        floor.home.journal.write_text("")
        raise KeyboardInterrupt

    native = replace(works("native"), before=lose_the_journal)
    with pytest.raises(KeyboardInterrupt):
        run_tool(tool, ("x",), POLICY, floor, factories=factories_of(native))
    floor.home.journal.unlink()
    away.rename(floor.home.journal)
    run_tool(tool, ("x",), POLICY, floor, factories=factories_of(works("native")))
    assert late(floor)[:2] == [("run.start", None), ("run.failed", True)]
    assert len(os.listdir(floor.home.runs)) == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.runner.open_runs import OpenRun, settle
run, journal = OpenRun.begin(home := Home(Path(sys.argv[1])), "0" * 16, 0), Journal(home.journal)
journal.append("run.start", run_id="0" * 16)
steps = 0
def counted(call):
    def step(*words, **options):
        global steps
        steps += 1
        if steps == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*words, **options)
    return step
for name in ("lseek", "write", "open", "fstat", "rename", "ftruncate", "fsync", "mkdir", "unlink", "close"):
    setattr(os, name, counted(getattr(os, name)))
run.end(journal, "run.end", {"run_id": "0" * 16}, "now", {"run_id": "0" * 16})
"""


def test_killed_at_any_step_of_its_end_a_run_has_an_end_in_the_journal(home: Home) -> None:
    for last in range(1, 60):
        one = Home(home.root / f"{last}").ensure()
        done = subprocess.run([sys.executable, "-c", KILLED, str(one.root), str(last)], capture_output=True)
        journal = Journal(one.journal)
        settle(one, journal)
        journal.verify()
        told = [line.event for line in journal.read()]
        assert told[0] == "run.start"
        assert set(told[1:]) in ({"run.end"}, {"run.unended"}), last
        assert os.listdir(one.root / "open_runs") == [".lock"]
        assert (one.runs / ("0" * 16) / "run.json").is_file() == ("run.end" in told)
        if done.returncode == 0:
            assert last > 15
            return
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    pytest.fail("the end takes more steps than this test knows")


def test_a_record_that_needs_more_than_its_room_is_no_run_without_an_end(home: Home) -> None:
    """A limit of file sizes stands for a disk that is full: `_write` then fails, in the room and out of it."""
    code = (
        "import resource, signal, sys\nfrom pathlib import Path\nfrom skillkeep.home import Home\n"
        "from skillkeep.journal import Journal\nfrom skillkeep.runner.open_runs import OpenRun\n"
        "home = Home(Path(sys.argv[1]))\nrun, journal = OpenRun.begin(home, '0' * 16, 0), Journal(home.journal)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))\n"
        "print(run.end(journal, 'run.end', {}, '', {'x': 'x' * (1 << 20)}))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(home.root)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("('its record is not in its place yet: ")
    assert settle(home, Journal(home.journal)) == ()
    assert [line.event for line in Journal(home.journal).read()] == ["run.end"]


def test_a_run_that_goes_on_is_not_taken_for_one_without_an_end(floor: Floor) -> None:
    run = OpenRun.begin(floor.home, "0" * 16, 0)
    assert settle(floor.home, floor.journal) == ()
    run.close()
    assert settle(floor.home, floor.journal) == ("0" * 16,)
    assert settle(floor.home, floor.journal) == ()
    assert events(floor) == [("run.unended", {"run_id": "0" * 16})]
    assert os.listdir(floor.home.runs) == []
