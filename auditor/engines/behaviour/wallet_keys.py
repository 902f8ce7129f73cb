"""What opens a wallet is sent, and a function of a library gives way to one that sends what it is given.

What a wallet's library is given to make a signer of is a key, whatever its name is, and a key that signs never has to
leave. It is followed to a request with a written-down host, and to functions of other files that make such a request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.followed import Asked, followed
from skillkeep.auditor.engines.behaviour.given import body_below, names_given, with_given
from skillkeep.auditor.engines.interface import Segment
from skillkeep.auditor.engines.network import host_of, is_near
from skillkeep.auditor.interface import Location
from skillkeep.auditor.patterns import RarePattern

__all__ = ["ANNOUNCED", "Taken", "opens_wallets", "sent_keys", "wrapped_functions"]

Taken = tuple[Location, str, str]  # where, that text, and what goes where

ANNOUNCED: Final = (
    r"\b(?:sen[dt]|upload\w*|submit\w*|stor\w+|back\w* up)\b[^.]{0,40}\b(?:phrase|mnemonic|(?:private|secret) keys?)"
)
"""What the documents of a tool say of it that takes a wallet's key somewhere."""

_SIGNERS: Final = (
    r"\w{0,20}(?:Keypair|Wallet|Account|Mnemonic|HDNode|HDKey|PrivateKey|SecretKey|SigningKey|Bip39)\w{0,12}"
)
_MAKES: Final = rf"(?:\w{{1,30}}\.){{0,2}}{_SIGNERS}\.(?:from|restore|import|load)\w{{0,24}}"
_MADE: Final = RarePattern(compiled(
    rf"\b(?:{_MAKES}|mnemonicToSeed\w{{0,8}}|mnemonicToAccount|privateKeyToAccount|new[ \t]+(?:\w{{1,20}}\.)?Wallet)"
    r"\([ \t]*(?:(?:new[ \t]+)?(?:Uint8Array|Buffer)(?:\.from)?\([ \t]*)?"
    r"(?!(?:new|await|typeof)\b)(?P<name>[A-Za-z_]\w{0,40})\b(?![ \t]*[(.\[])"
))  # fmt: skip
_KEPT: Final = compiled(
    rf"^[ \t]*(?:(?:const|let|var)[ \t]+)?(?P<name>\w{{1,40}})[ \t]*=[ \t]*{_MAKES}[ \t]*;?$", re.MULTILINE
)
_NEW: Final = compiled(  # what holds a key
    rf"\b(?P<name>[A-Za-z_]\w{{0,40}})[ \t]*=[ \t]*(?:await[ \t]+)?(?:new[ \t]+)?(?:\w{{1,20}}\.){{0,2}}{_SIGNERS}"
    r"(?:\.(?:create|generate|random|from|restore|import)\w{0,24})?\("
)
_OUT: Final = r"key|privateKey|private_key|secretKey|secret_key|secret|mnemonic|_private_key|exportKey\(\)"
_NAMED: Final = compiled(
    r"(?<![\w.])(?:mnemonic|seed_?[pP]hrase|recovery_?[pP]hrase|secret_?[pP]hrase|private_?[kK]ey|priv_?[kK]ey)"
    r"(?![\w(])"
)
_WALLET: Final = compiled(
    r"(?i)\b(?:ethers|web3(?:\.js)?|solana|solders|bip-?39|eth_account|bitcoinjs\w*|bitcoinlib|tronweb|viem|hdnode\w*|hdwallet"
    r"|keypair|mnemonic|seed_?phrase|(?:new )?wallet(?:\.from\w*)?(?=\())\b"
)
_GIVEN: Final = r"(?:[^()]|\((?:[^()]|\([^()]{0,80}\)){0,120}\)){0,240}"
_ASIDE: Final = compiled(  # what is made of a key gives it by a name alone; what is signed or public may leave
    rf"\b(?:new[ \t]+(?:\w{{1,20}}\.)?Wallet|{_MAKES}|mnemonicTo\w{{1,12}}|privateKeyTo\w{{1,12}})\([^()]{{0,120}}\)"
    r"|\b(?:\w{1,30}\.){0,3}\w{0,20}(?:[sS]ign|hmac|Hmac|HMAC|[dD]erive|[aA]ddress|[pP]ublic|[eE]ncrypt)\w{0,20}"
    rf"(?:\.\w{{1,20}})?\({_GIVEN}\)"
    r"|\b\w{1,40}\.(?:address|publicKey|public_key|pubkey)\b"
)
_ASKS: Final = (
    r"fetch|(?:navigator\.)?sendBeacon|axios(?:\.\w{1,10})?|got(?:\.\w{1,8})?|urlopen|Request"
    r"|(?:requests|httpx|session|client|http|https|ky|superagent)\.(?:post|put|patch|get|request)"
)
_REQUEST: Final = compiled(rf"\b(?:{_ASKS})\(")
_ADDRESS: Final = compiled(r"https?://[A-Za-z0-9\[][\w.:\]-]{2,200}")
_FUNCTION: Final = compiled(
    r"^[ \t]*(?:(?:export|default|async)[ \t]+){0,3}(?:def|function)[ \t]+(?P<name>\w{1,60})[ \t]*"
    r"\((?P<given>[^)\n]{1,240})\)",
    re.MULTILINE,
)
_PARAMETER: Final = compiled(r"(?:^|,)[ \t]*(?:\.\.\.|\*{1,2})?(?P<name>[A-Za-z_]\w{0,40})")
_IMPORTED: Final = compiled(
    r"^[ \t]*(?:from[ \t]+[\w.]+[ \t]+import[ \t]+(?P<names>[^\n]{1,200})|import[ \t]+(?P<module>[^\n]{1,200})"
    r"|(?:const|let|var)[ \t]+(?P<taken>[^=\n]{1,200})=[ \t]*require\()",
    re.MULTILINE,
)
_NAME: Final = compiled(r"[A-Za-z_]\w{0,60}")
_REPLACED: Final = compiled(
    r"^[ \t]*(?P<what>(?P<root>[A-Za-z_]\w{0,40})(?:\.\w{1,40}){1,4})[ \t]*=[ \t]*(?:(?:static|class)method\([ \t]*)?"
    r"(?:(?:async[ \t]+)?function\b[ \t]*\w{0,40}[ \t]*\((?P<given>[^)\n]{1,160})\)"
    r"|(?:async[ \t]*)?\((?P<taken>[^)\n]{1,160})\)[ \t]*=>|(?P<by>[A-Za-z_]\w{0,40})[ \t]*\)?[ \t]*;?[ \t]*$)",
    re.MULTILINE,
)
_LONGEST: Final = 100_000
_LONGEST_CALL: Final = 2_000
_MOST: Final = 40


