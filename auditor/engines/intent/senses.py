"""Orders that say something harmless in the very words of a harmful one: a no that is respected, a choice of words."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.lazily import lazily

__all__ = ["is_something_else"]

_REACH: Final = 60
_DECLINED: Final = lazily(  # "if the user declines, keep the files and do not ask again" respects the no
    r"[-*>\d.) ]*if (?:the |your )?(?:user|customer|owner|human|person|they|he|she)s?"
    r" (?:declines?|refuses?|says? no|opts? out),? (?:then )?"
    r"(?:keep|leave|stop|skip|end|exit|abort|respect|note|remember)\b"
    r"(?:(?!\b(?:anyway|regardless|proceed|run|send|upload|post|install|execute|delete|remove|go|still|use|apply|enable"
    r"|write|call|share|submit|commit|push|pay|transfer|sign|try|trying|continue|assume|confirm\w*|approv\w*|permission"
    r"|check\w*|and|then|but)\b)[^.,;:!?]){0,60}(?:,? and |, )"
    r"(?:do not|don't|never) (?:ask|prompt|offer|suggest)(?: (?:it|them|him|her|the user))? again"
    r"(?: (?:in|for|during) (?:this|the)(?: (?:session|conversation|chat|task|run))?)?[.!]?"
)
_WORDED: Final = lazily(  # how something is phrased
    r"(?:never|do not|don't) (?:announce|introduce|open|begin|start) (?:it|them|this|these) (?:with|by saying|using) \""
    r"|(?:do not|don't|never) say \"[^\"]{3,80}\" (?:until|before|unless) "
    r"|(?:no digas?|não diga) \"[^\"]{3,80}\" (?:hasta|até) "
)
_PICTURE: Final = lazily(  # what is shown in a picture is a page, and nothing goes there
    r".{0,24}(?:screenshots?|pictures?|snapshots?) of (?:https?://)?[\w-]+(?:\.[\w-]+){1,3}/?"
    r"(?:[\"'.]{0,2}$|\" (?:agent|assistant): )"
)
_SHELF: Final = lazily(
    r"[-*>\d.) ]*(?:unpublish|archive|unlist|deactivate) (?:the |a |an |your )?(?:\w+ )?"
    r"(?:product|listing|item|collection|page|variant)s? (?:to|and) "
)
_SHELVED: Final = lazily(  # what a shop shows or does not
    r"hide (?:it|them) from (?:the )?(?:customers|shoppers|buyers|visitors|storefront|shop)\b"
    r"(?! (?:chat|report|answer|reply))"
)
_ABSENT: Final = lazily(  # what a test asks for, to be told that it is not there
    r"\b(?:subscribe to|delete|get|fetch|update|remove|query|look up|unsubscribe from|request|access) (?:an? |the )?$"
)
_IS_REPLACED: Final = lazily(r"\b(?:was|is|has been|were|are) (?:replaced|swapped|changed|altered)\b")
_WARNED: Final = lazily(  # what a guard looks for: "warns when an address was replaced"
    r"(?:description: |[-*>\d.) ]*)(?:warns?|alerts?|detects?|notices|reports?)(?: (?:you|the user|users))?"
    r" (?:when|if|whether|that) [^.;:!?]{0,60}$|[-*> ]*(?:warning|alert|finding|check) \d{1,2}: (?:an?|the) ?$"
)


def is_something_else(text: str, start: int) -> bool:
    """True when the order at `start` of the lower-cased sentence `text` has a plain sense."""
    return bool(
        _DECLINED.fullmatch(text)
        or (_IS_REPLACED.search(text, start) and _WARNED.fullmatch(text, 0, start))
        or _WORDED.match(text, start)
        or _PICTURE.match(text, start)
        or (_SHELVED.match(text, start) and _SHELF.fullmatch(text, 0, start))
        or (text.startswith("nonexistent", start) and _ABSENT.search(text[max(0, start - _REACH) : start]))
    )
