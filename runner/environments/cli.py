"""`runner shell` and `runner env`: parses and prints."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

import typer

from skillkeep.cli.completion import completing
from skillkeep.cli.ground import Ground, ground
from skillkeep.cli.options import ConfigOption, JsonOption, NoInputOption, QuietOption, new_app
from skillkeep.cli.output import columns, emit, is_terminal, paint, say, write
from skillkeep.errors import Exit, UsageError
from skillkeep.runner.cli.app import PassingCommand
from skillkeep.runner.cli.running import exit_code_of, how_it_was_ended
from skillkeep.runner.environments.environment import Environment, How
from skillkeep.runner.environments.errors import EnvironmentsError
from skillkeep.runner.environments.manager import IDLE_SECONDS, Environments, Seen
from skillkeep.runner.environments.place import every_place
from skillkeep.runner.environments.project import policy_for
from skillkeep.runner.environments.relay import Passed, Shown
from skillkeep.runner.environments.standing import Standing
from skillkeep.runner.interface import RunResult
from skillkeep.runner.native.feed import Feeder
from skillkeep.runner.native.streams import Pipe
from skillkeep.text import encodable, escape

__all__ = ["ShellCommand", "env_app", "shell"]

_SEARCHED = "/usr/local/bin:/usr/bin:/bin"
_DURATION = re.compile(r"(\d{1,9})([smhd]?)\Z")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        autocompletion=completing(lambda home: (place.name for place in every_place(home))),
        help="Its name, or the project's folder.",
    ),
]
KillOption = Annotated[bool, typer.Option("--kill", help="Also when commands run in it: they are killed.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


class ShellCommand(PassingCommand):
    """`shell`: all behind ``--`` is the command's, whatever it looks like."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the command apart from our own words."""
        at = args.index("--") if "--" in args else len(args)
        ctx.meta["command"] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


def env_app() -> typer.Typer:
    """A fresh `env` application."""
    app = new_app("Named sandboxes that stay: list, show, stop and remove them.")
    app.command("list")(list_)
    app.command("show")(show)
    app.command("adopt")(adopt)
    app.command("stop")(stop)
    app.command("delete")(delete)
    app.command("delete-all")(delete_all)
    app.command("gc")(gc)
    return app


def shell(
    context: typer.Context,
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="The project's folder.")] = ".",
    fresh: Annotated[bool, typer.Option("--fresh", help="Processes and an empty /tmp of its own.")] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show the project read-only.")] = False,
    env: Annotated[list[str] | None, typer.Option("--env", help="Pass this variable; may be repeated.")] = None,
    timeout: Annotated[float | None, typer.Option("--timeout", help="Seconds until the command is killed.")] = None,
    memory: Annotated[str, typer.Option("--memory", help="Memory of the whole environment, such as 2g.")] = "",
    cpus: Annotated[float | None, typer.Option("--cpus", help="Processors of the whole environment.")] = None,
    processes: Annotated[int | None, typer.Option("--processes", help="Processes of the whole environment.")] = None,
    json_: JsonOption = False,
    quiet: QuietOption = False,
    config: ConfigOption = None,
) -> int:
    """Open a shell in the folder's own sandbox, or run a command in it. Example: runner shell ~/web -- npm test

    The sandbox is made on first use and stays; other shells of the same folder join it. It shows the folder at its own
    path, a home of its own, and nothing else of yours; no network. Exit code: the command's own.
    """
    base = ground(config)
    argv = list(context.meta["command"])
    policy = policy_for(base.settings.sandbox, memory=memory, cpus=cpus, processes=processes)
    how = How(fresh=fresh, seconds=timeout)
    asked = bool(memory or cpus is not None or processes is not None)
    if json_ and not argv:
        raise UsageError("usage", "--json needs a command", "Example: runner shell --json -- ls -l")
    at_terminal = not json_ and is_terminal(sys.stdin) and is_terminal(sys.stdout)
    environments = Environments(base.home, base.settings.sandbox)
    with environments.open(path, policy if asked else None, read_only=True if read_only else None) as environment:
        say(f"environment {environment.record.name}", quiet=quiet or not at_terminal)
        how = replace(how, env=_passed_on(env or [], at_terminal, environment.record.name))
        words = argv or [_default_shell()]
        named = {"environment": environment.record.name, "project": encodable(environment.record.project)}
        facts = {**named, "argv": [encodable(word) for word in words]}
        base.journal.append("environment.command", durable=True, fresh=fresh, **facts)
        if json_:
            result = environment.run(words, how)
            emit({"ok": True, "schema": "skillkeep/environment-run-v1", **facts, **result.to_json()})
            return exit_code_of(result)
        result = _at_terminal(environment, words, how) if at_terminal else _through_pipes(environment, words, how)
        for line in how_it_was_ended(result):
            say(f"{paint('run', 'yellow', sys.stderr)}: {escape(line)}", quiet=quiet)
        return exit_code_of(result)


