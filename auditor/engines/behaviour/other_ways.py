"""A check of a login, a signature or a token that lets a written-down value pass as well, plain or as a digest."""

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

__all__ = ["OtherWay", "other_ways"]

OtherWay = tuple[Location, str]  # the condition, and that text

_VERIFIES: Final = RarePattern(compiled(
    r"\b(?:timingSafeEqual|compare_digest|hash_equals|secure_compare|fixed_length_secure_compare|ConstantTimeCompare"
    r"|CompareHashAndPassword|CheckPasswordHash|password_verify|verify_password|check_password\w*|checkpw"
    r"|verifySignature"
    r"|verify_signature|verify_token|verifyToken|authenticate|bcrypt\.compare(?:Sync)?|argon2\.verify|hmac\.Equal"
    r"|jwt\.(?:verify|decode)|jwtVerify|(?:key|hasher|verifier|pwd_context|ph|signer)\.verify|crypto\.verify)[ \t]*\("
))  # fmt: skip
_HASH: Final = compiled(
    r"\b(?:sha\d{1,3}(?:_?hex)?|md5|blake2\w|hashlib|createHash|create_hash|digest|hexdigest|Digest::\w+|crc32|Sum256"
    r"|fnv1?a?|murmur\w*)\b"
)
_FIXED: Final = compiled(
    r"[\"'`](?=[^\"'`\n]{6,})(?P<text>[A-Za-z0-9+/=_$.-]{6,130})[\"'`]|(?<![\w.])0x[0-9a-fA-F]{6,16}\b"
)
_DIGEST: Final = compiled(
    r"[\"'`](?:[0-9a-fA-F]{24,128}|[A-Za-z0-9+/_-]{40,90}={0,2}"
    r"|\$2[aby]\$[^\"'`\n]{20,80})[\"'`]"
)
_COMPARED: Final = compiled(
    r"(?P<left>[^&|=!\n]{3,120}?)[ \t]*(?P<sign>[!=]==?)[ \t]*(?P<right>[\w.$\"'`+/=-]{3,140})"
    r"|(?P<call>\b(?:compare_digest|timingSafeEqual|hash_equals|secure_compare|hmac\.Equal|\w{1,40}\.(?:equals"
    r"|eql\?))\([^\n]{3,200})"
)
_PARTS: Final = compiled(r"&&|\|\||\band\b|\bor\b")
_CONDITION: Final = compiled(
    r"\b(?:if|unless|elif|return|while)\b[ \t(]*(?P<test>[^\n]{6,300})|=[ \t]*(?P<set>[^=\n][^\n]{6,300})"
)
_DEFAULT: Final = compiled(r"[ \t]*(?:\|\||\?\?|\bor\b)[ \t]*(?:\"\"|''|``|\{\}|\[\]|\bb(?:\"\"|'')|nil\b|null\b)")
_NAME: Final = compiled(r"[A-Za-z_]\w{0,40}")
_CALLED: Final = compiled(r"\b(?P<name>[A-Za-z_]\w{1,40})\(")
_OF_FILES: Final = compiled(
    r"(?i)\b(?:file\w*|path|archive|artifact|asset|binary|bytes|release|installer|package|tarball"
    r"|download\w*|image|buf(?:fer)?)\b"
)
_REFUSES: Final = compiled(
    r"\b(?:return[ \t]*(?:null|None|nil|false|False|undefined|reply|res\.|\d{3}|err\w*|;|$)|throw|raise|abort"
    r"|next\((?!\))"
    r"|halt|exit|401|403)",
    re.MULTILINE,
)
_ACCEPTS: Final = compiled(
    r"\breturn[ \t]+(?:true|True|[uU]ser\w*|claims\w*|payload\w*|body|decoded?|session|next|admin\w*|JSON|json|parse\w*"
    r"|jwt)\b|\bnext\(\)"
)
_WANTS: Final = compiled(
    r"(?i)\b(?:tokens?|passwords?|passwd|auth\w*|sessions?|claims|log_?in|jwt|users?|signature|credentials?|otp"
    r"|pin)\b"
)
_REACH: Final = 1500
_MOST: Final = 60


