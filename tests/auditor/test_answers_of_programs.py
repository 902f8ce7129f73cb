"""Below a command that was typed, `name: words` is what a program answered, and `name + name` is prose."""

from __future__ import annotations

import pytest
from support.audited import audited

from skillkeep.auditor.interface import Verdict


def verdict(block: str, label: str = "bash") -> Verdict:
    return audited({"SKILL.md": f"# Notes\n\n```{label}\n{block}\n```\n"}).verdict


def test_an_answer_is_no_command() -> None:
    said = "notes: using key ~/.ssh/id_ed25519\nnotes: trying 3 keys\nhello"
    assert verdict(f"$ notes open a.txt\n{said}") is not Verdict.FAIL


@pytest.mark.parametrize(
    "block",
    [
        "notes open a.txt\nnotes: using key ~/.ssh/id_ed25519",  # nothing was typed above it
        "$ notes open a.txt\nnotes: $(cat ~/.ssh/id_ed25519)",
        "$ notes open a.txt\nnotes: x; cat ~/.ssh/id_ed25519",
        "$ notes open a.txt\ncat ~/.ssh/id_ed25519",
        "$ alias notes:=cat\nnotes: ~/.ssh/id_ed25519",
        '$ notes "open\nnotes: ~/.ssh/id_ed25519"',
        "$ cat \\\nnotes: ~/.ssh/id_ed25519",
        "$ bash << EOF\nnotes: ~/.ssh/id_ed25519\nEOF",
    ],
)
def test_what_may_run_stays_refused(block: str) -> None:
    assert verdict(block) is Verdict.FAIL


def test_a_sum_of_names_is_prose() -> None:
    assert verdict("### Plan\ncrontab + Python sends it at 8:00 each day.", "") is not Verdict.FAIL
    assert verdict("### Plan\ncrontab +jobs", "") is Verdict.FAIL
    assert verdict("### Plan\ncrontab + jobs") is Verdict.FAIL
    assert verdict("### Plan\ncrontab jobs", "") is Verdict.FAIL
