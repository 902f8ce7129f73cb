"""What the vault lets in, what it refuses, and that a refusal leaves nothing behind."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.vaults import admission_of, make_tool, write_files

from skillkeep.errors import Exit, SkillkeepError
from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.vault.errors import VaultError
from skillkeep.vault.interface import Tier
from skillkeep.vault.store import Vault

FILES = {"SKILL.md": "# demo\n", "bin/run.sh": "#!/bin/sh\necho hi\n", "data/deep/x.bin": b"\0\xff"}


def everything_below(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Every path with mode and content; the registry's and the locks' bytes are left out."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            if name.startswith((".lock", ".registry", "registry.sqlite3")):
                continue
            info = path.lstat()
            content: bytes | str = b""
            if stat.S_ISLNK(info.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(info.st_mode):
                content = path.read_bytes()
            found[str(path.relative_to(folder))] = (info.st_mode, content)
    return found


def tools_in(vault: Vault) -> list[tuple[str, str]]:
    return [(record.name, record.digest) for record in vault.list()]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_files(tmp_path / "tree", FILES)


def test_an_admitted_tool_is_read_only_complete_and_reachable_by_its_name(vault: Vault, tree: Path) -> None:
    tool = vault.admit(admission_of(tree, "demo"), tree)
    assert [(entry.path, entry.executable) for entry in tool.manifest.entries] == [
        ("SKILL.md", False),
        ("bin/run.sh", True),
        ("data/deep/x.bin", False),
    ]
    hex_digest = tool.digest.removeprefix("sha256:")
    assert tool.path == vault.layout.root / "objects" / hex_digest / "tree"
    modes = {path: oct(mode) for path, (mode, _) in everything_below(tool.path.parent).items()}
    assert modes == {
        "manifest": "0o100444",
        "tree": "0o40555",
        "tree/SKILL.md": "0o100444",
        "tree/bin": "0o40555",
        "tree/bin/run.sh": "0o100555",
        "tree/data": "0o40555",
        "tree/data/deep": "0o40555",
        "tree/data/deep/x.bin": "0o100444",
    }
    assert stat.S_IMODE(tool.path.parent.stat().st_mode) == 0o555
    assert os.readlink(vault.layout.root / "demo") == f"objects/{hex_digest}/tree"
    assert (vault.layout.root / "demo" / "bin" / "run.sh").read_text() == FILES["bin/run.sh"]
    assert vault.verify() == []
    assert os.listdir(vault.layout.staging) == []


def test_an_admission_is_in_the_journal(vault: Vault, tree: Path, home: Home) -> None:
    tool = vault.admit(admission_of(tree, "demo", Tier.TRUSTED), tree)
    lines = [line for line in Journal(home.journal).read() if line.event == "vault.admit"]
    assert [(line.facts["name"], line.facts["digest"], line.facts["tier"]) for line in lines] == [
        ("demo", tool.digest, 2)
    ]


@pytest.mark.parametrize("tier", list(Tier))
@pytest.mark.parametrize("verdict", ["FAIL", "fail", "Fail", "", "UNKNOWN", "PASS ", "pass"])
def test_no_other_verdict_than_pass_and_warn_comes_in(vault: Vault, tree: Path, tier: Tier, verdict: str) -> None:
    before = everything_below(vault.layout.root)
    with pytest.raises(VaultError) as caught:
        vault.admit(admission_of(tree, "demo", tier, verdict), tree)
    assert (caught.value.code, caught.value.exit_code) == ("verdict_refused", Exit.REJECTED)
    assert everything_below(vault.layout.root) == before
    assert vault.list() == []


@pytest.mark.parametrize("tier", [Tier.TRUSTED, Tier.UNKNOWN])
def test_only_a_local_tool_may_bypass_the_audit(vault: Vault, tree: Path, tier: Tier) -> None:
    with pytest.raises(VaultError) as caught:
        vault.admit(admission_of(tree, "demo", tier, "BYPASSED"), tree)
    assert caught.value.code == "verdict_refused"
    vault.admit(admission_of(tree, "demo", Tier.LOCAL, "BYPASSED"), tree)
    assert vault.open("demo").tier is Tier.LOCAL


def test_the_registry_itself_cannot_hold_a_fail(home: Home, vault: Vault) -> None:
    make_tool(home, "demo", FILES)
    with sqlite3.connect(vault.layout.registry) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("UPDATE approvals SET verdict = 'FAIL'")
    connection.close()


def link_inside(tree: Path) -> None:
    (tree / "alias").symlink_to("SKILL.md")


def link_outside(tree: Path) -> None:
    (tree / "data" / "passwd").symlink_to("/etc/passwd")


def folder_link(tree: Path) -> None:
    (tree / "elsewhere").symlink_to("/tmp")


def fifo(tree: Path) -> None:
    os.mkfifo(tree / "pipe")


@pytest.mark.parametrize("spoil", [link_inside, link_outside, folder_link, fifo])
def test_a_link_or_special_file_is_refused(vault: Vault, tree: Path, spoil: Callable[[Path], None]) -> None:
    admission = admission_of(tree, "demo")
    spoil(tree)
    with pytest.raises(VaultError) as caught:
        vault.admit(admission, tree)
    assert caught.value.code == "tree_unsafe"
    assert vault.list() == []
    assert os.listdir(vault.layout.staging) == []
    assert os.listdir(vault.layout.objects) == []


def test_a_link_in_place_of_the_tree_is_refused(vault: Vault, tree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tree)
    with pytest.raises(SkillkeepError) as caught:
        vault.admit(admission_of(tree, "demo"), tmp_path / "link")
    assert caught.value.code == "not_a_tree"


def more(tree: Path) -> None:
    (tree / "extra").write_text("")


def less(tree: Path) -> None:
    (tree / "SKILL.md").unlink()


def other_bytes(tree: Path) -> None:
    (tree / "SKILL.md").write_text("# demO\n")


def executable(tree: Path) -> None:
    (tree / "SKILL.md").chmod(0o755)


def renamed(tree: Path) -> None:
    (tree / "SKILL.md").rename(tree / "skill.md")


@pytest.mark.parametrize("change", [more, less, other_bytes, executable, renamed])
def test_files_that_are_not_the_audited_ones_are_refused(
    vault: Vault, tree: Path, change: Callable[[Path], None]
) -> None:
    admission = admission_of(tree, "demo")
    change(tree)
    with pytest.raises(VaultError) as caught:
        vault.admit(admission, tree)
    assert caught.value.code == "tree_mismatch"
    assert caught.value.context["expected"] == admission.digest
    assert vault.list() == []
    assert os.listdir(vault.layout.objects) == []


def test_a_file_that_changes_during_the_copy_never_gets_in_unseen(vault: Vault, tmp_path: Path) -> None:
    """A writer flips the quarantined file all the time: what is vaulted has the audited digest, or nothing is."""
    tree = write_files(tmp_path / "tree", {f"f{n}": "a" * 5000 for n in range(20)})
    victim, stop = tree / "f7", threading.Event()
    admission = admission_of(tree, "demo")

    def flip() -> None:
        while not stop.is_set():
            victim.write_text("b" * 5000)
            victim.write_text("a" * 5000)

    writer = threading.Thread(target=flip)
    writer.start()
    outcomes = set()
    try:
        for number in range(30):
            try:
                vault.admit(replace(admission, name=f"demo{number}"), tree)
                outcomes.add("in")
            except SkillkeepError as error:
                outcomes.add(error.code)
    finally:
        stop.set()
        writer.join()
    assert outcomes <= {"in", "tree_mismatch"}
    assert "tree_mismatch" in outcomes
    assert vault.verify() == []


def test_odd_file_names_are_kept_byte_for_byte(vault: Vault, tmp_path: Path) -> None:
    names = ["new\nline", "esc\x1b[31m", "ünï", os.fsdecode(b"not-utf8-\xff"), "-rf", " space ", "a" * 255, "%41"]
    tree = write_files(tmp_path / "tree", dict.fromkeys(names, "x"))
    tool = vault.admit(admission_of(tree, "demo"), tree)
    assert sorted(os.listdir(tool.path), key=os.fsencode) == sorted(names, key=os.fsencode)
    assert vault.verify() == []


def test_folders_without_files_are_left_out_as_no_digest_covers_them(vault: Vault, tree: Path) -> None:
    (tree / "empty" / "inner").mkdir(parents=True)
    tool = vault.admit(admission_of(tree, "demo"), tree)
    assert not (tool.path / "empty").exists()
    assert vault.verify() == []


def test_a_tool_without_files_can_be_vaulted_and_verified(vault: Vault, tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {})
    assert len(vault.admit(admission_of(tree, "demo"), tree).manifest) == 0
    assert vault.verify() == []


def test_set_user_id_bits_do_not_survive(vault: Vault, tree: Path) -> None:
    (tree / "bin" / "run.sh").chmod(0o6755)
    tool = vault.admit(admission_of(tree, "demo"), tree)
    assert stat.S_IMODE((tool.path / "bin" / "run.sh").stat().st_mode) == 0o555


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        ".hidden",
        "a/b",
        "A",
        "objects",
        "registry.sqlite3",
        "registry",
        "x" * 65,
        "a\nb",
        "-rf",
        "a b",
        "é",
        "0" * 64,
    ],
)
def test_an_unusable_name_is_refused(vault: Vault, tree: Path, name: str) -> None:
    with pytest.raises(SkillkeepError) as caught:
        vault.admit(replace(admission_of(tree, "demo"), name=name), tree)
    assert caught.value.code == "bad_name"


def test_a_name_belongs_to_the_source_that_took_it_first(vault: Vault, tree: Path) -> None:
    vault.admit(admission_of(tree, "demo", source="https://example.invalid/first"), tree)
    (tree / "SKILL.md").write_text("other")
    with pytest.raises(VaultError) as caught:
        vault.admit(admission_of(tree, "demo", source="https://example.invalid/second"), tree)
    assert caught.value.code == "name_taken"
    assert "--name" in caught.value.hint
    assert len(vault.list()) == 1
    vault.admit(admission_of(tree, "demo-two", source="https://example.invalid/second"), tree)
    assert [record.name for record in vault.list()] == ["demo", "demo-two"]


def test_an_update_moves_the_name_and_archives_the_earlier_version(vault: Vault, home: Home) -> None:
    first = make_tool(home, "demo", {"a": "1"})
    second = make_tool(home, "demo", {"a": "2"})
    old, new = (tool.digest.removeprefix("sha256:") for tool in (first, second))
    assert os.readlink(vault.layout.root / "demo") == f"objects/{new}/tree"
    assert os.listdir(vault.layout.archive / "demo") == [old]
    assert (vault.layout.archive / "demo" / old / "a").read_text() == "1"
    assert vault.open("demo").digest == second.digest


def test_the_same_bytes_are_stored_once_for_all_names(vault: Vault, home: Home) -> None:
    one, two = make_tool(home, "one", FILES), make_tool(home, "two", FILES)
    assert one.path == two.path
    assert len(os.listdir(vault.layout.objects)) == 1


def test_admitting_the_same_again_changes_nothing(vault: Vault, home: Home) -> None:
    make_tool(home, "demo", FILES)
    before = everything_below(vault.layout.root)
    make_tool(home, "demo", FILES)
    assert everything_below(vault.layout.root) == before
    assert len(vault.history("demo")) == 1


def test_admitting_the_same_bytes_again_replaces_a_damaged_copy(vault: Vault, home: Home) -> None:
    tool = make_tool(home, "demo", FILES)
    (tool.path / "SKILL.md").chmod(0o644)
    (tool.path / "SKILL.md").write_text("changed")
    with pytest.raises(VaultError):
        vault.open("demo")
    make_tool(home, "demo", FILES)
    assert vault.verify() == []
    assert vault.open("demo").digest == tool.digest
    assert os.listdir(vault.layout.staging) == []


def test_something_put_where_the_link_belongs_is_not_overwritten(vault: Vault, home: Home, tree: Path) -> None:
    (vault.layout.root / "demo").mkdir()
    with pytest.raises(SkillkeepError) as caught:
        vault.admit(admission_of(tree, "demo"), tree)
    assert caught.value.code == "io_error"
    assert vault.list() == []
