"""Audits several trees, two at a time: each audit waits for its own confined process, so threads are enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from skillkeep.auditor.interface import Report
from skillkeep.auditor.rulebook import default_rulebook
from skillkeep.progress import SILENT, Progress

__all__ = ["Audit", "audit_several"]

Audit = Callable[[Path, Progress], Report]
_AT_ONCE = 2


def audit_several(roots: Sequence[Path], audit: Audit, progress: Progress = SILENT) -> list[Report]:
    """The reports of `audit` for every root, in their order.

    The first error of any of them is raised, and nothing is answered then. The threads are daemons, so that an
    interrupt ends the program at once; the confined processes end with it.
    """
    if len(roots) == 1:
        return [audit(roots[0], progress)]
    import queue
    import threading

    default_rulebook()
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, Report | BaseException]] = queue.SimpleQueue()
    for number in range(len(roots)):
        todo.put(number)

    def work() -> None:
        while True:
            try:
                number = todo.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((number, audit(roots[number], SILENT)))
            except BaseException as error:  # raised again by the caller's thread
                done.put((number, error))

    for _ in range(min(_AT_ONCE, len(roots))):
        threading.Thread(target=work, daemon=True).start()
    progress.step("auditing")
    reports: dict[int, Report] = {}
    for count in range(len(roots)):
        progress.count(count, len(roots))
        number, answer = done.get()
        if isinstance(answer, BaseException):
            raise answer
        reports[number] = answer
    return [reports[number] for number in range(len(roots))]
