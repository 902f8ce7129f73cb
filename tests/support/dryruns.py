"""Projects that a vaulted tool may write, and dry runs in them."""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from support.floors import Floor
from support.vaults import admission_of, open_vault, write_files

from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.runner.dryrun.change import Change, DryRun
from skillkeep.runner.dryrun.run import Committed, commit, keep_apart, run_dry
from skillkeep.runner.interface import RunResult
from skillkeep.runner.policy import build_policy
from skillkeep.runner.run import RunOptions
from skillkeep.settings import Settings
from skillkeep.vault.interface import VaultedTool

__all__ = ["Project", "picture", "project_for"]

_MOST = 4 << 20


@dataclass(frozen=True)
class Project:
    """A folder, and a tool that was granted it."""

    root: Path
    tool: VaultedTool
    floor: Floor

    def run(
        self, code: str, *, runner: str = "sh", most_bytes: int = _MOST, backend: str = ""
    ) -> tuple[RunResult, DryRun]:
        """Dry-run a script with the project as its working folder."""
        policy = build_policy(self.tool, self.floor.settings.sandbox, self.floor.home)
        policy = replace(keep_apart(policy, most_bytes), workdir=str(self.root))
        argv = ("python3", "-I", "-c", code) if runner == "python" else (runner, "-c", code)
        return run_dry(self.tool, argv, policy, self.floor, RunOptions(backend))

    def meddled(self, meddle: Callable[[], object]) -> Project:
        """The same, with somebody who does something right when a run starts."""

        class Meddling(Journal):
            def append(self, kind: str, *, durable: bool = False, **facts: Any) -> Any:
                if kind == "run.start":
                    meddle()
                return super().append(kind, durable=durable, **facts)

        journal = Meddling(self.floor.home.journal)
        return replace(self, floor=replace(self.floor, journal=journal))

    def commit(self, run: DryRun) -> Committed:
        """Commit it."""
        return commit(run, self.floor)

    def changes(self, code: str, **options: Any) -> dict[str, Change]:
        """The changes of a script that has to succeed, by path."""
        result, run = self.run(code, **options)
        assert result.ok, (result.cause, result.stderr)
        return {change.path: change for change in run.folders[0].changes}


def project_for(home: Home, files: Mapping[str, str | bytes], name: str = "project") -> Project:
    """A project with these files beside `home`, and a tool with the right to write there."""
    root = write_files(home.root.parent / name, files)
    vault = open_vault(home)
    tree = write_files(home.root.parent / "tree", {"SKILL.md": "# x\n"})
    admission = replace(admission_of(tree, "tool"), grants=(f"write:{root}",))
    tool = vault.admit(admission, tree)
    return Project(root, tool, Floor(home, Settings(), vault, Journal(home.journal)))


def picture(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything below a folder that a change could change: type, mode, content or target, by path."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        state = path.lstat()
        content: object = ""
        if stat.S_ISREG(state.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(state.st_mode):
            content = str(path.readlink())
        found[str(path.relative_to(root))] = (stat.S_IFMT(state.st_mode), stat.S_IMODE(state.st_mode), content)
    return found
