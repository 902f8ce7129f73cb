"""A fresh home and its vault for each test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.vaults import open_vault

from skillkeep.home import Home
from skillkeep.vault.store import Vault


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(Path(os.path.realpath(tmp_path)) / "home").ensure()


@pytest.fixture
def vault(home: Home) -> Vault:
    return open_vault(home)
