"""Combinations of meanings that no honest tool needs. The combinations are data (``rules/tables/intent.yaml``)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.intent.meanings import meanings
from skillkeep.auditor.engines.intent.other_things import without_other_things
from skillkeep.auditor.engines.intent.own_key import where_a_key_is_got
from skillkeep.auditor.engines.intent.polarity import is_told
from skillkeep.auditor.engines.intent.sentences import Sentence
from skillkeep.auditor.engines.intent.words import Places, words

__all__ = ["Frame", "Match", "frames", "stands"]

_BREAK: Final = compiled(r"[.;:!?()] |[,;:()] | - |[。，；：]")
_OBJECT_BREAK: Final = compiled(
    r"[.;:!?()] | - |[。；：]|\b(?:with|without|for|until|from|to|when|if|in|by|as|because)\b"
)
_EXCEPT: Final = compiled(
    r"\b(?:no|without|not|except|excluding|never|minus|redact\w*|mask\w*|anonymi[sz]\w*|free of)"
    r" (?:any |the |your |all )*$"
)
_INSTEAD: Final = compiled(r"\b(?:instead of|rather than|avoids?|avoiding|replac\w+|over) (?:\w+ ){0,2}$")
_FLAG: Final = compiled(r"--(?:silent|quiet)")
_ADDRESS: Final = compiled(r"https?://[^\s)\]>\"'`]+")
_TEMPLATE: Final = frozenset("{}$<=")
_CONTENTS: Final = frozenset({"data", "files", "talk"})  # what an address may be named after
_GUARDED: Final = frozenset({"login_ask"})  # "only send your key to" asks nobody
_TO_GET: Final = compiled(  # nobody is told that key
    r"tell the user to (?:create|get|obtain|generate) (?:an?|their|your) (?:[\w-]+ )?api key(?: at| from| on)?:? [<(]?https?://"
    r"(?!.*\b(?:post|send|enter|re-?enter|paste|type|submit|share|write|upload|forward|mail|provide|confirm|give|read)\b)"
)
_GUARD: Final = compiled(r"\b(?:only|never|do not|don't|must not)(?: ever)? $")
_NOBODY: Final = compiled(  # what stands where the reader's own address belongs
    r"(?:recipient|attendee|reviewer|user|you|your[.-]?\w*|their[.-]?\w*|alice|someone|name|email|jane|john|me|test|demo)"
    r"(?:[.-]?doe)?\d?"
    r"@(?:example\.(?:com|org|net)|(?:your-?)?(?:company|domain|email)\.com)"
    r"|(?:[a-z]{2,6} ){0,3}(?:https?://)?(?:(?:www|staging)\.)?example\.(?:com|org|net)(?:/[\w-]*)?"
    r"|(?:s3|gs)://(?:[<{$]|your[-_]).*"
    r"|[\w.-]+@[a-z-]{1,5}\.iam\.gserviceaccount\.com"  # a project has six letters at least
    r"|~/\.(?:local|cargo|bun|deno|volta)/bin(?:/[\w.-]+)?"  # nor does a folder of programs hold anybody's keys
)
_FORBIDDEN: Final = compiled(r"(?:^|[.!?] )(?:- )?(?:never|do not|don't|avoid) [a-z]+ (?:[^,;:.!?]|\.(?! ))*$")
_PUBLIC: Final = compiled(r"[\w.~/-]{0,80}\.pub\b")  # half of a pair of keys that is there to be given away
_LOGGED_IN: Final = compiled(r"\bssh-(?:add|keygen)(?: -\S+){0,3} [~$/.\w-]*$")  # the key stays where it is
_INSTRUMENT: Final = compiled(r"\b(?:use|using|needs?|requires?) (?:the |an? |your )?(?:\w+ )?$")
_FOR_THAT: Final = compiled(r"tokens? (?:to|for) ")
_KEY_FROM: Final = compiled(  # "get an API key at https://": what comes from there goes nowhere
    r"\b(?:(?:get|obtain|create|generate|grab) (?P<what>one|yours|(?:your|an?|the) (?:free |own )?api key)"
    r"|replace [\[<{][\w-]{3,20}[\]>}] with your (?:[\w-]+ )?(?P<filled>api key)) (?:at|from|on) [<(\[]?$"
)
_SENT_THERE: Final = compiled(
    r"\b(?:send|upload|post|submit|forward|push)\b[^.;]{0,80}"
    r"\b(?:there|to (?:it|them|that (?:page|address|site|form)))\b"
)
_KEY_PAGE: Final = compiled(r"https?://[\w.-]+(?:/[\w-]+)*/?(?![\w.?=&#/{$-])")  # and is no file
_CONSOLE: Final = compiled(  # where a script is run, not got
    r"\b(?:run|execute) (?:the|this|our) (?:[\w-]+ ){0,3}script in (?:the )?(?:[\w-]+ ){0,2}"
    r"(?:devtools|browser|developer) console (?:on|of) [<(\"]?$"
)
_LOGIN_IN: Final = compiled(  # the login of the very address it stands in
    r"https?://[^\s?\"']{4,120}\?(?:[\w=-]{1,40}&)?(?:access_token|api_?key)=(?:your_?(?:api_?)?(?:key|token)\b"
    r"|\{(?:access_)?(?:token|key)\}|<(?:access_)?(?:token|key)>)"
)
_OF_A_SKILL: Final = compiled(  # whose instructions they are is told, and it is no address
    r" (?:provided|given|described|documented) (?:by|in) the [\w-]+ (?:skill|tool|plugin)\b"
)
_FILE: Final = compiled(  # "config.example.env" is no host
    r"\.(?:env|json|ya?ml|toml|ini|conf|cfg)\b(?![\w.:/@-]*\w)"
)
_PLACES: Final = frozenset({"url", "fqdn", "said_host"})
_SECRETS: Final = frozenset({"secret", "keyfiles"})
_SIMPLE: Final = compiled(r"[a-z-]+")  # an English verb in its base form; its object follows


@dataclass(frozen=True)
class Frame:
    """`parts` name classes; the order is what a word of `told` gives. No word of `but` stands in the text.

    Every part stands within `within` characters of the order. With `declared`, an activity the tool tells of
    makes the finding a warning. With `near`, the parts may be spread over three sentences that follow each other.
    No end of a clause lies between the order and the parts that `tight` or `object` names, and those of `object`
    follow the order. With `english`, the order is an English word.
    With `stranger`, an address counts only when the tool does not tell of it.
    A word of the part `replaced` does not count after "instead of" and the like. With `direct`, harmless words
    around it are no excuse.
    """

    rule: str
    parts: tuple[str, ...]
    told: str
    but: str = ""
    within: int = 120
    declared: str = ""
    near: bool = False
    tight: str = ""
    object: str = ""
    english: bool = False
    stranger: bool = False
    replaced: str = ""
    direct: bool = False

    @cached_property
    def rarest_first(self) -> tuple[str, ...]:
        """The parts and the order, the rarest in text first."""
        return tuple(sorted({*self.parts, self.told}, key=lambda part: (words().share(part), part)))

    @cached_property
    def by_address(self) -> bool:
        """True when a part of it is an address."""
        return any({"url", "fqdn"} & set(part.split("|")) for part in self.parts)

    def is_order(self, part: str) -> bool:
        """True when a word of `part` is the order itself."""
        return set(part.split("|")) <= set(self.told.split("|"))


@dataclass(frozen=True)
class Match:
    """A frame found in a sentence; `text` is what was read."""

    frame: Frame
    sentence: Sentence
    text: str


def stands(frame: Frame, at_hand: Places, lead: str, within: int, since: int = 0) -> bool:
    """True when an order that ends after `since` has every part within that many characters."""
    if not all(map(at_hand.of, frame.rarest_first)):
        return False
    text = at_hand.text
    others: list[tuple[str, Sequence[tuple[int, int]]]] = []
    for part in frame.parts:
        places = at_hand.of(part)
        if part == frame.replaced:
            places = [at for at in places if not _INSTEAD.search(text, max(0, at[0] - 60), at[0])]
        if part != frame.told:
            places = [at for at in places if not _is_nobody(part, text[slice(*at)])]
            places = _said(part, places, text)
            if frame.near:  # "Never push it to a public repository. Always add …"
                places = [at for at in places if not _FORBIDDEN.search(text, 0, at[0])]
        if not places:
            return False
        if not frame.is_order(part):
            others.append((part, places))
    if frame.but and at_hand.of(frame.but):
        return False
    if frame.stranger:
        others = [(part, [at for at in places if text[max(0, at[0] - 2) : at[0]] != "]("]) for part, places in others]
    words_of_order = (
        at for at in at_hand.of(frame.told) if at[1] > since and (not frame.english or text[slice(*at)].isascii())
    )
    orders = (at for at in words_of_order if is_told(text, at, lead))
    return any(
        all(any(_near(order, at, within, _between(frame, part, text)) for at in places) for part, places in others)
        for order in orders
    )


def _is_nobody(part: str, shown: str) -> bool:
    """True for an address that stands where the reader's own belongs, with or without the words before it."""
    plain = shown.rstrip(".,;:\"'")
    if _NOBODY.fullmatch(plain):
        return True
    last = plain.rpartition(" ")[2].lstrip("\"'(<`")
    return not _PLACES.isdisjoint(part.split("|")) and "@" in last and _NOBODY.fullmatch(last) is not None


