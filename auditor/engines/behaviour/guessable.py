"""Passwords and keys that whoever knows the day or a name can make again: a generator is seeded with just that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.given import body_below, names_given, with_given
from skillkeep.auditor.engines.interface import Segment
from skillkeep.auditor.interface import Location
from skillkeep.auditor.patterns import RarePattern

__all__ = ["ANNOUNCED", "Guessable", "guessable"]

Guessable = tuple[Location, str]  # where the generator is seeded, and that text

ANNOUNCED: Final = (
    r"\b(?:deterministic\w*|reproducib\w+|repeatab\w+|derive[sd]?|stateless|same (?:password|seed|result"
    r"|output)s?|rotat\w+"
    r"|test data|fixtures?|fake|mock\w*|dummy|sample data|simulat\w+|puzzles?|games?)\b"
)
"""What the documents of a tool say of it whose passwords are meant to be made again, or are none."""

_SEEDED: Final = RarePattern(compiled(
    r"\brandom\.(?:seed|Random)\([ \t]*(?P<python>[^\n]{2,200})|(?<![\w.])Random\([ \t]*(?P<py>[^\n]{2,200})"
    r"|\b(?:Math\.)?seedrandom\([ \t]*(?P<js>[^\n]{2,200})"
    r"|\b(?:mulberry32|xmur3|sfc32|alea|splitmix32|prng|lcg)\([ \t]*(?P<small>[^\n]{2,200})"
    r"|\brand\.(?:Seed|NewSource|NewPCG)\([ \t]*(?P<go>[^\n]{2,200})|\bRandom\.new\([ \t]*(?P<ruby>[^\n]{2,200})"
    r"|\b(?:mt_)?srand\([ \t]*(?P<php>[^\n]{2,200})|\bseed_from_u64\([ \t]*(?P<rust>[^\n]{2,200})"
    r"|\bdefault_rng\([ \t]*(?P<numpy>[^\n]{2,200})"
))  # fmt: skip
_DAY: Final = compiled(
    r"\btoday\(\)|\btoordinal\(\)|\bdate\.today\b|\bstrftime\(|\btoDateString\(\)|\bgetFullYear\(\)"
    r"|\bgetDate\(\)|\bYearDay\(\)"
    r"|\bDate\.today\b|\bdate\([ \t]*[\"'][YmdWz-]{1,12}[\"']|\b(?:86400|86_400|864e5|86400000|86_400_000|3600)\b"
    r"|\bslice\(0,[ \t]*10\)|\.Format\([ \t]*\"2006-01(?:-02)?\"|\bDayOfYear\b|\btm_yday\b|\.isocalendar\(|\byday\b"
)
_NAMED: Final = compiled(
    r"(?i)\b\w{0,20}(?:label|site|domain|service|account|user(?:_?name)?|e?mail"
    r"|host(?:_?name)?|title)\b"
)
_UNKNOWN: Final = compiled(
    r"(?i)secret|urandom|token_|entropy|master|passphrase|password|salt|systemrandom|getrandom|random_?bytes"
    r"|randbits|crypto|pepper"
    r"|\bseed\b|uuid|nanos|time\(\)[ \t]*\)?$"
)
_MAKES: Final = compiled(
    r"(?i)\b(?:def|function|func|fn|fun|sub)[ \t]+(?:\([^)\n]{0,40}\)[ \t]*)?\w{0,30}"
    r"(?:pass_?(?:word|phrase|code)|pwd|secret|api_?key|token|recovery_?code|credential|pin)\w{0,20}[ \t]*\("
    r"|\b(?:const|let)[ \t]+\w{0,30}(?:pass_?(?:word|phrase|code)|secret|apiKey"
    r"|token)\w{0,20}[ \t]*=[ \t]*(?:async[ \t]*)?\("
)
_AROUND: Final = compiled(
    r"^[ \t]*(?:(?:export|async|public|static|private)[ \t]+){0,4}(?:def|function|func|fn|fun"
    r"|sub)[ \t]+(?:\([^)\n]{0,40}\)[ \t]*)?"
    r"(?P<name>\w{1,60})|^[ \t]*(?:const|let)[ \t]+(?P<arrow>\w{1,60})[ \t]*=[ \t]*(?:async[ \t]*)?(?:\("
    r"|\w+[ \t]*=>)",
    re.MULTILINE,
)
_MOST: Final = 20


def guessable(segment: Segment) -> Iterator[Guessable]:
    """Every seed of `segment` that a day or a name decides alone, where what is made with it opens something."""
    text = segment.text
    if not _SEEDED.may_occur(text) or not _MAKES.search(text):
        return
    given = names_given(text)
    for found in islice(_SEEDED.finditer(text), _MOST):
        seed = next(each for each in found.groups() if each is not None)
        told = with_given(seed, given)
        if _UNKNOWN.search(told) or not (_DAY.search(told) or _NAMED.search(seed)):
            continue
        if _is_for_secrets(text, found.start()):
            yield segment.locate(found.start(), found.end()), found[0].strip()[:200]


def _is_for_secrets(text: str, at: int) -> bool:
    """True where what makes a secret is around the seed, or asks the function that it is in."""
    makers = [body_below(text, made.start(), made.end()) for made in islice(_MAKES.finditer(text), _MOST)]
    line = text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0]
    around = [each["name"] or each["arrow"] for each in _AROUND.finditer(text, 0, at)][-1:]
    return any(line in body or any(re.search(rf"\b{name}\(", body) for name in around) for body in makers)
