"""The rubric itself, as data: ``rules/tables/rubric.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from skillkeep.auditor.engines.tables import table

__all__ = ["Category", "Rubric", "rubric"]


@dataclass(frozen=True)
class Category:
    """One thing the reviewer looks for. Only a category of this list can carry a blocking finding."""

    name: str
    rule: str
    ask: str


@dataclass(frozen=True)
class Rubric:
    """The reviewer's instructions. `concern` is the rule for everything outside the list, a warning at most."""

    system: str
    again: str
    categories: tuple[Category, ...]
    concern: str
    instruction_names: frozenset[str]
    instruction_suffixes: frozenset[str]
    script_suffixes: frozenset[str]
    config_suffixes: frozenset[str]

    def category(self, name: str) -> Category | None:
        """The category of this name, or None."""
        return next((each for each in self.categories if each.name == name), None)


@cache
def rubric() -> Rubric:
    """The rubric this version ships. Raises `AuditError` (`bad_rule`, `bad_yaml`)."""
    data = table("rubric")
    files = data["files"]
    return Rubric(
        system=data["system"],
        again=data["again"],
        categories=tuple(Category(name, each["rule"], each["ask"]) for name, each in data["categories"].items()),
        concern=data["concern"],
        instruction_names=frozenset(files["instruction_names"]),
        instruction_suffixes=frozenset(files["instruction_suffixes"]),
        script_suffixes=frozenset(files["script_suffixes"]),
        config_suffixes=frozenset(files["config_suffixes"]),
    )
