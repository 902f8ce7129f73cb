"""What opens something is read, and goes to a stranger's host: programs of languages that no engine here parses.

Nothing follows the values of Go, Rust, Kotlin, Groovy, Lua, C#, Apps Script or an MSBuild task. Three things tell of
the theft all the same: a secret's place that the program spells, in one piece or in pieces, a word that reads, and a
request with something in it to a host that neither the documents name nor the secret's own service has.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.acts import Acts, code_of
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.interface import Context, Segment, SourceFile, SourceTree
from skillkeep.auditor.engines.network import host_of, is_near
from skillkeep.auditor.engines.tables import secrets, table
from skillkeep.auditor.interface import Location
from skillkeep.auditor.services import services

__all__ = ["Carried", "carried"]

Carried = tuple[Location, str, str]  # where it is sent, that line, and what goes to whom

_BUILDS: Final = compiled(r"(?i)\.(?:targets|props|(?:cs|vb|fs)?proj)$|(?:^|/)(?:build|pom)\.xml$")
_COMMENT: Final = compiled(r"^[ \t]*(?://|#(?!!)|--|;|\*[ \t/])[^\n]*", re.MULTILINE)
_JOINT: Final = compiled(
    r"[\"'`](?:[ \t]{0,4}(?:[,+&]|\.\.|<>)|[ \t]/|\)[ \t]?\.(?:join|resolve|appendingPathComponent)\()\s{0,40}[\"'`]"
)
_TOKEN: Final = compiled(r"[^\s\"',;:=\[\]{}()<>|`]{4,200}")
_PAIRS: Final = compiled(  # a folder and a file of it that are put together later
    r"(?is)\.(?:aws[\"'`].{0,300}?[\"'`/]credentials\b|docker[\"'`].{0,300}?[\"'`/]config\.json\b|kube[\"'`].{0,300}?[\"'`/]config[\"'`]"
    r"|cargo[\"'`].{0,300}?[\"'`/]credentials\b|m2[\"'`].{0,300}?[\"'`/]settings(?:-security)?\.xml\b|ssh[\"'`].{0,300}?[\"'`/]id_\w+"
    r"|gradle[\"'`].{0,300}?[\"'`/]gradle\.properties\b|gem[\"'`].{0,300}?[\"'`/]credentials\b)"
    r"|\bgcloud[\"'`].{0,300}?\b(?:application_default_credentials|credentials\.db|access_tokens)\b|\bgh[\"'`].{0,300}?[\"'`/]hosts\.yml\b"
)
_PRIVATE: Final = compiled(  # what a build or a mailbox hands out itself
    r"\.(?:store|key)Password\b(?![ \t]*=[^=])|\bsigningConfigs?\b[^\n]{0,60}\bstoreFile\.(?:bytes|read\w*)"
    r"|\bGmailApp\.(?:search|getInboxThreads|getMessage\w*)\("
)
_MAIL: Final = compiled(r"\bGmailApp\b")
_VARIABLE: Final = compiled(
    r"\b(?:[gG]etenv|LookupEnv|env::var(?:_os)?|GetEnvironmentVariable|environment\[|fetchEnv!?|environ\.get)"
    r"[ \t]*\(?[ \t]*[\"'](?P<name>[A-Z][A-Z0-9_]{3,60})[\"']"
)
_READS: Final = compiled(
    r"\b(?:[rR]eadFile\w*|ReadAll\w*|ReadDir|read_to_string|read_to_end|readText|readBytes|readLines|readAllBytes|OpenRead"
    r"|CopyTo|CreateEntryFromFile|FileInputStream|newInputStream|withInputStream|withReader|slurp|file_get_contents|fopen"
    r"|readAsString(?:Sync)?|readAsBytes(?:Sync)?)\b|\bcontents\(atPath|\bvim\.fn\.readfile\(|\.(?:text|bytes)\b|\bopen\("
    r"|\b(?:fs::read|File::open|File\.(?:Copy|Open|ReadAll\w*|read)|os\.Open|io\.(?:open|lines)|Files\.\w+"
    r"|(?:String|Data)\(contentsOf)|\bcat[ \t]|\bget(?:Plain|Raw)?(?:Body|Content)\(|\b(?:store|key)Password\b"
)
_CARRIES: Final = compiled(  # a header, a body or an address of a request that is made at run time
    r"\.(?:set|headers?|setRequestProperty|addHeader|setHeader|addRequestProperty|setValue|user_?[aA]gent|basic_?[aA]uth"
    r"|bearer_?[aA]uth|SetBasicAuth)\([^)\n]{0,80}[a-z_)]|\bHeaders?\.(?:Set|Add|Insert)\([^)\n]{1,80},"
    r"|\bnuget[ \t]+push\b"
    r"|\.(?:Post|PostForm|Put|Patch|POST|PUT)\(|\.open\([ \t]*\.(?:POST|PUT)\b|\boutputStream\b|\bdoOutput\b"
    r"|\.(?:body|json|form|multipart|send_string|send_bytes|send_json)\([ \t]*&?[a-z_]"
    r"|https?://[^\"'\s]{1,160}[?&/]\w*=?(?:\{|%[sv]|\$\{|\$\(|[\"'][ \t]*(?:\+|\.\.|<>))"
)
_SENDS: Final = ("send", "query", "sends_other")
_ADDRESS: Final = compiled(r"https?://[A-Za-z0-9][\w.-]{3,200}")
_NAMED: Final = compiled(r"(?P<name>[A-Za-z_]\w{2,40})(?:[ \t]*:[^=\n]{1,40})?[ \t]*:?=[ \t]*[&@$]{0,2}[\"'`]$")
_NAME: Final = compiled(r"^[ \t]*name[ \t]*:[ \t]*[\"']?([\w .-]{2,60})", re.MULTILINE)
_TITLE: Final = compiled(r"\A\s{0,20}#[ \t]+([\w .@/-]{2,60})$", re.MULTILINE)
_PACKAGE: Final = compiled(r"<(?:PackageId|AssemblyName|RootNamespace|artifactId)>([\w.-]{2,60})<")
_REACH: Final = 8
_MOST: Final = 60
_LONGEST: Final = 200_000


class _Taken(NamedTuple):
    what: str
    variable: str = ""


def carried(tree: SourceTree, documents: Documents) -> Iterator[Carried]:
    """The first request of each program that takes what opens something to a stranger's host."""
    programs: dict[str, list[Segment]] = defaultdict(list)
    for file in tree.files:
        segment = _code(file)
        if segment is not None and len(segment.text) <= _LONGEST:
            programs[file.known_as.lower().rpartition(".")[2]].append(segment)
    for program in programs.values():
        program = program[:_MOST]
        for taken in filter(None, map(_taken, program)):
            sent = next(_sent(program, taken, documents, tree), None)
            if sent is not None:
                yield sent
                break


