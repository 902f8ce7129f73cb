"""Any changed, dropped, reordered or cut line of the journal is found; a crash while writing is not tampering."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillkeep.errors import SkillkeepError
from skillkeep.journal import Journal


def filled(folder: Path, lines: int = 12, rotate: int = 900) -> Journal:
    journal = Journal(folder, rotate_bytes=rotate)
    for number in range(lines):
        journal.append("run.end", number=number, name="tool", durable=number % 5 == 0)
    return journal


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl"))


def test_lines_are_chained_over_rotated_files(tmp_path: Path) -> None:
    journal = filled(tmp_path)
    assert len(files(tmp_path)) > 2
    assert journal.verify().lines == 12
    assert [line.facts["number"] for line in journal.read()] == list(range(12))


def change(line: bytes) -> bytes:
    return line.replace(b'"tool"', b'"fool"')


def rehash(line: bytes) -> bytes:
    """A clever change: the line's own hash is made to fit."""
    import hashlib

    body = json.loads(change(line))
    body.pop("hash")
    text = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    body["hash"] = hashlib.sha256(text).hexdigest()
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    "tamper",
    [
        lambda lines: [*lines[:3], change(lines[3]), *lines[4:]],
        lambda lines: [*lines[:3], rehash(lines[3]), *lines[4:]],
        lambda lines: [*lines[:3], *lines[4:]],
        lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]],
        lambda lines: [*lines[:3], lines[3], lines[3], *lines[4:]],
        lambda lines: lines[:-1],
        lambda lines: [*lines[:-1], change(lines[-1])],
        lambda lines: [*lines[:-1], rehash(lines[-1])],
        lambda lines: [*lines[:-1], lines[-1][:-5]],
        lambda lines: lines[1:],
        lambda lines: [b"{}", *lines],
        lambda lines: [*lines[:3], b"\xff\x00", *lines[4:]],
        lambda lines: [],
    ],
)
def test_tampering_is_found(tmp_path: Path, tamper: Callable[[list[bytes]], list[bytes]]) -> None:
    journal = filled(tmp_path, rotate=1 << 20)
    (file,) = files(tmp_path)
    file.write_bytes(b"".join(line + b"\n" for line in tamper(file.read_bytes().splitlines())))
    with pytest.raises(SkillkeepError) as caught:
        journal.verify()
    assert caught.value.code == "journal_broken"


@pytest.mark.parametrize("index", [0, 1, -1])
def test_a_missing_file_is_found(tmp_path: Path, index: int) -> None:
    journal = filled(tmp_path)
    files(tmp_path)[index].unlink()
    with pytest.raises(SkillkeepError) as caught:
        journal.verify()
    assert caught.value.code == "journal_broken"


def test_a_missing_head_is_found(tmp_path: Path) -> None:
    journal = filled(tmp_path)
    (tmp_path / "HEAD").unlink()
    with pytest.raises(SkillkeepError):
        journal.verify()


def test_appending_after_tampering_is_refused(tmp_path: Path) -> None:
    journal = filled(tmp_path, rotate=1 << 20)
    (file,) = files(tmp_path)
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(SkillkeepError) as caught:
        journal.append("run.end")
    assert caught.value.code == "journal_broken"


@pytest.mark.parametrize("tail", [b'{"seq":13', b"half a line"])
def test_a_line_half_written_by_a_crash_is_dropped_by_the_next_append(tmp_path: Path, tail: bytes) -> None:
    journal = filled(tmp_path, rotate=1 << 20)
    (file,) = files(tmp_path)
    with file.open("ab") as stream:
        stream.write(tail)
    assert journal.verify().lines == 12
    journal.append("run.end", number=12)
    assert journal.verify().lines == 13


def test_a_line_whose_head_cannot_be_written_is_taken_back(tmp_path: Path) -> None:
    journal = filled(tmp_path, rotate=1 << 20)
    (tmp_path / ".HEAD.tmp").mkdir()
    with pytest.raises(SkillkeepError) as caught:
        journal.append("run.end", number=12)
    assert caught.value.code == "io_error"
    (tmp_path / ".HEAD.tmp").rmdir()
    journal.append("run.end", number=12)
    assert journal.verify().lines == 13


def test_a_line_written_just_before_a_crash_is_kept(tmp_path: Path) -> None:
    journal = filled(tmp_path, rotate=1 << 20)
    head = (tmp_path / "HEAD").read_bytes()
    journal.append("run.end", number=12)
    (tmp_path / "HEAD").write_bytes(head)
    assert journal.verify().lines == 13
    journal.append("run.end", number=13)
    assert journal.verify().lines == 14


def test_a_new_file_begun_just_before_a_crash_is_kept(tmp_path: Path) -> None:
    journal = Journal(tmp_path, rotate_bytes=1)
    journal.append("one")
    head = (tmp_path / "HEAD").read_bytes()
    journal.append("two")
    (tmp_path / "HEAD").write_bytes(head)
    journal.append("three")
    assert journal.verify().lines == 3


@given(st.dictionaries(st.text(min_size=1).filter(lambda key: key not in {"seq", "time", "event", "prev", "hash"}),
                       st.text() | st.integers() | st.none() | st.booleans(), max_size=4))  # fmt: skip
def test_any_facts_read_back(tmp_path_factory: pytest.TempPathFactory, facts: dict[str, object]) -> None:
    facts.pop("durable", None)
    facts.pop("self", None)
    journal = Journal(tmp_path_factory.mktemp("journal"))
    journal.append("event", **facts)
    assert next(iter(journal.read())).facts == facts
    journal.verify()


def test_a_fact_may_not_take_the_place_of_the_chain(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="reserved"):
        Journal(tmp_path).append("event", prev="x")


def test_many_processes_append_without_losing_a_line(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom skillkeep.journal import Journal\n"
        "journal = Journal(Path(sys.argv[1]), rotate_bytes=4000)\n"
        "for number in range(50): journal.append('event', number=number, who=sys.argv[2])\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", script, tmp_path, str(who)]) for who in range(4)]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    journal = Journal(tmp_path)
    assert journal.verify().lines == 200
    for who in "0123":
        assert [line.facts["number"] for line in journal.read() if line.facts["who"] == who] == list(range(50))
