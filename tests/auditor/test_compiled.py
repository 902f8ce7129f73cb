"""A pattern whose code is kept is the one that `re` compiles, and whatever is wrong with what is kept, it stays so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillkeep.auditor import compiled as module
from skillkeep.auditor import first_time
from skillkeep.auditor.compiled import asked, compiled, keep_compiled, lack_compiled

PATTERN, FLAGS = r"(?P<quote>[\"'])(?P<name>[^\"']{1,9}|ß)(?P=quote)|(不要|é)+?$", re.IGNORECASE | re.MULTILINE


@pytest.fixture(name="place")
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "__pycache__").mkdir()
    place = tmp_path / "__pycache__" / "patterns.kept"
    monkeypatch.setattr(module, "_PLACE", place)
    monkeypatch.setattr(module, "_asked", {})
    module._known.cache_clear()
    yield place
    module._known.cache_clear()


def _kept(place: Path) -> re.Pattern[str]:
    """The pattern as a process gets it that starts now."""
    module._known.cache_clear()
    re.purge()
    return compiled(PATTERN, FLAGS)


def _is_taken(monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether it is made without `re`."""
    module._known.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(module.re, "compile", lambda *_: None)
        return bool(compiled(PATTERN, FLAGS))


def test_what_the_first_audit_keeps_is_what_re_compiles_of_every_pattern(place: Path) -> None:
    first_time._keep_patterns("program")
    assert not lack_compiled("program")
    assert lack_compiled("another program")
    known = module._known()
    assert len(known) > 1000
    for key, entry in known.items():
        flags, _, pattern = key.partition(" ")
        assert module._built(pattern, *entry) == re.compile(pattern, int(flags)), pattern


def test_a_kept_pattern_is_taken_and_finds_what_the_other_finds(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _is_taken(monkeypatch)
    keep_compiled("program", asked())
    assert _is_taken(monkeypatch)
    text = "'AB' \"ß\" é\nÉ"
    mine, other = _kept(place), re.compile(PATTERN, FLAGS)
    assert mine == other
    assert (mine.pattern, mine.flags, mine.groups, mine.groupindex) == (
        other.pattern, other.flags, other.groups, other.groupindex,
    )  # fmt: skip
    assert [each.groupdict() for each in mine.finditer(text)] == [each.groupdict() for each in other.finditer(text)]
    assert mine.sub(r"<\g<name>>", text) == other.sub(r"<\g<name>>", text)


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "open", "link", "entry"])
def test_what_is_damaged_or_open_to_others_is_not_taken(
    place: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    compiled(PATTERN, FLAGS)
    codes = asked()
    keep_compiled("program", codes)
    body = place.read_bytes()
    if damage == "cut":
        place.write_bytes(body[:-9])
    elif damage == "changed":
        place.write_bytes(body.replace(b"name", b"nane"))
    elif damage == "empty":
        place.write_bytes(b"")
    elif damage == "open":
        place.chmod(0o666)
    elif damage == "link":
        place.rename(place.with_name("other"))
        place.symlink_to("other")
    else:
        keep_compiled("program", {key: [*entry[:1], "AAAAAAAA", *entry[2:]] for key, entry in codes.items()})
    assert not _is_taken(monkeypatch)
    assert _kept(place) == re.compile(PATTERN, FLAGS)


def test_what_another_python_kept_is_not_taken(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(PATTERN, FLAGS)
    codes = asked()
    with monkeypatch.context() as patch:
        patch.setattr(module, "_VERSION", "another")
        keep_compiled("program", codes)
    assert not _is_taken(monkeypatch)
