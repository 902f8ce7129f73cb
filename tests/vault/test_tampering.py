"""Whatever is done to a vaulted copy, `verify` names it and `open` refuses."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.vaults import make_tool

from skillkeep.errors import Exit, SkillkeepError
from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.vault.errors import VaultError
from skillkeep.vault.interface import VaultedTool
from skillkeep.vault.signature import sign_folder
from skillkeep.vault.store import Vault

FILES = {"SKILL.md": "# demo\n", "bin/run.sh": "#!/bin/sh\necho hi\n", "data/deep/x.bin": b"\0\xff"}


class LaterClock:
    """The machine's time moved on by a minute, so that fresh files count as settled."""

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(minutes=1)

    def monotonic(self) -> float:
        return 0.0


@pytest.fixture
def tool(home: Home) -> VaultedTool:
    return make_tool(home, "demo", FILES)


@pytest.fixture
def later(home: Home) -> Vault:
    return Vault(home, Journal(home.journal), LaterClock())


def writable(path: Path) -> Path:
    path.parent.chmod(0o755)
    if not path.is_symlink() and path.exists():
        path.chmod(0o755 if path.is_dir() else 0o644)
    return path


def locked(path: Path, mode: int = 0o444) -> None:
    if not path.is_symlink() and path.exists():
        path.chmod(mode)
    path.parent.chmod(0o555)


def one_byte(root: Path) -> None:
    victim = writable(root / "data" / "deep" / "x.bin")
    before = victim.stat()
    victim.write_bytes(b"\1\xff")
    locked(victim)
    os.utime(victim, ns=(before.st_atime_ns, before.st_mtime_ns))


def longer(root: Path) -> None:
    victim = writable(root / "SKILL.md")
    victim.write_text("# demo\nmore\n")
    locked(victim)


def added(root: Path) -> None:
    victim = writable(root / "bin" / "extra")
    victim.write_text("x")
    locked(victim)


def hidden(root: Path) -> None:
    victim = writable(root / ".hidden")
    victim.write_text("")
    locked(victim)


def empty_folder(root: Path) -> None:
    victim = writable(root / "new")
    victim.mkdir()
    locked(victim, 0o555)


def removed(root: Path) -> None:
    victim = writable(root / "SKILL.md")
    victim.unlink()
    locked(victim)


def mode_bit(root: Path) -> None:
    (root / "SKILL.md").chmod(0o445)


def set_user_id(root: Path) -> None:
    (root / "bin" / "run.sh").chmod(0o4555)


def folder_mode(root: Path) -> None:
    (root / "data" / "deep").chmod(0o755)


def link_put_in(root: Path) -> None:
    victim = writable(root / "data" / "link")
    victim.symlink_to("/etc/passwd")
    locked(victim)


def file_to_link(root: Path) -> None:
    """The link leads to the very same bytes: a hash alone would not see it."""
    victim = writable(root / "SKILL.md")
    outside = root.parents[4] / "outside.md"
    outside.write_bytes(victim.read_bytes())
    victim.unlink()
    victim.symlink_to(outside)
    locked(victim)


def folder_to_link(root: Path) -> None:
    victim = writable(root / "data")
    outside = root.parents[4] / "outside"
    shutil.copytree(victim, outside)
    (victim / "deep").chmod(0o755)
    shutil.rmtree(victim)
    victim.symlink_to(outside)
    locked(victim)


def file_to_fifo(root: Path) -> None:
    victim = writable(root / "SKILL.md")
    victim.unlink()
    os.mkfifo(victim)
    locked(victim)


def file_to_folder(root: Path) -> None:
    victim = writable(root / "SKILL.md")
    victim.unlink()
    victim.mkdir()
    locked(victim, 0o555)


def renamed(root: Path) -> None:
    victim = writable(root / "SKILL.md")
    victim.rename(root / "skill.md")
    locked(victim)


def manifest_edited(root: Path) -> None:
    manifest = writable(root.parent / "manifest")
    manifest.write_text(manifest.read_text().replace("100644", "100755"))
    locked(manifest)


