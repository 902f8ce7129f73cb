"""What a model's server can do wrong: each bad day skips the phase with its reason and leaves the verdict alone."""

from __future__ import annotations

import json
import logging
import socket
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache
from pathlib import Path

import pytest
from support.audited import audited, write_tree
from support.llm_server import (
    Answer,
    Day,
    answers,
    claim,
    completion,
    drips,
    finds,
    is_silent,
    knows_no_schema,
    llm_server,
    says,
)

from skillkeep.auditor import Report, Verdict
from skillkeep.auditor.rubric.interface import RubricOptions
from skillkeep.auditor.rubric.openai_server import OpenAIReviewer
from skillkeep.auditor.rubric.phase import second_opinion
from skillkeep.tree import TreeLimits

FILES = {
    "SKILL.md": "---\nname: greet\ndescription: Says hello.\n---\n# Greet\n\nSay hello.\n",
    "a.py": "eval(input())\n",
}
KEY = "sk-test-0123456789abcdef"
NOTHING = '{"findings": []}'


@cache
def static() -> Report:
    """The report of `FILES` without the phase."""
    return audited(FILES)


def ask(url: str, reviewer: OpenAIReviewer | None = None, seconds: float = 20.0) -> Report:
    """The report of `FILES`, whose static verdict is FAIL, after the reviewer at `url` was asked."""
    options = RubricOptions(reviewer or OpenAIReviewer(url, "m", KEY), seconds=seconds)
    with tempfile.TemporaryDirectory() as folder:
        return second_opinion(write_tree(Path(folder), FILES), static(), options, TreeLimits())


def day(*days: Day, seconds: float = 20.0) -> tuple[Report, int]:
    """The report after these days, and how many requests the server got."""
    with llm_server(*days) as server:
        report = ask(server.url, seconds=seconds)
        return report, len(server.asked)


def untouched(report: Report) -> bool:
    """True when the report is the static one but for its record."""
    same = replace(report, rubric=static().rubric)
    return same == static() and report.verdict is Verdict.FAIL


BAD_DAYS = {
    "refusal": (says(None, refusal="I cannot help with that."), "refused", 1),
    "filter": (says("{", finish_reason="content_filter"), "refused", 1),
    "cut by its own limit": (says('{"findings": [', finish_reason="length"), "truncated", 2),
    "JSON that stops": (says('{"findings": [{"category": "agent-h'), "truncated", 2),
    "no content": (says(None), "empty", 2),
    "blank content": (says(" \n\t "), "empty", 2),
    "prose": (says("Looks fine to me!"), "malformed", 2),
    "SAFE": (says('{"verdict": "SAFE"}'), "malformed", 2),
    "SAFE beside findings": (says('{"findings": [], "verdict": "SAFE"}'), "malformed", 2),
    "an unknown field": (finds(claim(sha256="0" * 64)), "malformed", 2),
    "a missing field": (says('{"findings": [{"category": "deception"}]}'), "malformed", 2),
    "a severity of its own": (finds(claim(severity="pass")), "malformed", 2),
    "a line as text": (finds(claim(start_line="1")), "malformed", 2),
    "a line that is true": (finds(claim(start_line=True)), "malformed", 2),
    "two objects": (says(NOTHING + NOTHING), "malformed", 2),
    "a list": (says("[]"), "malformed", 2),
    "a number": (says("1e999"), "malformed", 2),
    "deep nesting": (says("[" * 100_000), "malformed", 2),
    "a lone surrogate": (finds(claim(quote="\udc80---")), "malformed", 2),
    "too many findings": (finds(*[claim()] * 201), "malformed", 2),
    "a long text": (says(" " * 300_000 + NOTHING), "too_long", 2),
    "a long body": (answers(200, b'{"choices": [' + b" " * (2 << 20)), "too_long", 2),
    "no JSON at all": (answers(200, b"<html>hello</html>"), "malformed", 2),
    "no choices": (answers(200, b'{"choices": []}'), "malformed", 2),
    "an empty body": (answers(200, b""), "malformed", 2),
    "negative tokens": (answers(200, completion(NOTHING).replace(b"1200", b"-12")), "malformed", 2),
    "bytes that are no UTF-8": (answers(200, b'{"choices": "\xff\xfe"}'), "malformed", 2),
    "500": (answers(500), "server_error", 1),
    "503 with a huge body": (answers(503, b"x" * (8 << 20)), "server_error", 1),
    "401": (answers(401), "rejected", 1),
    "404": (answers(404), "rejected", 1),
    "400 with and without schema": (answers(400), "rejected", 2),
    "204": (answers(204), "rejected", 1),
    "429 for an hour": (answers(429, retry_after="3600"), "rate_limited", 1),
    "429 for ever": (answers(429, retry_after="0"), "rate_limited", 4),
    "429 until a far date": (
        answers(429, retry_after=format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)),
        "rate_limited",
        1,
    ),
    "a connection that breaks": (lambda _asked: Answer(body=completion(NOTHING), cut=20), "unreachable", 1),
}


