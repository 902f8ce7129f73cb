"""One variable by its name, and all of them: what a tool that asks a service with a declared token is judged to do."""

from __future__ import annotations

from collections.abc import Mapping

from support.audited import audited

from skillkeep.auditor.interface import Severity, Verdict

__all__ = ["assert_all_are_sent", "assert_one_is_read"]

_PAGE = (
    "---\nname: billing\ndescription: Asks the billing service for a balance.\n---\n\n# Billing\n\n"
    "It asks. Set BILLING_TOKEN and BILLING_URL.\n"
)
_SENT = frozenset({"code-environment-sent", "code-credential-sent"})


def assert_one_is_read(files: Mapping[str, str]) -> None:
    """WARN, and everything was understood."""
    report = audited({"SKILL.md": _PAGE, **files})
    assert (report.verdict, [each for each in report.findings if each.rule == "audit-incomplete"]) == (Verdict.WARN, [])


def assert_all_are_sent(files: Mapping[str, str]) -> None:
    """FAIL, for the environment or a secret in it that is sent."""
    report = audited({"SKILL.md": _PAGE, **files})
    assert _SENT & {each.rule for each in report.findings if each.severity is Severity.FAIL}
