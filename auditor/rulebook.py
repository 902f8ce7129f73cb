"""The rules as data: loads ``rules/*.yaml``, validates every entry, and compiles the patterns on first use.

A file holds ``rules`` (each becomes findings), ``capabilities`` (patterns whose group ``value`` names what the code
wants) and nothing else. The digest covers every byte of the rules folder, so equal digests mean equal rules.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.interface import Confidence, Severity
from skillkeep.auditor.patterns import PatternSet, check_pattern
from skillkeep.auditor.strict_yaml import load_yaml

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

RULES_FOLDER = Path(__file__).resolve().parent.parent / "rules"

CapabilityKind = Literal["network", "env", "binary", "write", "package", "autorun"]
Category = Literal[
    "execution",
    "obfuscation",
    "credentials",
    "egress",
    "instructions",
    "persistence",
    "autorun",
    "tree",
    "weakness",
    "destructive",
    "privilege",
    "supply-chain",
    "audit",
]
RuleId = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)+$", max_length=64)]
Prose = Annotated[str, StringConstraints(strip_whitespace=True, min_length=10)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Example(_Model):
    """A file that a rule must (``bad``, ``evasion``) or must not (``good``) find. `files` are its companions."""

    text: str
    file: str = ""
    files: dict[str, str] = Field(default_factory=dict)


class Searched(_Model):
    """Patterns with where they are searched, and examples the tests run through the real engines.

    `unless` patterns are searched in the matched text only, so text beside a match cannot excuse it. A pattern's
    group ``at`` is the place shown, ``value`` the capability, ``subject`` what `when_declared` asks about.
    `comments` also searches comment lines of code. `fallback` is for code its language engine could not parse.
    """

    contexts: tuple[Context, ...] = ()
    patterns: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    fallback: bool = False
    comments: bool = False
    capability: CapabilityKind | None = None
    bad: tuple[Example | str, ...] = ()
    good: tuple[Example | str, ...] = ()
    evasion: tuple[Example | str, ...] = ()


class Rule(Searched):
    """One rule. Without `patterns` it belongs to `engine`.

    `when_declared` names the rule that stands instead when the tool declares the subject, `when_fenced` the one for
    an example in a fenced block.
    """

    id: RuleId
    title: Prose
    severity: Severity
    confidence: Confidence
    category: Category
    engine: str = "patterns"
    when_declared: str = ""
    when_fenced: str = ""
    why: Prose
    fix: Prose
    references: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> Rule:
        if self.patterns and not self.contexts:
            raise ValueError("a rule with patterns needs contexts")
        if self.engine == "patterns" and not self.patterns:
            raise ValueError("a rule without patterns must name its engine")
        if self.patterns and not (self.bad and self.good):
            raise ValueError("a rule with patterns needs a bad and a good example")
        return self

    @property
    def reports(self) -> str:
        """The id that a match reports."""
        return self.id


class RulePatterns(Searched):
    """Patterns for a rule that a language engine owns, for text that this engine cannot or could not parse."""

    rule: RuleId
    severity: Severity | None = None

    @model_validator(mode="after")
    def _whole(self) -> RulePatterns:
        if not (self.patterns and self.contexts and self.bad and self.good):
            raise ValueError("patterns for a rule need contexts, a bad and a good example")
        return self

    @property
    def reports(self) -> str:
        """The id that a match reports."""
        return self.rule


class CapabilityRule(Searched):
    """Patterns whose group ``value`` is something the code wants."""

    id: RuleId
    kind: CapabilityKind


class _RuleFile(_Model):
    rules: tuple[Rule, ...] = ()
    patterns: tuple[RulePatterns, ...] = ()
    capabilities: tuple[CapabilityRule, ...] = ()


Owner = Rule | RulePatterns | CapabilityRule


@dataclass(frozen=True)
class Compiled:
    """Every pattern once, in one set. `owners[i]` is the rule of entry `i`, `places[i]` the index of its pattern."""

    patterns: PatternSet
    owners: tuple[Owner, ...]
    places: tuple[int, ...]

    @cached_property
    def _wanted(self) -> dict[Context, tuple[tuple[int, int], ...]]:
        entries = list(enumerate(zip(self.owners, self.places, strict=True)))
        return {
            context: tuple((number, place) for number, (owner, place) in entries if context in owner.contexts)
            for context in Context
        }

    def candidates(self, context: Context, data: bytes) -> list[tuple[int, int]]:
        """Entries for `context` whose literals occur in `data` (UTF-8), as (entry, index of the pattern), sorted."""
        found = frozenset(self.patterns.candidates(data))
        return [(number, place) for number, place in self._wanted[context] if place in found]


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
        rules: list[Rule] = []
        more: list[RulePatterns] = []
        capabilities: list[CapabilityRule] = []
        for path in sorted(folder.glob("*.yaml")):
            data = load_yaml(path.read_text(encoding="utf-8"))
            try:
                parsed = _RuleFile.model_validate(data or {})
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                where = ".".join(str(part) for part in first["loc"])
                raise _bad(f"{where}: {first['msg']}", path.name) from error
            rules += parsed.rules
            more += parsed.patterns
            capabilities += parsed.capabilities
        return cls(tuple(rules), tuple(more), tuple(capabilities), _digest_of(folder))

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
        """Compile every pattern by itself. Raises `AuditError` (`bad_rule`) naming the first bad one."""
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

    @cached_property
    def pattern_count(self) -> int:
        """Number of regular expressions in all rules."""
        return sum(len(each.patterns) for each in (*self.rules.values(), *self.more))


@cache
def default_rulebook() -> Rulebook:
    """The rules this version ships."""
    return Rulebook.load()


def _digest_of(folder: Path) -> str:
    state = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in {".yaml", ".yml", ".json"}:
            body = path.read_bytes()
            state.update(f"{path.relative_to(folder).as_posix()}\0{len(body)}\0".encode())
            state.update(body)
    return "sha256:" + state.hexdigest()


def _bad(what: str, file: str, **context: Any) -> AuditError:
    message = f"the ruleset cannot be used: {what}"
    return AuditError("bad_rule", message, "Fix the entry in rules/.", file=file, **context)
