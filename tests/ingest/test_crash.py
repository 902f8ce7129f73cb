"""SIGKILL at any moment: the vault verifies, and the next start leaves no quarantine."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.commands import BIN, environment, run_command
from support.git_server import git_server
from support.hostile import Repository, clean_skill

from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.vault.store import Vault

MOMENTS = 20


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killing_ingest_at_twenty_moments_leaves_a_vault_that_verifies(tmp_path: Path) -> None:
    home = Path(os.path.realpath(tmp_path)) / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[auditor]\nsemgrep = false\nbandit = false\n")
    repository = Repository(tmp_path / "served" / "sample.git")
    journal = Journal(home / "journal")
    vault = Vault(Home(home), journal)
    chance = random.Random(2)
    with git_server(tmp_path / "served") as url:
        words = ["skill", "ingest", f"{url}/sample.git", "--confirm", "--json"]
        repository.files(clean_skill())
        begun = time.monotonic()
        assert run_command(*words, home=home).code == 0
        whole = time.monotonic() - begun
        killed = 0
        for number in range(MOMENTS):
            repository.files({**clean_skill(), "version.txt": str(number).encode()})
            took = kill_after(words, home, 0.8 * whole * (number + chance.random()) / MOMENTS)
            killed += took is None
            whole = min(whole, took or whole)  # the first run may have met a busier machine
            assert run_command("skill", "status", home=home).code == 0
            assert [name for name in os.listdir(home / "quarantine") if name != ".lock"] == []
            vault.recover()
            assert vault.verify() == []
            journal.verify()
        assert killed >= MOMENTS // 4
        assert run_command(*words, home=home).json["status"] in {"vaulted", "already_approved"}
        version = (home / "vetted_vault" / "sample" / "version.txt").read_bytes()
        assert version == str(MOMENTS - 1).encode()


def kill_after(words: list[str], home: Path, seconds: float) -> float | None:
    """Start a command and kill it after `seconds`; the seconds it took when it had ended before."""
    begun = time.monotonic()
    child = subprocess.Popen(
        [str(BIN / words[0]), *words[1:]],
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        child.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
        child.wait()
        return None
    return time.monotonic() - begun