def manifest_gone(root: Path) -> None:
    victim = writable(root.parent / "manifest")
    victim.unlink()
    locked(victim)


def tree_to_link(root: Path) -> None:
    root.parent.chmod(0o755)
    root.chmod(0o755)
    root.rename(root.parents[2] / "moved")
    root.symlink_to("../../moved")
    root.parent.chmod(0o555)


def object_gone(root: Path) -> None:
    root.parent.chmod(0o755)
    root.parent.rename(root.parents[1] / "elsewhere")


def beside_the_tree(root: Path) -> None:
    victim = writable(root.parent / "note")
    victim.write_text("x")
    locked(victim)


TAMPERING: list[tuple[Callable[[Path], None], set[tuple[str, str]]]] = [
    (one_byte, {("content", "data/deep/x.bin")}),
    (longer, {("content", "SKILL.md")}),
    (added, {("added", "bin/extra")}),
    (hidden, {("added", ".hidden")}),
    (empty_folder, {("added", "new")}),
    (removed, {("removed", "SKILL.md")}),
    (mode_bit, {("mode", "SKILL.md")}),
    (set_user_id, {("mode", "bin/run.sh")}),
    (folder_mode, {("mode", "data/deep")}),
    (link_put_in, {("link", "data/link")}),
    (file_to_link, {("link", "SKILL.md")}),
    (folder_to_link, {("link", "data"), ("removed", "data/deep/x.bin")}),
    (file_to_fifo, {("special", "SKILL.md")}),
    (file_to_folder, {("special", "SKILL.md")}),
    (renamed, {("removed", "SKILL.md"), ("added", "skill.md")}),
    (manifest_edited, {("manifest", "")}),
    (manifest_gone, {("manifest", "")}),
    (tree_to_link, {("link", ""), ("missing", "")}),
    (object_gone, {("missing", "")}),
    (beside_the_tree, {("added", "")}),
]


@pytest.mark.parametrize(("tamper", "expected"), TAMPERING, ids=lambda case: getattr(case, "__name__", ""))
def test_tampering_is_named_and_stops_the_tool(
    tamper: Callable[[Path], None],
    expected: set[tuple[str, str]],
    tool: VaultedTool,
    later: Vault,
    home: Home,
) -> None:
    """Also when the tool was verified before and a cached signature exists."""
    later.open("demo")
    assert signature_in_registry(later)
    tamper(tool.path)
    with pytest.raises(VaultError) as caught:
        later.open("demo")
    assert (caught.value.code, caught.value.exit_code) == ("vault_tampered", Exit.RUN_BLOCKED)
    assert {(item["kind"], item["path"]) for item in caught.value.context["differences"]} == expected
    assert {(str(found.kind), found.path) for found in later.verify("demo")} == expected
    assert "vault.tampered" in [line.event for line in Journal(home.journal).read()]


def signature_in_registry(vault: Vault) -> str | None:
    with contextlib.closing(sqlite3.connect(vault.layout.registry)) as connection:
        found: str | None = connection.execute("SELECT signature FROM objects").fetchone()[0]
        return found


def test_undoing_the_change_makes_the_tool_run_again(tool: VaultedTool, later: Vault) -> None:
    victim = tool.path / "SKILL.md"
    victim.chmod(0o644)
    with pytest.raises(VaultError):
        later.open("demo")
    victim.chmod(0o444)
    assert later.open("demo").digest == tool.digest


def test_a_fresh_copy_is_hashed_again_until_its_time_stamps_have_settled(tool: VaultedTool, vault: Vault) -> None:
    vault.open("demo")
    assert signature_in_registry(vault) is None