def _said(part: str, places: Sequence[tuple[int, int]], text: str) -> list[tuple[int, int]]:
    """Without what stands inside of an address that takes nothing in, what a warning says, and public keys."""
    kinds = set(part.split("|"))
    if ".pub" in text:
        places = [at for at in places if not _PUBLIC.match(text, at[0])]
    if "obey" in kinds:
        places = [at for at in places if not _OF_A_SKILL.match(text, at[1])]
    if "ssh-" in text:
        places = [at for at in places if not _LOGGED_IN.search(text, max(0, at[0] - 60), at[0])]
    if kinds <= _CONTENTS and "://" in text:
        spans = [at.span() for at in _ADDRESS.finditer(text) if _TEMPLATE.isdisjoint(at[0])]
        places = [at for at in places if not any(start < at[0] and at[1] <= end for start, end in spans)]
    if "said_host" in kinds:
        places = [at for at in places if not (_FILE.match(text, at[1]) and "://" not in text[slice(*at)])]
    if "url" in kinds and " console o" in text:
        places = [at for at in places if not _CONSOLE.search(text, max(0, at[0] - 120), at[0])]
    if "url" in kinds and "api" in text:
        places = [at for at in places if not _is_where_a_key_comes_from(text, at)]
    if _PLACES & kinds and (got := where_a_key_is_got(text)) is not None:
        places = [at for at in places if at[1] <= got[0] or at[0] >= got[1]]
    if _SECRETS & kinds and "://" in text and "=" in text:
        spans = [at.span() for at in _LOGIN_IN.finditer(text)]
        places = [at for at in places if not any(start < at[0] and at[1] <= end for start, end in spans)]
    if "run" in kinds and "open-source" in text:
        places = [at for at in places if text[max(0, at[0] - 5) : at[1]] != "open-source"]
    if kinds <= _GUARDED:
        places = [at for at in places if not _GUARD.search(text, max(0, at[0] - 20), at[0])]
        places = [at for at in places if not _TO_GET.match(text, at[0])]
    return without_other_things(kinds, places, text)


