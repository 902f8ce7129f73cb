"""Data that leaves in the names a program looks up: text in letters that names allow, as labels of a name.

Told by spelling, so that it holds for every language. What a look-up is given is followed back through names, default
arguments, parameters to what the callers give, and into the functions whose answers it is made of, in any file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.behaviour.given import body_below
from skillkeep.auditor.engines.interface import Segment
from skillkeep.auditor.interface import Location
from skillkeep.auditor.patterns import RarePattern

__all__ = ["LookedUp", "looked_up", "looks_up"]

LookedUp = tuple[Location, str, str]  # where, that line, and what is in the name

_WORDS: Final = RarePattern(compiled(  # of which every look-up has one: told in a fiftieth of the time
    r"gethostby|getaddrinfo|GetHostAddresses|GetHostEntry|dns_get_record|checkdnsrr|res_query|res_nquery|getByName"
    r"|make_query|lookup_host|lookup_ip|inet_aton|getaddress|to_socket_addrs|net\.Lookup|dns\.resolve|dns\.lookup"
    r"|romises\.lookup|romises\.resolve|esolver|aiodns|dns'|dns\"|dns/promises|dns`|[rR]esolve-[dD]ns[nN]ame"
    r"|RESOLVE-DNS"
    r"|nslookup|ping -|ping \"|ping \$|ping\"|ping'|ping6|dig |dig\"|dig'|drill |drill\"|drill'|getent |host \"\$"
    r"|host \$|host\"|host'|host\.exe|host -"
    r"|Resolv\.|Resolv::"
    r"|dns\.google|cloudflare-dns|dns-query\?|/resolve\?name="
))  # fmt: skip
_LOOKS_UP: Final = compiled(
    r"\b(?:gethostby\w+|getaddrinfo|GetHostAddresses\w*|GetHostEntry\w*|dns_get_record|checkdnsrr|res_n?query|getByName"
    r"|make_query|lookup_host|lookup_ip|inet_aton|getaddress|gethostbyname_ex|to_socket_addrs)[ \t]*\("
    r"|\b(?:dns(?:Promises|\.promises)?|[rR]esolver|resolver\(\)|Resolver\(\)|resolver\.default_resolver|aiodns|r|net"
    r"|Resolv|Resolv::DNS(?:\.new)?)"
    r"\.(?:resolve\w{0,6}|lookup\w{0,8}|query|Lookup[A-Z]\w{1,6}|getresources?|getaddress(?:es)?|each_address)[ \t]*\("
    r"|(?<![\w.])(?:lookup|resolve(?:4|6|Any|Cname|Mx|Ns|Txt|Srv|Naptr|Ptr|Soa|Caa))\("
    r"|(?i:\bResolve-DnsName\b)|(?<![\w.-])(?:dig|nslookup|drill|kdig|ping6?|host"
    r"|getent[ \t]+\w{0,2}hosts)(?:\.exe)?[\"']?[ \t,][^\n]{0,160}?[$#{+\[]"
    r"|\bdns\.google\b|\bcloudflare-dns\.com\b|/dns-query\?|/resolve\?name="
)
_BARE: Final = compiled(r"\A(?:lookup|resolve\w*)\(")
_MODULE: Final = compiled(r"[\"'](?:node:)?dns(?:/promises)?[\"']")
_ENCODED: Final = compiled(  # what text can be made of again; a digest is none
    r"\bhexlify\b|\.hex\(|\bb(?:16|32|32hex|64|85)encode\b|\burlsafe_b64encode\b|\bbytesToHex\b|\bb58encode\b|\bbtoa\("
    r"|\.toString\([ \t]*[\"'](?:hex|base64|base64url)[\"']|(?i:\bbase32\w{0,8}\.(?:stringify|encode)\w*\("
    r"|\bbase32encode\w*\()"
    r"|\.toString\([ \t]*(?:16|32|36)[ \t]*\)|\bxxd[ \t]+-\w{0,3}p|\bbasenc\b|\bbase(?:32|64)\b(?!\.[a-z])(?![^\n"
    r"|]{0,20}[ \t](?:-d\b|-D\b|--decode))"
    r"|\bhexdump\b|\b(?:formatHex|encodeHexString|printHexBinary)\(|\bod[ \t]+-\w{0,3}[tx]|\bunpack1?[( ][\"'][Hm]"
    r"|\.encode(?:Hex|To\w{3,8}|ToString)\("
    r"|\bEncodeToString\("
    r"|\bToBase(?:32|64)String\b|\bToHexString\b|\bBitConverter\b|\bbin2hex\(|\bbase64_encode\(|\bFormat-Hex\b"
    r"|\bhex::encode\b"
    r"|[\"'`{]0?[:%]?0?2[xX][\"'`}]|\{0:x2\}|\.ToString\([\"'][xX]2"
)
_NOBODYS: Final = compiled(  # what is made of nothing that is kept here, or of a number of the network
    r"(?i)\b(?:urandom|token_(?:hex|bytes|urlsafe)|random\w*|rand_?bytes|uuid\w*|nonce|digest|hexdigest|sha\d+\w*"
    r"|md5\w*|blake\w+"
    r"|create_?(?:hash|hmac)|hmac\.(?:new|digest)|ip_?address\w*|inet_pton|packed|ipv6\w*|Math)\b"
)
_OPERAND: Final = compiled(  # what is encoded, where it is one name or one text
    r"(?:encode|hexlify|EncodeToString|btoa|bin2hex|Buffer\.from)\([ \t]*"
    r"(?:(?P<text>(?![\"'](?i:utf|ascii|latin|idna))[bru]?(?:\"[^\"{$\n]*\""
    r"|'[^'{$\n]*'))"
    r"|(?P<given>[A-Za-z_]\w{0,40})(?:\.encode\([^()\n]{0,20}\))?)[ \t]*[,)]"
    r"|(?<![\w.])(?P<whose>[A-Za-z_]\w{0,40})(?:\.encode\([^()\n]{0,20}\))?\.(?:hex|toString)\("
)
_OPENED: Final = compiled(r"\([ \t]*\n[ \t]*")  # a call whose arguments begin on the next line
_LITERAL: Final = compiled(r"[(]?[bru]?(?:\"[^\"{$\n]*\"|'[^'{$\n]*')[)]?(?:[ \t]*\*[ \t]*\d+)?[ \t]*;?[ \t]*")
_APART: Final = compiled(r"[;=,#]|//")
_NEAR: Final = 80
_CUT: Final = compiled(
    r"\[[^\]\[\n]{0,40}:[^\]\[\n]{0,40}\]|\.(?:slice|substr|substring|Substring|each_slice|chunks|scan|match(?:All)?)\("
    r"|\b(?:chunked|batched|wrap|chunk|chunks|split_every|str_split|chunk_split|wordwrap)\(|\bfold[ \t]+-"
    r"|\bsplit[ \t]+-|\{1,\d\d\}|\bcut[ \t]+-c"
    r"|\$\{\w+:[^}\n]{1,30}\}|\.\{\d\d\}"
)
_ZONE: Final = compiled(  # a name by which somebody answers, as a text or as the end of one; no file's and no address's
    r"(?<![/@\w-])(?<!\w[.])(?:[\w-]{1,63}\.){1,6}(?!(?:txt|json|jsonl|ya?ml|toml|md|csv|tsv|log|ini|cfg|conf|env|pem"
    r"|key|dat|bin|db|html?|xml"
    r"|py|[cm]?[jt]s|sh|rb|go|rs|php|local|lan|internal|localdomain|arpa|hex|encode|decode|join|strip|lower|replace"
    r"|format|read|slice|length)\b)"
    r"[a-zA-Z][a-zA-Z-]{1,18}(?=[\"'`\s),;.:&?]|$)"
)
_TEXT: Final = compiled(
    r"\"[^\"\n]{0,400}\"|'[^'\n]{0,400}'|`[^`\n]{1,400}`|(?:^|[ \t])[^\s\"'`]{0,80}\$[\w{(][^\s\"'`]{0,200}"
)
_PLACEHOLDER: Final = compiled(r"\$?\{[^}]{0,80}\}|%[sd]|\$\([^)]{0,200}\)|\$\w+|#\{[^}]{0,80}\}")
_OWNER: Final = compiled(
    r"\bplatform\.node\(|\bgethostname\(|\bgetuser\(|\bgetlogin\b|\bos\.(?:hostname|userInfo)\(|\$\(?(?:hostname"
    r"|whoami)\b|\$HOSTNAME\b|\$USER\b"
    r"|(?i:\$env:(?:COMPUTERNAME|USERNAME))|\bEnvironment\.(?:MachineName|UserName)\b|\bos\.Hostname\("
    r"|\b(?:environ(?:\.get\(|\[)|process\.env[.\[]|getenv\(|ENV\[|ENV\.fetch\()[\"']?\w{0,40}(?:TOKEN|KEY|SECRET"
    r"|PASSWORD)"
)
_SET: Final = compiled(
    r"(?<![\w.$@=!<>-])(?:(?:self|this)\.|@|\$(?:script:|global:)?)?(?P<name>[A-Za-z_]\w{0,40})"
    r"(?:[ \t]*:[ \t]*[\w\[\], .|]{1,40}?)?(?:[ \t]*[+|&?]{0,2}:?=(?![=>])[ \t]*|[ \t]+(?:in|of)[ \t]+"
    r"|[\"']?[ \t]*:[ \t]*(?=[\"'`]))"
    r"(?P<value>[^\n]{1,300})"
)
_READ: Final = compiled(  # names that stand for one after another of what stands before
    r"\bread[ \t]+(?:-\w+[ \t]+){0,3}(?P<name>\w{1,40})|\|[ \t]*(?:%|ForEach-Object\b|xargs\b)"
    r"|(?:\bdo|\{)[ \t]*\|[ \t]*(?P<block>\w{1,40})|\.(?:forEach|map"
    r"|flatMap)\([ \t]*(?:async[ \t]*)?\(?(?P<arrow>\w{1,40})"
    r"|[ \t]as[ \t]+\$(?P<each>\w{1,40})"
)
_DONE: Final = compiled(r"\bdone[ \t]*<[^\n]{1,300}")
_FUNCTION: Final = compiled(
    r"(?:\bdef[ \t]+(?:self\.)?|\bfunction[ \t]+|\bfunc[ \t]+(?:\([^)\n]{0,40}\)[ \t]*)?|\bfn[ \t]+|\bsub[ \t]+"
    r"|\b(?:const|let|var)[ \t]+(?=\w{1,40}[ \t]*=[ \t]*(?:async[ \t]*)?(?:\(|\w{1,40}[ \t]*=>))"
    r"|^[ \t]*(?:async[ \t]+|static[ \t]+|private[ \t]+"
    r"|public[ \t]+)*(?=[\w-]{1,40}[ \t]*\([^()\n]{0,200}\)[^\n;=]{0,60}\{)|^[ \t]*(?=\w{1,40}\(\)))"
    r"(?P<name>[A-Za-z_][\w-]{0,60})[ \t]*(?:=[ \t]*(?:async[ \t]*)?)?\(?(?P<given>[^()\n=]{0,10}(?:[^()\n]"
    r"|\([^()\n]{0,60}\)){0,240})",
    re.MULTILINE,
)
_BEHIND: Final = "to_socket_addrs"  # is asked of what stands before it
_KEYWORDS: Final = frozenset({"if", "for", "while", "switch", "catch", "return", "function", "else", "do", "with"})
_COMMENT: Final = compiled(r"^[ \t]*(?:#(?!!)|//|\*[ \t/])[^\n]*", re.MULTILINE)
_WORD: Final = compiled(r"[A-Za-z_]\w{0,40}")
_HOST_OF: Final = compiled(r"\burlparse\(|\burlsplit\(|\bnew URL\(|\bURI(?:\.parse)?\(|\.hostname\b")
_MOST: Final = 24
_PROGRAMS: Final = 200
_LONGEST: Final = 200_000
_CALL: Final = 300
_DEPTH: Final = 3


def looks_up(text: str) -> bool:
    """False where `looked_up` finds nothing that begins in `text`."""
    return _WORDS.may_occur(text) and _LOOKS_UP.search(text) is not None


def looked_up(programs: Sequence[Segment], documents: Documents) -> Iterator[LookedUp]:
    """The first look-up of each of `programs` whose name carries what is at hand."""
    texts = [_Text(each) for each in programs if len(each.text) <= _LONGEST][:_PROGRAMS]
    for text in texts:
        for start, end in islice(text.look_ups(), _MOST):
            what = _told(_Followed(texts).all(text, start, end), texts, documents)
            if what:
                yield text.segment.locate(start, end), text.text[start:end].split("\n")[0].strip()[:200], what
                break


def _told(parts: Sequence[str], texts: Sequence[_Text], documents: Documents) -> str:
    """What the name carries that is made of `parts`, of which the first is spelled at the look-up; else nothing."""
    zone = next(filter(None, map(_zone, parts)), "")
    encoded = any(_carries(each, texts) for each in parts)
    if encoded and (zone or any(map(_CUT.search, parts))):
        return f"text in letters of a name is looked up{' below ' + zone if zone else ''}"
    owner = next((found[0] for each in parts if (found := _OWNER.search(each))), "")
    if owner and zone and not documents.names(zone):
        return f"{owner.strip('(')} is looked up below {zone}, which no document names"
    return ""


def _carries(part: str, texts: Sequence[_Text]) -> bool:
    """True where something is encoded in `part` that is neither nobody's nor written down in the program."""
    whole = _OPENED.sub("(", part)
    lines = [
        line for line in whole.split("\n") if any(not _is_nobodys(line, found) for found in _ENCODED.finditer(line))
    ]
    return any(not _is_written_down(_OPERAND.search(line), texts) for line in lines)


