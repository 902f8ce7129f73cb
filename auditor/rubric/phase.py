"""The phase: choose, ask, check, add. A report that goes in comes out with at least the verdict it had."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skillkeep.auditor.interface import Finding, Report, fingerprint_of
from skillkeep.auditor.rubric.consensus import majority
from skillkeep.auditor.rubric.evidence import Evidence, Witness
from skillkeep.auditor.rubric.interface import (
    Prompt,
    Reply,
    ReviewFailedError,
    RubricOptions,
    RubricRun,
    SkipReason,
)
from skillkeep.auditor.rubric.prompt import build_prompt, overhead
from skillkeep.auditor.rubric.reply import Claim, parse_reply
from skillkeep.auditor.rubric.selection import ENGINE, select
from skillkeep.auditor.rubric.text import rubric
from skillkeep.auditor.rulebook import Rulebook, default_rulebook
from skillkeep.auditor.verdict import verdict_of
from skillkeep.errors import SkillkeepError
from skillkeep.tree import TreeLimits, TreeView

__all__ = ["second_opinion"]

_LONGEST_EXCERPT = 400
_LONGEST_REASON = 600


@dataclass
class _Conversation:
    """What was asked and answered so far."""

    options: RubricOptions
    prompt: Prompt
    deadline: float
    again: str
    prompt_tokens: int = 0
    reply_tokens: int = 0

    def answer(self) -> tuple[Claim, ...]:
        """One answer, asked for once more when its format is bad. Raises `ReviewFailedError`."""
        try:
            return parse_reply(self._ask(self.prompt).text)
        except ReviewFailedError as error:
            if not error.reason.bad_format:
                raise
        return parse_reply(self._ask(replace(self.prompt, user=f"{self.prompt.user}\n\n{self.again}")).text)

    def _ask(self, prompt: Prompt) -> Reply:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise ReviewFailedError(SkipReason.TIMEOUT)
        reply = self.options.reviewer.ask(prompt, left)
        self.prompt_tokens += reply.prompt_tokens
        self.reply_tokens += reply.reply_tokens
        return reply


def second_opinion(root: Path, report: Report, options: RubricOptions, limits: TreeLimits) -> Report:
    """`report` with what a reviewer found in `root` and proved. Findings are only ever added.

    No failure of the reviewer is an error: the record in `Report.rubric` says why the phase was skipped.
    """
    start = time.monotonic()
    try:
        with TreeView.open(root, limits) as view:
            after = _review(view, report, options, start + options.seconds)
    except SkillkeepError as error:
        after = replace(report, rubric=_skipped(options, SkipReason.CHANGED, error.code))
    return replace(after, rubric=replace(after.rubric, seconds=round(time.monotonic() - start, 3)))


def _review(view: TreeView, report: Report, options: RubricOptions, deadline: float) -> Report:
    text = rubric()
    hot = frozenset(finding.location.path for finding in report.findings)
    material = select(view, hot, max(0, options.tokens - overhead(text)), text)
    if not material.files:
        return replace(report, rubric=_skipped(options, SkipReason.NOTHING_TO_REVIEW))
    left_out = sum(entry.state != "read" for entry in material.ledger)
    prompt = build_prompt(material.files, left_out, text, options.nonce)
    talk = _Conversation(options, prompt, deadline, text.again.strip())
    answers, failure = _answers(talk)
    used = RubricRun("ran", reviewer=options.reviewer.name, replies=len(answers), prompt_tokens=talk.prompt_tokens,
                     reply_tokens=talk.reply_tokens)  # fmt: skip
    if failure is not None:
        record = replace(used, state="skipped", reason=failure.reason.value, detail=failure.detail)
        return replace(report, rubric=record)
    witness = Witness(view, material.files, text)
    proven = [[piece for claim in answer if (piece := witness.check(claim))] for answer in answers]
    discarded = sum(map(len, answers)) - sum(map(len, proven))
    kept, outvoted = majority(proven, options.consensus)
    record = replace(used, kept=len(kept), discarded=discarded, outvoted=outvoted)
    new = [_finding(piece, default_rulebook()) for piece in kept]
    findings = tuple(sorted((*report.findings, *new), key=lambda f: (-f.severity.rank, f.location, f.rule)))
    worst = max(report.verdict, verdict_of(findings), key=("PASS", "WARN", "FAIL").index)
    return replace(report, verdict=worst, findings=findings, ledger=(*report.ledger, *material.ledger), rubric=record)


def _answers(talk: _Conversation) -> tuple[Sequence[tuple[Claim, ...]], ReviewFailedError | None]:
    """As many answers as are asked for; the last failure when they are too few for a majority."""
    asked = talk.options.consensus
    answers: list[tuple[Claim, ...]] = []
    failure: ReviewFailedError | None = None
    for _ in range(asked):
        try:
            answers.append(talk.answer())
        except ReviewFailedError as error:
            failure = error
            if not error.reason.bad_format and error.reason is not SkipReason.REFUSED:
                break
    return answers, failure if 2 * len(answers) <= asked else None


def _skipped(options: RubricOptions, reason: SkipReason, detail: str = "") -> RubricRun:
    return RubricRun("skipped", reason.value, detail, options.reviewer.name)


def _finding(piece: Evidence, rulebook: Rulebook) -> Finding:
    rule = rulebook.rule(piece.rule)
    excerpt = piece.quote[:_LONGEST_EXCERPT]
    return Finding(
        rule=rule.id,
        title=rule.title,
        severity=piece.severity,
        confidence=rule.confidence,
        category=rule.category,
        location=piece.location,
        excerpt=excerpt,
        message=f"{' '.join(piece.reason.split())[:_LONGEST_REASON]} (file sha256:{piece.sha256})",
        engine=ENGINE,
        provenance=(),
        fingerprint=fingerprint_of(rule.id, piece.location.path, excerpt),
    )