def test_the_signature_is_what_a_later_opening_relies_on(tool: VaultedTool, later: Vault) -> None:
    """Whoever can write the registry can forge it, as documented; `paranoid` and `verify` hash all the same."""
    later.open("demo")
    one_byte(tool.path)
    forged = sign_folder(tool.path.parent).digest
    with sqlite3.connect(later.layout.registry) as connection:
        connection.execute("UPDATE objects SET signature = ?", (forged,))
    connection.close()
    assert later.open("demo").digest == tool.digest
    with pytest.raises(VaultError) as caught:
        later.open("demo", paranoid=True)
    assert caught.value.code == "vault_tampered"
    assert [found.path for found in later.verify("demo")] == ["data/deep/x.bin"]


def test_a_signature_without_its_manifest_is_not_enough(tool: VaultedTool, later: Vault) -> None:
    later.open("demo")
    manifest_edited(tool.path)
    with sqlite3.connect(later.layout.registry) as connection:
        connection.execute("UPDATE objects SET signature = ?", (sign_folder(tool.path.parent).digest,))
    connection.close()
    with pytest.raises(VaultError) as caught:
        later.open("demo")
    assert caught.value.code == "vault_tampered"


def test_verification_covers_archived_versions(home: Home, vault: Vault) -> None:
    old = make_tool(home, "demo", {"a": "1"})
    make_tool(home, "demo", {"a": "2"})
    (old.path / "a").chmod(0o777)
    assert [(found.digest, str(found.kind), found.path) for found in vault.verify()] == [(old.digest, "mode", "a")]
    vault.open("demo")
    with pytest.raises(VaultError) as caught:
        vault.rollback("demo")
    assert caught.value.code == "vault_tampered"


def test_many_added_files_are_reported_without_end(tool: VaultedTool, vault: Vault) -> None:
    """More names than the report lists: still tampered, and bounded."""
    tool.path.chmod(0o755)
    for number in range(10_050):
        os.close(os.open(tool.path / f"flood{number}", os.O_CREAT | os.O_WRONLY))
    tool.path.chmod(0o555)
    kinds = [str(found.kind) for found in vault.verify("demo")]
    assert kinds.count("unreadable") >= 1
    assert kinds.count("added") > 9_000
    assert "removed" not in kinds


def test_a_wrong_link_is_reported_and_does_not_change_what_runs(home: Home, vault: Vault, tmp_path: Path) -> None:
    tool = make_tool(home, "demo", FILES)
    link = vault.layout.root / "demo"
    link.unlink()
    link.symlink_to(tmp_path)
    assert [(str(found.kind), found.path) for found in vault.verify()] == [("pointer", "")]
    assert vault.open("demo").path == tool.path
    link.unlink()
    assert [str(found.kind) for found in vault.verify()] == ["pointer"]


def test_what_is_not_vaulted_does_not_open(vault: Vault) -> None:
    with pytest.raises(VaultError) as caught:
        vault.open("demo")
    assert (caught.value.code, caught.value.exit_code) == ("not_vaulted", Exit.RUN_BLOCKED)
    with pytest.raises(VaultError) as caught:
        vault.verify("demo")
    assert caught.value.code == "not_vaulted"


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be looked at" * 9, b"\0" * 4096])
def test_a_registry_that_is_not_one_lets_nothing_run(tool: VaultedTool, vault: Vault, content: bytes) -> None:
    vault.layout.registry.write_bytes(content)
    with pytest.raises(SkillkeepError) as caught:
        vault.open("demo")
    assert caught.value.code in {"registry_broken", "not_vaulted"}


def test_a_registry_of_a_newer_version_is_refused(tool: VaultedTool, vault: Vault) -> None:
    with sqlite3.connect(vault.layout.registry) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(VaultError) as caught:
        vault.open("demo")
    assert caught.value.code == "registry_broken"


def test_a_registry_that_is_a_link_is_refused(home: Home, vault: Vault, tmp_path: Path) -> None:
    make_tool(home, "demo", FILES)
    vault.layout.registry.rename(tmp_path / "real.sqlite3")
    vault.layout.registry.symlink_to(tmp_path / "real.sqlite3")
    with pytest.raises(SkillkeepError) as caught:
        vault.open("demo")
    assert caught.value.code == "io_error"
