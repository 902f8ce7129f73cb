"""Archives as an attacker packs them, through the door."""

from __future__ import annotations

import os
import stat
import tarfile
import zlib
from pathlib import Path

import pytest
from support.door import limited, refused, rules, take
from support.hostile import clean_skill, tar_member, tar_of, zip_files, zip_of

from skillkeep.ingest.outcome import Outcome
from skillkeep.ingest.request import Floor

FILE = stat.S_IFREG | 0o644
SKILL = [(name, data, FILE) for name, data in clean_skill().items()]
TAR_SKILL = list(clean_skill().items())


@pytest.mark.parametrize("suffix", [".zip", ".skill"])
def test_a_zip_is_taken(floor: Floor, tmp_path: Path, suffix: str) -> None:
    folder = stat.S_IFDIR | 0o755
    members = [("./", b"", folder), ("scripts/", b"", folder), *((f"./{name}", data, FILE) for name, data, _ in SKILL)]
    assert take(floor, zip_of(tmp_path / f"tool{suffix}", members), confirm=True).status == "vaulted"


def test_a_tar_is_taken_however_it_is_packed(floor: Floor, tmp_path: Path) -> None:
    statuses = []
    for suffix in (".tar", ".tar.gz", ".tar.bz2", ".tar.xz"):
        archive = tar_of(tmp_path / f"tool{suffix}", [(f"top/{name}", data) for name, data in TAR_SKILL])
        outcome = take(floor, archive, confirm=True)
        statuses.append((outcome.status, outcome.path))
    assert statuses == [("vaulted", "top"), *([("already_approved", "top")] * 3)]


def test_folder_zip_and_tar_of_the_same_files_are_the_same_tool(floor: Floor, tmp_path: Path) -> None:
    first = take(floor, zip_files(tmp_path / "a.zip", clean_skill()), confirm=True)
    again = take(floor, tar_of(tmp_path / "b.tar", TAR_SKILL), name="other")
    assert (again.status, again.name, again.digest) == ("already_approved", first.name, first.digest)


def test_a_part_of_an_archive_is_taken_by_path(floor: Floor, tmp_path: Path) -> None:
    archive = zip_files(tmp_path / "a.zip", {f"x/y/{name}": data for name, data in clean_skill().items()})
    assert take(floor, archive, path="x/y").path == "x/y"
    assert refused(floor, archive, path="x/z").code == "empty_source"


CLIMBING = ("../evil", "/tmp/evil", "a/../../evil", "..\\..\\evil", "a//b", "./../evil")
LOOKALIKES = (
    ".GIT/config", "git~1/config", ".git /config", ".git.../x", ".g\u200cit/config",
    ".git::$INDEX_ALLOCATION/config",
)  # fmt: skip


def paths_of(outcome: Outcome, rule: str) -> list[str]:
    return [finding["location"]["path"] for finding in outcome.findings if finding["rule"] == rule]


def test_members_that_climb_fail_and_write_nothing_outside(floor: Floor, tmp_path: Path) -> None:
    zipped = zip_of(tmp_path / "a.zip", [*SKILL, *((name, b"evil", FILE) for name in CLIMBING)])
    tarred = tar_of(tmp_path / "b.tar", [*TAR_SKILL, *((name, b"evil") for name in CLIMBING)])
    before = set(os.listdir(tmp_path))
    for archive in (zipped, tarred):
        outcome = take(floor, archive, confirm=True)
        assert outcome.status == "rejected"
        assert sorted(paths_of(outcome, "tree-path-escape")) == sorted(CLIMBING)
    assert set(os.listdir(tmp_path)) == before
    assert not Path("/tmp/evil").exists()


def test_git_folders_in_an_archive_fail_once_each(floor: Floor, tmp_path: Path) -> None:
    inner = {f"{folder}/{file}": b"x" for folder in (".git", "a/.git") for file in ("config", "hooks/post-checkout")}
    outcome = take(floor, zip_files(tmp_path / "a.zip", {**clean_skill(), **inner, "b/.gitignore": b"x"}))
    assert outcome.status == "rejected"
    assert sorted(paths_of(outcome, "tree-git-folder")) == [".git", "a/.git"]


