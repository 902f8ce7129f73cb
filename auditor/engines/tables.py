"""The tables of ``rules/tables/``: what names, paths and programs mean, as data the language engines share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.interface import Severity
from skillkeep.auditor.patterns import PatternSet
from skillkeep.auditor.ruleset import shipped

__all__ = ["KEPT_AS_SETTINGS", "KEPT_BY_AGENTS", "LOGIN_OF", "Persistence", "Secrets", "secrets", "subject_of", "table"]

LOGIN_OF = "login_of_"  # begins what `Secrets.path` says of a file that is kept for one service alone
_KIND = r"(?:(?:private|secret|api|access|auth)_)?(?:keys?|tokens?|passwords?|secrets?|credentials?)"
KEPT_AS_SETTINGS = f"{LOGIN_OF}env"  # lines of variables
KEPT_BY_AGENTS = frozenset({"an agent's own credentials", KEPT_AS_SETTINGS})  # of rules/tables/secrets.yaml

_LONGEST_PATH = 4096
_NO_SECRET = (".pub", ".ssh/known_hosts", ".ssh/authorized_keys", ".ssh/authorized_keys2")


@cache
def table(name: str) -> dict[str, Any]:
    """The mapping in ``rules/tables/<name>.yaml``. Raises `AuditError` (`bad_rule`, `bad_yaml`)."""
    data = shipped().document(f"tables/{name}.yaml")
    if not isinstance(data, dict):
        hint = "Fix the file in rules/tables/."
        raise AuditError("bad_rule", "a table of the ruleset is not a mapping", hint, file=name)
    return data


@dataclass(frozen=True)
class Persistence:
    """A file that runs later without being asked: what it is and what writing it means.

    `named` matches the documents of a tool that says that it writes there; empty when saying so changes nothing.
    `runs` is False for settings, which are no program that somebody else's text becomes part of.
    """

    what: str
    severity: Severity
    named: str = ""
    runs: bool = False


class Secrets:
    """Judges names and paths by ``rules/tables/secrets.yaml``."""

    def __init__(self, data: dict[str, Any]) -> None:
        endings = sorted(data["environment"]["endings"], key=len, reverse=True)
        harmless = "|".join(map(re.escape, data["environment"]["harmless"]))
        self._name = compiled(rf"(?:^|_)(?:{'|'.join(endings)})$")
        switches = "|".join(data["environment"]["switches"])
        self._harmless = compiled(rf"(?:^|_)(?:{harmless})$|^(?:{switches})_{_KIND}$")
        self._connection = compiled(rf"(?:^|_)(?:{'|'.join(data['environment']['connections'])})$")
        self._plain = frozenset(data["environment"]["plain"])
        self._paths: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
            (item["what"], compiled(item["pattern"])) for item in data["paths"]
        )
        self._shown = {item["what"]: Severity(item["reading"]) for item in data["paths"] if "reading" in item}
        self._harmless_path = compiled("|".join(data["harmless_paths"]))
        self._kept = tuple(map(compiled, data["kept_for"]))
        self._filter = PatternSet([item["pattern"] for item in data["paths"]])
        self._later = tuple(
            (
                Persistence(item["what"], Severity(item["severity"]), item.get("named", ""), item.get("runs", False)),
                compiled(item["pattern"]),
            )
            for item in data["persistence"]
        )

    def variable(self, name: str) -> bool:
        """True when an environment variable of this name holds a secret by convention.

        No variable has a name that begins with a digit: ``$4CHAD_TOKEN`` is the fourth argument and a text.
        """
        lowered = name.lower()
        return not name[:1].isdigit() and bool(self._name.search(lowered)) and not self._harmless.search(lowered)

    def connection(self, name: str) -> bool:
        """True when a variable of this name holds the text that opens a store, its password included."""
        return bool(self._connection.search(name.lower()))

    def plain(self, name: str) -> bool:
        """True for a variable that every machine has and that holds no secret, such as PATH."""
        return name.upper() in self._plain

    def path(self, text: str) -> str | None:
        """What secret lies at the path `text`, or None; ``login_of_acme`` for the file that an agent keeps for acme."""
        if len(text) > _LONGEST_PATH:
            return None
        lowered = text.lower().replace("\\", "/")
        near = self._filter.candidates(lowered.encode("utf-8", "replace"))  # most texts end here, ten times cheaper
        if not near or lowered.endswith(_NO_SECRET) or self._harmless_path.search(lowered):
            return None
        what = next((what for what, pattern in map(self._paths.__getitem__, near) if pattern.search(lowered)), None)
        kept = next((found for pattern in self._kept if (found := pattern.search(lowered))), None) if what else None
        return what if kept is None else LOGIN_OF + kept[1].replace("-", "_")

    def reading(self, what: str) -> Severity | None:
        """How much it says that `what`, an answer of `path`, is read: None for all that the rule says."""
        return self._shown.get(what)

    def near(self, text: str) -> bool:
        """False when no secret's place can be named in `text`, which is told much faster than by `path`."""
        return bool(self._filter.candidates(text.lower().replace("\\", "/").encode("utf-8", "replace")))

    def persistence(self, text: str) -> Persistence | None:
        """What a write to the path `text` sets up to run later, or None."""
        if len(text) > _LONGEST_PATH:
            return None
        lowered = text.lower().replace("\\", "/")
        return next((meaning for meaning, pattern in self._later if pattern.search(lowered)), None)


def subject_of(what: str) -> str:
    """What a declaration can be about: a variable, or the login of one service; empty for other secrets."""
    return what if what.isidentifier() else ""


@cache
def secrets() -> Secrets:
    """The judge of secret names and paths that this version ships."""
    return Secrets(table("secrets"))
