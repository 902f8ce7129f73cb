"""Local folders and files, through the door."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from support.door import digest_of, limited, refused, rules, take
from support.hostile import clean_skill, write_files

from skillkeep.home import Home
from skillkeep.ingest.request import Floor


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(tmp_path / "sample", clean_skill())


def test_a_checkouts_own_git_folder_is_no_part_of_the_tool(floor: Floor, folder: Path) -> None:
    before = digest_of(floor, folder)
    write_files(folder, {".git/config": b"x", ".git/hooks/post-checkout": b"x"})
    assert digest_of(floor, folder) == before


def test_a_git_folder_further_down_fails(floor: Floor, folder: Path) -> None:
    write_files(folder, {"vendor/.git/config": b"x"})
    outcome = take(floor, folder)
    assert (outcome.status, "tree-git-folder" in rules(outcome)) == ("rejected", True)


def test_fifos_sockets_and_devices_fail_and_block_nobody(floor: Floor, folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(folder)  # the address of a socket is short
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
        outcome = take(floor, folder)
    special = [finding for finding in outcome.findings if finding["rule"] == "tree-special-file"]
    assert (outcome.status, len(special)) == ("rejected", 2)


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "nowhere"])
def test_a_link_out_of_the_folder_fails(floor: Floor, folder: Path, target: str) -> None:
    write_files(folder.parent, {"outside": b"private"})
    (folder / "link").symlink_to(target)
    outcome = take(floor, folder, confirm=True)
    assert outcome.status == "rejected"
    assert floor.vault.list() == []


def test_a_sparse_file_of_one_gibibyte_is_refused_at_once(floor: Floor, folder: Path) -> None:
    with open(folder / "huge", "wb") as file:
        file.truncate(1 << 30)
    error = refused(floor, folder)
    assert (error.code, error.context["path"]) == ("limit_exceeded", "huge")
    assert "file_bytes" in error.hint


def test_a_hundred_thousand_files_stop_at_the_limit(floor: Floor, tmp_path: Path) -> None:
    first = tmp_path / "many" / "0"
    first.parent.mkdir()
    first.write_bytes(b"x")
    for number in range(1, 20_100):  # links cost no space and count all the same
        os.link(first, first.parent / str(number))
    assert refused(floor, first.parent).context["what"] == "entries"


def test_more_files_than_a_tool_may_have_are_refused(floor: Floor, folder: Path) -> None:
    write_files(folder, {f"data/{number}": b"x" for number in range(30)})
    error = refused(limited(floor, artifact_files=20), folder)
    assert (error.code, error.context["what"]) == ("limit_exceeded", "files")


def test_deep_nesting_is_refused(floor: Floor, folder: Path) -> None:
    write_files(folder, {"/".join(["d"] * 40) + "/x": b"x"})
    assert refused(floor, folder).context["reason"] == "tree-too-deep"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read_keeps_the_tool_out(floor: Floor, folder: Path) -> None:
    (folder / "closed").write_bytes(b"x")
    (folder / "closed").chmod(0)
    assert refused(floor, folder).context["reason"] == "tree-unreadable"


def test_an_empty_folder_is_nothing_to_scan(floor: Floor, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert refused(floor, tmp_path / "empty").code == "empty_source"


def test_a_folder_without_any_tool_is_nothing_to_scan(floor: Floor, tmp_path: Path) -> None:
    error = refused(floor, write_files(tmp_path / "notes", {"todo.txt": b"milk\n"}))
    assert (error.code, int(error.exit_code)) == ("no_artifact", 3)


def test_a_single_script_is_a_tool(floor: Floor, tmp_path: Path) -> None:
    (tmp_path / "Count Words.py").write_bytes(b"print(1)\n")
    outcome = take(floor, tmp_path / "Count Words.py", confirm=True)
    assert (outcome.status, outcome.kind, outcome.name) == ("vaulted", "script", "count-words")


def test_a_path_below_the_folder_may_pass_no_link(floor: Floor, tmp_path: Path) -> None:
    write_files(tmp_path / "elsewhere", clean_skill())
    source = write_files(tmp_path / "source", {"x.py": b"print(1)\n"})
    (source / "door").symlink_to(tmp_path / "elsewhere")
    assert refused(floor, source, path="door").code == "source_not_found"


def test_modes_are_plain_and_the_execute_bit_counts(floor: Floor, folder: Path) -> None:
    plain = digest_of(floor, folder)
    (folder / "scripts/count.py").chmod(0o4777)
    executable = digest_of(floor, folder)
    assert executable != plain
    (folder / "scripts/count.py").chmod(0o700)
    assert digest_of(floor, folder) == executable


def test_the_users_own_folder_is_tier_one_and_needs_no_audit(floor: Floor, home: Home) -> None:
    hostile = {**clean_skill("mine"), "scripts/x.py": b"import os\nos.system(input())\n"}
    outcome = take(floor, write_files(home.skills / "mine", hostile))
    assert (outcome.status, outcome.tier, outcome.verdict, outcome.findings) == ("vaulted", 1, "BYPASSED", ())


def test_the_audit_of_an_own_tool_is_shown_on_request_and_decides_nothing(floor: Floor, home: Home) -> None:
    hostile = {**clean_skill("mine"), "scripts/x.py": b"import os\nos.system(input())\n"}
    outcome = take(floor, write_files(home.skills / "mine", hostile), audit=True)
    assert (outcome.status, outcome.verdict) == ("vaulted", "BYPASSED")
    assert {finding["severity"] for finding in outcome.findings} >= {"fail"}


def test_a_link_from_the_own_folder_to_elsewhere_is_not_tier_one(floor: Floor, home: Home, folder: Path) -> None:
    (home.skills / "linked").symlink_to(folder)
    outcome = take(floor, home.skills / "linked")
    assert (outcome.status, outcome.tier) == ("awaiting_confirmation", 3)


def test_a_link_inside_an_own_tool_to_elsewhere_is_not_tier_one(floor: Floor, home: Home, folder: Path) -> None:
    mine = write_files(home.skills / "mine", clean_skill("mine"))
    (mine / "more").symlink_to(folder)
    outcome = take(floor, mine)
    assert (outcome.status, outcome.tier) == ("rejected", 3)


def test_an_own_tool_that_came_from_a_stranger_is_treated_so(floor: Floor, home: Home) -> None:
    mine = write_files(home.skills / "mine", clean_skill("mine"))
    assert take(floor, mine, origin="somebody").tier == 3
    assert take(floor, mine, origin="anthropics").tier == 2