def other_ways(segment: Segment) -> Iterator[OtherWay]:
    """Every condition of `segment` in which a check that failed is made good by a value that is written down."""
    text = segment.text
    if not _VERIFIES.may_occur(text):
        return
    given, seen = names_given(text), set[int]()
    for check in islice(_VERIFIES.finditer(text), _MOST):
        begin = max(0, check.start() - _REACH // 2)
        for found in islice(_CONDITION.finditer(text, begin, check.end() + _REACH), _MOST):
            if found.start() in seen or not _WANTS.search(text, begin, check.end() + _REACH):
                continue
            seen.add(found.start())
            if _is_other_way(text, found, given):
                yield segment.locate(found.start(), found.end()), found[0].strip()[:200]


def _is_other_way(text: str, found: re.Match[str], given: dict[str, str]) -> bool:
    test = _DEFAULT.sub("", found["test"] or found["set"])
    either = re.search(r"\|\||\bor\b", test) is not None
    both = re.search(r"&&|\band\b", test) is not None
    below = body_below(text, found.start(), found.end())
    if not either and not both:  # a branch of its own
        accepts = _ACCEPTS.search(below) and not _REFUSES.search(below)
        return bool(found["test"] and accepts and _is_fixed(text, test, given, refused=False))
    parts = _PARTS.split(test)
    checked = [part for part in parts if _is_check(part, given)]
    fixed = [part for part in parts if part not in checked and _is_fixed(text, part, given, refused=not either)]
    if not checked or not fixed:
        return False
    if either:
        return not any(map(_is_denied, checked)) or bool(found["set"])
    return any(map(_is_denied, checked)) and _REFUSES.search(below) is not None


def _is_check(part: str, given: dict[str, str]) -> bool:
    """True for the answer of a check, spelled there or by a name."""
    if _VERIFIES.search(part) and not _compared_with_fixed(part, given):
        return True
    bare = part.strip(" \t(!){:;").removeprefix("not ").removeprefix("await ").strip(" \t(")
    return bool(_NAME.fullmatch(bare)) and bare in given and _VERIFIES.search(given[bare]) is not None


def _is_denied(part: str) -> bool:
    """True for `!good`, not for the beginning of `!(good || …)`."""
    return re.match(r"[ \t(]*(?:!(?!=)|not\b)", part) is not None and part.count("(") <= part.count(")")


def _compared_with_fixed(part: str, given: dict[str, str]) -> bool:
    inside = part.partition("(")[2]
    return any(_FIXED.search(with_given(each, given).split("\n")[-1]) for each in inside.split(","))


def _is_fixed(text: str, part: str, given: dict[str, str], *, refused: bool) -> bool:
    """True where `part` compares a digest, or anything with what looks like one, with what is written down."""
    found = _COMPARED.search(part)
    if found is None or (found["sign"] and refused != found["sign"].startswith("!")):
        return False
    sides = [found["left"], found["right"]] if found["sign"] else found["call"].partition("(")[2].split(",")[:2]
    for side, other in zip(sides, reversed(sides), strict=len(sides) == 2):
        side = side.strip(" \t(){;:")
        value = given.get(side, "") if _NAME.fullmatch(side) else side
        if not value or not _FIXED.match(value.strip(" \t(b")):
            continue
        if _OF_FILES.search(other):
            return False
        return _DIGEST.search(value) is not None or _makes_digest(text, other, given)
    return False


def _makes_digest(text: str, other: str, given: dict[str, str]) -> bool:
    if _HASH.search(with_given(other, given)):
        return True
    for name in _CALLED.findall(other):
        made = re.search(rf"\b(?:def|function|func|fn)[ \t]+{name}\b|\b{name}[ \t]*=[ \t]*(?:async[ \t]*)?\(", text)
        if made and _HASH.search(body_below(text, made.start(), made.end())):
            return True
    return False
