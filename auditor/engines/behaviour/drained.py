"""A wallet that is emptied: its balance, or a right over all of a token, goes to an address that is written down."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.behaviour.given import names_given, with_given
from skillkeep.auditor.engines.interface import Segment
from skillkeep.auditor.interface import Location
from skillkeep.auditor.patterns import RarePattern

__all__ = ["Drained", "drained", "may_drain"]

Drained = tuple[Location, str, str, bool]  # where, that text, what is done, and whether the documents may say so

_GIVES: Final = RarePattern(compiled(
    r"\b(?:sendTransaction|send_transaction|signTransaction|sign_transaction|sendEth|send_eth|sendUserOperation"
    r"|SystemProgram\.transfer|system_instruction::transfer|transfer(?:Checked|From|Sol|_checked)?|safeTransfer"
    r"|Transfer|[aA]pprove|forceApprove|increaseAllowance|setApprovalForAll|writeContract|sendTransfer|pay_to"
    r"|TransactionRequest|TransferParams)[ \t]*[({]"
))  # fmt: skip
_RIGHT: Final = compiled(r"[aA]pprove|increaseAllowance|setApprovalForAll")
_ADDRESS: Final = (
    r"(?:[\w.]{0,40}?(?:[aA]ddress|PublicKey|Pubkey|pubkey|to_checksum_address|getAddress|from_str"
    r"|HexToAddress)[\w:!]{0,20}"
    r"\([ \t]*)?[\"'`](?P<address>0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44}|bc1[a-z0-9]{25,62}"
    r"|T[1-9A-HJ-NP-Za-km-z]{33})"
    r"[\"'`]"
)
_FIXED: Final = compiled(rf"[\s(]*(?:address![ \t(]*)?{_ADDRESS}")
_TO: Final = compiled(
    r"(?:^|[{,(\s\"'])(?:to|toPubkey|to_pubkey|destination|recipient"
    r"|dest)[\"']?[ \t]*[:=][ \t]*(?P<got>[^\n,}]{2,120})"
)
_AMOUNT: Final = compiled(
    r"(?:^|[{,(\s\"'])(?:value|amount|lamports"
    r"|tokens)[\"']?[ \t]*[:=][ \t]*(?P<got>[^\n]{1,160})"
)
_MEMBERS: Final = compiled(r"\.(?:to|destination)\([ \t]*(?P<got>[^()\n]{2,80})\)")
_ALL: Final = compiled(
    r"\b[gG]et_?[bB]alance\w{0,12}\(|\b[bB]alance_?[oO]f\(|\bBalanceAt\("
    r"|\bget_?[tT]oken_?[aA]ccount_?[bB]alance\(|\.balance\(\)"
)
_UNLIMITED: Final = compiled(
    r"\bMaxUint256\b|\bMAX_UINT\w*|\bmaxUint256\b|\bMAX_INT\b|\b2n?[ \t]*\*\*[ \t]*256|\b1[ \t]*<<[ \t]*256"
    r"|f{40,}|\bU256::(?:MAX|max_value)"
    r"|\bUINT256_MAX\b|\btype\(uint256\)\.max|115792089237316\d*|\bmath\.MaxBig256\b|\bconstants\.MaxUint256\b"
)
_LISTED: Final = compiled(r"\bargs[\"']?[ \t]*:[ \t]*\[(?P<list>[^\]]{2,300})\]")  # of a call that is given one object
_NAME: Final = compiled(r"[\s&*]*(?P<name>[A-Za-z_]\w{0,60})(?:\.clone\(\))?\s*")
_TAKES_PART: Final = (
    r"\b(?:fees?|donat\w+|splits?|splitting|tips?|commissions?|treasury|burn\w*|sweep\w*|cold wallet|wrap\w*"
    r"|deposit\w*|stak\w*"
    r"|forward\w*|consolidat\w*|faucets?)\b"
)
_USES_RIGHT: Final = (
    r"\b(?:approv\w*|swap\w*|trad\w+|stak\w*|deposit\w*|bridg\w*|lend\w*|borrow\w*|mint\w*|buy\w*|sell\w*"
    r"|liquidity|dex|orders?"
    r"|bets?|betting|purchas\w*|payments?|pay(?:s|ing)?|subscri\w+|x402|vaults?|farm\w*|yield\w*|invest\w*"
    r"|suppl(?:y|ies)|permit2?"
    r"|perps?|positions?|redeem\w*|wrap\w*|unlimited|prediction)\b"
)
_LONGEST: Final = 500  # characters of one call
_MOST: Final = 60
_CONSTANT: Final = compiled(r"[A-Z][A-Z0-9_]{2,60}")


def may_drain(text: str) -> bool:
    """False where `drained` finds nothing in `text`."""
    return _GIVES.may_occur(text)


def drained(programs: Sequence[Segment], documents: Documents) -> Iterator[Drained]:
    """Every call of `programs` that gives a fixed address the balance, or an unlimited right over a token."""
    texts = [each.text for each in programs]
    told = [names_given(text) for text in texts]
    shared = {name: value for given in told for name, value in given.items() if _CONSTANT.fullmatch(name)}
    for segment, own in zip(programs, told, strict=True):
        given = {**shared, **own}
        for found in islice(_GIVES.finditer(segment.text), _MOST):
            call = _call(segment.text, found.end())
            what, address, announced = _judged(found[0], call, given)
            if what:
                said = documents.holds(address) or documents.says(announced)
                at = segment.locate(found.start(), found.end())
                yield at, " ".join((found[0] + call).split())[:200], f"{what} {address}", said


def _judged(name: str, call: str, given: Mapping[str, str]) -> tuple[str, str, str]:
    """What a call gives to which fixed address, and the words of documents that may announce it; empty for none."""
    given_as = _LISTED.search(call)
    spelled = _parts(given_as["list"] if given_as else call)
    if _RIGHT.search(name) or re.search(r"[\"'](?:approve|increaseAllowance|setApprovalForAll)[\"']", call):
        address = next(filter(None, (_address(part, given) for part in spelled)), "")
        everything = any(_UNLIMITED.search(with_given(part, dict(given))) for part in spelled[1:])
        if address and (everything or ("setApprovalForAll" in name and re.search(r"\btrue\b|\bTrue\b", call))):
            return "an unlimited right over a token is given to", address, _USES_RIGHT
        return "", "", ""
    to = [found["got"] for pattern in (_TO, _MEMBERS) for found in pattern.finditer(call)] or spelled[:1]
    amounts = [found["got"] for found in _AMOUNT.finditer(call)] or spelled[1:]
    address = next(filter(None, (_address(each, given) for each in to)), "")
    if address and any(_ALL.search(with_given(each, dict(given))) for each in amounts):
        return "what the wallet holds goes to", address, _TAKES_PART
    return "", "", ""


def _address(part: str, given: Mapping[str, str]) -> str:
    """The address that `part` spells, or that the name in it is set to; empty for none."""
    for _ in range(3):
        if found := _FIXED.match(part):
            return found["address"]
        name = _NAME.fullmatch(part)
        if name is None or name["name"] not in given:
            return ""
        part = given[name["name"]]
    return ""


def _call(text: str, start: int) -> str:
    depth = 1
    for at in range(start, min(len(text), start + _LONGEST)):
        depth += (text[at] in "({[") - (text[at] in ")}]")
        if depth == 0:
            return text[start:at]
    return text[start : start + _LONGEST]


def _parts(call: str) -> list[str]:
    """The arguments of a call."""
    depth, parts = 0, [""]
    for letter in call:
        depth += (letter in "({") - (letter in ")}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
