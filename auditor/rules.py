"""What one entry of ``rules/*.yaml`` holds.

A file holds ``rules`` (each becomes findings), ``patterns`` (for text that the rule's engine cannot parse),
``capabilities`` (patterns whose group ``value`` names what the code wants) and nothing else. Every type refuses what
does not fit with a `ValueError`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.interface import Confidence, Severity

__all__ = ["CapabilityRule", "Example", "Owner", "Rule", "RuleFile", "RulePatterns", "Searched"]

CapabilityKind = Literal["network", "env", "binary", "write", "package", "autorun"]
Category = Literal[
    "execution", "obfuscation", "credentials", "egress", "instructions", "persistence", "autorun", "tree", "weakness",
    "destructive", "privilege", "supply-chain", "audit",
]  # fmt: skip
_ID: Final = compiled(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+")
_LONGEST_ID: Final = 64
_SHORTEST_PROSE: Final = 10


@dataclass(frozen=True, kw_only=True)
class Example:
    """A file that a rule must (``bad``, ``evasion``) or must not (``good``) find. `files` are its companions."""

    text: str
    file: str = ""
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Searched:
    """Patterns with where they are searched, and examples the tests run through the real engines.

    `unless` patterns are searched in the matched text only, so text beside a match cannot excuse it. A pattern's
    group ``at`` is the place shown, ``value`` the capability, ``subject`` what `when_declared` asks about.
    `comments` also searches comment lines of code. `fallback` is for code its language engine could not parse.
    `orders`: the patterns find orders, so a sentence that forbids them is no match.
    """

    contexts: tuple[Context, ...] = ()
    patterns: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    fallback: bool = False
    comments: bool = False
    orders: bool = False
    capability: CapabilityKind | None = None
    bad: tuple[Example | str, ...] = ()
    good: tuple[Example | str, ...] = ()
    evasion: tuple[Example | str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Rule(Searched):
    """One rule. Without `patterns` it belongs to `engine`.

    `when_declared` names the rule that stands instead when the tool declares the subject, `when_fenced` the one for
    an example in a fenced block.
    """

    id: str
    title: str
    severity: Severity
    confidence: Confidence
    category: Category
    engine: str = "patterns"
    when_declared: str = ""
    when_fenced: str = ""
    why: str
    fix: str
    references: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_id(self.id)
        for name in ("title", "why", "fix"):
            prose = getattr(self, name).strip()
            if len(prose) < _SHORTEST_PROSE:
                raise ValueError(f"{name} has to say something")
            object.__setattr__(self, name, prose)
        if self.patterns and not self.contexts:
            raise ValueError("a rule with patterns needs contexts")
        if self.engine == "patterns" and not self.patterns:
            raise ValueError("a rule without patterns must name its engine")
        if self.patterns and not (self.bad and self.good):
            raise ValueError("a rule with patterns needs a bad and a good example")

    @property
    def reports(self) -> str:
        """The id that a match reports."""
        return self.id


@dataclass(frozen=True, kw_only=True)
class RulePatterns(Searched):
    """Patterns for a rule that a language engine owns, for text that this engine cannot or could not parse."""

    rule: str
    severity: Severity | None = None

    def __post_init__(self) -> None:
        _check_id(self.rule)
        if not (self.patterns and self.contexts and self.bad and self.good):
            raise ValueError("patterns for a rule need contexts, a bad and a good example")

    @property
    def reports(self) -> str:
        """The id that a match reports."""
        return self.rule


@dataclass(frozen=True, kw_only=True)
class CapabilityRule(Searched):
    """Patterns whose group ``value`` is something the code wants."""

    id: str
    kind: CapabilityKind

    def __post_init__(self) -> None:
        _check_id(self.id)


Owner = Rule | RulePatterns | CapabilityRule


@dataclass(frozen=True, kw_only=True)
class RuleFile:
    """All entries of one file."""

    rules: tuple[Rule, ...] = ()
    patterns: tuple[RulePatterns, ...] = ()
    capabilities: tuple[CapabilityRule, ...] = ()


def _check_id(text: str) -> None:
    if len(text) > _LONGEST_ID or not _ID.fullmatch(text):
        raise ValueError(f"an id such as code-network is wanted, not {text[:_LONGEST_ID]!r}")
