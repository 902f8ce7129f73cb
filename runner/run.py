"""Running a vaulted tool: verified now, bounded by its grants, sandboxed, journaled before it starts and after."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from skillkeep.clock import Clock, timestamp
from skillkeep.errors import SkillkeepError
from skillkeep.home import Home
from skillkeep.journal import Journal
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import AssuranceLevel, RunRequest, RunResult, SandboxPolicy
from skillkeep.runner.ladder import AUTO, LOCAL, NATIVE, Choice, Factories, backend_factories, choose, least_of
from skillkeep.runner.open_runs import OpenRun, settle
from skillkeep.runner.policy import check_granted
from skillkeep.runner.records import forget_oldest, record_of, run_facts
from skillkeep.settings import Settings
from skillkeep.value import Value, replace
from skillkeep.vault.interface import VaultedTool
from skillkeep.vault.store import Vault

if TYPE_CHECKING:
    from skillkeep.runner.native.terminal import Terminal

__all__ = ["RunFloor", "RunOptions", "run_tool"]


class RunFloor(Protocol):
    """What a run stands on; ingest's `Floor` fits."""

    @property
    def home(self) -> Home: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def vault(self) -> Vault: ...
    @property
    def journal(self) -> Journal: ...
    @property
    def clock(self) -> Clock: ...


class RunOptions(Value):
    """How one run differs from the next.

    `backend` is a name or ``auto``; empty means the settings'. `stdin` is the whole input, a descriptor, or None.
    `min_assurance` None accepts any sandbox, and for a tier 1 tool none where none works. `paranoid` hashes
    every byte of the tool again. `take_changes` is handed on to the request. `secret_files` names variables of the
    policy that the tool is given as files and not in its environment. `explain` has denials tell of files too, which
    only the native backend can, and slows the run. `terminal` is a person's, for a tool that is talked to (native too).
    """

    backend: str = ""
    stdin: bytes | int | None = None
    min_assurance: AssuranceLevel | None = None
    paranoid: bool = False
    take_changes: Callable[[Sequence[int]], None] | None = None
    secret_files: tuple[str, ...] = ()
    explain: bool = False
    terminal: Terminal | None = None


_USUAL = RunOptions()


def run_tool(
    tool: VaultedTool,
    argv: Sequence[str],
    policy: SandboxPolicy,
    floor: RunFloor,
    options: RunOptions = _USUAL,
    factories: Factories | None = None,
) -> RunResult:
    """Run `argv` in the folder of `tool` and return what happened, also when the tool failed or was stopped.

    The vault verifies the tool again before anything else, whenever it was opened. `factories` replaces the
    backends of `backend_factories`. Raises `SkillkeepError` when nothing ran: from the vault `not_vaulted`,
    `vault_tampered`, `revoked`; from the runner `tool_changed`, `not_granted`, `sandbox_unavailable` and the
    other codes of `RunnerError`. Every refusal is in the journal. A run whose end could not be written down is a result
    all the same; its `unrecorded` says so, and the next run writes it down.
    """
    if not isinstance(tool, VaultedTool):
        raise TypeError("only a VaultedTool can be run")
    facts = run_facts(tool, argv, policy)
    try:
        verified = _verified(floor.vault, tool, paranoid=options.paranoid)
        check_granted(policy, verified)
        backends = factories or backend_factories(floor.settings.sandbox, floor.clock)
        wanted = options.backend or floor.settings.sandbox.backend
        if (options.explain or options.terminal) and wanted == AUTO:
            wanted = NATIVE
        choice = choose(wanted, verified.tier, options.min_assurance, backends)
        if options.secret_files and choice.backend.name == LOCAL:
            hint = "Use a sandbox, or pass the variables in the environment."
            raise RunnerError("bad_policy", "without a sandbox secrets cannot be shown as files", hint)
        request = _request(verified, argv, policy, options, choice)
    except SkillkeepError as refusal:
        floor.journal.append("run.refused", durable=True, code=refusal.code, **facts)
        raise
    if not options.secret_files:
        return _journaled_run(choice, request, floor, facts)
    from skillkeep.runner.secret_files import as_files  # few runs have any

    with as_files(policy, options.secret_files) as shown:
        return _journaled_run(choice, replace(request, policy=shown), floor, facts)


def _verified(vault: Vault, tool: VaultedTool, *, paranoid: bool) -> VaultedTool:
    """`tool` as the vault knows it at this moment, its files checked at this moment."""
    verified = vault.open(tool.name, paranoid=paranoid)
    if verified.digest != tool.digest:
        raise RunnerError(
            "tool_changed",
            f"{tool.name} was updated or rolled back since this run was prepared",
            "Run it again: the present version is then the one that runs.",
            expected=tool.digest,
            found=verified.digest,
        )
    return verified


def _request(
    tool: VaultedTool, argv: Sequence[str], policy: SandboxPolicy, options: RunOptions, choice: Choice
) -> RunRequest:
    least = options.min_assurance or least_of(choice.backend.name)
    request = RunRequest(tuple(argv), policy, tool, options.stdin, least, take_changes=options.take_changes)
    return replace(request, explain=options.explain, terminal=options.terminal)


def _journaled_run(choice: Choice, request: RunRequest, floor: RunFloor, facts: dict[str, object]) -> RunResult:
    """The run, between its start and its end in the journal. Its result is handed over whether its end could be written
    down or not.
    """
    backend, run_id, journal = choice.backend, request.run_id, floor.journal
    settle(floor.home, journal)
    record = OpenRun.begin(floor.home, run_id, len(json.dumps(facts)))
    about: dict[str, Any] = {"run_id": run_id, "backend": backend.name}
    started = timestamp(floor.clock.now())
    try:
        journal.append("run.start", durable=True, **about, **facts)
    except BaseException:
        record.forget()
        raise
    try:
        result = replace(backend.run(request), passed_over=choice.passed_over)
    except BaseException as error:
        code = error.code if isinstance(error, SkillkeepError) else type(error).__name__
        record.end(journal, "run.failed", {**about, "code": code}, timestamp(floor.clock.now()), None)
        raise
    ended = timestamp(floor.clock.now())
    kept = record_of({"run_id": run_id, **facts}, (started, ended), request.policy, result)
    unrecorded = record.end(journal, "run.end", {**about, **_end_of(result)}, ended, kept)
    try:
        forget_oldest(floor.home.runs)
    except SkillkeepError as error:
        unrecorded = (*unrecorded, f"old records stay: {error.message}")
    return replace(result, unrecorded=unrecorded)


def _end_of(result: RunResult) -> dict[str, Any]:
    """What the journal is told of a run that is over."""
    return {
        "cause": result.cause.value,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "assurance": result.assurance.level.name.lower(),
        "wall_seconds": round(result.wall_seconds, 3),
        "reached": sorted({f"{each.host}:{each.port}" for each in result.attempts if each.allowed}),
        "refused": sorted({f"{each.host}:{each.port}" for each in result.attempts if not each.allowed}),
    }
