"""A test's stand-in for Python's import hands on what it is asked; one that anything else calls does not."""

from __future__ import annotations

import pytest
from support.audited import audited

from skillkeep.auditor.interface import Verdict

PAGE = "---\nname: boxes\ndescription: Shows boxes.\n---\n\n# Boxes\n\n`python3 tool.py`\n"
HOOK = (
    "import builtins\nimport sys\nfrom unittest.mock import patch\n\noriginal = builtins.__import__\n\n\n"
    "def hook(name, *args, **kwargs):\n    if name == 'jwt':\n        raise ImportError(name)\n"
    "    return original({asked}, *args, **kwargs)\n\n\n"
)


def verdict(use: str, asked: str = "name") -> Verdict:
    return audited({"SKILL.md": PAGE, "tests/test_a.py": HOOK.format(asked=asked) + use}).verdict


@pytest.mark.parametrize(
    "use",
    [
        "def test_a(monkeypatch):\n    monkeypatch.setattr(builtins, '__import__', hook)\n",
        "def test_a():\n    with patch('builtins.__import__', side_effect=hook):\n        pass\n",
        "builtins.__import__ = hook\n",
    ],
)
def test_what_stands_in_for_the_import_hands_it_on(use: str) -> None:
    assert verdict(use) is not Verdict.FAIL


@pytest.mark.parametrize(
    "use",
    [
        "hook(sys.argv[1]).run()\n",
        "builtins.__import__ = hook\nhook(sys.argv[1]).run()\n",
        "builtins.__import__ = hook\nf = hook\nf(sys.argv[1]).run()\n",
        "",
    ],
)
def test_what_the_program_itself_calls_is_refused(use: str) -> None:
    assert verdict(use) is Verdict.FAIL


def test_another_name_than_it_is_asked_for_is_refused() -> None:
    assert verdict("builtins.__import__ = hook\n", asked="sys.argv[1]") is Verdict.FAIL