def _is_where_a_key_comes_from(text: str, at: tuple[int, int]) -> bool:
    """True for the address in "get an API key at https://": a page, and none that hands out files."""
    if (got := _KEY_FROM.search(text, max(0, at[0] - 60), at[0])) is None:
        return False
    page = _KEY_PAGE.match(text, at[0])
    what = got["filled"] or got["what"]
    if _SENT_THERE.search(text, at[0]):
        return False
    return page is not None and ("key" in what or "api key" in text[: at[0]] or "key" in page[0])


def _between(frame: Frame, part: str, text: str) -> tuple[str, re.Pattern[str] | None]:
    """The text, and what must not stand between the order and a word of `part`."""
    if part == frame.object:
        return text, _OBJECT_BREAK
    return text, _BREAK if part == frame.tight else None


def _near(
    order: tuple[int, int], at: tuple[int, int], within: int, between: tuple[str, re.Pattern[str] | None]
) -> bool:
    """True when the word at `at` is near the order, is not the order's own, and stands to it as `between` asks."""
    text, broken = between
    if abs(at[0] - order[0]) > within or at == order or _EXCEPT.search(text, max(0, at[0] - 30), at[0]):
        return False
    if _is_instrument(text, at) or _FLAG.search(text, max(0, at[0] - 2), at[1]):
        return False
    if broken is None:
        return True
    follows = at[0] >= order[1]
    if broken is _OBJECT_BREAK and not follows and _SIMPLE.fullmatch(text, *order):
        return False
    return not broken.search(text, min(at[1], order[1]), max(at[0], order[0]))


def _is_instrument(text: str, at: tuple[int, int]) -> bool:
    """True for the token in "use the access token to send": it is what the act is done with, not what is sent."""
    start, end = at
    mark = text.rfind(" ", 0, end) + 1
    return _FOR_THAT.match(text, mark) is not None and _INSTRUMENT.search(text, max(0, start - 40), start) is not None


@cache
def frames() -> tuple[Frame, ...]:
    """The combinations that this version ships."""
    return tuple(_frame(item) for item in meanings("frames"))


def _frame(item: Mapping[str, Any]) -> Frame:
    return Frame(**{**item, "parts": tuple(part.replace(" ", "") for part in item["parts"])})
