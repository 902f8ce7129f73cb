"""The one door: source → fetched → artifacts → reports → decisions → vault. The order is held by sealed types.

Everything that reads a stranger's bytes runs in confined workers. What this module does itself: it hashes, asks the
gate, writes to the journal before it acts, and removes the quarantine whatever happens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from skillkeep.clock import timestamp
from skillkeep.digest import parse_digest, spell
from skillkeep.errors import SkillkeepError
from skillkeep.home import Home
from skillkeep.ingest.artifacts import Artifact, Discovery, Uncut, discover
from skillkeep.ingest.discovery import Kind
from skillkeep.ingest.errors import IngestError
from skillkeep.ingest.fetching import Fetched, fetch
from skillkeep.ingest.gate import Case, Decision, Reason, Status, decide
from skillkeep.ingest.grants import check_grants
from skillkeep.ingest.outcome import Outcome
from skillkeep.ingest.quarantine import Quarantine, sweep
from skillkeep.ingest.repeat import confirm_command
from skillkeep.ingest.request import Floor, IngestRequest
from skillkeep.ingest.review import Standing, build_case, describe, preapproved
from skillkeep.ingest.source import SourceRef, parse_source
from skillkeep.vault.interface import Admission, Review
from skillkeep.vault.names import check_name

__all__ = ["Ask", "ingest"]

Ask = Callable[[Outcome], bool]


def ingest(request: IngestRequest, floor: Floor, ask: Ask | None = None) -> list[Outcome]:
    """Take in `request.source`: one `Outcome` for each chosen tool.

    `ask` shows a tool's findings to a person and returns whether they accept; None when nobody can be asked. A tool
    that fails does not keep the others out. Raises `SkillkeepError` when the source itself cannot be taken in:
    nothing was vaulted then, and nothing is left in quarantine.
    """
    try:
        request, source = _checked(request, floor.home)
    except SkillkeepError as error:
        # the text itself is not kept: it may hold a password
        floor.journal.append("ingest.refused", durable=True, source=None, key=None, code=error.code)
        raise
    sweep(floor.home, floor.journal)
    floor.vault.recover()
    with Quarantine(floor.home) as quarantine:
        try:
            fetched, found = _brought_in(request, source, floor, quarantine)
        except SkillkeepError as error:
            floor.journal.append("ingest.refused", durable=True, source=source.text, key=source.key, code=error.code)
            raise
        floor.journal.append(
            "ingest.fetched", source=source.text, key=source.key, ref=source.ref, commit=fetched.commit,
            tools=len(found.chosen),
        )  # fmt: skip
        door = _Door(request, floor, fetched, found.several, ask)
        return [door.take(artifact) for artifact in found.chosen]


def _checked(request: IngestRequest, home: Home) -> tuple[IngestRequest, SourceRef]:
    request.check()
    if request.name is not None:
        check_name(request.name)
    checked = replace(request, grants=check_grants(request.grants, home.root), expect=_expected(request.expect))
    return checked, parse_source(request.source, request.ref, request.path)


def _brought_in(
    request: IngestRequest, source: SourceRef, floor: Floor, quarantine: Quarantine
) -> tuple[Fetched, Discovery]:
    limits = floor.settings.limits
    floor.progress.step("fetching")
    fetched = fetch(source, quarantine, limits, floor.proxy)
    floor.progress.step("looking for tools")
    found = discover(fetched, quarantine, limits, request.select, everything=request.everything)
    if request.name is not None and len(found.chosen) > 1:
        raise IngestError("bad_selection", "--name goes with one tool", "Choose it with --select.")
    return fetched, found


def _expected(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return spell(parse_digest(text))
    except SkillkeepError as error:
        raise IngestError("bad_selection", "--expect is not a digest", error.hint) from error


@dataclass(frozen=True)
class _Door:
    """One call's standing facts; `take` runs once for each tool."""

    request: IngestRequest
    floor: Floor
    fetched: Fetched
    several: bool
    ask: Ask | None

    def take(self, artifact: Artifact | Uncut) -> Outcome:
        """Audit, decide, and do what was decided. Errors become part of the outcome."""
        source = self.fetched.source
        base = Outcome(
            artifact.name, str(artifact.kind), artifact.path, source.text, ref=source.ref, commit=self.fetched.commit
        )
        try:
            if isinstance(artifact, Uncut):
                raise artifact.error
            return self._take(artifact)
        except SkillkeepError as error:
            self._note("ingest.refused", artifact.name, artifact.path, code=error.code, durable=True)
            return replace(base, error=error)

    def _take(self, artifact: Artifact) -> Outcome:
        name = self.request.name or check_name(artifact.name)
        case, standing = build_case(self.request, self.floor, self.fetched, artifact, name)
        decision = decide(case)
        facts: dict[str, Any] = {
            "digest": artifact.manifest.digest,
            "tier": int(case.tier),
            "verdict": decision.verdict,
        }
        if case.report is not None:
            facts |= {level: sum(f.severity == level for f in case.report.findings) for level in ("fail", "warn")}
            run = case.report.rubric
            self._note("ingest.verdict", name, artifact.path, rubric=run.reason or run.state, **facts)
        command = self._command(artifact, name)
        outcome = describe(decision, case, standing, command)
        if self.ask is not None and decision.reason is Reason.FINDINGS_NOT_SEEN and self.ask(outcome):
            decision = decide(replace(case, seen=True))
            outcome = describe(decision, case, standing, command)
        self._act(decision, case, standing, outcome)
        return outcome

    def _command(self, artifact: Artifact, name: str) -> str:
        source = self.fetched.source
        inner = artifact.path.removeprefix(source.path).strip("/")
        selected = artifact.name if self.several else None
        if artifact.kind is Kind.SCRIPT and inner:
            selected = f"{inner}/"  # it may have no marker, so that only its path finds it again
        return confirm_command(self.request, source, selected, name, artifact.manifest.digest)

    def _act(self, decision: Decision, case: Case, standing: Standing, outcome: Outcome) -> None:
        artifact, source = decision.artifact, self.fetched.source
        facts: dict[str, Any] = {"digest": outcome.digest, "reason": str(decision.reason), "tier": int(decision.tier)}
        if decision.status is Status.VAULTED:
            self.floor.vault.admit(
                self._admission(decision, outcome, standing.grants), artifact.root, self.floor.progress
            )
            self.floor.reviews.clear(source.key, artifact.path)
        elif decision.status is Status.ALREADY_APPROVED:
            preapproved(self.floor, case, artifact, standing)
            self._note("ingest.already_approved", outcome.name, artifact.path, **facts)
        elif decision.status is Status.REJECTED:
            self._note("ingest.rejected", outcome.name, artifact.path, durable=True, **facts)
            self.floor.reviews.clear(source.key, artifact.path)
        else:
            self._note("ingest.awaiting", outcome.name, artifact.path, durable=True, **facts)
            self.floor.reviews.record(self._review(decision, outcome))

    def _admission(self, decision: Decision, outcome: Outcome, grants: tuple[str, ...]) -> Admission:
        source = self.fetched.source
        report: dict[str, Any] = decision.report.to_json() if decision.report is not None else {}
        return Admission(
            name=outcome.name,
            digest=outcome.digest,
            tier=decision.tier,
            verdict=decision.verdict,
            source=source.text,
            source_key=source.key,
            ref=source.ref,
            commit=self.fetched.commit,
            artifact_path=decision.artifact.path,
            kind=str(decision.artifact.kind),
            confirmed=decision.confirmed,
            report=report,
            grants=grants,
        )

    def _review(self, decision: Decision, outcome: Outcome) -> Review:
        return Review(
            source_key=self.fetched.source.key,
            artifact_path=decision.artifact.path,
            name=outcome.name,
            digest=outcome.digest,
            tier=decision.tier,
            verdict=decision.verdict,
            manifest=decision.artifact.manifest.to_text(),
            report=decision.report.to_json() if decision.report is not None else {},
            seen_at=timestamp(self.floor.clock.now()),
            command=outcome.next or "",
        )

    def _note(self, event: str, name: str, path: str, *, durable: bool = False, **facts: Any) -> None:
        source = self.fetched.source
        self.floor.journal.append(
            event, durable=durable, name=name, artifact=path, source=source.text, key=source.key,
            commit=self.fetched.commit, **facts,
        )  # fmt: skip