def opens_wallets(text: str) -> bool:
    """False where `sent_keys` finds nothing in `text`."""
    return len(text) <= _LONGEST and _WALLET.search(text) is not None


def sent_keys(programs: Sequence[Segment]) -> Iterator[Taken]:
    """Every request of `programs` that takes what opens a wallet to a host that is written down."""
    senders: dict[str, tuple[bool, ...]] | None = None
    for segment in programs:
        text = segment.text
        reads = _keys(text) if opens_wallets(text) else None
        if reads is None:
            continue
        if senders is None:
            senders = dict(found for each in programs if len(each.text) <= _LONGEST for found in _senders(each.text))
        brought = {name: senders[name] for name in _brought(text).union(_own(text)) & senders.keys()}
        for start, end, statement, host in _sent(text, reads, brought):
            shown = " ".join(statement.split())[:200]
            yield segment.locate(start, end), shown, f"what opens a wallet goes to {host}"


def wrapped_functions(segment: Segment) -> Iterator[Taken]:
    """Every function of a library in whose place `segment` puts one that sends what it is given."""
    text = segment.text
    if len(text) > _LONGEST or not _REQUEST.search(text):
        return
    own = _own(text)
    brought = _brought(text)
    for found in islice(_REPLACED.finditer(text), _MOST):
        head = own.get(found["by"]) if found["by"] else found
        if found["root"] not in brought or head is None or not re.search(rf"=[ \t]*{re.escape(found['what'])}\b", text):
            continue
        parts = head.groupdict()
        given = _parameters(parts.get("given") or parts.get("taken") or "")
        body = body_below(text, head.start(), head.end())
        helpers = {name: sent for name, sent in _senders(text) if re.search(rf"\b{name}\b", body)}
        reads = re.compile(rf"\b(?:{'|'.join(given) or '(?!)'})\b")
        if any(_sent(body, reads, helpers, text)):
            message = f"{found['what']} is replaced by what sends what it is given"
            yield segment.locate(found.start("what"), found.end("what")), found[0].strip()[:200], message