def list_(json_: JsonOption = False, config: ConfigOption = None) -> int:
    """List the environments: name, project, state. Example: runner env list"""
    found = list(_environments(ground(config)).seen())
    if json_:
        emit({"ok": True, "schema": "skillkeep/environments-v1", "environments": [vars(each) for each in found]})
    elif found:
        write(columns([_row(each) for each in found], ("environment", "state", "idle", "project")))
    else:
        say("There is no environment. Make one: runner shell PATH")
    return Exit.OK


def show(
    name: NameArgument,
    json_: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Show one environment: where it runs, what it may use, what bounds it. Example: runner env show web-1a2b"""
    environments = _environments(ground(config))
    place = environments.find(name)
    seen, standing = environments.look(place), place.standing()
    limits: dict[str, Any] = {}
    if standing is not None:
        plan = standing.plan
        limits = {"memory_bytes": plan.memory_bytes, "cpus": plan.cpus, "processes": plan.processes}
    facts = {
        **vars(seen),
        "home": str(place.home),
        "holder": None if standing is None else standing.holder,
        "host_uid": None if standing is None else standing.host_uid,
        "limits": limits,
        "bounded_by": {} if standing is None else standing.bounded_by,
        "shows": [] if standing is None else [vars(bind) for bind in standing.plan.binds],
    }
    if json_:
        emit({"ok": True, "schema": "skillkeep/environment-v1", **facts})
    else:
        write("\n".join(f"{key:<11} {escape(value)}" for key, value in _facts(seen, str(place.home), standing)))
    return Exit.OK


def adopt(
    name: NameArgument,
    json_: JsonOption = False,
    quiet: QuietOption = False,
    config: ConfigOption = None,
) -> int:
    """Keep the home for a project that was made or mounted anew at its path. Example: runner env adopt web-1a2b"""
    base = ground(config)
    environments = _environments(base)
    place = environments.find(name)
    environments.adopt(place)
    base.journal.append("environment.adopt", durable=True, environment=place.name)
    if json_:
        emit({"ok": True, "schema": "skillkeep/environment-adopt-v1", "adopted": place.name})
    else:
        say(f"{place.name} keeps its home for the folder that is there now", quiet=quiet)
    return Exit.OK


def stop(
    name: NameArgument,
    kill: KillOption = False,
    json_: JsonOption = False,
    quiet: QuietOption = False,
    config: ConfigOption = None,
) -> int:
    """End what runs in an environment; its home stays for the next shell. Example: runner env stop web-1a2b"""
    base = ground(config)
    environments = _environments(base)
    place = environments.find(name)
    ran = environments.stop(place, kill=kill)
    base.journal.append("environment.stop", durable=True, environment=place.name, ran=ran)
    if json_:
        emit({"ok": True, "schema": "skillkeep/environment-stop-v1", "stopped": [place.name] if ran else []})
    else:
        say(f"stopped {place.name}" if ran else f"{place.name} did not run", quiet=quiet)
    return Exit.OK


def delete(
    name: NameArgument,
    yes: YesOption = False,
    kill: KillOption = False,
    json_: JsonOption = False,
    quiet: QuietOption = False,
    no_input: NoInputOption = False,
    config: ConfigOption = None,
) -> int:
    """Remove an environment and its home; the project stays. Example: runner env delete web-1a2b"""
    base = ground(config)
    environments = _environments(base)
    place = environments.find(name)
    _confirm([place.name], yes=yes, may_ask=not no_input and not json_)
    return _remove(base, environments, [place.name], kill=kill, as_json=json_, quiet=quiet)


def delete_all(
    yes: YesOption = False,
    kill: Annotated[bool, typer.Option("--kill", help="Also those in which commands run: they are killed.")] = False,
    json_: JsonOption = False,
    quiet: QuietOption = False,
    no_input: NoInputOption = False,
    config: ConfigOption = None,
) -> int:
    """Remove every environment and its home; the projects stay. Example: runner env delete-all"""
    base = ground(config)
    environments = _environments(base)
    names = [each.name for each in environments.seen()]
    if names:
        _confirm(names, yes=yes, may_ask=not no_input and not json_)
    return _remove(base, environments, names, kill=kill, as_json=json_, quiet=quiet)


def gc(
    idle: Annotated[str, typer.Option("--idle", help="Not used for so long, such as 30m, 2h or 1d.")] = "",
    json_: JsonOption = False,
    quiet: QuietOption = False,
    config: ConfigOption = None,
) -> int:
    """Stop environments that nobody uses; homes stay. Default: idle for two hours. Example: runner env gc --idle 1d"""
    stopped = _environments(ground(config)).collect(_duration(idle) if idle else IDLE_SECONDS)
    if json_:
        emit({"ok": True, "schema": "skillkeep/environment-stop-v1", "stopped": stopped})
    else:
        say(f"stopped {', '.join(stopped)}" if stopped else "nothing to stop", quiet=quiet)
    return Exit.OK


def _environments(base: Ground) -> Environments:
    return Environments(base.home, base.settings.sandbox)


def _at_terminal(environment: Environment, words: list[str], how: How) -> RunResult:
    from skillkeep.runner.environments.terminal import run_at_terminal
    from skillkeep.runner.native.terminal import Terminal

    command = environment.command(words, how, terminal=True)
    terminal = Terminal(sys.stdin.fileno(), sys.stdout.fileno())
    return run_at_terminal(environment, command, terminal, how.seconds)


def _through_pipes(environment: Environment, words: list[str], how: How) -> RunResult:
    """Bytes go through pipes of our own: a descriptor of the caller is never inside."""
    started = time.monotonic()
    with Pipe() as feed, Pipe() as out, Pipe() as err:
        entered = environment.enter(environment.command(words, how), (feed.read_end, out.write_end, err.write_end))
        for pipe, end in ((feed, feed.read_end), (out, out.write_end), (err, err.write_end)):
            pipe.close(end)
        source: bytes | int = b"" if sys.stdin is None else sys.stdin.fileno()
        feeder = Feeder(source, feed.give(feed.write_end))
        outputs = [(pipe.read_end, Shown(fd) if os.isatty(fd) else Passed(fd)) for pipe, fd in ((out, 1), (err, 2))]
        stopped = environment.serve(entered, outputs, feeder, how.seconds)
        result = environment.outcome(entered, stopped, started)
    if stopped == "output_cap":
        raise BrokenPipeError(errno.EPIPE, "nobody reads any more")
    return result


def _remove(
    base: Ground, environments: Environments, names: list[str], *, kill: bool, as_json: bool, quiet: bool
) -> int:
    removed, busy = [], []
    for name in names:
        try:
            environments.delete(environments.find(name), kill=kill)
            removed.append(name)
            base.journal.append("environment.delete", durable=True, environment=name)
        except EnvironmentsError as error:
            if error.code == "environment_not_found":  # somebody else removed it just now
                continue
            if error.code != "environment_busy" or len(names) == 1:
                raise
            busy.append(name)
    if as_json:
        emit({"ok": not busy, "schema": "skillkeep/environment-delete-v1", "removed": removed, "busy": busy})
    else:
        say(f"removed {', '.join(removed)}" if removed else "nothing was removed", quiet=quiet)
        if busy:
            say(f"in use, not removed: {', '.join(busy)} (repeat with --kill)")
    return Exit.TOOL_FAILURE if busy else Exit.OK


def _confirm(names: list[str], *, yes: bool, may_ask: bool) -> None:
    """Ask at a terminal; elsewhere ``--yes`` has to say it."""
    if yes:
        return
    if not (may_ask and is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise UsageError("usage", f"this removes, with all in their homes: {', '.join(names)}", "Repeat it with --yes.")
    say(f"This removes, with all in their homes: {', '.join(names)}")
    if not typer.confirm("Remove?", err=True):
        raise typer.Exit(Exit.TOOL_FAILURE)


def _row(each: Seen) -> tuple[str, str, str, str]:
    state = f"{each.state}, in use" if each.busy else each.state
    project = each.project if each.project_exists else f"{each.project} (gone)"
    return each.name, state, _spell(each.idle_seconds), project


def _facts(seen: Seen, home: str, standing: Standing | None) -> Iterator[tuple[str, str]]:
    """One environment, for people; ``--json`` has every field."""
    _, state, idle, project = _row(seen)
    yield from (("name", seen.name), ("project", project), ("state", state), ("idle", idle), ("home", home))
    if standing is None:
        return
    plan, size = standing.plan, standing.plan.memory_bytes / 2**20
    yield "processes", f"{seen.processes}, as user {standing.host_uid} of the host; held by process {standing.holder}"
    yield "limits", f"{size:g} MiB of memory, {plan.cpus:g} CPU, {plan.processes} processes"
    for what, group in standing.bounded_by.items():
        yield "bounded by", f"{what}: {group}"
    for bind in plan.binds:
        yield "shows", f"{bind.target} ({'writable' if bind.writable else 'read-only'})"


def _spell(seconds: float) -> str:
    """A time for people, in its largest unit."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.0f}s"


def _passed_on(names: list[str], at_terminal: bool, name: str) -> tuple[tuple[str, str], ...]:
    found = {}
    if at_terminal:
        from skillkeep.runner.native.terminal import terminal_kind

        found = {"TERM": terminal_kind(), "PS1": f"[{name}] \\w\\$ "}
    for wanted in names:
        if wanted not in os.environ:
            raise UsageError("usage", f"the variable {escape(wanted)} is not set", "Set it, or leave --env out.")
        found[wanted] = os.environ[wanted]
    return tuple(found.items())


def _default_shell() -> str:
    """The caller's shell where the environment has it too, else bash, else sh."""
    named = os.path.basename(os.environ.get("SHELL", "")) or "bash"
    return shutil.which(named, path=_SEARCHED) or shutil.which("bash", path=_SEARCHED) or "/bin/sh"


def _duration(text: str) -> float:
    match = _DURATION.match(text)
    if not match:
        raise UsageError("usage", f"--idle is not a time: {escape(text)}", "Write seconds, or 30m, 2h, 1d.")
    return float(int(match[1]) * _UNITS[match[2]])