def _is_nobodys(line: str, encoded: re.Match[str]) -> bool:
    """True where what is encoded tells of chance, a digest or a number of the network; other words do not count."""
    before = _APART.split(line[max(0, encoded.start() - _NEAR) : encoded.start()])[-1]
    inside = line[encoded.end() : encoded.end() + _NEAR]
    behind = inside if encoded[0].endswith("(") else inside.partition("(")[2] if inside.startswith("(") else ""
    return _NOBODYS.search(before) is not None or _NOBODYS.search(_APART.split(behind)[0]) is not None


def _is_written_down(found: re.Match[str] | None, texts: Sequence[_Text]) -> bool:
    if found is None or found["text"]:
        return found is not None
    name = found["given"] or found["whose"]
    told = [each.given[name] for each in texts if name in each.given]
    passed = any(re.search(rf"\b{name}\b", given) for each in texts for _, given, _ in each.functions.values())
    return bool(told) and not passed and all(map(_LITERAL.fullmatch, (value for values in told for value in values)))


def _zone(part: str) -> str:
    """The name below which is looked up, where a text of `part` spells one."""
    for text in islice(_TEXT.finditer(part), _MOST):
        if "://" not in text[0] and (found := _ZONE.search(_PLACEHOLDER.sub("x ", text[0]).replace("x .", "\n"))):
            return found[0]
    return ""


