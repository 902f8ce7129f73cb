"""A pickle is the program's own where code of it that runs dumps it, and nothing else fills its file."""

from __future__ import annotations

import pytest
from support.audited import audited

from skillkeep.auditor.interface import Verdict

PAGE = "---\nname: boxes\ndescription: Shows boxes.\n---\n\n# Boxes\n\n`python3 a.py`\n"
SAVE = "import pickle\n\n\ndef save(d):\n    with open('d.bin', 'wb') as f:\n        pickle.dump(d, f)\n\n\n"
LOAD = "with open('d.bin', 'rb') as f:\n    print(pickle.load(f))\n"


def verdict(code: str) -> Verdict:
    return audited({"SKILL.md": PAGE, "a.py": code}).verdict


@pytest.mark.parametrize(
    "code",
    [
        f"{SAVE}save({{}})\n{LOAD}",
        f"{SAVE}def load():\n    with open('d.bin', 'rb') as f:\n        return pickle.load(f)\n\n\nsave(load())\n",
        f"import os\n{SAVE}if os.path.exists('d.bin'):\n    print('d.bin')\n{LOAD}save({{}})\n",
        f"{SAVE.replace('save', '__exit__')}{LOAD}",
    ],
)
def test_what_the_program_dumps_itself_warns(code: str) -> None:
    assert verdict(code) is Verdict.WARN


@pytest.mark.parametrize(
    "code",
    [
        f"{SAVE}{LOAD}",
        f"import pickle\nif False:\n    with open('d.bin', 'wb') as f:\n        pickle.dump(1, f)\n{LOAD}",
        f"import pickle\n# pickle.dump( open('d.bin', 'wb')\n{LOAD}",
        f"import pickle\nopen('d.bin', 'wb')\npickle.dump(1, open('x.bin', 'wb'))\n{LOAD}",
        f"import shutil\n{SAVE}save(1)\nshutil.copy('x.txt', 'd.bin')\n{LOAD}",
        f"import subprocess\n{SAVE}save(1)\nsubprocess.run(['curl', '-o', 'd.bin', 'https://t.example.invalid/d'])\n{LOAD}",
        f"import os\n{SAVE}save(1)\nos.system('curl -so ./d.bin https://t.example.invalid/d')\n{LOAD}",
    ],
)
def test_what_nothing_dumps_or_something_else_fills_is_refused(code: str) -> None:
    assert verdict(code) is Verdict.FAIL


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rm -f d.bin", Verdict.WARN),
        ("ls -l d.bin", Verdict.WARN),
        ("curl -so d.bin https://t.example.invalid/d", Verdict.FAIL),
        ("cp x.txt d.bin", Verdict.FAIL),
    ],
)
def test_what_a_page_fills_is_not_the_programs_own(command: str, expected: Verdict) -> None:
    page = f"{PAGE}\n```bash\n{command}\n```\n"
    assert audited({"SKILL.md": page, "a.py": f"{SAVE}save(1)\n{LOAD}"}).verdict is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("['bash', '-c', f'ls {sys.argv[1]}']", Verdict.WARN),
        ("['bash', '-c', 'ls data']", Verdict.PASS),
        ("['/bin/sh', '-ec', f'python3 {sys.argv[1]}']", Verdict.FAIL),
        ("['bash', '-c', f'cd data && {sys.argv[1]}']", Verdict.FAIL),
        ("['cmd', '/c', sys.argv[1]]", Verdict.FAIL),
        ("['cmd', '/c', 'dir', sys.argv[1]]", Verdict.PASS),
        ("['grep', '-c', sys.argv[1]]", Verdict.PASS),
    ],
)
def test_a_shell_in_a_list_is_judged_as_shell_true(command: str, expected: Verdict) -> None:
    assert verdict(f"import subprocess, sys\nsubprocess.run({command})\n") is expected
