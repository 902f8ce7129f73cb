"""The page of a rule: why it exists, what it finds and does not find, how to fix it. Made from the rule's entry."""

from __future__ import annotations

import textwrap

from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.references import address_of, references_of
from skillkeep.auditor.rulebook import Example, Rule, Rulebook
from skillkeep.near import did_you_mean, nearest
from skillkeep.text import escape

__all__ = ["find_rule", "page", "rule_summary"]

_WIDTH = 100


def find_rule(rulebook: Rulebook, rule_id: str) -> Rule:
    """The rule with this id. Raises `AuditError` (`unknown_rule`), whose hint names the nearest ids."""
    try:
        return rulebook.rule(rule_id)
    except AuditError as error:
        hint = did_you_mean(rule_id, rulebook.rules) or "List the ids with `auditor rules`."
        near = nearest(rule_id, rulebook.rules)
        raise AuditError("unknown_rule", error.message, hint, rule=rule_id, near=near) from error


def rule_summary(rule: Rule) -> dict[str, object]:
    """What `auditor rules --json` says about a rule."""
    return {
        "id": rule.id,
        "title": rule.title,
        "severity": rule.severity.value,
        "confidence": rule.confidence.value,
        "category": rule.category,
        "engine": rule.engine,
        "contexts": [context.value for context in rule.contexts],
        "references": list(references_of(rule)),
    }


def page(rule: Rule) -> str:
    """The rule as plain text."""
    parts = [
        f"{rule.id}: {rule.title}",
        _facts(rule),
        _section("Why", _wrapped(rule.why)),
        _section("Bad", _examples(rule.bad)),
        _section("Good", _examples(rule.good)),
        _section("Found as well, however it is written", _examples(rule.evasion)),
        _section("Fix", _wrapped(rule.fix)),
        _section("When the tool declares it", f"  {rule.when_declared} stands instead." if rule.when_declared else ""),
        _section("References", "\n".join(f"  {name:<20} {address_of(name)}".rstrip() for name in references_of(rule))),
    ]
    return "\n\n".join(part for part in parts if part)


def _facts(rule: Rule) -> str:
    confidence = f"confidence {rule.confidence.value}"
    return f"severity {rule.severity.value}, {confidence}, category {rule.category}, engine {rule.engine}"


def _section(title: str, body: str) -> str:
    return f"{title}\n{body}" if body else ""


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), _WIDTH, initial_indent="  ", subsequent_indent="  ")


def _examples(examples: tuple[Example | str, ...]) -> str:
    return "\n\n".join(_example(item) for item in examples)


def _example(example: Example | str) -> str:
    text = example if isinstance(example, str) else example.text
    name = "" if isinstance(example, str) or not example.file else f"  # in {escape(example.file)}\n"
    body = escape(text, keep_newlines=True).rstrip("\n")
    return name + textwrap.indent(body, "  | ", lambda _line: True)
