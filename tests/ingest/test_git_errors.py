"""What git says, in words that help."""

from __future__ import annotations

import pytest

from skillkeep.ingest.fetchers.git_errors import from_stderr

SAYS = "fatal: unable to access 'https://example.invalid/a/b/': The requested URL returned error: "


@pytest.mark.parametrize(
    ("status", "code", "word"),
    [
        ("301", "redirected", "browser"),
        ("401", "fetch_failed", "ssh"),
        ("403", "fetch_failed", "ssh"),
        ("404", "source_not_found", "address"),
        ("429", "fetch_failed", "later"),
        ("500", "fetch_failed", "later"),
        ("503", "fetch_failed", "later"),
        ("418", "fetch_failed", "detail"),
    ],
)
def test_a_servers_answer_is_told_with_what_helps(status: str, code: str, word: str) -> None:
    error = from_stderr(f"{SAYS}{status}")
    assert (error.code, word in error.hint) == (code, True)
    assert status in error.context["detail"]


def test_a_server_cannot_choose_the_error_by_what_it_writes() -> None:
    assert from_stderr(f"remote: returned error: 503\n{SAYS}404").code == "source_not_found"
