"""Words that name something else where they stand: dates in a mail, a recipient who is checked, a skill's page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.intent.language import is_foreign

__all__ = ["without_other_things"]

_SECRETS: Final = frozenset({"secret", "keyfiles"})
_MAIL: Final = compiled(r"\b(?:body|subject|message|text|title|caption) \"[^\"]*$")
_CHECKED: Final = compiled(r"\b(?:auto-?)?checks? (?:the )?$")
_OF_A_CHECK: Final = compiled(r"(?:'s)? (?:address )?risk\b")  # "checks recipient risk" puts no other in
_SKILL: Final = compiled(
    r"~/\.(?:openclaw|clawdbot|claude)/(?:workspace/)?skills/[\w-]+(?P<page>/[\w-]+\.md)?/?(?![\w./*-])"
)
_CLONED: Final = compiled(r"\bclone from https://[\w./-]+ to $")
_NETWORK_OF: Final = compiled(r"\.network: ?(?:false|off|none)\b")
_THE_NETWORK: Final = compiled(r"网络|\bnetwork\b")


def without_other_things(kinds: Collection[str], places: Sequence[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """The `places` in the lower-cased `text` of words of the classes `kinds`, without those that name no such thing."""
    if "on_date" in kinds and '"' in text:
        places = [at for at in places if not _is_written(text, at)]
    if "weak" in kinds and "des" in text and is_foreign(text):
        places = [at for at in places if text[slice(*at)] != "des"]  # an article
    if "payee" in kinds and "risk" in text:
        places = [at for at in places if not _is_checked(text, at)]
    if "sentry" in kinds and ".network:" in text:
        places = [at for at in places if not _is_cut_off(text, at)]
    if "/skills/" in text and not _SECRETS.isdisjoint(kinds):
        places = [at for at in places if not _is_of_a_skill(text, at)]
    return list(places)


def _is_written(text: str, at: tuple[int, int]) -> bool:
    """True for a date in what a mail is to say."""
    return text.count('"', 0, at[0]) % 2 == 1 and _MAIL.search(text, 0, at[0]) is not None


def _is_checked(text: str, at: tuple[int, int]) -> bool:
    """True for the recipient in "checks recipient risk"."""
    before = _CHECKED.search(text, max(0, at[0] - 20), at[0])
    return before is not None and _OF_A_CHECK.match(text, at[1]) is not None


def _is_of_a_skill(text: str, at: tuple[int, int]) -> bool:
    """True for a page of a skill below an agent's folder, and for the folder that one is cloned to."""
    found = _SKILL.match(text, at[0])
    return found is not None and (bool(found["page"]) or _CLONED.search(text, 0, at[0]) is not None)


def _is_cut_off(text: str, at: tuple[int, int]) -> bool:
    """True for the sandbox in "turn off the network (`sandbox.network: false`)", which nothing leaves any more."""
    return (
        _NETWORK_OF.match(text, at[1]) is not None and _THE_NETWORK.search(text, max(0, at[0] - 40), at[0]) is not None
    )
