"""The journal: append-only JSON lines, each bound to the one before by SHA-256, over file rotation.

A line is ``{"seq": n, "time": …, "event": …, "prev": <hex>, …facts, "hash": <hex>}``; `hash` is the SHA-256 of the
line's canonical JSON without `hash`. ``HEAD`` repeats the last sequence number and hash, so that a cut tail is seen
too. This finds changed, dropped, reordered and cut lines; somebody who may write the folder can still rewrite all
of it consistently, so copy ``HEAD`` elsewhere when that matters.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skillkeep.clock import SYSTEM_CLOCK, Clock, timestamp
from skillkeep.errors import SkillkeepError
from skillkeep.files import FileLock, fsync_dir, io_errors, write_all
from skillkeep.value import Value, as_dict

__all__ = ["Journal", "JournalLine", "JournalState"]

_GENESIS = "0" * 64
_PREFIX, _SUFFIX = "journal-", ".jsonl"
_RESERVED = frozenset({"seq", "time", "event", "prev", "hash"})


class JournalLine(Value):
    """One line: sequence number from 1, RFC 3339 time, event name, facts, this line's hash."""

    seq: int
    time: str
    event: str
    facts: dict[str, Any]
    hash: str


class JournalState(Value):
    """Result of a verification that held: lines and files read, last hash."""

    lines: int
    files: int
    head: str


class _Head(Value):
    seq: int
    hash: str
    file: str
    offset: int


class Journal:
    """The journal below `folder` (made when missing). Every call is safe between processes."""

    def __init__(self, folder: Path, clock: Clock = SYSTEM_CLOCK, rotate_bytes: int = 16 << 20) -> None:
        self._folder = folder
        self._clock = clock
        self._rotate_bytes = rotate_bytes

    def append(self, event: str, *, durable: bool = False, **facts: Any) -> str:
        """Add a line and return its hash. With `durable` it is on the disk before this returns.

        `facts` are JSON-able. Raises `SkillkeepError`: `io_error`, or `journal_broken` when the tail was changed.
        """
        if overlap := _RESERVED & facts.keys():
            raise ValueError(f"reserved journal keys: {sorted(overlap)}")
        with io_errors("write the journal"):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self._folder / ".lock"):
                return self._append_locked(event, facts, durable)

    def read(self) -> Iterator[JournalLine]:
        """Every line from the oldest on, not verified. Raises `SkillkeepError` (`journal_broken`) if unreadable."""
        for file in self._files():
            with io_errors("read the journal"):
                text = file.read_bytes()
            for raw in text.splitlines():
                yield _parse(raw, file.name)

    def verify(self) -> JournalState:
        """Check the whole chain. Raises `SkillkeepError` (`journal_broken`) naming the first bad line."""
        with io_errors("read the journal"):
            if not self._folder.is_dir():
                return JournalState(0, 0, _GENESIS)
            with FileLock(self._folder / ".lock"):
                return self._verify_locked()

    def _verify_locked(self) -> JournalState:
        expected, previous = 1, _GENESIS
        files, head = self._files(), self._head()
        at_head = head is None
        for file in files:
            for raw in _whole_lines(file, head, is_last=file == files[-1]):
                line = _parse(raw, file.name)
                if line.seq != expected:
                    raise _broken(file.name, expected, f"line {line.seq} stands where {expected} belongs")
                if json.loads(raw)["prev"] != previous:
                    raise _broken(file.name, expected, "it does not follow the line before it")
                if _hash(raw) != line.hash:
                    raise _broken(file.name, expected, "it was changed after it was written")
                at_head = at_head or (head is not None and (head.seq, head.hash) == (line.seq, line.hash))
                expected, previous = expected + 1, line.hash
        # a crash can leave one line ahead of HEAD, never HEAD ahead of the lines
        if not at_head:
            raise _broken(head.file if head else "HEAD", expected, "a line that was written is not there")
        if head is None and expected > 2:
            raise _broken("HEAD", expected, "the record of the last line is missing")
        return JournalState(expected - 1, len(files), previous)

    def _append_locked(self, event: str, facts: dict[str, Any], durable: bool) -> str:
        head = self._settle(self._head())
        file = self._file_for(head)
        body = {
            "seq": head.seq + 1,
            "time": timestamp(self._clock.now()),
            "event": event,
            "prev": head.hash,
            **facts,
        }
        digest = hashlib.sha256(_canonical(body)).hexdigest()
        fresh = not file.exists()
        fd = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(fd).st_size
            try:
                write_all(fd, line := _canonical({**body, "hash": digest}) + b"\n")
                if durable:
                    os.fsync(fd)
                if fresh and durable:
                    fsync_dir(self._folder)
                self._write_head(_Head(head.seq + 1, digest, file.name, size + len(line)), durable)
            except OSError:
                os.ftruncate(fd, size)  # with its HEAD or not at all, so that whoever tries again writes no line twice
                raise
        finally:
            os.close(fd)
        return digest

    def _settle(self, head: _Head | None) -> _Head:
        """The true last line: HEAD, moved over whole lines that a crash left behind it; a half-written one is cut off.

        Reads only what lies behind HEAD's offset, so appending costs the same however long the journal is.
        """
        files = self._files()
        if head and head.file not in {file.name for file in files}:
            raise _broken(head.file, head.seq, "the file of the last line is gone")
        current = head or _Head(0, _GENESIS, files[0].name if files else "", 0)
        for file in files:
            if file.name >= current.file:
                current = _follow(file, current)
        return current

    def _file_for(self, head: _Head) -> Path:
        files = self._files()
        if files and files[-1].stat().st_size < self._rotate_bytes:
            return files[-1]
        return self._folder / f"{_PREFIX}{head.seq + 1:012d}{_SUFFIX}"

    def _files(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        return sorted(self._folder.glob(f"{_PREFIX}*{_SUFFIX}"))

    def _head(self) -> _Head | None:
        try:
            raw = json.loads((self._folder / "HEAD").read_text(encoding="ascii"))
            return _Head(int(raw["seq"]), str(raw["hash"]), str(raw["file"]), int(raw["offset"]))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise _broken("HEAD", 0, "it cannot be read") from error

    def _write_head(self, head: _Head, durable: bool) -> None:
        """Replace HEAD. Its name need not be durable: an older HEAD is followed to the last line. Its content is."""
        temporary = self._folder / ".HEAD.tmp"
        with temporary.open("wb") as stream:
            stream.write(_canonical(as_dict(head)) + b"\n")
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        os.rename(temporary, self._folder / "HEAD")


def _whole_lines(file: Path, head: _Head | None, *, is_last: bool) -> list[bytes]:
    """A file's lines; a half-written one is dropped only at the very end and behind HEAD, where a crash leaves it."""
    data = file.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) != len(data):
        behind = head is None or file.name > head.file or (file.name == head.file and len(whole) >= head.offset)
        if not (is_last and behind):
            raise _broken(file.name, 0, "the last line is cut")
    return whole.splitlines()


