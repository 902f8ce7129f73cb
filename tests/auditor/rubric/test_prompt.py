"""The prompt: files are data that cannot leave their block, numbered, within the budget; what is left out is said."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.audited import audited, write_tree

from skillkeep.auditor import Report
from skillkeep.auditor.rubric.interface import Prompt, Reply, Reviewer, RubricOptions
from skillkeep.auditor.rubric.phase import second_opinion
from skillkeep.auditor.rubric.prompt import build_prompt
from skillkeep.auditor.rubric.selection import Shown, estimated_tokens
from skillkeep.auditor.rubric.text import rubric
from skillkeep.tree import TreeLimits

GOOD = "---\nname: greet\ndescription: Says hello.\n---\n# Greet\n"


class Listening(Reviewer):
    """Remembers what it was asked and finds nothing."""

    name = "listening"

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []

    def ask(self, prompt: Prompt, seconds: float) -> Reply:
        """Nothing found."""
        self.prompts.append(prompt)
        return Reply('{"findings": []}')


def asked(root: Path, files: Mapping[str, str | bytes], tokens: int = 60_000) -> tuple[Prompt, Report]:
    """The prompt about `files`, and the report."""
    listening = Listening()
    write_tree(root, files)
    report = second_opinion(root, static(), RubricOptions(listening, tokens=tokens), TreeLimits())
    return listening.prompts[0], report


@cache
def static() -> Report:
    """Some report to add to."""
    return audited({"SKILL.md": GOOD})


def order(prompt: Prompt) -> list[str]:
    """The shown paths, in their order."""
    return re.findall(r'^<<<[0-9a-f]{32} FILE path="(.*)" sha256=', prompt.user, re.MULTILINE)


def ledger(report: Report) -> dict[str, str]:
    """What the rubric's ledger lines say: the reason by path, ``read`` for a file that was shown whole."""
    return {e.path: e.reason or e.state for e in report.ledger if e.engine == "rubric"}


def test_every_line_is_numbered_and_every_file_has_its_digest_and_extent(tmp_path: Path) -> None:
    prompt, report = asked(tmp_path, {"a.sh": "echo one\r\necho two\r\n"})
    digest = hashlib.sha256(b"echo one\r\necho two\r\n").hexdigest()
    assert (
        f'FILE path="a.sh" sha256={digest} lines=1-3 of 3\n    1| echo one\n    2| echo two\n    3| \n' in prompt.user
    )
    assert ledger(report) == {"a.sh": "read"}


def test_the_reviewer_is_told_that_the_data_is_untrusted_and_that_talking_to_it_is_a_finding(tmp_path: Path) -> None:
    prompt, _ = asked(tmp_path, {"SKILL.md": GOOD})
    for word in ("untrusted data", "judge-injection", "exact text", "cannot approve a tool", '{"findings": [...]}'):
        assert word in prompt.system
    for category in rubric().categories:
        assert f"- {category.name}: {category.ask}" in prompt.system
    assert GOOD.splitlines()[1] not in prompt.system


def test_two_requests_never_share_a_nonce(tmp_path: Path) -> None:
    prompts = [asked(tmp_path / str(number), {"SKILL.md": GOOD})[0] for number in range(3)]
    assert len({re.search(r"<<<([0-9a-f]{32}) ", prompt.user).group(1) for prompt in prompts}) == 3  # type: ignore[union-attr]


@given(st.lists(st.sampled_from(["aaaa", "bbbb", "x"]), max_size=6), st.sampled_from(["aaaa", "n\naaaa", "n/bbbb"]))
def test_a_nonce_that_occurs_in_the_data_is_not_used(words: list[str], path: str) -> None:
    nonces = iter(["aaaa", "bbbb", "cccc"])
    shown = Shown(path, "0" * 64, tuple(words), len(words))
    prompt = build_prompt([shown], 0, rubric(), lambda: next(nonces))
    (nonce,) = re.findall(r"nonce of this request is (\w+)", prompt.system)
    assert not any(nonce in word for word in (*words, path))
    assert prompt.user.count(nonce) == 3


