"""Run by test_crash: changes a vault and dies at a given line of our code, or on demand, and prints what was done.

``lines HOME TREE``       count the lines of skillkeep.vault and its ground floor that one admission executes
``sweep TEMPLATE TREE STEP FIRST``  for every STEP-th line from FIRST on: copy TEMPLATE, fork, admit, SIGKILL itself
                          at that line, then check the copy; prints one JSON object
``loop HOME``             admit and roll back without end, until killed
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.vaults import admission_of, open_vault, write_files

from skillkeep.home import Home

OURS = ("/vault/", "/skillkeep/files.py", "/skillkeep/journal.py")


class LineCounter:
    """Counts executed lines of ours; at line number `fatal` the process kills itself."""

    def __init__(self, fatal: int = 0) -> None:
        self.fatal = fatal
        self.count = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "call":
            return self if any(part in frame.f_code.co_filename for part in OURS) else None
        if event == "line":
            self.count += 1
            if self.count == self.fatal:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def admit(home: Path, tree: Path, counter: LineCounter) -> None:
    vault = open_vault(Home(home))
    admission = admission_of(tree, "demo")
    sys.settrace(counter)
    try:
        vault.admit(admission, tree)
    finally:
        sys.settrace(None)


def state_of(home: Path) -> str:
    """What the vault holds after the next start; raises when it is not whole."""
    vault = open_vault(Home(home))
    vault.recover()
    assert vault.verify() == [], vault.verify()
    assert os.listdir(vault.layout.staging) == []
    digests = {version.digest.removeprefix("sha256:") for version in vault.versions("demo")}
    assert set(os.listdir(vault.layout.objects)) == digests, "an object without approval"
    archive = vault.layout.archive / "demo"
    archived = set(os.listdir(archive)) if archive.exists() else set()
    current = vault.open("demo", paranoid=True)
    assert archived == digests - {current.digest.removeprefix("sha256:")}
    vault._journal.append("test.next_start")  # the first line after a crash mends a cut tail
    vault._journal.verify()
    admitted = [line.facts["digest"] for line in vault._journal.read() if line.event == "vault.admit"]
    assert {"sha256:" + digest for digest in digests} <= set(admitted), "an effect without its journal line"
    return (current.path / "version").read_text()


def sweep(template: Path, tree: Path, step: int, first: int) -> dict[str, int]:
    seen: dict[str, int] = {}
    line, killed = first, True
    while killed:
        with tempfile.TemporaryDirectory(dir=template.parent) as folder:
            home = Path(folder) / "home"
            shutil.copytree(template, home, symlinks=True)
            child = os.fork()
            if child == 0:
                admit(home, tree, LineCounter(line))
                os._exit(0)
            _, status = os.waitpid(child, 0)
            killed = os.WIFSIGNALED(status)
            assert killed or os.waitstatus_to_exitcode(status) == 0
            state = state_of(home)
            seen[state] = seen.get(state, 0) + 1
            admit(home, tree, LineCounter())
            assert state_of(home) == "new"
            unlock(home)
        line += step
    return seen


def unlock(folder: Path) -> None:
    """Let the copy be removed again."""
    for place, folders, _ in os.walk(folder):
        for name in folders:
            if not os.path.islink(os.path.join(place, name)):
                os.chmod(os.path.join(place, name), 0o700)


def loop(home: Path) -> None:
    vault = open_vault(Home(home))
    trees = [write_files(home.parent / f"tree{n}", {"version": f"v{n}", "bulk": str(n) * 50_000}) for n in range(3)]
    admissions = [admission_of(tree, "demo") for tree in trees]
    print("ready", flush=True)
    while True:
        for admission, tree in zip(admissions, trees, strict=True):
            vault.admit(admission, tree)
        vault.rollback("demo")
        vault.gc(keep=1)


def main() -> None:
    task, home = sys.argv[1], Path(sys.argv[2])
    if task == "lines":
        counter = LineCounter()
        admit(home, Path(sys.argv[3]), counter)
        print(counter.count)
    elif task == "sweep":
        print(json.dumps(sweep(home, Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))))
    else:
        loop(home)


if __name__ == "__main__":
    main()
