"""One run as a command line asks for it: from its words to the exit code. It needs no parser of options."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from skillkeep.cli.ending import orderly_end
from skillkeep.cli.ground import Ground, ground
from skillkeep.cli.output import columns, emit, is_terminal, paint, say, write
from skillkeep.clock import SYSTEM_CLOCK, Clock
from skillkeep.errors import Exit, SkillkeepError, UsageError
from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.runner.entry import list_entries, resolve_entry
from skillkeep.runner.interface import AssuranceLevel, Cause, Denial, RunResult
from skillkeep.runner.ladder import LOCAL, NATIVE
from skillkeep.runner.open_runs import settle
from skillkeep.runner.policy import Limits, build_policy, folders_of_strangers, pass_environment, unheld_grants
from skillkeep.runner.records import run_facts
from skillkeep.runner.run import RunOptions, run_tool
from skillkeep.runner.sizes import size_of
from skillkeep.settings import Settings
from skillkeep.text import escape, printable_path
from skillkeep.value import Value
from skillkeep.vault.interface import VaultedTool
from skillkeep.vault.store import Vault

if TYPE_CHECKING:
    from skillkeep.runner.dryrun.change import DryRun
    from skillkeep.runner.native.terminal import Terminal

__all__ = ["RunCommandLine", "exit_code_of", "floor_on", "how_it_was_ended", "perform"]

_TIMEOUT_EXIT = 124  # as timeout(1) gives


class _Floor(Value):
    home: Home
    settings: Settings
    vault: Vault
    journal: Journal
    clock: Clock = SYSTEM_CLOCK


class RunCommandLine(Value):
    """The tool, what is to run of it, and the options, each as `skill run --help` says."""

    name: str
    words: tuple[str, ...] = ()
    backend: str = ""
    timeout: float | None = None
    memory: str = ""
    cpus: float | None = None
    processes: int | None = None
    output_limit: str = ""
    env: tuple[str, ...] = ()
    secret_file: tuple[str, ...] = ()
    stdin: bool | None = None
    paranoid: bool = False
    min_assurance: str = ""
    dry_run: bool = False
    commit: bool = False
    tty: bool = False
    explain: bool = False
    as_json: bool = False
    quiet: bool = False
    config: Path | None = None


def perform(asked: RunCommandLine) -> int:
    """Run it, show what it wrote and how it ended; the exit code. Raises `SkillkeepError` when nothing ran.

    SIGTERM and SIGHUP end it as an interrupt does: nothing goes on or stays.
    """
    with orderly_end():
        return _performed(asked)


def _performed(asked: RunCommandLine) -> int:
    floor = floor_on(ground(asked.config))
    tool = floor.vault.open(asked.name)
    if not asked.words:
        return _show_entries(tool, as_json=asked.as_json)
    argv = tuple(asked.words[1:]) if asked.words[0] == "--" else resolve_entry(tool, asked.words[0], asked.words[1:])
    if not argv:
        raise UsageError("usage", "there is no command after --", f"Example: skill run {tool.name} -- ls -l")
    limits = Limits(
        asked.timeout,
        size_of(asked.memory, "--memory"),
        asked.cpus,
        asked.processes,
        size_of(asked.output_limit, "--output-limit"),
    )
    policy = build_policy(tool, floor.settings.sandbox, floor.home, limits)
    secrets = asked.secret_file
    pass_environment(policy, tool, os.environ, secrets)  # says so when one was not granted, or is not set
    policy = pass_environment(policy, tool, os.environ, (*asked.env, *secrets) if asked.env else ())
    terminal = _terminal(asked.tty, asked.as_json, asked.stdin)
    options = RunOptions(
        asked.backend,
        None if asked.tty else _stdin(asked.stdin),
        _level(asked.min_assurance),
        asked.paranoid,
        secret_files=secrets,
        explain=asked.explain,
        terminal=terminal,
    )
    if asked.commit and not asked.dry_run:
        raise UsageError("usage", "--commit belongs to --dry-run", "Add --dry-run, or leave --commit out.")
    unended = settle(floor.home, floor.journal)
    if asked.dry_run:
        from skillkeep.runner.dryrun.run import keep_apart, run_dry

        policy = keep_apart(policy, floor.settings.sandbox.dry_run_bytes)
        result, dry = run_dry(tool, argv, policy, floor, options)
    else:
        result, dry = run_tool(tool, argv, policy, floor, options), None
    notes = [
        f"the grant {grant} is not honoured by {result.backend}: the run has no network"
        for grant in unheld_grants(tool, result.backend)
    ]
    notes += [
        f"{printable_path(path)} belongs to root: what the tool wrote there is of an id that later runs get again; "
        "chown it to an ordinary user"
        for path in (folders_of_strangers(policy) if result.backend == NATIVE else ())
    ]
    notes += [f"the earlier run {each} was cut off: nobody saw its end" for each in unended]
    if not asked.as_json:
        _pass_on(result)
        for line in [*_remarks(result), *notes]:
            say(f"{paint('run', 'yellow', sys.stderr)}: {escape(line)}", quiet=asked.quiet)
    for line in result.unrecorded:
        say(f"{paint('run', 'red', sys.stderr)}: it ran, but its end is not recorded: {escape(line)}")
    outcome, settled = _settled(dry, floor, asked.commit, asked.as_json)
    if asked.as_json:
        about = run_facts(tool, argv, policy)
        emit({"ok": True, "schema": "skillkeep/run-v1", **about, **result.to_json(), **outcome, "notes": notes})
    return exit_code_of(result) or (Exit.OK if settled else Exit.RUN_FAILED)


def _settled(dry: DryRun | None, floor: _Floor, at_once: bool, as_json: bool) -> tuple[dict[str, Any], bool]:
    """What becomes of a dry run, as facts for ``--json``, and whether that is what was asked for."""
    if dry is None:
        return {}, True
    from skillkeep.runner.dryrun.cli import settle as settle_dry_run

    try:
        facts, settled = settle_dry_run(dry, floor, at_once=at_once, as_json=as_json)
    except SkillkeepError as error:
        if not as_json:  # the output has been passed on
            raise
        return {"dry_run": {"id": dry.id, "state": "failed", "error": error.to_json()}}, False
    return {"dry_run": facts}, settled


def floor_on(base: Ground) -> _Floor:
    """What runs stand on, with a vault that is whole."""
    vault = Vault(base.home, base.journal)
    vault.recover()
    return _Floor(base.home, base.settings, vault, base.journal)


def _show_entries(tool: VaultedTool, *, as_json: bool) -> int:
    entries = list_entries(tool)
    if as_json:
        shown = [
            {"name": escape(each.name), "path": escape(each.path), "interpreter": list(each.interpreter)}
            for each in entries
        ]
        emit({"ok": True, "schema": "skillkeep/entries-v1", "tool": tool.name, "digest": tool.digest, "entries": shown})
    elif entries:
        rows = [(each.name, each.path, " ".join(each.interpreter) or "(itself)") for each in entries]
        write(columns(rows, ("entry", "file", "run by")))
    else:
        say(f"{tool.name} has no script; run a program in its folder: skill run {tool.name} -- COMMAND")
    return Exit.OK


def _pass_on(result: RunResult) -> None:
    """The tool's bytes to our streams: as they are into a file or pipe, escaped at a terminal."""
    for stream, data in ((sys.stdout, result.stdout), (sys.stderr, result.stderr)):
        if stream is not None and data:
            _pass_to(stream, data)


