"""What several places of a tool do together: unasked starts, data for strangers, files fetched and started."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from skillkeep.auditor.engines.behaviour.acts import CODE, Act, acts_of, code_of
from skillkeep.auditor.engines.behaviour.dropped import drops
from skillkeep.auditor.engines.behaviour.strangers import Documents, is_remote, strangers
from skillkeep.auditor.engines.behaviour.unasked import unasked
from skillkeep.auditor.engines.examples import example_severity
from skillkeep.auditor.engines.interface import Emitter, Engine, SourceFile, SourceTree
from skillkeep.auditor.interface import Capability, Location

__all__ = ["ENGINE", "BehaviourEngine"]

_MOST_ACTS = 5_000


class BehaviourEngine(Engine):
    """See the module."""

    name: ClassVar[str] = "behaviours"
    order: ClassVar[int] = 80

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Find what is fetched and started in one file, and note its acts for the tree."""
        acts: list[Act] = emit.notes.setdefault("acts", [])
        for segment in code_of(file):
            if len(acts) < _MOST_ACTS:
                acts += acts_of(segment)
        for segment in file.of(*CODE):
            for drop in drops(segment.text):
                at = segment.locate(drop.started, drop.started + len(drop.name))
                shown = segment.line_at(min(drop.started + 1, len(segment.text) - 1)).strip()
                message = f"{drop.name} is fetched, saved and started"
                severity = example_severity(segment)
                emit.finding("behaviour-dropped-program", at, shown, message, segment=segment, severity=severity)

    def scan_tree(self, tree: SourceTree, emit: Emitter) -> None:
        """Judge the acts of all files by who starts them and to whom they send."""
        acts: list[Act] = sorted(emit.notes.get("acts", ()))
        if not acts:
            return
        told: set[tuple[str, int]] = set()
        for act, _, why in strangers(tree, acts, Documents(tree.files)):
            if (act.path, act.line) not in told:
                told.add((act.path, act.line))
                emit.finding("behaviour-data-to-stranger", Location(act.path, act.line), act.text, why)
        if any(each.kind == "network" for each in tree.capabilities):
            _unasked(tree, acts, emit)


def _unasked(tree: SourceTree, acts: list[Act], emit: Emitter) -> None:
    starters = unasked(tree)
    hosts: dict[str, Capability] = {}
    for each in tree.capabilities:
        if each.kind == "network" and (is_remote(each.value) or each.value.startswith("*")):
            hosts.setdefault(each.evidence.path, each)
    for path, who in starters.items():
        if path not in hosts:
            continue
        mine = [act for act in acts if act.path == path]
        send, local = _first(mine, "send"), _first(mine, ("local", "secret"))
        start, write = _first(mine, "start"), _first(mine, "write")
        host = hosts[path].value
        if send and local:
            message = f"{who} starts it, and it sends to {host} what {local.text.strip()[:40]} reads"
            emit.finding("behaviour-unasked-send", Location(path, send.line), send.text, message)
        elif start and write:
            message = f"{who} starts it, and it fetches from {host}, saves, and starts a program"
            emit.finding("behaviour-unasked-download", Location(path, start.line), start.text, message)


def _first(acts: Iterable[Act], kinds: str | tuple[str, ...]) -> Act | None:
    return next((act for act in acts if act.kind in kinds), None)


ENGINE = BehaviourEngine()
