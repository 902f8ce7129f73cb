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
from skillkeep.kernel.errors import KernelError
from skillkeep.kernel.tape import BASE, FAILURE, Step
from skillkeep.runner.egress.allow import AllowList, Refused
from skillkeep.runner.egress.requests import Incomplete, parse_http, parse_socks
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import RunRequest, RunResult
from skillkeep.runner.native import client, messages
from skillkeep.runner.native.backend import result_of
from skillkeep.runner.native.plan import Plan, make_plan
from skillkeep.runner.native.streams import Captured
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


def _server_answer(data: bytes) -> None:
    """Whatever the fork server says is a result, or one of our errors."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        theirs.send(data[:60_000])
        theirs.close()
        try:
            result = result_of(RunRequest(("true",)), client.receive(ours), Captured())
        except (EOFError, ValueError, KeyError, TypeError):
            return
        except RunnerError as error:
            json.dumps(error.to_json())
            return
        assert isinstance(result, RunResult)


def _plan(data: bytes) -> None:
    """Whatever a caller sends is a plan with the right types throughout, or refused."""
    try:
        plan = Plan.from_text(text_of(data))
    except ValueError:
        return
    assert Plan.from_text(plan.to_text()) == plan


def _sandbox_word(data: bytes) -> None:
    ours, theirs = messages.pair()
    with ours, theirs:
        theirs.send(data[:4096])
        theirs.close()
        try:
            message = messages.receive(ours, {BASE + 32: Step("root", "mkdir")})
        except KernelError as error:
            assert error.layer == "root"
            return
        except ValueError:
            return
        assert message is None or (isinstance(message.kind, messages.Kind) and message.pid == os.getpid())


def _proxy(data: bytes) -> None:
    """What a payload sends to the egress proxy: a request for a granted place, refused, or not whole."""
    allowed = AllowList.of(["api.example.com:443", "*.cdn.example.com:80", "192.0.2.7:8080"])
    for parse in (parse_http, parse_socks):
        try:
            asked = parse(data)
            name = allowed.check(asked.host, asked.port)
        except (Incomplete, Refused):
            continue
        assert name in ("api.example.com", "192.0.2.7") or name.endswith(".cdn.example.com")


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


def _answer_seeds() -> list[bytes]:
    layer = {"kind": "layer", "layer": "root", "detail": "d", "hint": "h", "errno": "EPERM"}
    outcome = {
        "kind": "outcome", "status": 0, "stopped_for": "", "wall_seconds": 0.1, "user_seconds": 0.1,
        "system_seconds": 0.1, "peak_memory": 1, "peak_processes": 1, "oom_kills": 0, "refused_forks": 0,
        "assurance": {"level": "bounded", "payload_host_uid": 1, "layers": [], "losses": []},
        "egress": [{"host": "a", "port": 1, "allowed": False, "reason": "r"}],
    }  # fmt: skip
    words = (layer, outcome, {"kind": "start", "program": "x", "errno": 2}, {"kind": "layer"}, [1], {})
    return [json.dumps(each).encode() for each in words]


def _plan_seeds() -> list[bytes]:
    text = make_plan(RunRequest(("true", "x")), 0x7000_0000).to_text()
    return [text.encode(), text.replace("512", "-1").encode(), b"[]", b'{"argv": []}']


def _word_seeds() -> list[bytes]:
    failed = FAILURE.pack(BASE + 32, 1)
    return [failed, FAILURE.pack(BASE + 33, 1), *(bytes([kind]) + bytes(7) for kind in range(7)), b"\x04" + bytes(15)]


def _proxy_seeds() -> list[bytes]:
    return [
        b"CONNECT api.example.com:443 HTTP/1.1\r\n\r\n",
        b"GET http://a.cdn.example.com/x HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x05\x01\x00\x03\x0fapi.example.com\x01\xbb",
        b"\x05\x01\x00\x01\xc0\x00\x02\x07\x1f\x90",
    ]


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
    Target("server-answer", "what the fork server answers", _server_answer, _answer_seeds),
    Target("server-request", "what the fork server is asked", _plan, _plan_seeds),
    Target("sandbox-word", "what a sandbox being built says", _sandbox_word, _word_seeds),
    Target("proxy-request", "what a payload asks the egress proxy", _proxy, _proxy_seeds),
    Target("model-reply", "what a language model answers, and the proof it owes", _reply, _reply_seeds),
)
