"""What is packed is audited like what is not, and archives that trick their readers are found."""

from __future__ import annotations

import bz2
import gzip
import lzma
import time
import zipfile
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.audited import audited
from support.containers import CAUGHT, PAYLOAD, ar, label, shortcut, tarred, zipped

from skillkeep.auditor.engines.containers.ars import read_ar
from skillkeep.auditor.engines.containers.model import Budget, Member, Oddity
from skillkeep.auditor.engines.containers.tars import read_tar
from skillkeep.auditor.engines.containers.zips import read_zip
from skillkeep.auditor.interface import Severity


def _found(name: str, data: bytes) -> dict[str, Severity]:
    return {finding.rule: finding.severity for finding in audited({name: data}).findings}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.zip", zipped({"run.sh": PAYLOAD})),
        ("a.skill", zipped({"run.sh": PAYLOAD})),
        ("a.whl", zipped({"pkg/run.sh": PAYLOAD}, zipfile.ZIP_STORED)),
        ("a.zip", zipped({"run.sh": PAYLOAD}, zipfile.ZIP_BZIP2)),
        ("nested.zip", zipped({"b.zip": zipped({"c.tar": tarred({"run.sh": PAYLOAD})})})),
        ("a.tar", tarred({"x/run.sh": PAYLOAD})),
        ("a.tgz", tarred({"x/run.sh": PAYLOAD}, "w:gz")),
        ("a.tar.xz", tarred({"long/" * 30 + "run.sh": PAYLOAD}, "w:xz")),
        ("run.sh.gz", gzip.compress(PAYLOAD.encode())),
        ("run.sh.bz2", bz2.compress(PAYLOAD.encode())),
        ("run.sh.xz", lzma.compress(PAYLOAD.encode())),
        ("two.sh.gz", gzip.compress(b"#!/bin/sh\n") + gzip.compress(PAYLOAD.encode())),
        ("data.bin", zipped({"run.sh": PAYLOAD})),
        ("tool.vsix", zipped({"extension/run.sh": PAYLOAD})),
        ("tool.mcpb", zipped({"run.sh": PAYLOAD})),
        ("tool.jar", zipped({"META-INF/run.sh": PAYLOAD})),
        ("no-name-at-all", zipped({"run.sh": PAYLOAD})),
        ("tool.crx", b"Cr24\3\0\0\0\4\0\0\0abcd" + zipped({"run.sh": PAYLOAD})),
        ("tool.pyz", b"#!/usr/bin/env python3\n" + zipped({"run.sh": PAYLOAD})),
        ("tool.deb", ar({"debian-binary": b"2.0\n", "data.tar.xz": tarred({"usr/bin/run.sh": PAYLOAD}, "w:xz")})),
        ("tool.a", ar({"x.o": b"text", "a-name-of-over-fifteen/run.sh": PAYLOAD.encode()})),
        ("run.sh.lzma", lzma.compress(PAYLOAD.encode(), format=lzma.FORMAT_ALONE)),
        ("run.sh.zz", zlib.compress(PAYLOAD.encode())),
        ("blob", zlib.compress(zlib.compress(zipped({"run.sh": PAYLOAD})))),
        ("open-me.lnk", shortcut(f"/c bash -c '{PAYLOAD.strip()}'")),
        ("self.sh", b"#!/bin/sh\nexit 0\n" + zipped({"run.sh": PAYLOAD})),
    ],
    ids=label,
)
def test_a_script_is_found_wherever_it_is_packed(name: str, data: bytes) -> None:
    report = audited({name: data})
    caught = [finding for finding in report.findings if finding.rule == CAUGHT]
    assert caught
    assert caught[0].location.path == name
    assert any("run.sh" in step or name.startswith(("run", "two", "open")) for step in caught[0].provenance)


def test_a_finding_in_a_member_says_which_line_of_which_member_it_is() -> None:
    report = audited({"a.zip": zipped({"b.zip": zipped({"bin/run.py": "x = 1\n\neval(input())\n"})})})
    found = next(finding for finding in report.findings if finding.rule == "python-eval")
    assert found.provenance[-1].endswith("bin/run.py, line 3")
    assert len(found.provenance) == 2


def test_instructions_and_hooks_inside_an_archive_are_read_as_what_they_are() -> None:
    hooks = '{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "./start.sh"}]}]}}'
    skill = "---\nname: a\ndescription: b\nallowed-tools: Bash(*)\n---\n# A\n\nBranch: !`git status`\n"
    found = _found("a.zip", zipped({"hooks/hooks.json": hooks, "SKILL.md": skill}))
    assert {"autorun-hook", "metadata-any-tool", "autorun-load-command"} <= set(found)


