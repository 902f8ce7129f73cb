"""At a terminal: findings are shown, the question is asked, and only a yes counts."""

from __future__ import annotations

import os
from pathlib import Path

import pexpect
import pytest
from support.commands import BIN, environment
from support.hostile import clean_skill, write_files

WARN = b"import urllib.request\n\nurllib.request.urlopen('https://api.example.invalid/v1')\n"


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 10), ("", 10)])
def test_a_warn_is_vaulted_at_a_terminal_after_its_findings_were_seen(tmp_path: Path, answer: str, code: int) -> None:
    home = Path(os.path.realpath(tmp_path)) / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[auditor]\nsemgrep = false\nbandit = false\n")
    source = write_files(tmp_path / "source", {**clean_skill(), "scripts/count.py": WARN})
    child = pexpect.spawn(
        str(BIN / "skill"), ["ingest", str(source), "--confirm"], env=environment(home), timeout=240, encoding="utf-8"
    )
    child.expect("scripts/count.py:3")
    child.expect(r"Vault it with these findings\?")
    child.sendline(answer)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == code
    assert (home / "vetted_vault" / "sample").is_symlink() == (code == 0)
