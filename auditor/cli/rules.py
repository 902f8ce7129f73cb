"""`auditor rules` and `auditor explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from skillkeep.auditor.explain import find_rule, page, rule_summary
from skillkeep.auditor.interface import Severity
from skillkeep.auditor.rulebook import Example, Rule, default_rulebook
from skillkeep.cli.completion import completing
from skillkeep.cli.options import JsonOption
from skillkeep.cli.output import columns, emit, say, write
from skillkeep.errors import UsageError

__all__ = ["explain", "rules"]

RuleArgument = Annotated[
    str,
    typer.Argument(
        metavar="RULE",
        autocompletion=completing(lambda _: default_rulebook().rules),
        help="The id of a rule, as a report shows it.",
    ),
]


def rules(
    category: Annotated[str | None, typer.Option("--category", help="Only this category.")] = None,
    severity: Annotated[str | None, typer.Option("--severity", help="Only fail, warn or info.")] = None,
    json_: JsonOption = False,
) -> int:
    """List the rules by category, worst first. Example: auditor rules --category credentials --severity fail"""
    rulebook = default_rulebook()
    chosen = _chosen(list(rulebook.rules.values()), category, severity)
    ordered = sorted(chosen, key=lambda rule: (rule.category, -rule.severity.rank, rule.id))
    if json_:
        listed = [rule_summary(rule) for rule in ordered]
        emit({"ok": True, "schema": "skillkeep/rules-v1", "ruleset": rulebook.digest, "rules": listed})
        return 0
    rows = [(rule.category, rule.severity.value, rule.id, rule.engine, rule.title) for rule in ordered]
    write(columns(rows, ("category", "severity", "rule", "engine", "title")))
    say(f"{len(rows)} rules, ruleset {rulebook.digest}")
    return 0


def explain(rule: RuleArgument, json_: JsonOption = False) -> int:
    """Print why a rule exists, what it finds, and how to fix it. Example: auditor explain python-eval"""
    found = find_rule(default_rulebook(), rule)
    if json_:
        examples = {kind: [_example(item) for item in getattr(found, kind)] for kind in ("bad", "good", "evasion")}
        emit(
            {
                "ok": True,
                "schema": "skillkeep/rule-v1",
                **rule_summary(found),
                "why": found.why,
                "fix": found.fix,
                **examples,
            }
        )
    else:
        write(page(found))
    return 0


def _chosen(rules: list[Rule], category: str | None, severity: str | None) -> list[Rule]:
    """The rules of a category and severity. Raises `UsageError` (`usage`) for a name that no rule has."""
    categories, severities = {rule.category for rule in rules}, {str(each) for each in Severity}
    for what, asked, known in (("category", category, categories), ("severity", severity, severities)):
        if asked is not None and asked not in known:
            hint = f"Choose one of: {', '.join(sorted(known))}."
            raise UsageError("usage", f"no rule has this {what}", hint, value=asked)
    return [rule for rule in rules if category in {None, rule.category} and severity in {None, str(rule.severity)}]


def _example(example: Example | str) -> dict[str, str]:
    return {"text": example, "file": ""} if isinstance(example, str) else {"text": example.text, "file": example.file}
