"""Attacks that a page shows so that they are recognised, from FAIL to WARN: they are shown to the reader, too.

A heading proves nothing: whoever writes an attack writes its heading. So each kind of passage needs two marks of its
own that say what it is, and beside them it has to be of no use to an attacker: it names no host but one that stands
for him in documents, and each finding in it is an order that needs such a host, or one that only drops rules. A page
that sends its reader to its examples, or says which host to put in, shows none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from skillkeep.auditor.engines.table_rows import is_shown_row
from skillkeep.auditor.interface import Finding, Severity
from skillkeep.auditor.lazily import lazily
from skillkeep.auditor.placeholders import is_harmless_command, names_placeholder, reaches_nobody

__all__ = ["shown_attacks"]

_OVERRIDES: Final = frozenset(
    {"prose-override", "prose-hidden-order", "hijack-new-goal", "intent-override", "intent-doubtful", "intent-learned"}
)
_SENDS: Final = frozenset(
    {"hijack-upload-all", "hijack-copy-address", "hijack-template-address", "prose-send-secrets", "intent-send-private"}
)
_COMMANDS: Final = frozenset({"shell-download-execution", "shell-reverse-shell"})
_NAMES: Final = frozenset({"tree-disguised-name"})
_ORDERS: Final = _OVERRIDES | _SENDS
_PAGES: Final = (".md", ".mdx", ".markdown", ".txt")
_MAIN: Final = "SKILL.md"
_MOST: Final = 60
_LONGEST: Final = 600
_MOST_LINES: Final = 12
_ABOVE: Final = 4
_FENCE: Final = lazily(r"[ \t]*(?P<mark>`{3,}|~{3,})[^`]*")
_HEADING: Final = lazily(r" {0,3}#{1,6}[ \t]+(?P<words>.*)")
_ATTACK: Final = lazily(  # the name of a class of attacks
    r"(?i)\b(?:(?:prompt|instruction|markdown|image|command)[ -](?:\w+[ -])?injections?|injections?|jailbreak\w*"
    r"|(?:data |\w+ )?exfiltration|hijacking|phishing|social engineering|attacks?|threats?|malicious|backdoors?"
    r"|reverse shells?|credential (?:theft|harvesting)|supply[- ]chain|poisoning|tampering"
    r"|(?:instruction|role) override)\b|注入|攻击|威胁|恶意|越狱|劫持|指令覆盖|可疑"
)
_LEAD: Final = lazily(r"(?i)[ \t]*\*\*(?:attack|threat|risk|malicious(?: \w+)?|what it looks like)(?::\*\*|\*\*:)")
_OUTCOME: Final = lazily(
    r"(?i)[ \t]*\*\*(?:defen[cs]e|mitigations?|detection|verdict|prevention|protection|countermeasures?|remediation"
    r"|how to (?:detect|prevent|defend)[^*\n]{0,40})(?::\*\*|\*\*:)"
)
_ITEM: Final = lazily(
    r"[ \t]*(?:[-*+•]|\d{1,2}[.)])[ \t]+(?:\*\*)?(?P<label>[^:：*`\n]{3,60}?)(?:\*\*)?[ \t]*[:：]"
    r"(?:\*\*)?[ \t]*(?P<rest>\S.*)"
)
_CODE: Final = lazily(r"`[^`\n]{1,160}`|\"[^\"\n]{1,160}\"")
_PHRASES: Final = lazily(r"[\w' -]{3,40}(?:, ?[\w' -]{3,40}){1,5}")
_ROW: Final = lazily(r"[ \t]*\|.*\|[ \t]*")
_BETWEEN: Final = lazily(r"(?<!\\)\|")
_JUDGED: Final = lazily(r"(?i)[\W_]*(?:(?:default )?(?:policy|action)|verdict|severity|decision|outcome)[\W_]*")
_CALLED: Final = lazily(r"[ \t]*`?(?:\w+ )?(?P<mark>[\"']?)(?P<command>.*?)(?P=mark)`?[ \t]*")
_REPORTED: Final = lazily(
    r"(?i)[ \t]*(?:\d{1,2}[.)]|[-*•])?[ \t]*(?:\[(?:critical|high|medium|高危|严重|危险)\]|[🚨🔴])"
    r"(?P<words>[^\n]*)[:：][ \t]*(?P<command>(?:(?:ba)?sh|nc|ncat|curl|wget) [^\n]*)"
)
_SUSPECT: Final = lazily(r"(?i)\b(?:suspicious|malicious|detected)\b|可疑|恶意")
_PROCESS: Final = lazily(r"(?i)\bPID \d{1,7}\b")
_MEMBER: Final = lazily(r"\"(?:text|body|body_clean|content|input|prompt|message)\"[ \t]*:[ \t]*\"[^\"\\\n]{1,120}\"")
_GUARDED: Final = lazily(  # what a guard is asked, and what it answers
    r"(?i)\|[ \t]*(?:python3?|node)[ \t]+[\w./-]*(?:sanitiz|scan|guard|detect|filter)\w*"
    r"|\"(?:checks|flags)\"[ \t]*:[ \t]*\[[^\]]*injection"
)
_DOES: Final = lazily(
    r"(?i)\b(?:run|execute|send|read|delete|remove|download|fetch|install|post|upload|curl|wget|e-?mail (?!is\b)"
    r"|forward|open|transfer|buy|pay|approve|reveal|print|output|write|add|use|call|follow|visit|copy|share|tell|give"
    r"|start|set)\b"
)
_TEST: Final = lazily(r"(?i)(?:^|/)(?:test_[\w-]+|[\w-]+_test)\.py$|[\w-]\.(?:test|spec)\.[cm]?[jt]sx?$")
_ADDRESS: Final = lazily(r"://|[\w.-]@")
_ARGUMENT: Final = lazily(r"[(=,\[:][ \t]*[rbfu]?\Z")
_SCRIPTS: Final = (".js", ".cjs", ".mjs", ".ts", ".py")
_TRIED: Final = lazily(
    r"[^\n\"'`]*\b(?:detect|scan|check|analy[sz]e|inspect|classify)\w*\)?\([ \t]*(?P<mark>[\"'`])"
    r"(?P<command>[^\n]*?)(?P=mark)[ \t]*[,)][^\n\"'`]*"
)
_NAMED_TEST: Final = lazily(r"(?i)\b(?:test|it)\([ \t]*[\"'`][^\n]*\b(?:catch|detect|block|flag|reject)(?:e?s)?\b")
_DISGUISED: Final = lazily(
    r"(?i)[^\n(]*\b(?:masquerading|disguised|double extensions?|spoof\w*)[^\n(:]*\((?:`[\w. -]+`(?:, )?)+\)[^\n]*"
)
_SENT_TO: Final = lazily(  # "run the example above", "follow the attack in section 2"
    r"(?i)\b(?:run|execute|perform|carry out|follow|obey|apply|do|start with|paste|process|use)\b[^.!?\n]{0,40}"
    r"\b(?:examples?|specimens?|snippets?|(?:code )?blocks?|patterns?|attacks?|payloads?|rows?|samples?|commands?"
    r"|instructions?|lines?)\b[^.!?\n]{0,40}\b(?:above|below|(?:in|from|of|under) (?:the )?(?:section|table|page|list"
    r"|references?|part|heading)|(?:in|from) `?[\w/-]+\.(?:md|txt)|#?\d)"
)
_PUT_IN: Final = lazily(
    r"(?i)\b(?:replac|substitut|swap|chang|instead|exchang|renam)\w*\b[^\n]{0,80}\b(?:evil|attacker|example)\.com"
    r"|\b(?:evil|attacker|example)\.com\b[^\n]{0,60}\b(?:(?:replac|substitut|swap|chang)\w*|instead|stands? for"
    r"|means?)\b"
)
_DECODED: Final = frozenset({"hex", "base64"})


def shown_attacks(found: Sequence[Finding], text_of: Callable[[str], str]) -> frozenset[Finding]:
    """Those of `found` that block and lie in passages that show an attack; `text_of` gives a file's text by path."""
    by_path: dict[str, list[Finding]] = defaultdict(list)
    for each in found:
        if each.severity is Severity.FAIL:
            by_path[each.location.path].append(each)
    kept: list[Finding] = []
    for path, some in by_path.items():
        if len(some) > _MOST or not any(each.rule in _ORDERS | _COMMANDS | _NAMES for each in some):
            continue
        if path.endswith(_PAGES):
            kept += _on_page(some, text_of(path), "" if path == _MAIN else text_of(_MAIN))
        elif path.endswith(_SCRIPTS) or _TEST.search(path):
            kept += _in_program(some, path, text_of(path).split("\n"))
    return frozenset(kept)


