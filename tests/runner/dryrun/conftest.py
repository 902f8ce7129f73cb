"""A fresh home below a folder that any sandbox may enter."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from skillkeep.files import remove_tree
from skillkeep.home import Home
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Bind, RunRequest, SandboxPolicy
from skillkeep.runner.native import NativeBackend

_FOR_USERS = (6, 6)
"""The first kernel on which an ordinary user may make one."""


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
    backend = NativeBackend()
    state = backend.probe()
    if not state.available:
        pytest.skip(f"no native sandbox: {state.reason}")
    if os.geteuid() == 0 or _kernel() >= _FOR_USERS:
        return
    with tempfile.TemporaryDirectory() as name:
        request = RunRequest(("true",), SandboxPolicy(binds=(Bind(name, name, writable=True, overlay_bytes=1 << 20),)))
        with pytest.raises(RunnerError) as refused:
            backend.run(request)
    assert (refused.value.code, refused.value.context["layer"]) == ("sandbox_layer_failed", "overlay")
    pytest.skip(f"an ordinary user's dry run: {refused.value.hint}")


def _kernel() -> tuple[int, ...]:
    return tuple(int(word) for word in re.findall(r"\d+", os.uname().release)[:2])
