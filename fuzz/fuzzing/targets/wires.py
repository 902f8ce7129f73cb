"""Frames between our own processes, where one side may have been taken over, and what a language model answers."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from pathlib import Path

from fuzzing.target import Target, text_of
from skillkeep.auditor.audit import _report as report_of_answer
from skillkeep.auditor.collect import Collector
from skillkeep.auditor.rubric.evidence import Witness
from skillkeep.auditor.rubric.interface import ReviewFailedError
from skillkeep.auditor.rubric.reply import parse_reply
from skillkeep.auditor.rubric.selection import select
from skillkeep.auditor.rubric.text import rubric
from skillkeep.auditor.rulebook import default_rulebook
from skillkeep.confined import _Conversation, _result
from skillkeep.errors import SkillkeepError
from skillkeep.runner.native import wire
from skillkeep.runner.native.channel import Channel, LayerError
from skillkeep.tree import TreeView

QUOTED = "import os\nos.system('ls')\n# \u00e9nd\r\nlast line\n"


def _worker(data: bytes) -> None:
    """A worker's words on stdout: any of them give a result, or one of our errors."""
    read, write = os.pipe()
    conversation = _Conversation(None)  # type: ignore[arg-type]  # no child is needed to hear its words
    try:
        os.set_blocking(write, False)
        os.write(write, data[:60_000])
        os.close(write)
        while conversation._drain(read, is_reply=True):
            pass
        answer = _result(conversation, None, 0, "skillkeep.auditor.worker:scan")
    except SkillkeepError as error:
        assert error.hint
        json.dumps(error.to_json())
        return
    finally:
        os.close(read)
    _answer(answer)


def _answer(answer: dict[str, object]) -> None:
    """What the auditor makes of the reply of a worker that was taken over."""
    try:
        report = report_of_answer({"engines": [], **answer}, [], Collector(default_rulebook()))
    except SkillkeepError as error:
        assert error.hint
        return
    json.dumps(report.to_json())


def _frame(data: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        theirs.setblocking(False)
        theirs.send(data[:60_000])
        theirs.close()
        try:
            header, blobs = wire.receive(ours)
        except (EOFError, ValueError):
            return
        assert isinstance(header, dict)
        assert all(isinstance(blob, bytes) for blob in blobs)


def _channel(data: bytes) -> None:
    channel = Channel()
    try:
        channel.inner.send(data[:4096])
        try:
            message = channel.hear(1.0)
        except LayerError as error:
            assert isinstance(error.layer, str)
            return
        assert message is None or (isinstance(message.kind, str) and message.pid == os.getpid())
    finally:
        channel.close()


def _reply(data: bytes) -> None:
    try:
        claims = parse_reply(text_of(data))
    except ReviewFailedError:
        return
    with tempfile.TemporaryDirectory(prefix="skillkeep-fuzz-") as folder:
        Path(folder, "a.py").write_text(QUOTED, encoding="utf-8", newline="")
        with TreeView.open(Path(folder)) as view:
            witness = Witness(view, select(view, frozenset(), 10_000, rubric()).files, rubric())
            for found in filter(None, map(witness.check, claims)):
                lines = QUOTED.replace("\r\n", "\n").split("\n")[found.location.line - 1 : found.location.end_line]
                assert found.quote.strip("\r\n").replace("\r\n", "\n").replace("\r", "\n") in "\n".join(lines)


def _worker_seeds() -> list[bytes]:
    place = {"path": "a", "line": 1, "column": 1, "end_line": 1, "end_column": 2}
    found = {
        "rule": "code-network", "title": "t", "severity": "warn", "confidence": "low", "category": "egress",
        "location": place, "excerpt": "x", "message": "m", "engine": "patterns", "provenance": [], "fingerprint": "",
        "suppression": None,
    }  # fmt: skip
    result = {
        "digest": "", "findings": [found], "capabilities": [], "ledger": [], "files": 1, "ruleset": "",
        "declared": ["A"],
    }  # fmt: skip
    error = {"code": "nothing_to_scan", "message": "m", "hint": "h", "context": {"path": "x", "self": 1}}
    return [json.dumps(each).encode() + b"\n" for each in ({"result": result}, {"error": error}, [1], {"result": 1})]


def _frame_seeds() -> list[bytes]:
    header = json.dumps({"plan": "x", "blobs": [3, 0]}).encode()
    return [len(header).to_bytes(4, "big") + header + b"abc", b"\0\0\0\2{}", b"\0\0\0\2[]", b"\xff" * 8]


def _channel_seeds() -> list[bytes]:
    failed = {"kind": "failed", "layer": "root", "detail": "d", "hint": "h", "number": "1"}
    words = ({"kind": "ready", "landlock": 3}, failed, {"kind": "failed"}, [1], {})
    return [json.dumps(each).encode() for each in words]


def _reply_seeds() -> list[bytes]:
    claim = {
        "category": "execution", "severity": "fail", "file": "a.py", "start_line": 2, "end_line": 2,
        "quote": "os.system('ls')", "reason": "r",
    }  # fmt: skip
    two = {**claim, "start_line": 3, "end_line": 4, "quote": "\u00e9nd\r\nlast line"}
    text = json.dumps({"findings": [claim, two]})
    return [text.encode(), f"```json\n{text}\n```".encode(), text[:60].encode(), b'{"findings": []}']


TARGETS = (
    Target("worker-reply", "what a confined worker answers", _worker, _worker_seeds),
    Target("runner-frame", "frames between caller and supervisor", _frame, _frame_seeds),
    Target("sandbox-word", "what a sandbox being built says", _channel, _channel_seeds),
    Target("model-reply", "what a language model answers, and the proof it owes", _reply, _reply_seeds),
)
