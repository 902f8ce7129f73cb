"""The `vault` commands as a user or an agent sees them: text, JSON, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.vaults import make_tool

from skillkeep.cli.entry import run_app
from skillkeep.home import Home
from skillkeep.vault.cli.app import vault_app
from skillkeep.vault.interface import VaultedTool


class Answer:
    """What one command printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> dict[str, object]:
        loaded = json.loads(self.out)
        assert isinstance(loaded, dict)
        assert self.err == ""
        return loaded


class Command:
    """Runs `vault` on the test's home."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Answer:
        self._capsys.readouterr()
        code = run_app(vault_app(), arguments, "vault")
        said = self._capsys.readouterr()
        return Answer(code, said.out, said.err)


@pytest.fixture
def vault_command(home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("SKILLKEEP_HOME", str(home.root))
    return Command(capsys)


@pytest.fixture
def two(home: Home) -> tuple[VaultedTool, VaultedTool]:
    """Two versions of one tool."""
    return make_tool(home, "demo", {"SKILL.md": "# one\n"}), make_tool(home, "demo", {"SKILL.md": "# two\n"})


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("words", [("show",), ("verify",), ("history",), ("revoke", "--reason", "x")])
def test_a_misspelt_name_gets_a_suggestion(vault_command: Command, words: tuple[str, ...]) -> None:
    answer = vault_command(*words, "dmeo")
    assert answer.code == 126
    assert "hint: Did you mean demo? See what is: vault list." in answer.err


def test_an_empty_vault_says_what_to_do(vault_command: Command) -> None:
    said = vault_command("list")
    assert (said.code, said.out) == (0, "")
    assert "skill ingest" in said.err
    assert vault_command("list", "--json").json == {"ok": True, "schema": "skillkeep/vault-list-v1", "tools": []}


def test_list_shows_one_line_a_tool(vault_command: Command, two: tuple[VaultedTool, VaultedTool]) -> None:
    head, line = vault_command("list").out.splitlines()
    assert head.split() == ["NAME", "TIER", "VERDICT", "KIND", "DIGEST", "VAULTED", "SOURCE"]
    assert line.startswith(f"demo  3 unknown  PASS     skill  {two[1].digest[:19]}  2")
    assert line.endswith("https://example.invalid/demo")


def test_show_by_name_and_by_digest(vault_command: Command, two: tuple[VaultedTool, VaultedTool]) -> None:
    said = vault_command("show", "demo").out
    assert f"digest:           {two[1].digest}\n" in said
    assert f"earlier versions: {two[0].digest[:19]}" in said
    (shown,) = vault_command("show", two[0].digest, "--json").json["tools"]  # type: ignore[misc, attr-defined]
    assert (shown["name"], shown["digest"], shown["current"]) == ("demo", two[0].digest, False)
    assert shown["report"] == {"verdict": "PASS"}


@pytest.mark.parametrize(
    ("arguments", "error", "code"),
    [
        (("show", "nobody"), "not_vaulted", 126),
        (("show", "No Body"), "bad_name", 2),
        (("show", "\x1b[31mred"), "bad_name", 2),
        (("show", "0" * 64), "not_vaulted", 126),
        (("verify", "nobody"), "not_vaulted", 126),
        (("history", "nobody"), "not_vaulted", 126),
        (("rollback", "nobody"), "not_vaulted", 126),
        (("diff", "nobody"), "not_vaulted", 126),
        (("revoke", "nobody", "--reason", "x"), "not_vaulted", 126),
        (("revoke", "nobody"), "usage", 2),
        (("revoke", "demo", "--reason", " "), "usage", 2),
        (("rollback", "demo", "1234"), "not_in_history", 2),
        (("gc", "--keep", "-1"), "usage", 2),
    ],
)
def test_a_mistake_is_a_typed_error_in_both_forms(
    vault_command: Command, two: tuple[VaultedTool, VaultedTool], arguments: tuple[str, ...], error: str, code: int
) -> None:
    said = vault_command(*arguments, "--json")
    assert (said.code, said.json["ok"], said.json["error_code"]) == (code, False, error)
    assert said.json["hint"]
    text = vault_command(*arguments)
    assert (text.code, text.out) == (code, "")
    assert text.err.startswith(f"error[{error}]: ")
    assert "\x1b" not in text.err


def test_verify_names_what_differs_and_ends_with_twenty(
    vault_command: Command, two: tuple[VaultedTool, VaultedTool]
) -> None:
    assert vault_command("verify").code == 0
    assert vault_command("verify", "--json").json["mismatches"] == []
    victim = two[1].path / "SKILL.md"
    victim.chmod(0o644)
    victim.write_text("# tw0\n")
    victim.chmod(0o444)
    two[1].path.chmod(0o755)
    (two[1].path / "evil\x1b[2J").write_text("")
    two[1].path.chmod(0o555)
    said = vault_command("verify", "demo")
    assert said.code == 20
    assert [line.split()[:4] for line in said.out.splitlines()[1:]] == [
        ["demo", two[1].digest[:19], "content", "SKILL.md"],
        ["demo", two[1].digest[:19], "added", "evil\\x1b[2J"],
    ]
    as_json = vault_command("verify", "--json")
    assert (as_json.code, as_json.json["ok"]) == (20, False)
    assert [(each["kind"], each["path"]) for each in as_json.json["mismatches"]] == [  # type: ignore[attr-defined]
        ("content", "SKILL.md"),
        ("added", "evil\\x1b[2J"),
    ]


def test_history_rollback_and_revoke_follow_each_other(
    vault_command: Command, two: tuple[VaultedTool, VaultedTool]
) -> None:
    assert vault_command("rollback", "demo").out == f"demo is {two[0].digest} now\n"
    assert vault_command("rollback", "demo", two[1].digest, "--json").json["digest"] == two[1].digest
    assert vault_command("revoke", "demo", "--reason", "bad\x1b[1m").out == f"revoked: demo {two[1].digest}\n"
    events = vault_command("history", "demo", "--json").json["events"]
    assert [each["event"] for each in events] == ["admit", "admit", "rollback", "rollback", "revoke"]  # type: ignore[attr-defined]
    text = vault_command("history", "demo").out
    assert text.splitlines()[-1].endswith("bad\\x1b[1m")
    assert " revoked " in vault_command("list").out
    later = vault_command("revoke", "sha256:" + "7" * 64, "--reason", "rumour")
    assert later.out == f"revoked: sha256:{'7' * 64}, which no tool in the vault has\n"


def test_diff_shows_the_changed_lines(vault_command: Command, two: tuple[VaultedTool, VaultedTool]) -> None:
    assert vault_command("diff", "demo").out.splitlines() == [
        f"demo: {two[0].digest[:19]} -> {two[1].digest[:19]}",
        "changed: SKILL.md",
        "--- a/SKILL.md",
        "+++ b/SKILL.md",
        "@@ -1,2 +1,2 @@",
        "-# one",
        "+# two",
        " ",
    ]
    back = vault_command("diff", "demo", two[1].digest, two[0].digest, "--json").json
    assert (back["old"], back["new"]) == (two[1].digest, two[0].digest)
    assert vault_command("diff", "demo", two[1].digest).out.splitlines()[-1] == "no difference"


def test_export_to_standard_output_and_to_a_file(
    vault_command: Command, two: tuple[VaultedTool, VaultedTool], tmp_path: Path
) -> None:
    said = vault_command("export").json
    assert said["schema"] == "skillkeep/vault-export-v1"
    assert said["tools"]["demo"]["sha256"] == two[1].digest[7:]  # type: ignore[index]
    target = tmp_path / "vetted_tools.json"
    assert vault_command("export", "-o", str(target), "--json").json["output"] == str(target)
    assert json.loads(target.read_text()) == said


def test_gc_says_what_it_removed(vault_command: Command, two: tuple[VaultedTool, VaultedTool]) -> None:
    assert vault_command("gc").out == "removed 0 objects, 0 bytes\n"
    removed = vault_command("gc", "--keep", "0", "--json").json
    assert removed["objects"] == [two[0].digest[7:]]
    assert vault_command("diff", "demo", "--json").json["error_code"] == "not_in_history"


@pytest.mark.parametrize(("name", "hint"), [("PDF", "lower-case letters"), ("sha256:12ab", "with its 64 digits")])
def test_what_cannot_be_a_name_is_answered_with_what_can(vault_command: Command, name: str, hint: str) -> None:
    assert hint in vault_command("show", name, "--json").json["hint"]
