"""Every rule of ``rules/*.yaml`` by its id, and their patterns, compiled on first use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.patterns import PatternSet, check_pattern
from skillkeep.auditor.rules import CapabilityRule, Example, Owner, Rule, RuleFile, RulePatterns, Searched
from skillkeep.auditor.ruleset import RULES_FOLDER, Ruleset, shipped
from skillkeep.auditor.spelled import SpelledSet
from skillkeep.typed import typed

__all__ = [
    "RULES_FOLDER",
    "CapabilityRule",
    "Compiled",
    "Example",
    "Owner",
    "Rule",
    "RulePatterns",
    "Rulebook",
    "Searched",
    "default_rulebook",
]


_CODE: Final = (
    Context.PYTHON, Context.JAVASCRIPT, Context.TYPESCRIPT, Context.SHELL, Context.POWERSHELL, Context.RUBY,
    Context.FILENAME,
)  # fmt: skip


@dataclass(frozen=True)
class Compiled:
    """Every pattern once, in one set. `owners[i]` is the rule of entry `i`, `places[i]` the index of its pattern."""

    patterns: PatternSet
    owners: tuple[Owner, ...]
    places: tuple[int, ...]

    @cached_property
    def _filters(self) -> dict[Context, _Filter]:
        """One for code, whose automaton is a quarter as slow without the patterns for prose, and one for the rest."""
        code, rest = _Filter.of(self, _CODE), _Filter.of(self, [each for each in Context if each not in _CODE])
        return {context: code if context in _CODE else rest for context in Context}

    def candidates(self, context: Context, data: bytes) -> list[tuple[int, int]]:
        """Entries for `context` whose literals occur in `data` (UTF-8), as (entry, index of the pattern), sorted."""
        chosen = self._filters[context]
        wanted = chosen.wanted[context]
        return sorted(pair for number in chosen.patterns.candidates(data) for pair in wanted.get(number, ()))


@dataclass(frozen=True)
class _Filter:
    """The patterns of some contexts, and for each context what it wants of them: (entry, index of the pattern)."""

    patterns: PatternSet
    wanted: dict[Context, dict[int, list[tuple[int, int]]]]

    @classmethod
    def of(cls, compiled: Compiled, contexts: Sequence[Context]) -> _Filter:
        """The filter for `contexts`, made when it is first asked."""
        places: dict[int, int] = {}
        wanted: dict[Context, dict[int, list[tuple[int, int]]]] = {context: {} for context in contexts}
        for entry, (owner, place) in enumerate(zip(compiled.owners, compiled.places, strict=True)):
            for context in contexts:
                if context in owner.contexts:
                    number = places.setdefault(place, len(places))
                    wanted[context].setdefault(number, []).append((entry, place))
        return cls(SpelledSet([compiled.patterns.spelled[place] for place in places]), wanted)


class Rulebook:
    """Every rule by id, and the compiled patterns of all of them."""

    def __init__(
        self,
        rules: tuple[Rule, ...],
        more: tuple[RulePatterns, ...],
        capabilities: tuple[CapabilityRule, ...],
        digest: str,
    ) -> None:
        self.rules = {rule.id: rule for rule in rules}
        self.more = more
        self.capabilities = {rule.id: rule for rule in capabilities}
        self.digest = digest
        if len(self.rules) + len(self.capabilities) != len(rules) + len(capabilities):
            raise _bad("two rules have the same id", "")
        instead = {other for rule in rules for other in (rule.when_declared, rule.when_fenced) if other}
        for named in sorted(instead | {each.rule for each in more}):
            if named not in self.rules:
                raise _bad(f"the unknown rule {named} is named", "")
        self._unless: dict[tuple[str, ...], PatternSet] = {}

    @classmethod
    def load(cls, folder: Path = RULES_FOLDER) -> Rulebook:
        """Read and validate a rules folder. Raises `AuditError` (`bad_rule`, `bad_yaml`)."""
        return cls.of(Ruleset.read(folder))

    @classmethod
    def of(cls, ruleset: Ruleset) -> Rulebook:
        """The rules of a folder that was read. Raises `AuditError` (`bad_rule`)."""
        rules: list[Rule] = []
        more: list[RulePatterns] = []
        capabilities: list[CapabilityRule] = []
        for name in ruleset.files():
            try:
                parsed = typed(RuleFile, ruleset.document(name) or {})
            except ValueError as error:
                raise _bad(str(error), name) from error
            rules += parsed.rules
            more += parsed.patterns
            capabilities += parsed.capabilities
        return cls(tuple(rules), tuple(more), tuple(capabilities), ruleset.digest)

    def rule(self, rule_id: str) -> Rule:
        """The rule with this id. Raises `AuditError` (`unknown_rule`)."""
        try:
            return self.rules[rule_id]
        except KeyError:
            raise AuditError(
                "unknown_rule", "no rule has this id", "List the ids with `auditor rules`.", rule=rule_id
            ) from None

    @cached_property
    def compiled(self) -> Compiled:
        """The patterns of all rules. Raises `AuditError` (`bad_rule`) for one that RE2 refuses."""
        everything: tuple[Owner, ...] = (*self.rules.values(), *self.more, *self.capabilities.values())
        owners = tuple(rule for rule in everything for _ in rule.patterns)
        spelled = [pattern for rule in everything for pattern in rule.patterns]
        index = {pattern: number for number, pattern in enumerate(dict.fromkeys(spelled))}
        return Compiled(PatternSet(list(index)), owners, tuple(index[pattern] for pattern in spelled))

    def check(self) -> None:
        """Compile every pattern by itself, and demand references, and an evasion beside every bad example.

        Raises `AuditError` (`bad_rule`) naming the first bad one.
        """
        for each in self.rules.values():
            if not each.references:
                raise _bad(f"{each.id} refers to nothing (CWE, OWASP or MITRE)", "")
            if each.bad and not each.evasion:
                raise _bad(f"{each.id} has no example of an evasion", "")
        for rule in (*self.rules.values(), *self.more, *self.capabilities.values()):
            for pattern in (*rule.patterns, *rule.unless):
                check_pattern(pattern)

    def excused(self, rule: Owner, matched: bytes) -> bool:
        """True when one of the rule's `unless` patterns is found inside the matched text."""
        if not rule.unless:
            return False
        if rule.unless not in self._unless:
            self._unless[rule.unless] = PatternSet(rule.unless)
        patterns = self._unless[rule.unless]
        return any(True for index in patterns.candidates(matched) for _ in patterns.find(index, matched, 1))


@cache
def default_rulebook() -> Rulebook:
    """The rules this version ships."""
    return Rulebook.of(shipped())


def _bad(what: str, file: str, **context: Any) -> AuditError:
    message = f"the ruleset cannot be used: {what}"
    return AuditError("bad_rule", message, "Fix the entry in rules/.", file=file, **context)
