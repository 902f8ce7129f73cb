"""Several ingests at once, in processes of their own."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from support.commands import run_command
from support.hostile import clean_skill, write_files


def test_ingests_at_once_leave_one_whole_vault(tmp_path: Path) -> None:
    home = Path(os.path.realpath(tmp_path)) / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[auditor]\nsemgrep = false\nbandit = false\n")
    same = write_files(tmp_path / "same", clean_skill("same"))
    other = write_files(tmp_path / "other", clean_skill("other"))
    with ThreadPoolExecutor(4) as pool:
        calls = [
            pool.submit(run_command, "skill", "ingest", str(source), "--confirm", "--json", home=home)
            for source in (same, other, same, other)
        ]
        done = [call.result() for call in calls]
    assert [each.code for each in done] == [0, 0, 0, 0]
    assert {each.json["status"] for each in done} <= {"vaulted", "already_approved"}
    assert run_command("vault", "verify", home=home).code == 0
    assert run_command("skill", "journal", "verify", home=home).code == 0
    assert [name for name in os.listdir(home / "quarantine") if name != ".lock"] == []
