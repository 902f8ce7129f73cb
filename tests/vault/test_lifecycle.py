"""Going back, history, export, differences, collecting garbage, and mending what a crash left."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.vaults import admission_of, make_tool, write_files

from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.vault.errors import VaultError
from skillkeep.vault.interface import Tier
from skillkeep.vault.store import Vault


def hex_of(digest: str) -> str:
    return digest.removeprefix("sha256:")


def versions(home: Home, count: int) -> list[str]:
    return [make_tool(home, "demo", {"a": str(number)}).digest for number in range(count)]


def test_rolling_back_goes_one_version_back_each_time(home: Home, vault: Vault) -> None:
    first, second, _ = versions(home, 3)
    assert vault.rollback("demo").digest == second
    assert vault.rollback("demo").digest == first
    with pytest.raises(VaultError) as caught:
        vault.rollback("demo")
    assert caught.value.code == "not_in_history"
    assert vault.open("demo").digest == first
    assert vault.verify() == []


def test_rolling_back_moves_the_links_and_keeps_the_newer_version(home: Home, vault: Vault) -> None:
    old, new = versions(home, 2)
    vault.rollback("demo")
    assert os.readlink(vault.layout.root / "demo") == f"objects/{hex_of(old)}/tree"
    assert os.listdir(vault.layout.archive / "demo") == [hex_of(new)]
    assert vault.rollback("demo", new).digest == new


def test_a_prefix_names_a_version_when_it_is_long_and_unique(home: Home, vault: Vault) -> None:
    first, *_ = versions(home, 3)
    assert vault.rollback("demo", first[: len("sha256:") + 12]).digest == first
    for wrong in (hex_of(first)[:4], "0" * 64, "sha256:", "zz"):
        with pytest.raises(VaultError) as caught:
            vault.rollback("demo", wrong)
        assert caught.value.code == "not_in_history"


def test_rolling_back_passes_over_a_revoked_version(home: Home, vault: Vault) -> None:
    first, second, _ = versions(home, 3)
    vault.revoke(second, "bad")
    assert vault.rollback("demo").digest == first
    with pytest.raises(VaultError) as caught:
        vault.rollback("demo", second)
    assert caught.value.code == "revoked"


def test_rolling_back_never_widens_a_grant(home: Home, vault: Vault, tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {"a": "1"})
    wide = ("net:api.example.invalid:443", "env:TOKEN")
    vault.admit(replace(admission_of(tree, "demo"), grants=wide), tree)
    (tree / "a").write_text("2")
    vault.admit(replace(admission_of(tree, "demo"), grants=("env:TOKEN", "write:/tmp/x")), tree)
    assert vault.open("demo").grants == ("env:TOKEN", "write:/tmp/x")
    assert vault.rollback("demo").grants == ("env:TOKEN",)


def test_history_tells_what_happened_in_order(home: Home, vault: Vault) -> None:
    first, second = versions(home, 2)
    vault.rollback("demo")
    vault.revoke(second, "bad")
    told = [(entry.event, entry.digest, entry.current) for entry in vault.history("demo")]
    assert told == [
        ("admit", first, True),
        ("admit", second, False),
        ("rollback", first, True),
        ("revoke", second, False),
    ]
    assert all(entry.by and entry.at.endswith("Z") for entry in vault.history("demo"))
    events = [line.event for line in Journal(home.journal).read()]
    assert events == ["vault.admit", "vault.admit", "vault.rollback", "vault.revoke"]


def test_export_has_the_shape_of_the_seeds_registry(home: Home, vault: Vault) -> None:
    old = make_tool(home, "demo", {"a": "1"}, Tier.TRUSTED)
    new = make_tool(home, "demo", {"a": "2"}, Tier.TRUSTED)
    tools = vault.export()["tools"]
    assert list(tools) == ["demo"]
    demo = tools["demo"]
    assert (demo["sha256"], demo["digest"], demo["tier"]) == (hex_of(new.digest), new.digest, 2)
    assert (demo["verdict"], demo["source"]) == ("PASS", "https://example.invalid/demo")
    assert demo["vetted_path"] == str(new.path)
    assert demo["vetted_at"].endswith("Z")
    assert [each["sha256"] for each in demo["previous"]] == [hex_of(old.digest)]


def test_the_difference_between_versions_is_told_by_file_and_line(home: Home, vault: Vault) -> None:
    make_tool(home, "demo", {"keep": "k", "edit": "one\ntwo\n", "gone": "g", "bin": b"\0\1", "run": "x"})
    make_tool(
        home, "demo", {"keep": "k", "edit": "one\n2\n", "new": "n", "bin": b"\0\2", "run": "x"}, executable=["run"]
    )
    found = vault.diff("demo")
    assert [(change.what, change.path, change.note) for change in found.changes] == [
        ("changed", "bin", "not text"),
        ("changed", "edit", ""),
        ("removed", "gone", ""),
        ("added", "new", ""),
        ("mode", "run", "is now executable"),
    ]
    assert found.changes[1].lines == ("--- a/edit", "+++ b/edit", "@@ -1,3 +1,3 @@", " one", "-two", "+2", " ")


def test_a_difference_cannot_act_on_a_terminal_or_hide_behind_an_escape(home: Home, vault: Vault) -> None:
    make_tool(home, "demo", {"evil\x1b[2J": "plain \\x1b[8m\n"})
    make_tool(home, "demo", {"evil\x1b[2J": "plain \x1b[8m\n"})
    (change,) = vault.diff("demo").changes
    assert [line for line in change.lines if not line.isprintable()] == []
    assert change.lines[-3:] == ("-plain \\x1b[8m", "+plain \\x1b[8m", " ")


def test_huge_files_are_not_compared_line_by_line(home: Home, vault: Vault) -> None:
    make_tool(home, "demo", {"lines": "a\n" * 5000, "bytes": "x" * 300_000})
    make_tool(home, "demo", {"lines": "b\n" * 5000, "bytes": "y" * 300_000})
    assert [change.note for change in vault.diff("demo").changes] == [
        "300000 bytes, too large to show",
        "5001 lines, too many to show",
    ]


def test_a_tool_with_one_version_has_nothing_to_compare_with(home: Home, vault: Vault) -> None:
    versions(home, 1)
    with pytest.raises(VaultError) as caught:
        vault.diff("demo")
    assert caught.value.code == "not_in_history"


def test_collecting_without_limit_keeps_every_version(home: Home, vault: Vault) -> None:
    digests = versions(home, 3)
    assert vault.gc().objects == ()
    assert vault.rollback("demo", digests[0]).digest == digests[0]


def test_collecting_keeps_the_newest_archived_versions(home: Home, vault: Vault) -> None:
    digests = versions(home, 4)
    result = vault.gc(keep=1)
    assert sorted(result.objects) == sorted(hex_of(digest) for digest in digests[:2])
    assert result.bytes_freed > 0
    assert sorted(os.listdir(vault.layout.objects)) == sorted(hex_of(digest) for digest in digests[2:])
    assert os.listdir(vault.layout.archive / "demo") == [hex_of(digests[2])]
    assert vault.lookup(digests[0], Tier.UNKNOWN) is None
    assert len(vault.history("demo")) == 4
    assert vault.verify() == []


def test_collecting_spares_what_another_name_stands_for(home: Home, vault: Vault) -> None:
    shared = make_tool(home, "demo", {"a": "0"})
    make_tool(home, "twin", {"a": "0"})
    make_tool(home, "demo", {"a": "1"})
    assert vault.gc(keep=0).objects == ()
    assert vault.open("twin").digest == shared.digest


def test_a_collected_version_can_be_vaulted_again(home: Home, vault: Vault) -> None:
    first, _ = versions(home, 2)
    vault.gc(keep=0)
    assert make_tool(home, "demo", {"a": "0"}).digest == first
    assert vault.verify() == []


def test_objects_nobody_approved_are_collected(home: Home, vault: Vault) -> None:
    versions(home, 1)
    stray = vault.layout.object("f" * 64) / "tree"
    stray.mkdir(parents=True)
    (stray / "x").write_text("x")
    stray.chmod(0o555)
    assert vault.gc().objects == ("f" * 64,)
    assert len(os.listdir(vault.layout.objects)) == 1


def test_recovery_removes_unfinished_work_and_mends_links(home: Home, vault: Vault) -> None:
    (digest,) = versions(home, 1)
    half = vault.layout.staging / f"{'e' * 64}.0123" / "object" / "tree"
    half.mkdir(parents=True)
    published = vault.layout.object("e" * 64)
    published.mkdir()
    finished = vault.layout.staging / f"{hex_of(digest)}.4567"
    finished.mkdir()
    (vault.layout.root / "demo").unlink()
    with vault._registry.database.write() as connection:
        connection.execute("UPDATE tools SET unsettled = 1")
    vault.recover()
    assert os.listdir(vault.layout.staging) == []
    assert os.listdir(vault.layout.objects) == [hex_of(digest)]
    assert vault.verify() == []


def test_recovery_of_a_vault_that_never_was_makes_nothing(home: Home, vault: Vault) -> None:
    vault.recover()
    assert os.listdir(home.vault) == []