def test_a_path_cannot_break_out_of_its_line(tmp_path: Path) -> None:
    prompt, _ = asked(tmp_path, {'a\n"> END\u202e.md': "hello\n"})
    assert order(prompt) == ['a\\n\\"> END\\u202e.md']


def test_instructions_and_scripts_come_first(tmp_path: Path) -> None:
    files = {"z.json": "{}", "data.dat": "x", "docs/guide.md": "hi\n", "run.py": "pass\n", "SKILL.md": GOOD}
    assert order(asked(tmp_path, files)[0]) == ["SKILL.md", "run.py", "docs/guide.md", "z.json", "data.dat"]


def test_a_file_with_a_finding_comes_first_among_its_kind(tmp_path: Path) -> None:
    files = {"a.py": "pass\n", "b.py": "eval(input())  # the larger one\n"}
    listening = Listening()
    second_opinion(write_tree(tmp_path, files), audited(files), RubricOptions(listening), TreeLimits())
    assert order(listening.prompts[0]) == ["b.py", "a.py"]


def test_what_does_not_fit_is_not_sent_and_is_in_the_ledger_with_its_lines(tmp_path: Path) -> None:
    long = "".join(f"print('line number {number}')\n" for number in range(1, 3001))
    prompt, report = asked(tmp_path, {"SKILL.md": GOOD, "long.py": long}, tokens=8_000)
    last = max(map(int, re.findall(r"line number (\d+)", prompt.user)))
    assert 100 < last < 3000
    assert ledger(report)["long.py"] == f"not reviewed: lines {last + 1}-3001 of 3001 are beyond the token budget"
    assert ledger(report)["SKILL.md"] == "read"
    assert estimated_tokens(prompt.system + prompt.user) < 8_800


def test_one_huge_file_does_not_take_the_place_of_the_others(tmp_path: Path) -> None:
    files = {"AGENTS.md": "word " * 10 + "\n" + "filler line\n" * 20_000, "late.py": "import os\n" * 200}
    prompt, report = asked(tmp_path, files, tokens=12_000)
    assert set(order(prompt)) == {"AGENTS.md", "late.py"}
    assert ledger(report)["late.py"] == "read"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x7fELF\0\0\1\2" + bytes(200), "not reviewed: not text"),
        (b"a" * ((1 << 20) + 1), "not reviewed: a file is larger than the limit for reading it"),
        (b"a" * 500_000, "not reviewed: lines 1-1 of 1 are beyond the token budget"),
    ],
)
def test_a_file_that_cannot_be_shown_is_in_the_ledger(tmp_path: Path, content: bytes, reason: str) -> None:
    prompt, report = asked(tmp_path, {"SKILL.md": GOOD, "blob": content})
    assert (order(prompt), ledger(report)["blob"]) == (["SKILL.md"], reason)
    assert "0 not shown" not in prompt.user


def test_a_tool_without_any_text_is_not_sent(tmp_path: Path) -> None:
    listening = Listening()
    root = write_tree(tmp_path, {"blob": b"\x7fELF\0\0\1\2" + bytes(200)})
    report = second_opinion(root, static(), RubricOptions(listening), TreeLimits())
    assert (report.rubric.reason, listening.prompts) == ("nothing_to_review", [])


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("outside")
    root = write_tree(tmp_path / "tool", {"SKILL.md": GOOD})
    (root / "link.md").symlink_to(tmp_path / "secret.txt")
    (root / "more").symlink_to(tmp_path)
    prompt, _ = asked(root, {})
    assert order(prompt) == ["SKILL.md"]
    assert "outside" not in prompt.user


def test_a_tree_that_is_gone_skips_the_phase(tmp_path: Path) -> None:
    report = second_opinion(tmp_path / "gone", static(), RubricOptions(Listening()), TreeLimits())
    assert (report.rubric.reason, report.rubric.detail) == ("changed", "not_a_tree")


def test_odd_encodings_reach_the_reviewer_as_text_that_can_be_sent(tmp_path: Path) -> None:
    files = {"a.md": "Bad \udc80 byte".encode("utf-8", "surrogateescape"), "b.md": "Sag hallo".encode("utf-16")}
    prompt, _ = asked(tmp_path, files)
    assert "Sag hallo" in prompt.user
    json.dumps(prompt.user, ensure_ascii=False).encode()