def _follow(file: Path, head: _Head) -> _Head:
    """Move `head` over the lines of `file` behind it. Raises `journal_broken` when they do not follow from it."""
    start = head.offset if file.name == head.file else 0
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        if size < start:
            raise _broken(file.name, head.seq, "the tail was cut off")
        stream.seek(start)
        rest = stream.read()
    whole = rest[: rest.rfind(b"\n") + 1]
    if len(whole) != len(rest):
        os.truncate(file, start + len(whole))
    for raw in whole.splitlines():
        line = _parse(raw, file.name)
        if line.seq != head.seq + 1 or json.loads(raw)["prev"] != head.hash or _hash(raw) != line.hash:
            raise _broken(file.name, head.seq + 1, "it does not follow from the last line written")
        head = _Head(line.seq, line.hash, file.name, start + len(whole))
    return head


def _canonical(value: dict[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")


def _hash(raw: bytes) -> str:
    body = json.loads(raw)
    body.pop("hash", None)
    return hashlib.sha256(_canonical(body)).hexdigest()


def _parse(raw: bytes, file: str) -> JournalLine:
    try:
        body = json.loads(raw)
        facts = {key: value for key, value in body.items() if key not in _RESERVED}
        return JournalLine(int(body["seq"]), str(body["time"]), str(body["event"]), facts, str(body["hash"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _broken(file, 0, "a line cannot be read") from error


def _broken(file: str, line: int, what: str) -> SkillkeepError:
    return SkillkeepError(
        "journal_broken",
        f"the journal does not hold at line {line}: {what}",
        "Keep the folder for investigation, then move it away; a new journal starts by itself.",
        file=file,
        line=line,
    )
