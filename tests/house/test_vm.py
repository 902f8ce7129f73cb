"""What `make test-vm` makes of a guest's words; the guest itself takes too long for here."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "scripts" / "vm"
PASSED = "== 22 passed, 1 skipped in 655.97s (0:10:55) ==".center(80, "=")
FAILED = "1 failed, 21 passed in 12.00s"


@pytest.fixture(name="run", scope="module")
def _run() -> ModuleType:
    spec = importlib.util.spec_from_file_location("vm_run", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("lines", "code", "said"),
    [
        ([PASSED, "== RESULT root 0", PASSED, "== RESULT job 0", "== END"], 0, "22 passed, 1 skipped"),
        ([PASSED, "== RESULT root 0", FAILED, "== RESULT job 1", "== END"], 1, "1 failed, 21 passed"),
        ([PASSED, "== RESULT root 0", "....", "== RESULT job 124", "== END"], 1, "no summary"),
        ([PASSED, "== RESULT root 0", "...."], 1, "did not end"),
        ([], 1, "did not end"),
    ],
)
def test_one_failed_or_unfinished_run_fails_the_whole(
    run: ModuleType, capsys: pytest.CaptureFixture[str], lines: list[str], code: int, said: str
) -> None:
    assert run._report(lines, ["root", "job"]) == code
    *_, root, job = capsys.readouterr().out.splitlines()
    assert root.startswith("root ")
    assert job.startswith("job ")
    assert said in job


@pytest.mark.parametrize("script", ["image.sh", "guest.sh"])
def test_the_guests_scripts_can_be_read_by_a_shell(script: str) -> None:
    assert subprocess.run(["bash", "-n", str(FOLDER / script)], capture_output=True).stderr == b""
