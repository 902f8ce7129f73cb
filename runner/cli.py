"""The `runner` command line: parses and prints. `skill run` is the same function as `runner run`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shutil import which
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from typer.core import TyperCommand

from skillkeep.cli.entry import report
from skillkeep.cli.options import ConfigOption, Ground, JsonOption, QuietOption, ground, new_app
from skillkeep.cli.output import columns, emit, is_terminal, paint, say, write
from skillkeep.clock import SYSTEM_CLOCK, Clock
from skillkeep.errors import Exit, UsageError
from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.runner.entry import list_entries, resolve_entry
from skillkeep.runner.interface import AssuranceLevel, Availability, Cause, Denial, RunResult
from skillkeep.runner.ladder import LANDLOCK, LOCAL, RUNGS, backend_factories
from skillkeep.runner.mechanisms import Mechanism, look_at_mechanisms
from skillkeep.runner.policy import Limits, build_policy, pass_environment, unheld_grants
from skillkeep.runner.records import run_facts
from skillkeep.runner.run import RunOptions, run_tool
from skillkeep.runner.sizes import size_of
from skillkeep.runner.words import split_words
from skillkeep.settings import Settings
from skillkeep.text import escape
from skillkeep.vault.cli.arguments import NameArgument
from skillkeep.vault.interface import VaultedTool
from skillkeep.vault.store import Vault

if TYPE_CHECKING:
    from skillkeep.runner.dryrun.change import DryRun
    from skillkeep.runner.native.terminal import Terminal

__all__ = ["TIMEOUT_EXIT", "PassingCommand", "add_run", "doctor", "exit_code_of", "run", "runner_app"]

TIMEOUT_EXIT = 124  # as timeout(1) gives


@dataclass(frozen=True)
class _Floor:
    home: Home
    settings: Settings
    vault: Vault
    journal: Journal
    clock: Clock = SYSTEM_CLOCK


class PassingCommand(TyperCommand):
    """A command whose exit code is the program's own: what fails on our side is 125, as 1 may be the program's."""

    def invoke(self, ctx: Any) -> Any:
        """Run it. Only our own ``--json`` asks for errors as JSON; one behind it is the program's."""
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, typer.Exit, typer.Abort):
            raise
        except Exception as error:
            return report(error, as_json=ctx.params["json_"], failure=Exit.RUN_FAILED)


class RunCommand(PassingCommand):
    """`run` with its own idea of where options end: see `split_words`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put a ``--`` before the tool's words, so that none of them is taken for an option of ours."""
        takes_value = {
            name
            for param in self.params
            if param.param_type_name == "option" and not getattr(param, "is_flag", False)
            for name in param.opts
        }
        ours, theirs = split_words(args, takes_value)
        return super().parse_args(ctx, [*ours, "--", *theirs] if theirs else ours)


def runner_app() -> typer.Typer:
    """A fresh `runner` application; the caller may add commands that stand on higher floors."""
    app = new_app("Run vaulted tools in a sandbox, and nothing else.")
    add_run(app)
    app.command("doctor")(doctor)
    from skillkeep.runner.selftest.cli import selftest

    app.command("selftest")(selftest)
    from skillkeep.runner.dryrun.cli import dry_run_app

    app.add_typer(dry_run_app(lambda config: _floor(ground(config))), name="dry-run")
    return app


def add_run(app: typer.Typer) -> None:
    """Add `run` to an application: to `runner`, and to `skill`."""
    app.command("run", cls=RunCommand)(run)