class _Passage(NamedTuple):
    """Lines from `first` up to `end`, counted from nought, with what may be found there and what names hosts in it."""

    first: int
    end: int
    rules: frozenset[str]
    fenced: bool
    told: str


def _on_page(found: Sequence[Finding], text: str, main: str) -> list[Finding]:
    if not text or any(each.search(other) for each in (_SENT_TO, _PUT_IN) for other in (text, main)):
        return []
    page = _Page(text)
    places: dict[_Passage, list[Finding]] = defaultdict(list)
    for each in found:
        if (passage := page.passage(each)) is not None:
            places[passage].append(each)
    return [
        each
        for passage, some in places.items()
        if {other for other in found if passage.first < other.location.line <= passage.end} == set(some)
        for each in some
    ]


class _Page:
    """A Markdown page: its lines, its blocks of code, and what stands around them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._blocks = list(_blocks(self._lines))

    def passage(self, found: Finding) -> _Passage | None:
        """The passage around a finding that shows an attack, if there is one."""
        at = found.location.line - 1
        if not 0 <= at < len(self._lines) or self._is_comment(at):
            return None
        block = next(((first, end) for first, end in self._blocks if first <= at < end), None)
        passage = self._outside(at, found) if block is None else self._inside(at, block)
        if passage is None or found.rule not in passage.rules:
            return None
        steps = found.provenance
        fits = len(steps) == 1 and steps[0].startswith("fence") if passage.fenced else not _strange(steps)
        inside = found.location.end_line <= passage.end or found.location.end_column <= 1
        far = found.rule not in _SENDS or names_placeholder(passage.told)
        short = len(passage.told) <= _LONGEST
        return passage if fits and inside and far and short and reaches_nobody(passage.told) else None

    def _inside(self, at: int, block: tuple[int, int]) -> _Passage | None:
        first, end = block
        line = self._lines[at]
        if (told := _REPORTED.fullmatch(line.rstrip())) is not None:
            if _SUSPECT.search(told["words"]) and is_harmless_command(told["command"]):
                return _Passage(at, at + 1, _COMMANDS, fenced=True, told=_PROCESS.sub("", told["words"]))
            return None
        if _MEMBER.search(line) is not None:
            asked = _GUARDED.search("\n".join(self._lines[first:end])) and not _DOES.search(line)
            return _Passage(at, at + 1, _OVERRIDES, fenced=True, told=line) if asked else None
        above = [each for each in self._lines[max(0, first - 1 - 2 * _ABOVE) : first - 1] if each.strip()][-_ABOVE:]
        below = next((each for each in self._lines[end + 1 :] if each.strip()), "")
        shown = any(map(_LEAD.match, above)) and _OUTCOME.match(below) and _ATTACK.search(self._heading(first - 1))
        if not shown or end - first > _MOST_LINES:
            return None
        return _Passage(first, end, _ORDERS, fenced=True, told="\n".join(self._lines[first:end]))

    def _outside(self, at: int, found: Finding) -> _Passage | None:
        line = self._lines[at]
        if _DISGUISED.fullmatch(line):
            return _Passage(at, at + 1, _NAMES, fenced=False, told=line)
        if _ROW.fullmatch(line):
            judged = line.count("://") == line.count("\\|") == 1 and self._is_judged_row(at, found)
            return _Passage(at, at + 1, _COMMANDS, fenced=False, told="") if judged else None
        if (item := _ITEM.fullmatch(line.rstrip())) is None or not _ATTACK.search(item["label"]):
            return None
        short = _CODE.fullmatch(item["rest"]) or _PHRASES.fullmatch(item["rest"])
        if not short or not _ATTACK.search(self._heading(at)):
            return None
        return _Passage(at, at + 1, _ORDERS, fenced=False, told=line)

    def _is_judged_row(self, at: int, found: Finding) -> bool:
        """True for a row whose one cell is a harmless command, and another says that it is denied."""
        line = self._lines[at]
        head = at
        while head > 0 and _ROW.fullmatch(self._lines[head - 1]):
            head -= 1
        start = sum(len(each) + 1 for each in self._lines[:at]) + line.find("|") + 1
        cells = _BETWEEN.split(line)
        whole = [_CALLED.fullmatch(cell) for cell in cells]
        commands = [each["command"].replace("\\|", "|") for each in whole if each is not None]
        return (
            any(map(_JUDGED.fullmatch, _BETWEEN.split(self._lines[head])))
            and is_shown_row(self._text, start)
            and any(is_harmless_command(each) and found.excerpt.strip() in each for each in commands)
        )

    def _heading(self, at: int) -> str:
        """The words of the heading that the line number `at` is below."""
        for number in range(min(at, len(self._lines)) - 1, -1, -1):
            heading = _HEADING.fullmatch(self._lines[number])
            if heading is not None and not any(first <= number < end for first, end in self._blocks):
                return heading["words"]
        return ""

    def _is_comment(self, at: int) -> bool:
        block = next((first for first, end in self._blocks if first <= at < end), None)
        before = "\n".join(self._lines[: at if block is None else block])
        return before.rfind("<!--") > before.rfind("-->")


def _in_program(found: Sequence[Finding], path: str, lines: Sequence[str]) -> list[Finding]:
    """Texts that a test hands over to be refused."""
    kept = []
    for each in found:
        at = each.location.line - 1
        if not 0 <= at < len(lines) or each.engine != "patterns":
            continue
        alone = {other.rule for other in found if other.location.line == at + 1} == {each.rule}
        if each.rule == "prose-override" and alone and _TEST.search(path):
            handed = not set(each.provenance) - _DECODED and _is_handed(lines[at], each.location.column - 1)
        else:
            handed = each.rule in _COMMANDS and alone and not each.provenance and _is_tried(lines, at)
        if handed:
            kept.append(each)
    return kept


def _is_handed(line: str, at: int) -> bool:
    """True inside a text that begins on `line` and is an argument, an item or a value."""
    mark, begin = "", 0
    for place, letter in enumerate(line[:at]):
        if mark:
            mark = "" if letter == mark and line[place - 1] != "\\" else mark
        elif letter in "\"'`":
            mark, begin = letter, place
        elif letter == "#" or line.startswith("//", place):
            return False
    return bool(mark) and _ARGUMENT.search(line[:begin]) is not None and not _ADDRESS.search(line)


def _is_tried(lines: Sequence[str], at: int) -> bool:
    """True where a named test hands a harmless command to what is to detect it."""
    tried = _TRIED.fullmatch(lines[at])
    named = any(map(_NAMED_TEST.search, lines[max(0, at - 2) : at]))
    return named and tried is not None and is_harmless_command(tried["command"])


def _strange(steps: Sequence[str]) -> bool:
    return bool(set(steps) - {"a table", "an argument"})


def _blocks(lines: Sequence[str]) -> list[tuple[int, int]]:
    """The lines of each block of code, without its fences."""
    found, first, mark = [], 0, ""
    for number, line in enumerate(lines):
        if mark:
            closing = line.strip()
            if set(closing) == {mark[0]} and len(closing) >= len(mark):
                found.append((first, number))
                mark = ""
        elif (opening := _FENCE.fullmatch(line)) is not None:
            first, mark = number + 1, opening["mark"]
    return found
