"""What a person reads after a selftest."""

from __future__ import annotations

from skillkeep.runner.selftest.report import matrix, summary
from skillkeep.runner.selftest.row import Row, Verdict

ROWS = (
    Row("mount", "system calls", "mount a folder", "native", Verdict.CLOSED, "EPERM"),
    Row("bpf", "system calls", "load a program", "native", Verdict.OPEN, "it was \x1b[31mloaded"),
    Row("locks", "files", "lock a file", "native", Verdict.INTENDED, "locked", "it reaches nothing"),
    Row("mount", "system calls", "mount a folder", "docker", Verdict.CLOSED, "EPERM"),
    Row("bpf", "system calls", "load a program", "docker", Verdict.UNTESTED, "", "the sandbox ended"),
)


def test_areas_and_what_is_not_closed_stand_in_one_table_and_each_has_its_reason() -> None:
    assert matrix(ROWS, everything=False).splitlines() == [
        "attack        native            docker",
        "system calls  1 closed, 1 open  1 closed, 1 not testable",
        "  bpf         OPEN              -",
        "files         1 intended        none",
        "  locks       intended",
        "",
        "OPEN, and should not be:",
        "  bpf: load a program: it was \\x1b[31mloaded [native]",
        "",
        "open on purpose, and why that harms nobody (intended):",
        "  locks: it reaches nothing [native]",
        "",
        "not testable here (-):",
        "  bpf: the sandbox ended [docker]",
    ]
    assert "  mount       closed            closed" in matrix(ROWS, everything=True)
    assert summary(ROWS).splitlines() == [
        "native: 1 closed, 1 open, 1 intended",
        "docker: 1 closed, 1 not testable",
    ]