class _Text:
    """One program: what its names are set to, and its functions."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.text = _COMMENT.sub(lambda found: " " * len(found[0]), segment.text)

    def look_ups(self) -> Iterator[tuple[int, int]]:
        """Where a name is looked up, to the end of the line, or of the call where it goes on."""
        for found in _LOOKS_UP.finditer(self.text):
            if _BARE.match(found[0]) and not self._has_module:
                continue
            end = self.text.find("\n", found.end())
            end = len(self.text) if end < 0 else end
            if self.text.count("(", found.start(), end) > self.text.count(")", found.start(), end):
                end = min(len(self.text), end + _CALL)
            start = found.start()
            if found[0].startswith(_BEHIND):
                start = max(self.text.rfind("\n", 0, start) + 1, start - _CALL)
            yield start, min(end, found.start() + 2 * _CALL)

    @cached_property
    def _has_module(self) -> bool:
        return _MODULE.search(self.text) is not None

    @cached_property
    def given(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {}
        for found in _SET.finditer(self.text):
            names.setdefault(found["name"], []).append(found["value"])
        for found in islice(_READ.finditer(self.text), _MOST):
            name = found[found.lastgroup] if found.lastgroup else "_"
            names.setdefault(name, []).append(self.text[max(0, found.start() - _CALL) : found.start()])
            if done := _DONE.search(self.text, found.end()):
                names[name].append(done[0])
        return names

    @cached_property
    def functions(self) -> dict[str, tuple[int, str, str]]:
        """By name: where it begins, its parameters, and its lines."""
        return {
            found["name"]: (found.start(), found["given"], body_below(self.text, found.start(), found.end()))
            for found in islice(_FUNCTION.finditer(self.text), 200)
            if found["name"] not in _KEYWORDS
        }

    def around(self, at: int) -> tuple[str, str]:
        """The name and the parameters of the innermost function that `at` stands in."""
        inner = [
            (start, name, given)
            for name, (start, given, body) in self.functions.items()
            if start <= at <= start + len(body)
        ]
        _, name, given = max(inner, default=(0, "", ""))
        return name, given


class _Followed:
    """What goes into a look-up."""

    def __init__(self, texts: Sequence[_Text]) -> None:
        self._texts = texts
        self._known: set[tuple[int, str]] = set()

    def all(self, text: _Text, start: int, end: int) -> list[str]:
        return [text.text[start:end], *self._behind(text, text.text[start:end], start, _DEPTH)]

    def _behind(self, text: _Text, expression: str, at: int, depth: int) -> Iterator[str]:
        name, parameters = text.around(at)
        passed = set(_WORD.findall(parameters)) | ({"args", "argv"} if name else set())
        asked = set(_WORD.findall(expression))
        if name and depth and (asked & passed or re.search(r"\$[@*{\d]", expression)):
            yield parameters
            yield from self._callers(name, depth - 1)
        if _HOST_OF.search(expression) and "." not in expression.split("(")[0]:
            return
        for word in asked:
            if (id(text), word) in self._known or len(self._known) > 200:
                continue
            self._known.add((id(text), word))
            values = text.given.get(word, [])[:4]
            if not values and word.isupper():
                values = next((each.given[word][:2] for each in self._texts if word in each.given), [])
            for value in values:
                yield value
                if not _HOST_OF.search(value):
                    yield from self._behind(text, value, at, depth)
            made = next((each.functions[word] for each in (text, *self._texts) if word in each.functions), None)
            if made and made[0] != text.functions.get(name, (-1,))[0]:
                yield made[2][:1500]

    def _callers(self, name: str, depth: int) -> Iterator[str]:
        call = re.compile(rf"(?<![\w-]){re.escape(name)}(?:[ \t]*\(|[ \t]+[\"'$]|[ \t]+-\w)[^\n]{{0,300}}")
        for text in self._texts:
            defined = text.functions.get(name, (-1, "", ""))[0]
            for found in islice(call.finditer(text.text), 8):
                if not defined <= found.start() <= defined + len(name) + 60 or defined < 0:
                    yield found[0]
                    before = text.text[max(0, found.start() - _CALL) : found.start()]
                    if re.search(r"\|\s*(?:while\b[^\n]*\n?[^\n]*|xargs[^\n]*)\Z", before):
                        yield before
                    yield from self._behind(text, found[0], found.start(), depth)
