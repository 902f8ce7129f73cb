"""Where the reader of a page gets a key of his own that he keeps on his machine: nothing goes to that address."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["where_a_key_is_got"]

_A_KEY: Final = r"(?:your|an?|the) (?:free |own )?(?:[\w-]+ )?"
_KEPT: Final = compiled(  # "sign up at https:// to get your API key, then add it to config.json", and nothing else
    r"[-*>#\d.) ]*(?:(?:sign up|register|log in) (?:for free )?(?:at|on|with) (?:\[[\w .-]{1,40}\]\()?"
    rf"(?P<account>https://[\w./-]+)\)?,? (?:to|and) (?:get|obtain|create|generate|receive) {_A_KEY}api key"
    rf"|(?:get|purchase|buy|obtain|create|generate|grab)(?:/[a-z]+)? {_A_KEY}(?:api )?key(?::| at:?| from:?| on)"
    r" [<(\[]?(?P<page>https://[\w./-]*[\w/])[>)\]]?)"
    r"[.,]* (?:\d[.)] )?(?:(?:and|then) ){0,2}(?:add|put|save|store|set) (?:it|this) (?:as \w+ )?(?:to|in|into) "
    r"(?:(?:the|your|its|this|a|local) |(?:skill|project|tool|plugin)'s ){0,3}"
    r"(?:[\w~.-]*/)*[\w.-]*\.(?:env|json|ya?ml|toml)\b(?: file)?(?P<rest>.*)"
)
_GOES_ON: Final = compiled(
    r"\b(?:and|then|also|send|upload|post|submit|share|forward|commit|publish|attach|e?mail|push|sync|copy|there"
    r"|back)\b|://|@"
)


def where_a_key_is_got(text: str) -> tuple[int, int] | None:
    """Where that address stands in the sentences `text`, in lower case, that say no more than this."""
    if "key" not in text or "https://" not in text or (kept := _KEPT.fullmatch(text)) is None:
        return None
    if _GOES_ON.search(kept["rest"]):
        return None
    return kept.span("account" if kept["account"] else "page")
