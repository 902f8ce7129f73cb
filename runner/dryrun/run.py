"""Running a tool without letting it change anything, and then making its changes real, or not."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skillkeep.clock import timestamp
from skillkeep.errors import SkillkeepError
from skillkeep.files import io_errors, remove_tree
from skillkeep.runner.dryrun.change import DryRun, FolderChanges
from skillkeep.runner.dryrun.collect import Limits, collect
from skillkeep.runner.dryrun.commit import Refusal, commit_folder, tidy_folder
from skillkeep.runner.dryrun.since import Since, tick
from skillkeep.runner.dryrun.store import DryRuns
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Bind, RunResult, SandboxPolicy, new_run_id
from skillkeep.runner.ladder import AUTO, NATIVE
from skillkeep.runner.run import RunFloor, RunOptions, run_tool
from skillkeep.text import printable_path
from skillkeep.vault.interface import VaultedTool

__all__ = ["Committed", "commit", "drop", "keep_apart", "run_dry"]


@dataclass(frozen=True)
class Committed:
    """What became of a dry run: changes made, and those that were refused and are still kept in `left`."""

    done: int
    refused: tuple[Refusal, ...]
    left: DryRun | None


def keep_apart(policy: SandboxPolicy, most_bytes: int) -> SandboxPolicy:
    """`policy` with every writable folder behind an overlay of `most_bytes`.

    Raises `RunnerError` (`bad_policy`) when there is none, or a file is writable: an overlay is for folders.
    """
    writable = [bind for bind in policy.binds if bind.writable]
    if not writable:
        hint = "Grant one at confirmation: --grant write:/absolute/path"
        raise RunnerError("bad_policy", "a dry run needs a folder that the tool may write", hint)
    for bind in writable:
        if not os.path.isdir(bind.source):
            hint = "Grant the folder that holds it instead, or run the tool for real."
            message = f"a dry run is for folders, and {printable_path(bind.source)} is a file"
            raise RunnerError("bad_policy", message, hint)
    binds = tuple(replace(bind, overlay_bytes=most_bytes) if bind.writable else bind for bind in policy.binds)
    return replace(policy, binds=binds)


def run_dry(
    tool: VaultedTool, argv: Sequence[str], policy: SandboxPolicy, floor: RunFloor, options: RunOptions
) -> tuple[RunResult, DryRun]:
    """Run as `run_tool` does, with `policy` from `keep_apart`; the result, and what the tool would have changed.

    A dry run that changes nothing is not kept. Changes that could not be collected or kept are lost, as the dry run and
    the result's `unrecorded` say. Raises `SkillkeepError` as `run_tool` does.
    """
    overlaid = [bind for bind in policy.binds if bind.overlay_bytes]
    runs, identity = DryRuns(floor.home), new_run_id()
    wanted = options.backend or floor.settings.sandbox.backend
    if wanted not in (AUTO, NATIVE):
        hint = "Leave --backend out, or run it for real."
        raise RunnerError("bad_policy", f"the {wanted} backend cannot make a dry run: only native can", hint)
    with io_errors("look at the folders of a dry run"):
        began = tick()
        starts = [Since.now(bind.source, began) for bind in overlaid]
    with runs.collecting(identity) as stage:
        found: list[FolderChanges] = []

        def take(uppers: Sequence[int]) -> None:
            for number, (bind, upper, since) in enumerate(zip(overlaid, uppers, starts, strict=True)):
                found.append(_collected(bind, upper, stage / str(number), since))

        chosen = replace(options, backend=NATIVE, take_changes=take)
        result = run_tool(tool, argv, policy, floor, chosen)
        run = DryRun(
            id=identity,
            run_id=result.run_id,
            tool=tool.name,
            tool_digest=tool.digest,
            made_at=timestamp(floor.clock.now()),
            exit_code=result.exit_code,
            cause=result.cause.value,
            folders=tuple(found),
        )
        if not run.empty:
            try:
                runs.keep(run)
            except SkillkeepError as error:
                lost = tuple(FolderChanges.lost(folder.root, error.message) for folder in run.folders)
                run = replace(run, folders=lost)
    said = [f"changes are lost: {folder.remarks[0].text}" for folder in run.folders if folder.is_lost]
    facts: dict[str, Any] = {"dry_run": identity, "run_id": run.run_id, "tool": tool.name}
    try:
        floor.journal.append("dryrun.collected", changes=sum(len(folder.changes) for folder in run.folders), **facts)
    except SkillkeepError as error:
        said.append(f"the journal does not have the dry run: {error.message}")
    return replace(result, unrecorded=(*result.unrecorded, *said)), run


def _collected(bind: Bind, upper: int, stage: Path, since: Since) -> FolderChanges:
    """What was written in one folder. The run is over: what cannot be collected is lost, and not the run's result."""
    try:
        with io_errors(f"collect what was written in {printable_path(bind.source)}"):
            stage.mkdir(mode=0o700)
            return collect(upper, bind.source, stage, since, Limits(bind.overlay_bytes))
    except SkillkeepError as error:
        with contextlib.suppress(SkillkeepError):
            remove_tree(stage)  # the end of the run may need the room
        return FolderChanges.lost(bind.source, error.message)


def commit(run: DryRun, floor: RunFloor) -> Committed:
    """Make the changes of `run` in the project, and forget it; what was refused is kept, for another try.

    Raises `RunnerError` (`no_dry_run`, `dry_run_busy`) and `SkillkeepError` (`io_error`).
    """
    runs = DryRuns(floor.home)
    with runs.locked(run) as current:
        facts: dict[str, Any] = {"dry_run": run.id, "run_id": run.run_id, "tool": run.tool}
        roots = [printable_path(folder.root) for folder in current.folders]
        floor.journal.append("dryrun.commit", durable=True, folders=roots, **facts)
        outcomes = [
            commit_folder(folder, runs.blobs(current, number), run.id) for number, folder in enumerate(current.folders)
        ]
        refused = tuple(refusal for outcome in outcomes for refusal in outcome.refused)
        done = sum(outcome.done for outcome in outcomes)
        left = None
        if refused:
            paths = tuple(frozenset(each.change.path for each in outcome.refused) for outcome in outcomes)
            left = runs.left_over(current, paths)
        else:
            runs.remove(current)
        floor.journal.append("dryrun.committed", durable=True, done=done, refused=len(refused), **facts)
    return Committed(done, refused, left)


def drop(run: DryRun, floor: RunFloor) -> None:
    """Forget `run`: the project stays as it is. Raises `RunnerError` (`no_dry_run`, `dry_run_busy`)."""
    runs = DryRuns(floor.home)
    with runs.locked(run) as current:
        for folder in current.folders:
            tidy_folder(folder, run.id)
        runs.remove(current)
        floor.journal.append("dryrun.dropped", durable=True, dry_run=run.id, run_id=run.run_id, tool=run.tool)
