"""Whom money goes to, put in place of whom the user has named where an amount, a count, a date or chance says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.acts import code_of
from skillkeep.auditor.engines.behaviour.given import body_below, names_given, with_given
from skillkeep.auditor.engines.interface import Context, Segment, SourceTree
from skillkeep.auditor.interface import Location
from skillkeep.auditor.patterns import RarePattern

__all__ = ["ANNOUNCED", "FIXED", "Swapped", "pays", "swapped_payees"]

Swapped = tuple[Location, str]  # where another payee is chosen, and that text

ANNOUNCED: Final = r"\b(?:fees?|donat\w+|splits?|splitting|tips?|commissions?|referral\w*|royalt\w+|treasury)\b"
"""What the documents of a tool say of it that takes a part for somebody else."""

_PAYEE: Final = (
    r"(?i:to|payee|recipient|receiver|beneficiary|dest|destination|iban|account|acct|addr|address|wallet)"
    r"(?:_?(?:[aA]ddr(?:ess)?|[aA]ccount|[iI]ban|[wW]allet))?"
)
FIXED: Final = compiled(  # an address or an account that is written down
    r"\b0x[0-9a-fA-F]{6,64}n?\b|[\"'`](?:bc1[a-z0-9]{25,62}|[1-9A-HJ-NP-Za-km-z]{32,44})[\"'`]"
    r"|[\"'`][A-Z]{2}\d{2}[ A-Z0-9]{10,34}[\"'`]|[\"'`][A-Z]{2}\d{2}[ A-Z0-9]{0,34}[\"'`][ \t]*\+|[\"'`](?:acct|ba"
    r"|merchant|payee|iban|wallet)[_-]\w{6,40}[\"'`]"
)
_CHANCE: Final = compiled(
    r"(?i)\b\w{0,20}(?:amount|amt|value|total|sum|price|count|counter)s?\b[^\n]{0,20}[<>%]|[<>][^\n]{0,20}\b(?:amount"
    r"|amt|total)\b"
    r"|%[ \t]*[\w(]|\b(?:weight|size|volume|units?|qty|quantity|nth|turn|round)\b[^\n]{0,20}[<>%]|\brandom\b|\bDate\b"
    r"|\bdatetime\b|\bnow\(\)|\btoday\(\)|\bget(?:UTC)?(?:Date|Day|Hours)\("
)
_FUNCTION: Final = compiled(rf"\([^()\n]{{0,120}}?\b(?P<payee>{_PAYEE})\b[^)\n]{{0,160}}\)[^\n]{{0,80}}[{{:>]")
_CONDITION: Final = compiled(r"\bif\b(?P<test>[^\n]{3,200})")
_RETURNED: Final = compiled(r"\breturn[ \t]+(?P<got>[^\n;}]{2,160})")
_SET: Final = compiled(rf"\b{_PAYEE}(?:[\"']\])?[ \t]*=[ \t]*(?P<got>[^=\n;}}][^\n;}}]{{1,160}})")
_ITSELF: Final = rf"(?:(?:\w+\.){{0,3}}{_PAYEE}|this|self)\b(?![\w(.])"
_GIVEN_ONE: Final = (
    rf"(?:[A-Za-z_]\w{{0,40}}(?:\[[\"':]?{_PAYEE}[\"']?\]|\.{_PAYEE}\b|\.get\([\"']{_PAYEE}[\"'])"
    rf"|{_PAYEE}\b(?![\w(.]))"
)
_COPY: Final = (  # a copy of what was given, in which one thing is another
    r"(?:\{[ \t]*(?:\.\.\.|\*\*)(?:\w+\.){0,3}\w+|\bObject\.assign\([ \t]*\{\}[ \t]*,[ \t]*\w+|\breplace\([ \t]*\w+"
    r"|\._replace\("
    rf"|\bmodel_copy\(|\bcopy\(|\w[ \t]*\|[ \t]*\{{)[^\n?]{{0,120}}?\b{_PAYEE}[\"']?[ \t]*[:=][ \t]*"
    r"(?P<got>[^=,})\n][^,})\n]{0,120})"
)
_CHOSEN: Final = (  # ``test ? got : payee`` and ``got if test else payee``; what stands before is cut off by hand
    compiled(rf"\?[ \t]*(?P<got>[^\n:?;]{{1,120}}?)[ \t]*:[ \t]*(?:{_ITSELF}|{_GIVEN_ONE})"),
    compiled(rf"[ \t]if[ \t](?P<test>[^\n]{{3,120}}?)[ \t]else[ \t]+(?:{_ITSELF}|{_GIVEN_ONE})"),
    compiled(rf"\?[ \t]*\(?{_COPY}[^\n?:]{{0,80}}[ \t]:[ \t]*\w+"),
    compiled(rf"{_COPY}[^\n?]{{0,80}}[ \t]if[ \t](?P<test>[^\n]{{3,120}}?)[ \t]else[ \t]+\w+"),
)
_PICKED: Final = (  # ``TABLE[test] or own["iban"]`` and ``TABLE.get(test, own.iban)``
    compiled(
        r"\b(?P<got>[A-Za-z_]\w{0,40})(?:\[|\.(?:get|fetch|at)\()(?P<test>[^\]()\n]{1,80})[\])][ \t]*(?:\bor\b"
        r"|\|\||\?\?)"
        rf"[ \t]*[(\[{{]?[ \t]*{_GIVEN_ONE}"
    ),
    compiled(
        r"\b(?P<got>[A-Za-z_]\w{0,40})\.(?:get|fetch|getOrDefault|GetValueOrDefault)\((?P<test>[^,()\n]{1,80}),"
        rf"[ \t]*[(\[{{]?[ \t]*{_GIVEN_ONE}"
    ),
)
_OPENS: Final = compiled(r"[{[(][ \t]*(?:#[^\n]*|//[^\n]*)?$")
_COPIED: Final = compiled(_COPY)
_GOES_ON: Final = compiled(r"\n(?=[ \t]*(?:\?[ \t]|:[ \t]|&&|\|\|))")
_BEFORE: Final = compiled(r"=|\breturn\b|\(|,")
_NAME: Final = compiled(r"[A-Za-z_]\w{0,40}")
_LONGEST: Final = 160
_PAYS: Final = RarePattern(compiled(
    r"(?i)payment_?(?:details|info|data|link|request|order)|[\"']BCD[\"']|\bcredit_?transfer|\bremittance|"
    r"sendTransaction|send_?raw_?transaction|writeContract|sendUserOperation|build_transaction"
    r"|\btransfer(?:Checked)?[\"'(]"
    r"|\b(?:payouts?|transfers?|payments?)\.create\(|/(?:payouts?|transfers?|payments?)\b|\bpain\.001|\bsepa\b"
    r"|\bwithdraw\("
    r"|\bcreate_?(?:payout|transfer|payment)\("
))  # fmt: skip
_LANGUAGES: Final = frozenset({Context.PYTHON, Context.JAVASCRIPT, Context.TYPESCRIPT, Context.RUBY, Context.TEXT})
_MOST: Final = 40


def swapped_payees(segment: Segment, fixed: re.Pattern[str] = FIXED) -> Iterator[Swapped]:
    """Every place of `segment` where a payee that was given gives way to one that is written down, as `fixed` is."""
    text = segment.text
    if segment.context not in _LANGUAGES or not fixed.search(text):
        return
    given = names_given(text)
    text = _GOES_ON.sub(" ", text)
    ways = (_returned, _set, _chosen, _picked)
    places = chain.from_iterable(way(text, given, fixed) for way in ways)
    for start, end in dict.fromkeys(islice(places, _MOST)):
        yield segment.locate(start, end), text[start:end].strip()[:200]


def pays(tree: SourceTree) -> bool:
    """True for a tool of which some code moves money."""
    return any(_PAYS.search(segment.text) for file in tree.files for segment in code_of(file))


def _returned(text: str, given: dict[str, str], fixed: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """A function that returns the payee it was given, and another one under a condition."""
    for function in islice(_FUNCTION.finditer(text), _MOST):
        body = body_below(text, function.start(), function.end())
        if not re.search(rf"\breturn[ \t]+{function['payee']}[ \t]*(?:;|\}}|$)", body, re.MULTILINE):
            continue
        for test, inner in _conditions(body, given):
            returned = _RETURNED.search(inner)
            if returned and _is_other(returned["got"], test["test"], given, function["payee"], fixed):
                start = text.find(test[0], function.start())
                yield start, start + len(test[0])


def _set(text: str, given: dict[str, str], fixed: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    for test, inner in _conditions(text, given):
        put = _SET.search(inner, len(test[0]) if "=" not in test["test"] else 0) or _COPIED.search(inner)
        if put and _is_other(put["got"], test["test"].partition("=" + put["got"])[0], given, "", fixed):
            yield test.span()


def _chosen(text: str, given: dict[str, str], fixed: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    for found in chain.from_iterable(islice(pattern.finditer(text), _MOST) for pattern in _CHOSEN):
        start = max(text.rfind("\n", 0, found.start()) + 1, found.start() - _LONGEST)
        before, parts = text[start : found.start()], found.groupdict()
        got, test = parts.get("got") or _BEFORE.split(before)[-1], parts.get("test") or before
        if _is_other(got, test, given, "", fixed):
            yield start, found.end()


def _picked(text: str, given: dict[str, str], fixed: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """A table of accounts in which an amount, a date or chance looks one up before the given one counts."""
    for found in chain.from_iterable(islice(pattern.finditer(text), _MOST) for pattern in _PICKED):
        table = given.get(found["got"], "")
        if _OPENS.search(table):
            start = text.find(table)
            table = body_below(text, start, start + len(table))
        if fixed.search(with_given(table, given)) and _CHANCE.search(_asked(found["test"], given)):
            yield found.span()


def _conditions(text: str, given: dict[str, str]) -> Iterator[tuple[re.Match[str], str]]:
    """The conditions of `text` that ask for an amount, a count, a date or chance, with what stands below them."""
    for test in islice(_CONDITION.finditer(text), _MOST):
        if _CHANCE.search(_asked(test["test"], given)):
            yield test, body_below(text, test.start(), test.end())


def _asked(test: str, given: dict[str, str]) -> str:
    """A condition, and what the last name in it is given: ``if (hop)`` asks what ``hop = amount > 400`` says."""
    names = _NAME.findall(test)
    return f"{test} {given.get(names[-1], '')}" if names else test


def _is_other(got: str, test: str, given: dict[str, str], payee: str, fixed: re.Pattern[str]) -> bool:
    """True where `got` leads to an address that is written down, and not to the `payee` that was given."""
    if not _CHANCE.search(_asked(test, given)) or (payee and re.search(rf"\b{payee}\b", got)):
        return False
    return bool(fixed.search(with_given(got, given)))
