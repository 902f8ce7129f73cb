"""A fresh home and floor for each test; semgrep is off, because no test here is about it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.git_server import git_server

from skillkeep.home import Home
from skillkeep.ingest.request import Floor
from skillkeep.journal import Journal
from skillkeep.settings import AuditorSettings, Settings


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(Path(os.path.realpath(tmp_path)) / "home").ensure()


@pytest.fixture
def floor(home: Home) -> Iterator[Floor]:
    """The floor; after the test the quarantine has to be empty and the vault and journal have to hold."""
    standing = Floor.on(home, Settings(auditor=AuditorSettings(semgrep=False, bandit=False)), Journal(home.journal))
    yield standing
    assert [name for name in os.listdir(home.quarantine) if name != ".lock"] == []
    assert standing.vault.verify() == []
    standing.journal.verify()


@pytest.fixture
def repositories(tmp_path: Path) -> Path:
    """A folder whose bare repositories `served` shows."""
    folder = tmp_path / "repositories"
    folder.mkdir()
    return folder


@pytest.fixture
def served(repositories: Path) -> Iterator[str]:
    """The base URL of `repositories`."""
    with git_server(repositories) as url:
        yield url