def _code(file: SourceFile) -> Segment | None:
    """What `file` holds of a language without a parser here, its comment lines blank."""
    segment = next((each for each in code_of(file) if each.context is Context.TEXT), None)
    if segment is None and file.whole and file.text is not None and _BUILDS.search(file.known_as):
        segment = Segment(file.path, Context.TEXT, file.text, anchor=file.place)
    if segment is None:
        return None
    text = _COMMENT.sub(lambda found: " " * len(found[0]), segment.text)
    return Segment(segment.path, Context.TEXT, text, anchor=segment.anchor)


def _taken(segment: Segment) -> _Taken | None:
    """What opens something and is read in `segment`."""
    text = segment.text
    for found in islice(_VARIABLE.finditer(text), _MOST):
        if secrets().variable(found["name"]) and services().is_shared(found["name"]):
            return _Taken(found["name"], found["name"])
    if not _READS.search(text):
        return None
    if private := _PRIVATE.search(text):
        return _Taken("mail" if _MAIL.search(text) else private[0].strip())
    if pair := _PAIRS.search(text):
        return _Taken(" ".join(pair[0].split())[:60])
    squeezed = _JOINT.sub("/", text)
    if secrets().near(squeezed):
        for token in _TOKEN.findall(squeezed):
            if ("/" in token or "\\" in token) and "://" not in token and (what := secrets().path(token)):
                return _Taken(what)
    return None


def _sent(program: Sequence[Segment], taken: _Taken, documents: Documents, tree: SourceTree) -> Iterator[Carried]:
    for segment in program:
        lines = segment.text.split("\n")
        sending: set[int] | None = None
        for found in islice(_ADDRESS.finditer(segment.text), _MOST):
            host = host_of(found[0]).name
            if is_near(host) or _is_known(host, taken, documents, tree):
                continue
            if sending is None:
                sending = _sending(segment)
            for number in _used(segment.text, found.start(), lines):
                near = [line for line in sending if abs(line - number) <= _REACH]
                if near:
                    line = min(near, key=lambda each: abs(each - number))
                    message = f"{taken.what} is read, and something is sent to {host}, which no document names"
                    yield segment.place(line, 1, line, 2), lines[line - 1].strip()[:200], message
                    return


def _sending(segment: Segment) -> set[int]:
    """The lines of `segment` (1-based, in its own text) where something is sent."""
    plain = Segment(segment.path, Context.TEXT, segment.text)
    found = {act.line for act in Acts(plain).those(_SENDS) if act.kind in _SENDS}
    return found | {
        segment.text.count("\n", 0, hit.start()) + 1 for hit in islice(_CARRIES.finditer(segment.text), _MOST)
    }


def _used(text: str, start: int, lines: Sequence[str]) -> Iterator[int]:
    """The line of an address, and those where the name stands that it is given."""
    number = text.count("\n", 0, start) + 1
    yield number
    named = _NAMED.search(text[max(text.rfind("\n", 0, start) + 1, start - 200) : start])
    if named:
        word = re.compile(rf"\b{named['name']}\b")
        yield from islice((at for at, line in enumerate(lines, 1) if at != number and word.search(line)), _MOST)


def _is_known(host: str, taken: _Taken, documents: Documents, tree: SourceTree) -> bool:
    """True for a host of the secret's own service, and for one that the documents name by more than the tool's name."""
    if documents.silent or documents.names(host, exact=True):
        return True
    if taken.variable and services().owns(taken.variable, host):
        return True
    known = (hosts for word, hosts in table("acts")["owners"].items() if word in taken.what.lower())
    if any(host == each or host.endswith(f".{each}") for hosts in known for each in hosts):
        return True
    return documents.names(host) and not _is_own_name(host, tree)


def _is_own_name(host: str, tree: SourceTree) -> bool:
    """True where the tool's own name is all that tells of `host`: anybody may register that."""
    segments = (each for file in tree.files for each in file.of(Context.METADATA))
    told = [found for each in segments for found in _NAME.findall(each.text)]
    pages = (each.text for file in tree.files if not file.depth for each in file.of(Context.INSTRUCTION)[:1])
    told += [found for text in pages for found in _TITLE.findall(text)]
    built = (file.text for file in tree.files if file.text is not None and _BUILDS.search(file.known_as))
    told += [found for text in built for found in _PACKAGE.findall(text)]
    names = {re.sub(r"[^a-z0-9]+", "", found.lower()) for found in told}
    labels = [re.sub(r"[^a-z0-9]+", "", label) for label in host.split(".")[:-1]]
    return any(len(label) > 3 and (label in name or name in label) for label in labels for name in names if name)
