"""A fresh home below a folder that any sandbox may enter."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillkeep.files import remove_tree
from skillkeep.home import Home
from skillkeep.runner.native import NativeBackend


@pytest.fixture
def home() -> Iterator[Home]:
    """In a short path of its own: the temporary folder of pytest may lie where a project may not."""
    folder = Path(tempfile.mkdtemp(prefix="skillkeep-dry-"))
    try:
        yield Home(folder / "home").ensure()
    finally:
        remove_tree(folder)


@pytest.fixture(scope="session", autouse=True)
def _native() -> None:
    state = NativeBackend().probe()
    if not state.available:
        pytest.skip(f"no native sandbox: {state.reason}")