def _keys(text: str) -> re.Pattern[str] | None:
    """A pattern of what opens a wallet in `text`, by the names that it has there; None for nothing."""
    names = {found["name"] for found in islice(_MADE.finditer(text), _MOST)}
    for kept in islice(_KEPT.finditer(text), _MOST):
        called = re.compile(rf"\b{kept['name']}(?:\.(?:call|apply))?\((?:this,[ \t]*)?(?P<name>[A-Za-z_]\w{{0,40}})\b")
        names |= {found["name"] for found in islice(called.finditer(text), _MOST)}
    names |= {found[0] for found in islice(_NAMED.finditer(text), _MOST)}
    new = sorted({found["name"] for found in islice(_NEW.finditer(text), _MOST)})
    ways = [rf"\b(?:{'|'.join(sorted(names))})\b(?![ \t]*\()"] if names else []
    if new:
        ways.append(rf"\b(?:bytes|str)\((?:{'|'.join(new)})\)|\b(?:{'|'.join(new)})\.(?:{_OUT})\b")
    return re.compile("|".join(ways)) if ways else None


def _sent(
    text: str, reads: re.Pattern[str], helpers: Mapping[str, tuple[bool, ...]], around: str = ""
) -> Iterator[tuple[int, int, str, str]]:
    """The statements of `text` that take what `reads` tells to a written-down host: from, to, the text and the host."""
    calls, started = "|".join([_ASKS, *sorted(helpers)]), "|".join(sorted(helpers)) or "(?!)"
    ends = re.compile(rf"\b(?:{calls})\(|\btarget[ \t]*=[ \t]*(?:{started})\b")
    given = names_given(around or text)
    for start, end, statement in followed(text, Asked(reads, ends, _ASIDE, given=False)):
        host = _taken_by(statement, ends, reads, helpers) or _host(statement, given)
        if host:
            yield start, end, statement, host


def _taken_by(
    statement: str, ends: re.Pattern[str], reads: re.Pattern[str], helpers: Mapping[str, tuple[bool, ...]]
) -> str:
    """What such a function does with what `statement` gives it, in words; empty where it is given something else."""
    for asked in ends.finditer(statement):
        started = asked[0].startswith("target")
        sent = helpers.get(re.sub(r"\Atarget[ \t]*=[ \t]*|\($", "", asked[0]))
        if sent is not None:
            parts = [statement[asked.end() :]] if started else _parts(statement[asked.end() :])
            pairs = zip(parts, (True,) if started else sent, strict=False)
            if any(goes and reads.search(_ASIDE.sub(" ", part)) for part, goes in pairs):
                return "a host that is written down"
    return ""


def _host(statement: str, given: dict[str, str]) -> str:
    """The host that a request of `statement` goes to, where it is written down and somebody else's."""
    found = _ADDRESS.search(with_given(statement, given)) if _REQUEST.search(statement) else None
    host = host_of(found[0]).name if found else ""
    return host if host and not is_near(host) else ""


def _own(text: str) -> dict[str, re.Match[str]]:
    return {found["name"]: found for found in _FUNCTION.finditer(text)}


def _parts(called: str) -> list[str]:
    """The arguments of a call, whose bracket is open."""
    depth, parts = 0, [""]
    for letter in called[:_LONGEST_CALL]:
        depth += (letter in "({[") - (letter in ")}]")
        if depth < 0:
            break
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _senders(text: str) -> Iterator[tuple[str, tuple[bool, ...]]]:
    """The functions of `text` that take what they are given to a host that is written down, and what of it."""
    if not _REQUEST.search(text):
        return
    for found in islice(_FUNCTION.finditer(text), _MOST):
        given = _parameters(found["given"])
        body = body_below(text, found.start(), found.end())
        if given and _REQUEST.search(body):
            inner = body[body.find("\n") + 1 :] if "\n" in body else body[found.end() - found.start() :]
            sent = tuple(any(_sent(inner, re.compile(rf"\b{name}\b"), {}, text)) for name in given)
            if any(sent):
                yield found["name"], sent


def _parameters(given: str) -> list[str]:
    return [found["name"] for found in _PARAMETER.finditer(given) if found["name"] not in {"self", "cls", "this"}]


def _brought(text: str) -> set[str]:
    """The names that come from other files and libraries."""
    lines = (found["names"] or found["module"] or found["taken"] for found in islice(_IMPORTED.finditer(text), 200))
    return {name for line in lines for name in _NAME.findall(line)}
