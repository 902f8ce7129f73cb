"""bandit in this process: what it adds, what it may not be silenced by, and what it skips."""

from __future__ import annotations

import pytest
from support.audited import audited

from skillkeep.auditor.interface import AuditOptions, Severity

BANDIT = AuditOptions(engines=frozenset({"python", "bandit"}), bandit=True)


def found(source: str) -> dict[str, Severity]:
    return {finding.rule: finding.severity for finding in audited({"tool.py": source}, BANDIT).findings}


def test_a_weakness_is_a_warning_that_names_the_test() -> None:
    report = audited({"tool.py": "import requests\nrequests.get('http://localhost/', verify=False)\n"}, BANDIT)
    finding = next(item for item in report.findings if item.rule == "bandit-weakness")
    assert finding.severity is Severity.WARN
    assert "B501" in finding.message
    assert finding.location.line == 2


@pytest.mark.parametrize("comment", ["# nosec", "# nosec B501", "# noqa: S501  # nosec"])
def test_a_comment_in_the_tree_does_not_silence_it(comment: str) -> None:
    assert "bandit-weakness" in found(f"import requests\nrequests.get('http://localhost/', verify=False)  {comment}\n")


def test_a_habit_is_a_note() -> None:
    assert found("import hashlib\nhashlib.md5(b'x')\n") == {"bandit-note": Severity.INFO}


def test_what_our_own_engine_judged_is_not_said_twice() -> None:
    rules = found("import subprocess\nsubprocess.run(input(), shell=True)\nsubprocess.run('ls -l', shell=True)\n")
    assert rules == {"python-shell-true": Severity.FAIL}


def test_code_that_our_own_engine_could_not_judge_counts_by_bandits_word() -> None:
    costly = "x = ''\n" + "\n".join(f"a{n} = b{n} = [a{n - 1}, b{n - 1}]" for n in range(400)) + "\n"
    deep = "x = " + "f(" * 90 + ")" * 90 + "\n"
    rules = found(f"{costly}{deep}eval(x)\n")
    assert "python-eval" in rules or "bandit-execution" in rules


def test_ordinary_habits_are_left_out() -> None:
    assert found("import random, subprocess\nassert random.random() < 2\nsubprocess.run(['ls'])\n") == {}