def run(
    name: NameArgument,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ENTRY|-- COMMAND] [ARGS]...", help="What to run; nothing lists the entries."),
    ] = None,
    backend: Annotated[
        str, typer.Option("--backend", help="auto, native, docker, apple, lima, or local (tier 1 only).")
    ] = "",
    timeout: Annotated[float | None, typer.Option("--timeout", help="Seconds until everything is killed.")] = None,
    memory: Annotated[str, typer.Option("--memory", help="Memory for all processes, such as 256m or 2g.")] = "",
    cpus: Annotated[float | None, typer.Option("--cpus", help="Processors, such as 0.5.")] = None,
    processes: Annotated[int | None, typer.Option("--processes", help="How many processes at once.")] = None,
    output_limit: Annotated[str, typer.Option("--output-limit", help="Bytes kept of each stream, as 64k.")] = "",
    env: Annotated[
        list[str] | None,
        typer.Option("--env", help="Pass only this granted variable; may be repeated. Default: all granted ones."),
    ] = None,
    secret_file: Annotated[
        list[str] | None,
        typer.Option("--secret-file", help="Give this granted variable as the file /secrets/NAME; may be repeated."),
    ] = None,
    stdin: Annotated[
        bool | None,
        typer.Option("--stdin/--no-stdin", help="Pass standard input on. Default: when it is not a terminal."),
    ] = None,
    paranoid: Annotated[bool, typer.Option("--paranoid", help="Hash every byte of the tool before it runs.")] = False,
    min_assurance: Annotated[
        str, typer.Option("--min-assurance", help="Refuse to run in less: filtered, isolated, bounded.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Keep what it writes apart, show the difference, then ask.")
    ] = False,
    commit: Annotated[
        bool, typer.Option("--commit", help="With --dry-run: make the changes real if the tool succeeds.")
    ] = False,
    tty: Annotated[bool, typer.Option("--tty", help="Give it a terminal of its own, joined to yours.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Trace it, many times slower, to say which files it was refused, and why.")
    ] = False,
    json_: JsonOption = False,
    quiet: QuietOption = False,
    config: ConfigOption = None,
) -> int:
    """Run a vaulted tool in a sandbox, verified first. Example: skill run pdf extract.py --page 1

    Options of ours come before ENTRY or --; all after that is the tool's. Exit code: the tool's own, 128 + n for a
    signal, 124 at the time limit, 125 runner failed, 126 blocked, 127 not found.
    """
    floor = _floor(ground(config))
    tool = floor.vault.open(name)
    if not words:
        return _show_entries(tool, as_json=json_)
    argv = tuple(words[1:]) if words[0] == "--" else resolve_entry(tool, words[0], words[1:])
    if not argv:
        raise UsageError("usage", "there is no command after --", f"Example: skill run {tool.name} -- ls -l")
    limits = Limits(timeout, size_of(memory, "--memory"), cpus, processes, size_of(output_limit, "--output-limit"))
    policy = build_policy(tool, floor.settings.sandbox, floor.home, limits)
    secrets = tuple(secret_file or ())
    pass_environment(policy, tool, os.environ, secrets)  # says so when one was not granted, or is not set
    policy = pass_environment(policy, tool, os.environ, (*env, *secrets) if env else ())
    terminal = _terminal(tty, json_, stdin)
    options = RunOptions(
        backend,
        None if tty else _stdin(stdin),
        _level(min_assurance),
        paranoid,
        secret_files=secrets,
        explain=explain,
        terminal=terminal,
    )
    if commit and not dry_run:
        raise UsageError("usage", "--commit belongs to --dry-run", "Add --dry-run, or leave --commit out.")
    if dry_run:
        from skillkeep.runner.dryrun.run import keep_apart, run_dry

        policy = keep_apart(policy, floor.settings.sandbox.dry_run_bytes)
        result, dry = run_dry(tool, argv, policy, floor, options)
    else:
        result, dry = run_tool(tool, argv, policy, floor, options), None
    notes = [
        f"the grant {grant} is not honoured by {result.backend}: the run has no network"
        for grant in unheld_grants(tool, result.backend)
    ]
    if not json_:
        _pass_on(result)
        for line in [*_remarks(result), *notes]:
            say(f"{paint('run', 'yellow', sys.stderr)}: {escape(line)}", quiet=quiet)
    outcome, settled = _settled(dry, floor, commit, json_)
    if json_:
        about = run_facts(tool, argv, policy)
        emit({"ok": True, "schema": "skillkeep/run-v1", **about, **result.to_json(), **outcome, "notes": notes})
    return exit_code_of(result) or (Exit.OK if settled else Exit.RUN_FAILED)


def _settled(dry: DryRun | None, floor: _Floor, at_once: bool, as_json: bool) -> tuple[dict[str, Any], bool]:
    """What becomes of a dry run, as facts for ``--json``, and whether that is what was asked for."""
    if dry is None:
        return {}, True
    from skillkeep.runner.dryrun.cli import settle

    facts, settled = settle(dry, floor, at_once=at_once, as_json=as_json)
    return {"dry_run": facts}, settled