def test_other_spellings_of_a_git_folder_fail(floor: Floor, tmp_path: Path) -> None:
    outcome = take(floor, zip_files(tmp_path / "a.zip", {**clean_skill(), **dict.fromkeys(LOOKALIKES, b"x")}))
    assert outcome.status == "rejected"
    assert sorted(paths_of(outcome, "tree-git-lookalike")) == sorted(LOOKALIKES)


def test_links_in_archives_are_never_followed(floor: Floor, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    link = ("door", str(victim).encode(), stat.S_IFLNK | 0o777)
    outcome = take(floor, zip_of(tmp_path / "a.zip", [*SKILL, link, ("door/evil", b"x", FILE)]))
    assert outcome.status == "rejected"
    assert {"tree-link-absolute", "tree-duplicate-path"} <= rules(outcome)
    outcome = take(
        floor,
        tar_of(tmp_path / "b.tar", [*TAR_SKILL, tar_member("door", tarfile.SYMTYPE, str(victim)), ("door/evil", b"x")]),
    )
    assert outcome.status == "rejected"
    assert list(victim.iterdir()) == []


def test_hard_links_to_what_is_not_in_the_archive_are_findings(floor: Floor, tmp_path: Path) -> None:
    targets = {"a": "/etc/passwd", "b": "../../../etc/passwd", "c": "no-such-member", "d": "d"}
    links = [tar_member(name, tarfile.LNKTYPE, target) for name, target in targets.items()]
    outcome = take(floor, tar_of(tmp_path / "a.tar", [*TAR_SKILL, *links]))
    assert sorted(paths_of(outcome, "tree-hardlink")) == ["a", "b", "c", "d"]
    assert outcome.status != "vaulted"


def test_a_hard_link_to_an_earlier_member_is_a_copy(floor: Floor, tmp_path: Path) -> None:
    copy = tar_member("copy.py", tarfile.LNKTYPE, "scripts/count.py")
    outcome = take(floor, tar_of(tmp_path / "a.tar", [*TAR_SKILL, copy]), confirm=True)
    assert outcome.status == "vaulted"
    assert (floor.vault.open("sample").path / "copy.py").read_bytes() == clean_skill()["scripts/count.py"]


def test_devices_and_fifos_fail(floor: Floor, tmp_path: Path) -> None:
    kinds = (tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE)
    members = [tar_member(f"odd{number}", kind) for number, kind in enumerate(kinds)]
    outcome = take(floor, tar_of(tmp_path / "a.tar", [*TAR_SKILL, *members]))
    assert outcome.status == "rejected"
    assert sorted(paths_of(outcome, "tree-special-file")) == ["odd0", "odd1", "odd2"]


def test_a_path_twice_in_one_archive_fails(floor: Floor, tmp_path: Path) -> None:
    outcome = take(floor, zip_of(tmp_path / "a.zip", [*SKILL, ("SKILL.md", b"other", FILE)]))
    assert (outcome.status, "tree-duplicate-path" in rules(outcome)) == ("rejected", True)


def test_a_zip_bomb_of_one_gibibyte_costs_nothing(floor: Floor, tmp_path: Path) -> None:
    """One mebibyte of zeros, deflated once and repeated: the archive is small, its member is not."""
    archive = tmp_path / "bomb.zip"
    _write_gibibyte_zip(archive)
    assert archive.stat().st_size < 4 << 20
    error = refused(floor, archive)
    assert error.code == "limit_exceeded"


def _write_gibibyte_zip(path: Path) -> None:
    import struct

    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = block * 1024 + zlib.compressobj(9, zlib.DEFLATED, -15).flush()
    skill = clean_skill()["SKILL.md"]
    body, directory = b"", b""
    for name, data, method, size in ((b"SKILL.md", skill, 0, len(skill)), (b"zeros", packed, 8, 1 << 30)):
        fields = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 0, zlib.crc32(data), len(data), size, len(name), 0)
        directory += (
            b"PK\x01\x02" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + name
        )
        body += b"PK\x03\x04" + fields + name + data
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 2, 2, len(directory), len(body), 0)
    path.write_bytes(body + directory + end)