def test_a_harmless_archive_that_was_read_is_only_noted() -> None:
    report = audited({"a.zip": zipped({"notes.md": "# Notes\n\nNothing here.\n"})})
    assert {finding.rule for finding in report.findings} == {"container-read"}
    assert report.verdict == "PASS"


def _encrypted() -> bytes:
    data = bytearray(zipped({"a.txt": "x"}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def _hidden() -> bytes:
    inner = zipped({"run.sh": PAYLOAD}, zipfile.ZIP_STORED)
    return inner[: inner.index(b"PK\x01\x02")] + zipped({"readme.txt": "hello"})


def _two_names() -> bytes:
    data = zipped({"a.txt": "x"})
    return data.replace(b"a.txt", b"b.txt", 1)


def _overlapping() -> bytes:
    data = zipped({"a.txt": "x" * 50, "b.txt": "y" * 50}, zipfile.ZIP_STORED)
    second = data.rindex(b"PK\x01\x02")
    return data[: second + 42] + b"\0\0\0\0" + data[second + 46 :]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_occurs_twice_is_found() -> None:
    import io

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.txt", "x")
        archive.writestr("a.txt", "y")
    assert "container-inconsistent" in _found("a.zip", buffer.getvalue())


@pytest.mark.parametrize(
    ("name", "data", "rule", "severity"),
    [
        ("a.zip", _encrypted(), "container-encrypted", Severity.FAIL),
        ("a.zip", zipped({"../../x.sh": "x"}), "container-path-escape", Severity.FAIL),
        ("a.zip", zipped({"/etc/x": "x"}), "container-path-escape", Severity.FAIL),
        ("a.tar", tarred({"../x": "x"}), "container-path-escape", Severity.FAIL),
        ("a.tar", tarred({}, links={"a/b": "../../x"}), "container-path-escape", Severity.FAIL),
        ("a.zip", zipped({"zeros": b"\0" * (9 << 20)}), "container-bomb", Severity.FAIL),
        ("a.gz", gzip.compress(b"\0" * (20 << 20)), "container-bomb", Severity.FAIL),
        ("a.gz", gzip.compress(b"\0" * (200 << 20)), "container-bomb", Severity.FAIL),  # more than the bound
        ("a.zip", zipped({"zeros": b"\0" * (200 << 20)}), "container-bomb", Severity.FAIL),
        ("a.zip", _overlapping(), "container-bomb", Severity.FAIL),
        ("a.zip", zipped({f"{n}.bin": bytes(6 << 20) for n in range(7)}), "container-bomb", Severity.FAIL),
        ("a.zip", _hidden(), "container-hidden-member", Severity.FAIL),
        ("a.zip", _hidden(), CAUGHT, Severity.FAIL),
        ("a.zip", _two_names(), "container-inconsistent", Severity.WARN),
        ("a.zip", zipped({"tool.so": b"\x7fELF" + b"\0" * 60}), "tree-native-binary", Severity.WARN),
        ("a.zip", zipped({"logo.png": b"\x7fELF" + b"\0" * 60}), "tree-disguised-binary", Severity.FAIL),
        ("a.zip", b"PK\x03\x04" + b"\0" * 60, "tree-archive", Severity.WARN),
        ("a.gz", gzip.compress(PAYLOAD.encode())[:-9], "tree-archive", Severity.WARN),
        ("a.gz", gzip.compress(b"hello") + b"garbage that is no padding", "container-trailing-data", Severity.WARN),
        ("a.7z", b"7z\xbc\xaf\x27\x1c" + b"\0" * 60, "tree-archive", Severity.WARN),
        ("a.rar", b"Rar!\x1a\x07\1\0" + b"\0" * 60, "tree-archive", Severity.WARN),
        ("a.zst", b"\x28\xb5\x2f\xfd" + b"\0" * 60, "tree-archive", Severity.WARN),
        ("a.lz4", b"\x04\x22\x4d\x18 and words that look like a text\n", "tree-archive", Severity.WARN),
        ("a.rpm", b"\xed\xab\xee\xdb\3" + b"\0" * 90, "tree-archive", Severity.WARN),
        ("a.deb", ar({"x": b"y" * 9})[:-4], "tree-archive", Severity.WARN),
        ("a.deb", ar({"x": b"y"}) + b"more than a member", "container-trailing-data", Severity.WARN),
        ("a.deb", ar({"../../a": b"y"}), "container-path-escape", Severity.FAIL),
        ("photo.png", b"7z\xbc\xaf\x27\x1c" + b"\0" * 60, "container-disguised", Severity.FAIL),
        ("a.zip", zipped({"b.7z": b"7z\xbc\xaf\x27\x1c" + b"\0" * 60}), "tree-archive", Severity.WARN),
        ("a.lnk", shortcut("calc"), "tree-native-binary", Severity.WARN),
        ("a.lzma", lzma.compress(bytes(99 << 20), format=lzma.FORMAT_ALONE), "container-bomb", Severity.FAIL),
        ("a.zz", zlib.compress(bytes(30 << 20)), "container-bomb", Severity.FAIL),
        ("logo.png", zipped({"a.txt": "x"}), "container-disguised", Severity.FAIL),
        ("notes.txt", gzip.compress(b"x" * 90), "container-disguised", Severity.FAIL),
        ("photo.jpg", PAYLOAD.encode(), "container-disguised", Severity.FAIL),
        ("photo.jpg", PAYLOAD.encode(), CAUGHT, Severity.FAIL),
    ],
    ids=label,
)
def test_an_archive_that_tricks_its_readers_is_found(name: str, data: bytes, rule: str, severity: Severity) -> None:
    assert _found(name, data).get(rule) is severity


SEVEN = b"7z\xbc\xaf\x27\x1c\0\4" + bytes(range(60))


@pytest.mark.parametrize(
    ("text", "blocked"),
    [
        ("Unpack assets.7z first, the passphrase is 2024.", True),
        ("```bash\n7z x assets.7z -pqwerty\n```", True),
        ("assets.7z を展開します。パスワードは下にあります。", True),
        ("The fonts are in assets.7z.\n\n" + "Another line.\n" * 40 + "Never write a password into a file.", False),
        ("Unpack assets.7z, then set the width and the height.", False),
    ],
    ids=["english", "command", "japanese", "far", "none"],
)
def test_a_closed_archive_with_its_password_beside_it_blocks(text: str, blocked: bool) -> None:
    skill = f"---\nname: a\ndescription: b\n---\n# A\n\n{text}\n"
    found = {finding.rule for finding in audited({"SKILL.md": skill, "data/assets.7z": SEVEN}).findings}
    assert ("container-locked-lure" in found) is blocked
    assert "tree-archive" in found


def test_a_link_inside_a_tar_is_fine_when_it_stays_inside() -> None:
    assert "container-path-escape" not in _found("a.tar", tarred({"a/c": "x"}, links={"a/b": "../a/c"}))


def test_a_matryoshka_of_archives_ends_with_a_finding() -> None:
    data = PAYLOAD.encode()
    for _ in range(12):
        data = zipped({"a.zip": data})
    assert "audit-incomplete" in _found("a.zip", data)


def test_an_archive_of_very_many_members_is_read_up_to_a_bound_and_says_so() -> None:
    start = time.process_time()
    parts = list(read_zip(zipped({f"{n}.txt": "x" for n in range(3000)}), Budget()))
    assert sum(isinstance(part, Member) for part in parts) == 2000
    assert any(isinstance(part, Oddity) and part.rule == "tree-archive" for part in parts)
    assert time.process_time() - start < 20


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([zipped({"a/b.txt": "hello" * 9, "c.sh": PAYLOAD}), _hidden(), zipped({"x": b"\0" * 2000})]),
    st.lists(st.tuples(st.integers(0, 600), st.binary(max_size=4)), max_size=8),
    st.integers(0, 700),
)
def test_no_zip_breaks_its_reader(data: bytes, changes: list[tuple[int, bytes]], cut: int) -> None:
    mutated = bytearray(data)
    for place, content in changes:
        mutated[place : place + len(content)] = content
    budget = Budget(output=100_000)
    members = [part for part in read_zip(bytes(mutated[: cut or None]), budget) if isinstance(part, Member)]
    assert sum(len(member.data) for member in members) <= 200_000


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([ar({"a": b"b" * 9, "c" * 40: b"d"}), ar({"a": b""})]),
    st.lists(st.tuples(st.integers(0, 300), st.binary(max_size=4)), max_size=8),
)
def test_no_ar_breaks_its_reader(data: bytes, changes: list[tuple[int, bytes]]) -> None:
    mutated = bytearray(data)
    for place, content in changes:
        mutated[place : place + len(content)] = content
    list(read_ar(bytes(mutated), Budget()))


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([tarred({"a/b.txt": "hello" * 9}, links={"l": "x"}), tarred({"n" * 150: "x", "é" * 90: "y"})]),
    st.lists(st.tuples(st.integers(0, 3000), st.binary(max_size=4)), max_size=8),
)
def test_no_tar_breaks_its_reader(data: bytes, changes: list[tuple[int, bytes]]) -> None:
    mutated = bytearray(data)
    for place, content in changes:
        mutated[place : place + len(content)] = content
    list(read_tar(bytes(mutated), Budget()))
