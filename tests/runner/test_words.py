"""Where our options end and the tool's words begin."""

from __future__ import annotations

import pytest

from skillkeep.runner.words import split_words

WITH_VALUE = {"--backend", "--timeout"}


@pytest.mark.parametrize(
    ("typed", "ours", "theirs"),
    [
        ("pdf run.py --json", "pdf", "run.py --json"),
        ("--json pdf run.py -x", "--json pdf", "run.py -x"),
        ("pdf --json run.py --json", "pdf --json", "run.py --json"),
        ("pdf --backend docker run.py", "pdf --backend docker", "run.py"),
        ("--backend docker pdf run.py", "--backend docker pdf", "run.py"),
        ("--backend=docker pdf run.py", "--backend=docker pdf", "run.py"),
        ("pdf -- ls -l", "pdf", "-- ls -l"),
        ("pdf --json -- ls --json -- x", "pdf --json", "-- ls --json -- x"),
        ("pdf", "pdf", ""),
        ("pdf --json", "pdf --json", ""),
        ("pdf run.py -- x", "pdf", "run.py -- x"),
        ("-- pdf run.py", "pdf", "run.py"),
        ("--json -- pdf -- ls --json", "--json pdf", "-- ls --json"),
        ("--", "", ""),
        ("--timeout", "--timeout", ""),
        ("pdf -", "pdf", "-"),
    ],
)
def test_the_tools_words_start_at_the_entry_or_at_the_dashes(typed: str, ours: str, theirs: str) -> None:
    assert split_words(typed.split(), WITH_VALUE) == (ours.split(), theirs.split())