def doctor(json_: JsonOption = False, config: ConfigOption = None) -> int:
    """Try every sandbox on this machine: what works, what it loses, how to mend the rest. Example: runner doctor"""
    settings = ground(config).settings
    found = [make().probe() for make in backend_factories(settings.sandbox).values()]
    usable = [each.backend for each in found if each.backend in (*RUNGS, LANDLOCK) and each.available]
    parts = look_at_mechanisms()
    hint = "" if usable else "Tools of tier 2 and 3 do not run here until one of the sandboxes is mended."
    if json_:
        emit({"ok": bool(usable), "schema": "skillkeep/doctor-v1", "chosen": usable[0] if usable else None,
              "hint": hint, "backends": [each.to_json() for each in found],
              "mechanisms": [each.to_json() for each in parts]})  # fmt: skip
    else:
        write(_doctor_text(found, parts, bool(usable)))
        say(hint or f"Runs use: {usable[0]}")
    return Exit.OK if usable else Exit.TOOL_FAILURE


def _floor(base: Ground) -> _Floor:
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
    denied = [*map(_denied, result.denials)]
    if result.explained and not denied:
        denied.append("explained: nothing was refused")
    return [*passed, *cut, *_STOPPED.get(result.cause, ()), *denied]


def _denied(denial: Denial) -> str:
    allow = f" (what would allow it: {denial.hint})" if denial.hint else ""
    return f"denied: {denial.what}, {denial.detail}{allow}"


_STOPPED: Mapping[Cause, tuple[str, ...]] = {
    Cause.TIMEOUT: ("killed at the time limit (--timeout)",),
    Cause.OOM: ("killed at the memory limit (--memory)",),
    Cause.OUTPUT_CAP: ("ended at the output limit (--output-limit)",),
}


def exit_code_of(result: RunResult) -> int:
    """The program's own, 128 + n for a signal, `TIMEOUT_EXIT` at the time limit, 137 at the output limit.

    137 also of a program that had ended before it was killed for its output: whether it had is a race.
    """
    if result.cause is Cause.TIMEOUT:
        return TIMEOUT_EXIT
    if result.cause is Cause.OUTPUT_CAP:
        return 128 + signal.SIGKILL
    return 128 + result.signal if result.signal is not None else int(result.exit_code or 0)


_LEVELS = {
    AssuranceLevel.BOUNDED: "own namespaces, filtered system calls, and the kernel bounds memory, processes and CPU",
    AssuranceLevel.ISOLATED: "own namespaces, filtered system calls; limits for each process, and a watchdog over all",
    AssuranceLevel.FILTERED: "filtered system calls and files, without namespaces",
    AssuranceLevel.NONE: "an ordinary process of yours: for your own tools (tier 1) alone, and no sandbox",
}
_ELSEWHERE = {"apple": "container", "lima": "limactl"}
"""Sandboxes for macOS, and the program that each needs."""


def _concerns(state: Availability) -> bool:
    """Whether somebody at this machine wants to hear of that backend."""
    return state.available or state.backend in (*RUNGS, LANDLOCK, LOCAL) or bool(which(_ELSEWHERE[state.backend]))


def _doctor_text(found: list[Availability], parts: Sequence[Mechanism], usable: bool) -> str:
    shown = [each for each in found if _concerns(each)]
    rows = [(each.backend, *(("yes", each.level.name.lower()) if each.available else ("no", "-"))) for each in shown]
    lines = [columns(rows, ("backend", "works", "assurance"))]
    held = {each.level for each in shown if each.available}
    lines += [f"{level.name.lower()}: {_LEVELS[level]}" for level in sorted(held, reverse=True)]
    for each in shown:
        wanted = "to have it too" if usable else "to mend"
        facts = [f"not here: {each.reason}", f"{wanted}: {each.mend}"] if not each.available else []
        losses = () if each.backend == LOCAL else each.losses
        lines += [f"{each.backend}: {escape(text)}" for text in (*facts, *(f"loses: {loss}" for loss in losses))]
    if parts:
        rows = [(each.name, "yes" if each.works else "no", escape(each.seen)) for each in parts]
        lines += ["", columns(rows, ("mechanism", "works", "seen"))]
        lines += [f"{each.name}, to mend: {escape(each.mend)}" for each in parts if each.mend]
    return "\n".join(lines)


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
