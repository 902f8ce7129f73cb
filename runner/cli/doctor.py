"""`runner doctor`: which sandboxes work on this machine, what they lose, and how to mend the rest."""

from __future__ import annotations

from collections.abc import Sequence
from shutil import which

from skillkeep.cli.ground import ground
from skillkeep.cli.options import ConfigOption, JsonOption
from skillkeep.cli.output import columns, emit, say, write
from skillkeep.errors import Exit
from skillkeep.runner.interface import AssuranceLevel, Availability
from skillkeep.runner.ladder import LANDLOCK, LOCAL, RUNGS, backend_factories
from skillkeep.runner.mechanisms import Mechanism, look_at_mechanisms
from skillkeep.text import escape

__all__ = ["doctor"]

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
