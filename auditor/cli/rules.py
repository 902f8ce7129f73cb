"""`auditor rules` and `auditor explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from skillkeep.auditor.explain import find_rule, page, rule_summary
from skillkeep.auditor.rulebook import Example, default_rulebook
from skillkeep.cli.options import JsonOption
from skillkeep.cli.output import columns, emit, say, write

__all__ = ["explain", "rules"]

RuleArgument = Annotated[str, typer.Argument(metavar="RULE", help="The id of a rule, as a report shows it.")]


def rules(json_: JsonOption = False) -> int:
    """List every rule. Example: auditor rules --json"""
    rulebook = default_rulebook()
    ordered = sorted(rulebook.rules.values(), key=lambda rule: (rule.category, rule.id))
    if json_:
        listed = [rule_summary(rule) for rule in ordered]
        emit({"ok": True, "schema": "skillkeep/rules-v1", "ruleset": rulebook.digest, "rules": listed})
        return 0
    rows = [(rule.id, rule.severity.value, rule.category, rule.engine, rule.title) for rule in ordered]
    write(columns(rows, ("rule", "severity", "category", "engine", "title")))
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


def _example(example: Example | str) -> dict[str, str]:
    return {"text": example, "file": ""} if isinstance(example, str) else {"text": example.text, "file": example.file}