@pytest.mark.parametrize("name", BAD_DAYS)
def test_a_bad_day_skips_the_phase_and_the_static_verdict_stands(name: str) -> None:
    bad, reason, requests = BAD_DAYS[name]
    report, asked = day(bad)
    assert (report.rubric.state, report.rubric.reason) == ("skipped", reason)
    assert untouched(report)
    assert asked == requests
    assert report.rubric.kept == 0


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # taken and not listening, so nobody else answers there
        report = ask(f"http://127.0.0.1:{held.getsockname()[1]}/v1")
    assert (report.rubric.reason, untouched(report)) == ("unreachable", True)


@pytest.mark.parametrize("bad", [is_silent, drips])
def test_a_server_that_never_ends_its_answer_is_left_in_time(bad: Day) -> None:
    ask("http://127.0.0.1:9/v1")  # the first import of the client is not what is measured
    start = time.monotonic()
    report, _ = day(bad, seconds=1.5)
    assert (report.rubric.reason, untouched(report)) == ("timeout", True)
    assert time.monotonic() - start < 60


def test_a_redirect_is_not_followed() -> None:
    with llm_server(says(NOTHING)) as other:
        report, _ = day(answers(307, location=f"{other.url}/chat/completions"))
        assert other.asked == []
    assert report.rubric.reason == "rejected"


def test_a_reply_of_bad_format_is_asked_for_once_more() -> None:
    report, asked = day(says("hm"), says(NOTHING))
    assert (report.rubric.state, asked) == ("ran", 2)
    assert report.rubric.prompt_tokens == 2400


def test_a_fence_around_the_reply_is_forgiven() -> None:
    report, asked = day(says(f"```json\n{NOTHING}\n```"))
    assert (report.rubric.state, asked) == ("ran", 1)


def test_a_server_without_structured_output_is_asked_without_it_and_this_is_remembered() -> None:
    with llm_server(knows_no_schema) as server:
        reviewer = OpenAIReviewer(server.url, "m")
        assert ask(server.url, reviewer).rubric.state == "ran"
        assert ask(server.url, reviewer).rubric.state == "ran"
    assert ["response_format" in asked.body for asked in server.asked] == [True, False, False]


def test_a_server_that_asks_to_wait_is_waited_for() -> None:
    waits: list[float] = []
    with llm_server(answers(429, retry_after="7"), answers(429, retry_after="soon"), says(NOTHING)) as server:
        report = ask(server.url, OpenAIReviewer(server.url, "m", sleep=waits.append))
    assert (report.rubric.state, waits) == ("ran", [7.0, 1.0])


def test_the_request_is_openais_protocol_below_the_configured_path() -> None:
    with llm_server(says(NOTHING)) as server:
        ask(server.url)
    (asked,) = server.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.body["model"] == "m"
    assert [message["role"] for message in asked.body["messages"]] == ["system", "user"]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    wanted = asked.body["response_format"]
    assert (wanted["type"], wanted["json_schema"]["strict"]) == ("json_schema", True)
    assert wanted["json_schema"]["schema"]["additionalProperties"] is False


def test_only_the_configured_key_is_ever_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "of-the-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with llm_server(says(NOTHING)) as server:
        assert ask(server.url, OpenAIReviewer(server.url, "m")).rubric.state == "ran"
    assert "of-the-environment" not in json.dumps(dict(server.asked[0].headers))


def test_a_key_that_is_named_and_not_set_skips_the_phase_before_anything_is_sent() -> None:
    with llm_server(says(NOTHING)) as server:
        report = ask(server.url, OpenAIReviewer(server.url, "m", ""))
    assert (report.rubric.reason, server.asked) == ("no_key", [])


def test_the_key_is_in_no_record_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for bad in (answers(401, KEY.encode()), says(f"the key is {KEY}")):
        report, _ = day(bad)
        assert KEY not in json.dumps(report.to_json())
    assert KEY not in caplog.text
    assert KEY not in repr(OpenAIReviewer("http://127.0.0.1:9/v1", "m", KEY))
