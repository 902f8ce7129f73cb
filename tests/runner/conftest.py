"""A fresh home for each test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillkeep.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(Path(os.path.realpath(tmp_path)) / "home").ensure()
