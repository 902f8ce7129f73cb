"""What clears passing and rotated files is shown; what may delete anything else is refused."""

from __future__ import annotations

import pytest
from support.audited import audited

from skillkeep.auditor.interface import Verdict

PAGE = "---\nname: boxes\ndescription: Clears boxes.\n---\n\n# Boxes\n\nClears up.\n\n`bash a.sh`\n"


def verdict(code: str) -> Verdict:
    return audited({"SKILL.md": PAGE, "a.sh": f"#!/bin/bash\n{code}\n"}).verdict


@pytest.mark.parametrize(
    "code",
    [
        'find /var/log -name "*.gz" -mtime +30 -delete 2>/dev/null || true',
        'find /var/log -type f -name "*.log.*" -mtime +7 -delete',
        "find /var/log -name '*.[0-9]' -mtime +7 -delete",
        'find /root/boxes -name "*.tmp" -type f -delete',
        'find / -xdev -name "*.pyc" -delete',
        "rm -rf /tmp/* /var/tmp/*",
    ],
)
def test_passing_and_rotated_files_may_go(code: str) -> None:
    assert verdict(code) is not Verdict.FAIL


@pytest.mark.parametrize(
    "code",
    [
        'find / -name "*.tmp" -o -delete',
        'find / -delete -name "*.tmp"',
        'find / ! -name "*.tmp" -delete',
        'find / -name "*.tmp" , -delete',
        'find / \\( -name "*.tmp" -o -true \\) -delete',
        'find / -name "$kind" -delete',
        'no=-o\nfind / -name "*.tmp" $no -delete',
        'find /var/log -name "*.gz" -delete',
        'find /var/log -name "*.*" -mtime +1 -delete',
        'find /var/log -name "*.log" -mtime +7 -delete',
        'find /var/log /usr/lib -name "*.gz" -mtime +3 -delete',
        'find /etc -name "*.old" -mtime +30 -delete',
        "rm -rf /var/tmp/../*",
        "rm -rf /var/tmp/* /var/*",
    ],
)
def test_what_deletes_more_is_refused(code: str) -> None:
    assert verdict(code) is Verdict.FAIL


def test_a_bomb_that_a_search_looks_for_is_a_pattern() -> None:
    bomb = ":(){ :|:& };:"
    assert verdict(f'grep -rn "rm -rf\\|{bomb}" --include="*.sh" .') is not Verdict.FAIL
    assert verdict(f'grep -q x a.txt; eval "{bomb}"') is Verdict.FAIL
    assert verdict(f'grep -o "{bomb}" a.txt | bash') is Verdict.FAIL


@pytest.mark.parametrize(("mark", "refused"), [("`", False), ("`cat box.txt`", True)])
def test_a_stray_mark_in_a_block_runs_nothing(mark: str, *, refused: bool) -> None:
    block = f"export BOX=1\n{mark}\n# or in the settings:\nBOX=2\n\nthen:\n$HOME/boxes/run.sh <name>\n"
    assert (audited({"SKILL.md": f"{PAGE}\n```bash\n{block}```\n"}).verdict is Verdict.FAIL) is refused
