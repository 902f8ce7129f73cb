"""The five statuses and their exit codes, through the command line, as issue 2 lists them."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from support.commands import Done, run_command
from support.hostile import Repository, clean_skill, write_files
from support.sources import ROOT

SCHEMAS = [json.loads((ROOT / f"docs/schemas/{name}-v1.json").read_text()) for name in ("ingest", "report")]
VALID = Draft202012Validator(
    SCHEMAS[0], registry=Registry().with_resources((each["$id"], Resource.from_contents(each)) for each in SCHEMAS)
)
PASS = clean_skill("sample")
WARN = {
    **PASS,
    "scripts/count.py": b"import urllib.request\n\nurllib.request.urlopen('https://api.example.invalid/v1')\n",
}
FAIL = {**PASS, "scripts/count.py": b"import os\nimport sys\n\nos.system(sys.argv[1])\n"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "home"
    folder.mkdir(mode=0o700)
    (folder / "config.toml").write_text("[auditor]\nsemgrep = false\nbandit = false\n")
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "source"


def skill(home: Path, *words: str, stdin: bytes = b"") -> Done:
    return run_command("skill", *words, home=home, stdin=stdin)


def ingest(home: Path, *words: str) -> tuple[int, dict[str, Any]]:
    done = skill(home, "ingest", *words, "--json")
    assert not done.err
    VALID.validate(done.json)
    return done.code, done.json


def vaulted(home: Path) -> list[str]:
    folder = home / "vetted_vault"
    return sorted(path.name for path in folder.iterdir() if path.is_symlink()) if folder.is_dir() else []


def test_a_pass_with_confirm_is_vaulted(home: Path, source: Path) -> None:
    write_files(source, PASS)
    code, data = ingest(home, str(source), "--confirm")
    assert (code, data["status"], data["verdict"], data["tier"], data["ok"]) == (0, "vaulted", "PASS", 3, True)
    assert data["schema"] == "skillkeep/ingest-v1"
    assert data["outcomes"][0]["digest"] == data["digest"]
    assert vaulted(home) == ["sample"]


def test_without_confirm_it_waits_and_prints_the_command_that_then_works(home: Path, tmp_path: Path) -> None:
    source = write_files(tmp_path / "it's a 'strange' $name", WARN)
    done = skill(home, "ingest", str(source), "--name", "mine", "--grant", "net:api.example.invalid:443")
    assert done.code == 10
    assert vaulted(home) == []
    [line] = [line for line in done.out.splitlines() if line.startswith("  next ")]
    words = shlex.split(line.removeprefix("  next "))
    assert "--expect" in words
    again = run_command(*words, "--json", home=home)
    assert (again.code, again.json["status"], again.json["name"]) == (0, "vaulted", "mine")
    assert again.json["grants"] == ["net:api.example.invalid:443"]


def test_a_warn_is_vaulted_by_the_second_confirm(home: Path, source: Path) -> None:
    write_files(source, WARN)
    code, data = ingest(home, str(source), "--confirm")
    assert (code, data["status"], data["reason"]) == (10, "awaiting_confirmation", "findings_not_seen")
    assert {finding["severity"] for finding in data["findings"]} >= {"warn"}
    assert any(item["kind"] == "network" for item in data["capabilities"])
    assert "net:api.example.invalid:443" in data["grantable"]
    code, data = ingest(home, str(source), "--confirm")
    assert (code, data["status"], data["verdict"]) == (0, "vaulted", "WARN")


def test_a_warn_is_vaulted_at_once_when_its_digest_is_named(home: Path, source: Path) -> None:
    write_files(source, WARN)
    digest = ingest(home, str(source))[1]["digest"]
    code, data = ingest(home, str(source), "--confirm", "--expect", digest)
    assert (code, data["status"]) == (0, "vaulted")


def test_a_fail_is_rejected_and_no_option_changes_it(home: Path, source: Path) -> None:
    write_files(source, FAIL)
    code, data = ingest(home, str(source))
    assert (code, data["status"]) == (20, "rejected")
    digest = data["digest"]
    for words in (
        ["--confirm"], ["--confirm", "--expect", digest, "--origin", "anthropics", "--name", "other", "--no-input"],
        ["--confirm", "--all", "--audit"],
    ):  # fmt: skip
        code, data = ingest(home, str(source), *words)
        assert (code, data["status"], data["next"]) == (20, "rejected", None)
    assert vaulted(home) == []


def test_the_same_bytes_under_another_name_are_already_approved(home: Path, source: Path, tmp_path: Path) -> None:
    ingest(home, str(write_files(source, PASS)), "--confirm")
    code, data = ingest(home, str(write_files(tmp_path / "copy", PASS)), "--name", "other")
    assert (code, data["status"], data["name"]) == (0, "already_approved", "sample")
    assert vaulted(home) == ["sample"]


def test_a_known_name_with_new_bytes_is_outdated_and_goes_on_as_an_update(home: Path, source: Path) -> None:
    first = ingest(home, str(write_files(source, PASS)), "--confirm")[1]["digest"]
    write_files(source, {"scripts/count.py": WARN["scripts/count.py"], "notes.txt": b"new\n"})
    code, data = ingest(home, str(source))
    assert (code, data["status"], data["diff"]["against"]) == (10, "outdated", first)
    assert (data["diff"]["added"], data["diff"]["changed"]) == (["notes.txt"], ["scripts/count.py"])
    assert data["diff"]["newly_wants"] == ["network:api.example.invalid"]
    shown = skill(home, "ingest", str(source)).out
    assert "+ notes.txt" in shown
    assert "~ scripts/count.py" in shown
    code, data = ingest(home, *shlex.split(data["next"])[2:])
    assert (code, data["status"]) == (0, "vaulted")
    archived = home / "vetted_vault" / ".archive" / "sample" / first.removeprefix("sha256:")
    assert (archived / "scripts/count.py").read_bytes() == PASS["scripts/count.py"]


def test_what_changed_between_review_and_confirmation_is_refused_and_shown(home: Path, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "upstream.git")
    repository.files(PASS)
    url = f"file://{repository.path}"
    first = ingest(home, url)[1]
    repository.files({**PASS, "extra.py": b"print(1)\n"})
    for words in (["--confirm"], ["--confirm", "--expect", first["digest"]]):
        code, data = ingest(home, url, *words)
        assert (code, data["status"]) == (10, "awaiting_confirmation")
        assert data["digest"] != first["digest"]
        if words == ["--confirm"]:
            assert data["reason"] == "changed_since_review"
            assert data["diff"]["added"] == ["extra.py"]
            assert data["diff"]["against"] == first["digest"]
    assert vaulted(home) == []
    code, data = ingest(home, *shlex.split(data["next"])[2:])
    assert (code, data["status"]) == (0, "vaulted")


def test_a_name_belongs_to_the_source_that_took_it(home: Path, source: Path, tmp_path: Path) -> None:
    ingest(home, str(write_files(source, PASS)), "--confirm")
    other = write_files(tmp_path / "other", {**PASS, "more.txt": b"x"})
    done = skill(home, "ingest", str(other), "--confirm", "--json")
    [outcome] = done.json["outcomes"]
    assert (done.code, done.json["ok"], outcome["error_code"]) == (20, False, "name_taken")
    assert "--name" in outcome["hint"]
    assert ingest(home, str(other), "--confirm", "--name", "mine")[0] == 0


def test_tier_one_is_approved_by_itself(home: Path) -> None:
    write_files(home / "skills" / "own", FAIL)
    home.joinpath("skills").chmod(0o700)
    code, data = ingest(home, str(home / "skills" / "own"))
    assert (code, data["status"], data["tier"], data["verdict"]) == (0, "vaulted", 1, "BYPASSED")


def test_a_strangers_copy_of_an_own_tool_is_not_approved(home: Path, source: Path) -> None:
    write_files(home / "skills" / "own", PASS)
    home.joinpath("skills").chmod(0o700)
    assert ingest(home, str(home / "skills" / "own"))[0] == 0
    code, data = ingest(home, str(write_files(source, PASS)), "--name", "theirs")
    assert (code, data["status"], data["tier"]) == (10, "awaiting_confirmation", 3)


def test_an_origin_raises_nothing(home: Path, tmp_path: Path) -> None:
    repository = Repository(tmp_path / "upstream.git")
    repository.files(PASS)
    code, data = ingest(home, f"file://{repository.path}", "--origin", "anthropics")
    assert (code, data["tier"]) == (10, 3)


def test_status_lists_what_waits_with_its_command(home: Path, source: Path) -> None:
    assert skill(home, "status").out == "nothing waits for a confirmation\n"
    command = ingest(home, str(write_files(source, WARN)))[1]["next"]
    [pending] = skill(home, "status", "--json").json["pending"]
    assert (pending["name"], pending["verdict"], pending["next"]) == ("sample", "WARN", command)
    assert command in skill(home, "status").out
    assert run_command(*shlex.split(command), home=home).code == 0
    assert skill(home, "status", "--json").json["pending"] == []


def test_the_worst_outcome_of_several_is_the_exit_code(home: Path, source: Path) -> None:
    for name, files in (("good", PASS), ("warn", WARN), ("bad", FAIL)):
        renamed = {**files, "SKILL.md": files["SKILL.md"].replace(b"sample", name.encode())}
        write_files(source / name, renamed)
    code, data = ingest(home, str(source), "--all", "--confirm")
    assert code == 20
    assert [each["status"] for each in data["outcomes"]] == ["rejected", "vaulted", "awaiting_confirmation"]
    assert "status" not in data
    assert vaulted(home) == ["good"]


def test_several_tools_without_a_choice_are_a_usage_error_that_lists_them(home: Path, source: Path) -> None:
    write_files(source, {f"{name}/{path}": data for name in "ab" for path, data in clean_skill(name).items()})
    done = skill(home, "ingest", str(source), "--json")
    assert (done.code, done.json["error_code"]) == (2, "choose_artifact")
    assert [each["path"] for each in done.json["context"]["artifacts"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--upload-pack=x"], "usage"),
        (["ext::sh -c x"], "unsupported_scheme"),
        (["https://example.invalid/a/b", "--ref", "--upload-pack=x"], "option_like"),
        (["https://user:hunter2@example.invalid/a/b"], "credentials_in_url"),
        (["SOURCE", "--confirm", "--expect", "nonsense"], "bad_selection"),
        (["SOURCE", "--grant", "net:everywhere"], "bad_selection"),
        (["SOURCE", "--grant", "write:/a/../../etc"], "bad_selection"),
        (["SOURCE", "--grant", "write:/etc"], "bad_selection"),
        (["SOURCE", "--grant", "write:/nowhere-at-all"], "bad_selection"),
        (["SOURCE", "--grant", "net:*.com:443"], "bad_selection"),
        (["SOURCE", "--all", "--name", "x"], "bad_selection"),
        (["SOURCE", "--name", "../x"], "bad_name"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error_in_json_too(
    home: Path, source: Path, words: list[str], code: str
) -> None:
    write_files(source, PASS)
    done = skill(home, "ingest", *[str(source) if word == "SOURCE" else word for word in words], "--json")
    assert (done.code, done.json["ok"], done.json["error_code"]) == (2, False, code)
    assert "hunter2" not in done.out + done.err
    assert vaulted(home) == []


def test_nothing_is_asked_off_a_terminal(home: Path, source: Path) -> None:
    write_files(source, WARN)
    done = skill(home, "ingest", str(source), "--confirm", stdin=b"y\n")
    assert done.code == 10
    assert vaulted(home) == []


def test_every_step_is_in_the_journal(home: Path, source: Path) -> None:
    write_files(source, PASS)
    skill(home, "ingest", str(source))
    skill(home, "ingest", str(source), "--confirm")
    skill(home, "ingest", str(source))
    skill(home, "ingest", "/no/such/place")
    skill(home, "ingest", str(write_files(source, FAIL)), "--confirm")
    lines = skill(home, "journal", "show", "-n", "50", "--json").json["lines"]
    assert [line["event"] for line in lines] == [
        "ingest.fetched", "ingest.verdict", "ingest.awaiting",
        "ingest.fetched", "ingest.verdict", "vault.admit",
        "ingest.fetched", "ingest.already_approved",
        "ingest.refused",
        "ingest.fetched", "ingest.verdict", "ingest.rejected",
    ]  # fmt: skip
    assert json.loads(skill(home, "journal", "verify", "--json").out)["ok"]


def test_taking_in_the_same_bytes_again_mends_a_damaged_copy(home: Path, source: Path) -> None:
    code, data = ingest(home, str(write_files(source, PASS)), "--confirm")
    victim = (
        home / "vetted_vault" / "objects" / data["digest"].removeprefix("sha256:") / "tree" / "scripts" / "count.py"
    )
    victim.chmod(0o644)
    victim.write_bytes(b"print('changed')\n")
    assert run_command("vault", "verify", home=home).code == 20
    code, data = ingest(home, str(source))
    assert (code, data["status"]) == (0, "already_approved")
    assert run_command("vault", "verify", home=home).code == 0


def test_a_grant_for_an_approved_tool_needs_a_confirmation_and_is_added(home: Path, source: Path) -> None:
    first = ingest(home, str(write_files(source, PASS)), "--confirm", "--grant", "env:FIRST")[1]
    assert first["grants"] == ["env:FIRST"]
    code, data = ingest(home, str(source), "--grant", "env:SECOND")
    assert (code, data["status"], data["grants"]) == (0, "already_approved", ["env:FIRST"])
    code, data = ingest(home, *shlex.split(data["next"])[2:])
    assert (code, data["grants"]) == (0, ["env:FIRST", "env:SECOND"])
    [tool] = run_command("vault", "show", "sample", "--json", home=home).json["tools"]
    assert tool["grants"] == ["env:FIRST", "env:SECOND"]
