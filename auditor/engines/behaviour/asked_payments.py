"""A wallet that is asked to send what the caller of a function named, to whom the caller named."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_asked_payment"]

_ASKED: Final = re.compile(  # the recipient and the amount are names, and nothing else is handed to a contract
    rb"[\"']eth_sendTransaction[\"']\s{0,9},\s{0,9}[\"']?params[\"']?\s{0,9}:\s{0,9}\[\s{0,9}\{(?P<given>[^{}\[\]]{2,300})\}\s{0,9}\]"
)
_PART: Final = re.compile(rb"\A\s*[\"']?(?P<key>\w{1,20})[\"']?\s*(?::\s*(?P<value>[^\n]{1,120}?))?\s*\Z")
_KEYS: Final = frozenset({b"from", b"to", b"value", b"gas", b"gasPrice", b"chainId", b"nonce"})
_NAME: Final = re.compile(rb"[A-Za-z_$][\w$]*")
_MADE_OF: Final = frozenset(
    {b"toString", b"BigInt", b"Number", b"hexlify", b"toHex", b"parseEther", b"toBeHex", b"utils", b"ethers"}
)
_BEFORE: Final = 4_000  # characters in which the function begins


def is_asked_payment(code: bytes, start: int) -> bool:
    """True for an ``eth_sendTransaction`` at `start` whose recipient and amount are its function's own parameters."""
    asked = _ASKED.match(code, start)
    if asked is None:
        return False
    parts = [_PART.match(part) for part in asked["given"].split(b",")]
    given = {part["key"]: part["value"] or part["key"] for part in parts if part}
    if None in parts or not given.keys() <= _KEYS or not given.keys() >= {b"to", b"value"}:
        return False
    names = {given[b"to"], *_NAME.findall(re.sub(rb"[\"'][^\"']*[\"']", b"", given[b"value"]))} - _MADE_OF
    if not all(map(_NAME.fullmatch, names)):
        return False
    before = code[max(0, start - _BEFORE) : start]
    return all(_is_parameter(name, before, code) for name in names)


def _is_parameter(name: bytes, before: bytes, code: bytes) -> bool:
    """True for a name that the nearest function takes, and that nothing is assigned to anywhere."""
    word = rb"(?<![\w$.])" + re.escape(name) + rb"(?![\w$])"
    heads = list(re.finditer(rb"\((?P<given>[^()]{0,300})\)\s{0,9}(?::\s{0,9}[\w<>\[\] ]{1,60})?(?:=>|\{)", before))
    heads = [
        head for head in heads if not re.search(rb"\b(?:if|for|while|switch|catch)\s{0,9}\Z", before[: head.start()])
    ]
    taken = bool(heads) and any(re.search(word + rb"(?=\s*(?:[:,}]|\Z))", head["given"]) for head in heads[-2:])
    put = (
        word
        + rb"\s{0,9}[-+*/|&?]{0,2}=(?![=>])|[\[{,]\s{0,9}(?:\w{1,40}\s{0,9}:\s{0,9})?"
        + word
        + rb"[^\[\]{}()]{0,200}[\]}]\s{0,9}=(?![=>])"
    )
    return taken and not re.search(put, code)
