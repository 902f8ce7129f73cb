"""Several independent answers: what more than half of them quote counts, the rest is outvoted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillkeep.auditor.interface import Severity
from skillkeep.auditor.rubric.evidence import Evidence

__all__ = ["majority"]


def majority(answers: Sequence[Sequence[Evidence]], asked: int) -> tuple[tuple[Evidence, ...], int]:
    """Evidence that more than half of `asked` answers share, and how many pieces were outvoted.

    Two pieces agree when they are about the same category and overlapping lines of the same file. The agreed piece
    blocks only when more than half of the answers say it blocks.
    """
    kept: list[Evidence] = []
    outvoted = 0
    for piece in (piece for answer in answers for piece in answer):
        if any(piece.overlaps(other) and piece.severity.rank <= other.severity.rank for other in kept):
            continue
        agree = _votes(answers, piece, Severity.WARN)
        if 2 * agree <= asked:
            outvoted += 1
            continue
        block = piece.severity is Severity.FAIL and 2 * _votes(answers, piece, Severity.FAIL) > asked
        agreed = piece if block else replace(piece, severity=Severity.WARN)
        kept = [other for other in kept if not (agreed.overlaps(other) and other.severity.rank < agreed.severity.rank)]
        if not any(agreed.overlaps(other) for other in kept):
            kept.append(agreed)
    return tuple(kept), outvoted


def _votes(answers: Sequence[Sequence[Evidence]], piece: Evidence, least: Severity) -> int:
    return sum(
        any(piece.overlaps(other) and other.severity.rank >= least.rank for other in answer) for answer in answers
    )