def test_a_zip_that_lies_about_a_size_is_one_typed_error(floor: Floor, tmp_path: Path) -> None:
    archive = zip_files(tmp_path / "a.zip", {**clean_skill(), "zeros": bytes(1 << 20)})
    data = archive.read_bytes()
    archive.write_bytes(data.replace((1 << 20).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    assert refused(floor, archive).code == "bad_archive"


def test_a_compressed_tar_bomb_stops_at_the_limit(floor: Floor, tmp_path: Path) -> None:
    import gzip

    archive = tmp_path / "bomb.tar.gz"
    header = tarfile.TarInfo("zeros")
    header.size = 1 << 30
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    with gzip.open(archive, "wb") as out:
        out.write(header.tobuf())
    start = archive.read_bytes()
    cut = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = cut.compress(header.tobuf()) + cut.flush(zlib.Z_FULL_FLUSH)
    archive.write_bytes(start[: 10 + len("bomb.tar") + 1] + first + block * 1024)
    error = refused(floor, archive)
    assert (error.code, error.context["what"]) == ("limit_exceeded", "bytes")


def test_too_many_members_stop_at_the_limit(floor: Floor, tmp_path: Path) -> None:
    few = limited(floor, source_files=100)
    many = [tar_member(f"f{number}", tarfile.REGTYPE) for number in range(101)]
    assert refused(few, tar_of(tmp_path / "a.tar", many)).context["what"] == "entries"
    assert refused(few, zip_files(tmp_path / "a.zip", {f"f{n}": b"" for n in range(101)})).context["what"] == "entries"


def test_an_encrypted_member_is_one_typed_error(floor: Floor, tmp_path: Path) -> None:
    archive = zip_files(tmp_path / "a.zip", clean_skill())
    data = bytearray(archive.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    archive.write_bytes(data)
    assert refused(floor, archive).code == "bad_archive"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.zip", b"PK\x03\x04 and then nothing"),
        ("a.zip", b"no archive at all"),
        ("a.tar.gz", b"\x1f\x8b\x08\x00broken"),
        ("a.tar.xz", b"\xfd7zXZ\x00broken"),
        ("a.tar.bz2", b"BZh9broken"),
        ("a.tar", b"\0" * 100),
        ("a.tar", bytes(range(256)) * 4),
    ],
)
def test_a_damaged_archive_is_one_typed_error(floor: Floor, tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    assert refused(floor, tmp_path / name).code in {"bad_archive", "empty_source"}


def test_an_empty_archive_is_nothing_to_scan(floor: Floor, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"")
    assert int(refused(floor, tmp_path / "a.zip").exit_code) == 3
    assert refused(floor, tar_of(tmp_path / "a.tar", [])).code == "empty_source"
    assert refused(floor, zip_files(tmp_path / "b.zip", {})).code == "empty_source"


def test_names_that_are_no_utf8_stay_what_they_are(floor: Floor, tmp_path: Path) -> None:
    outcome = take(floor, tar_of(tmp_path / "a.tar", [*TAR_SKILL, (os.fsdecode(b"odd\xff\xfe.txt"), b"x")]))
    assert "tree-name-encoding" in rules(outcome)


def test_a_name_with_ansi_codes_reaches_no_terminal(floor: Floor, tmp_path: Path) -> None:
    from skillkeep.ingest.render import outcome_text

    outcome = take(floor, zip_files(tmp_path / "a.zip", {**clean_skill(), "\x1b[31mred\x07.txt": b"x"}))
    assert "tree-name-control" in rules(outcome)
    assert "\x1b" not in outcome_text(outcome)
    assert "\x07" not in outcome_text(outcome)