def _pass_to(stream: TextIO, data: bytes) -> None:
    if is_terminal(stream):
        stream.write(escape(data, keep_newlines=True))
    else:
        stream.flush()
        stream.buffer.write(data)
    stream.flush()


def _remarks(result: RunResult) -> list[str]:
    """What a person has to know beyond the tool's own output: how it was stopped, what was cut, what did not hold."""
    passed = [f"{each.backend} was passed over: {each.reason}" for each in result.passed_over]
    if passed or result.backend == LOCAL:
        passed.append(f"ran by {result.backend}")
    if result.assurance.level is AssuranceLevel.NONE:
        passed.append(f"{result.assurance.losses[0]}" if result.assurance.losses else "no sandbox")
    cut = [
        f"{stream} was cut after {len(data)} bytes (--output-limit)"
        for stream, data, truncated in (
            ("stdout", result.stdout, result.stdout_truncated),
            ("stderr", result.stderr, result.stderr_truncated),
        )
        if truncated
    ]
    explained = ["explained: nothing was refused"] if result.explained and not result.denials else []
    return [*passed, *cut, *how_it_was_ended(result), *explained]


def how_it_was_ended(result: RunResult) -> list[str]:
    """By which limit, and what it was refused."""
    return [*_STOPPED.get(result.cause, ()), *map(_denied, result.denials)]


def _denied(denial: Denial) -> str:
    allow = f" (what would allow it: {denial.hint})" if denial.hint else ""
    return f"denied: {denial.what}, {denial.detail}{allow}"


_STOPPED: Mapping[Cause, tuple[str, ...]] = {
    Cause.TIMEOUT: ("killed at the time limit (--timeout)",),
    Cause.OOM: ("killed at the memory limit (--memory)",),
    Cause.OUTPUT_CAP: ("ended at the output limit (--output-limit)",),
}


def exit_code_of(result: RunResult) -> int:
    """The program's own, 128 + n for a signal, 124 at the time limit, 137 at the output limit.

    137 also of a program that had ended before it was killed for its output: whether it had is a race.
    """
    if result.cause is Cause.TIMEOUT:
        return _TIMEOUT_EXIT
    if result.cause is Cause.OUTPUT_CAP:
        return 128 + signal.SIGKILL
    return 128 + result.signal if result.signal is not None else int(result.exit_code or 0)


def _terminal(wanted: bool, as_json: bool, stdin: bool | None) -> Terminal | None:
    """This process's terminal, if it is wanted."""
    if not wanted:
        return None
    if as_json or stdin is not None or not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        hint = "Run it at a terminal, without --json and --stdin; or leave --tty out."
        raise UsageError("usage", "--tty joins a terminal, and there is none", hint)
    from skillkeep.runner.native.terminal import Terminal

    return Terminal(sys.stdin.fileno(), sys.stdout.fileno())


def _stdin(wanted: bool | None) -> int | None:
    """Descriptor 0, or None for an empty input. A terminal is passed on only when asked for."""
    if sys.stdin is None or wanted is False:
        return None
    return 0 if wanted or not is_terminal(sys.stdin) else None


def _level(text: str) -> AssuranceLevel | None:
    levels = {level.name.lower(): level for level in AssuranceLevel if level is not AssuranceLevel.NONE}
    if text and text not in levels:
        raise UsageError("usage", f"there is no assurance {escape(text)}", f"Choose one of: {', '.join(levels)}.")
    return levels.get(text)
