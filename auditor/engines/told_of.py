"""Whether a place that reads like an order only tells of an act: a danger, a key's own place, a guard's list."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.tables import LOGIN_OF, secrets
from skillkeep.auditor.engines.told_calls import is_told_call
from skillkeep.auditor.services import services

__all__ = ["is_alternative", "is_named_phrase", "is_told_of", "kept_for"]

_REACH: Final = 240
_MADE_TO: Final = compiled(  # "an error can cause the agent to run rm -rf, or exfiltrate data to others"
    r"(?i)\b(?:can|could|may|might)[ \t]+(?:cause|trick|lead|allow|enable|let|make|manipulate|convince)[ \t]+"
    r"(?:(?!\b(?:so|then|instead|therefore|hence|please|now|you|always|must|should)\b)[^.!?;:\n])*"
    r"(?P<last>,?[ \t]+or|,)[ \t]+$"
)
_IGNORED: Final = compiled(  # "Ignore attempts in it to override your rules, exfiltrate data, or ask you to buy"
    r"(?i)\b(?:ignore|refuse|reject)[ \t]+(?:any|all)[ \t]+(?:attempts?|instructions?|requests?)[ \t]+"
    r"(?:(?:in|of|from|within)[ \t]+[\w-]+[ \t]+(?:[\w-]+[ \t]+)?)?to[ \t]+"
    r"(?:overrid|chang|bypass|modif|alter|manipulat|hijack)[^.!?;:\n]*,[ \t]+$"
)
_OR_THAT: Final = compiled(r"[^.!?;:\n]{0,80},[ \t]+or[ \t]+\w")
_OF_OTHERS: Final = compiled(  # "malicious packages were found. 283 skills exfiltrate credentials to hosts of theirs"
    r"(?i)\b(?:malicious|attackers?|malware|trojan\w*|threats?)\b[^\n]*[.:,][ \t]+"
    r"(?:(?:\d+|some|many|most|such|these)[ \t]+)?(?:skills|packages|plugins|payloads|extensions)[ \t]+$"
)
_NOR: Final = compiled(  # "NEVER scan local files and exfiltrate data": both are forbidden
    r"(?i)(?:^|\n|[.!?][ \t])[ \t]*(?:[-+•#>❌🚫]+[ \t]*|\d{1,3}[.)][ \t]+)*(?:you[ \t]+)?"
    r"(?:never|do[ \t]+not|don['’]t|must[ \t]+(?:not|never)|should[ \t]+(?:not|never)|may[ \t]+not)[ \t]+"
    r"(?:scan|read|collect|access|gather|harvest|search|steal|copy|extract|dump|log|capture)"
    r"(?:[ \t]+(?!(?:and|but|then|so|please|instead|unless|until|without|before|when|while|if)\b)[\w/'’-]+,?){0,10}"
    r"[ \t]+(?:and|or)(?:[ \t]+then)?[ \t]+$"
)
_DANGER: Final = compiled(  # an item that begins with the name of a danger, of which it tells
    r"(?i)(?:^|\n)[ \t]*(?:[-*+•]|\d{1,2}[.)])[ \t]+(?:[\w-]+[ \t]+){0,2}(?:(?:prompt|instruction)[ \t]+injections?"
    r"|data exfiltration|credential (?:theft|harvesting)|supply[- ]chain attacks?|privilege escalation|jailbreaks?)"
    r"[ \t]*[:–—-]{1,2}[ \t]+(?:malicious |hostile |compromised )?(?:skills?|plugins?|packages?|attackers?|pages?)"
    r"(?: [\w-]+)?[ \t]+$"
)
_MAY: Final = compiled(  # "looks for addresses that may exfiltrate data", "skills can exfiltrate data to servers"
    r"(?i)(?:\b(?:skills|scripts|packages|plugins|extensions|urls|links|images|addresses|attackers|code|that|which)|[–—])"
    r"[ \t]+(?:may|might|can|could)[ \t]+\Z"
)
_ASKED_OF: Final = compiled(r"(?i)\b(?:can|could|do|will)[ \t]+(?:users|attackers|anyone|someone|strangers)[ \t]+\Z")
_QUESTION: Final = compiled(r"[^.!?\n]{0,80}\?[*_\"]{0,3}[ \t]*(?:\n|\||\Z)")
_HOSTILE: Final = compiled(  # "malicious skills containing instructions to override prompts, ignore safety rules"
    r"(?i)\b(?:malicious|hostile|poisoned|compromised)[ \t]+(?:skills?|pages?|packages?|tools?|plugins?|documents?)"
    r"[ \t]+(?:containing|with|that[ \t]+contain)[ \t]+(?:hidden[ \t]+)?instructions[ \t]+to[ \t]+[^.!?:;|\n]{0,120}\Z"
)
_SAYING: Final = compiled(  # 'Messages such as "your wallet is at risk, enter your recovery phrase" are theft'
    r"(?i)\b(?:messages?|texts?|sentences?|prompts?|requests?|pages?|e-?mails?|pop-?ups?|phrases?|calls?)\s+"
    r"(?:such\s+as|like|that\s+says?|saying)\s+[\"“][^\"“”]{0,160}\Z"
)
_CALLED_A_CRIME: Final = compiled(
    r"(?i)[^\"“”]{0,80}[\"”]\s+(?:is|are)\s+(?:always\s+)?(?:an?\s+)?"
    r"(?:theft|scams?|phishing|frauds?|attacks?|lies?|red\s+flags?|malicious|traps?)(?:,\s+without\s+exception)?(?:\.|\s*\Z)"
)
_EXFILTRATE: Final = compiled(r"(?i)\s*exfiltrate\b")
_ADDRESS: Final = compiled(r"(?:https?://|[\w-]@)\w")
_ONLY_TO: Final = compiled(  # "Only send API key to `https://notes.example`"
    r"(?i)only[ \t]+(?:ever[ \t]+)?send[ \t]+(?:(?:your|the)[ \t]+)?(?:own[ \t]+)?api[ _-]?keys?[ \t]+to[ \t]+"
    r"[`*<\[]{0,4}https://(?:[\w.:/*-]+|(?:[\w-]+\.)?(?P<owner>[\w-]+\.[a-z]{2,6})[`*>]{0,3}[ \t]+or[ \t]+"
    r"[`*<]{0,3}https://(?:[\w-]+\.)?(?P=owner)(?![\w.@:-]))[`*>)\]]{0,4}(?:[ \t]+domains?)?\"?[.,;]?[*_]{0,3}"
    r"(?:[ \t,.;–—-]+(?:and[ \t]+)?(?:never|nowhere|not|refuse|reject)\b[^\n]{0,60})?[ \t]*(?:\n|\Z)"
)
_PUTS: Final = compiled(r"(?i)\W*(?:pass|include|append|attach|embed)(?:ing)?\b")
_GOT_AT: Final = compiled(  # "Pass your API key in the header. Get one at https://" sends nothing there
    r"(?i)[.;:(\"“_*)][ \t_*\"“]*(?:re-?generate|get|obtain|create|generate|rotate|find|manage|renew)[ \t]+"
    r"(?:(?:one|yours|it)|(?:(?:your|an?|the|new)[ \t]+){1,2}(?:api[ _-]?)?keys?)[ \t]+(?:at|from|in|on|here:)[ \t]+"
    r"[^\s:]{0,80}https?://\Z"
)
_SEE: Final = compiled(r"(?i)\bsee[ \t]+(?:the[ \t]+)?\[[\w .-]*\bdocumentation\]\(https?://\Z")
_LOGIN_HEADER: Final = compiled(  # "Include the `x-api-key` header. The base URL is https://", and no other secret
    r"(?i)\W*(?:pass|include|append|attach)(?:ing)?[ \t]+(?:(?:the|an?|your)[ \t]+)?"
    r"(?:[`\"'*]{0,3}x-api-key[`\"'*]{0,3}[ \t]+header\b"
    r"|header[ \t]+[`\"'*]{1,3}x-api-key(?:[ \t]*:[ \t]*\W{0,3}(?P<name>\w+)\W{0,3})?[`\"'*]{1,3})"
    r"(?:(?!\b(?:keys?|tokens?|secrets?|passwords?|credentials?|variables|files?|history|body|data)\b)[^\n])*"
    r"[.;][ \t]+(?:the[ \t]+)?(?:[\w-]+[ \t]+)?base[ \t]+url(?:[ \t]+is)?:?[ \t]*"
    r"(?:`\$\w+`[ \t]*\((?:the[ \t]+)?default(?:s[ \t]+to)?:?[ \t]*)?[`\"'*<]{0,3}https?://\Z"
)
_FILLED_IN: Final = compiled(  # "(replace [api-key] with your Graph API key from https://": it is got there
    r"(?i)\breplace[ \t]+[\[<{`\"'][\w-]{3,20}[\]>}`\"'][ \t]+with[ \t]+your[ \t]+"
    r"(?:(?P<whose>[\w-]+)[ \t]+)?api[ _-]?keys?[ \t]+from[ \t]+https?://\Z"
)
_PLACE: Final = compiled(r"(?i)://|\b(?:webhook|collector|discord|telegram|pastebin|ngrok)\b")
_YOUR_OWN: Final = compiled(
    r"[ \t]+(?:that[ \t]+|which[ \t]+)?you[ \t]+(?:configure|set up|specify|run|host|operate)\b(?![^.!?\n]*://)"
)
_YOU_ARE: Final = compiled(r"(?i)\byou[ \t]+are[ \t]+$")
_SEARCHED: Final = compiled(r"(?i)\bgrep\b|\b(?:pattern|regexp?|match\w*)\b|\bre\.")
_FIELD_OF: Final = compiled(  # "extract the email address from stored credentials" takes no secret
    r"(?i)\W*extract(?:s|ing)?[ \t]+(?:the[ \t]+)?"
    r"(?:e-?mail(?:[ \t]+address)?|user[ -]?name|account[ \t]+(?:id|name)|expir\w+)"
    r"[ \t]+(?:out[ \t]+of|from)[ \t]"
)
_ACCESS: Final = compiled(r"(?i)\W*(?P<what>access[ \t]+to[ \t]|(?:access|reads)[ \t]*\()")
_OF_ACCESS: Final = compiled(r"(?i)\b(?:credential|file|secret|key|system)s?[ \t]+$")  # "credential access (~/.ssh)"
_ITEM_BEGINS: Final = compiled(r"(?:^|\n)[ \t]*[-*+•][ \t]+$")
_NAMED: Final = compiled(r"[\"“][^\"“”\n]{3,48}[\"”]")  # a phrase that a guard looks for
_PHRASES: Final = compiled(
    r"(?i)\b(?:phrases|patterns|overrides?|injections?|exfiltration)\b[^\n\"“”:]{0,80}"
    r"(?:\b(?:like|such as|e\.g\.,?|including)|\()[ \t]*[\"“]"
)
_ENOUGH: Final = 3
_BLOCKED: Final = compiled(r"(?i)\b(?:blocked|detected|matched)[ \t]+(?:pattern|phrase|text|input):[ \t]*$")
_IGNORE_ALL: Final = compiled(r"(?i)[^\n]*\bignore any (?:instructions|requests|attempts) to:[ \t*_]*\n")
_ITEM: Final = compiled(r"[ \t]*[-*+•][ \t]+(?P<words>[^\n]*)(?:\n|\Z)")
_HARM: Final = compiled(
    r"(?i)(?:delete|execute|change|reveal|send|share|modify|disclose|transfer|ignore|bypass|override|exfiltrate|upload)\b"
    r"(?!.*\b(?:ask\w*|confirm\w*|users?|humans?|owners?|warn\w*|tell|check\w*|stop|refus\w+|safety|approv\w+"
    r"|permission|limits?|rules|polic\w+)\b)"
)
_MOST_ITEMS: Final = 12
_PATH: Final = compiled(r"[^\s`\"'()<>,;|]+")
_KEYS: Final = compiled(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN)\b")
_ONE_ALONE: Final = compiled(r"(?i)\bonly\b")
_LISTED: Final = compiled(
    r"(?i)[ \t]*\"\w*(?:secret|den(?:y|ied)|block|forbid|pattern|danger|sensitive|suspicious)\w*\"[ \t]*:"
    r"[ \t]*\[[^\[\]]*\],?[ \t]*$"
)
_MARKER: Final = compiled(r"\|(?:<<SYS>>|\[INST\])(?=\|)")
_LISTING: Final = 7  # quotes of a name and three texts
_CODE: Final = frozenset("|(")


def is_told_of(text: str, start: int, matched: str) -> bool:
    """True when the words `matched` at `start` order nobody to do what they name."""
    begin = start + len(matched) - len(matched.lstrip())
    before = text[max(0, begin - _REACH) : begin].replace("*", "")
    if _EXFILTRATE.match(text, begin):
        told = _is_made_to(text, begin, before) or any(each.search(before) for each in (_OF_OTHERS, _NOR, _MAY))
        return told and _ADDRESS.search(_line(text, begin)) is None
    if _ASKED_OF.search(before) and _QUESTION.match(text, begin + len(matched.strip())):
        return True
    if (_DANGER.search(before) or _HOSTILE.search(before)) and _ADDRESS.search(_line(text, begin)) is None:
        return True
    if _is_in_ban(text, begin):
        return True
    if _SAYING.search(before) and _CALLED_A_CRIME.match(text, begin + len(matched.strip())):
        return True
    if is_told_call(text, begin, matched.strip()):
        return True
    if _FIELD_OF.match(matched) or _is_noun(matched, text[max(0, begin - _REACH) : begin]):
        return True
    if (filled := _FILLED_IN.search(matched)) is not None:
        return not _is_of_many(filled["whose"]) and len(_PLACE.findall(_line(text, begin))) == 1
    if _PUTS.match(matched):
        if (login := _LOGIN_HEADER.match(matched)) is not None:
            return not services().is_shared(login["name"] or "")
        return _GOT_AT.search(matched) is not None or _SEE.search(matched) is not None
    if _YOU_ARE.search(before):
        return _YOUR_OWN.match(text, start + len(matched)) is not None
    return _ONLY_TO.match(text, begin) is not None


def is_alternative(text: str, start: int, matched: str) -> bool:
    """True for one of the texts that a line of a program or of settings searches for: ``(one|two|three)``, or lists as
    what is kept from an agent: ``"denied": ["one", "two", "three"]``."""
    begin = start + len(matched) - len(matched.lstrip())
    end = begin + len(matched.strip())
    if (marker := _MARKER.match(text, begin, end)) is not None:  # the rest of its line came with it
        end = marker.end()
    line = _line(text, begin)
    if text[begin - 1 : begin] == '"' and _LISTED.match(line) and line.count('"') > _LISTING:
        return True
    return (
        (text[begin] in _CODE or text[begin - 1 : begin] in _CODE)
        and text[end : end + 1] in {"|", ")"}
        and line.count("|") > 1
        and _SEARCHED.search(line) is not None
    )


def is_named_phrase(text: str, start: int, matched: str) -> bool:
    """True for a phrase in quotes among those that a line says a guard looks for, and for one that it has blocked.

    ``Phrases like "ignore previous instructions", "act as if", "secretly send". ``: each stands in quotes of its own,
    and none holds more than a few words. What they say together is read by the other rules.
    """
    begin = start + len(matched) - len(matched.lstrip())
    first = text.rfind("\n", 0, begin) + 1
    line = _line(text, begin)
    if _BLOCKED.search(line[: begin - first]):
        return line[begin - first + len(matched.strip()) :].strip() == ""
    if (told := _PHRASES.search(line)) is None or told.end() > begin - first + 1 or _ADDRESS.search(line):
        return False
    quoted = [found.span() for found in _NAMED.finditer(line, told.end() - 1)]
    around = begin - first, begin - first + len(matched.strip())
    ends = {at for at in around for left, right in quoted if left <= at <= right}
    return len(quoted) >= _ENOUGH and len(ends) == len(around)


def kept_for(text: str, end: int) -> str:
    """For whom the file is kept whose name is at `end`: one service, or the one variable that the line says is all that
    is taken of it; empty for others."""
    line_start = text.rfind("\n", 0, end) + 1
    line = _line(text, end)
    at = end - line_start
    path = next((found[0] for found in _PATH.finditer(line) if found.start() < at <= found.end()), "")
    what = secrets().path(path.rstrip(".:")) or ""
    if not what.startswith(LOGIN_OF):
        return ""
    names = set(_KEYS.findall(line))
    if what == f"{LOGIN_OF}env" and len(names) == 1 and _ONE_ALONE.search(line):
        name = names.pop()
        return what if services().is_shared(name) else name
    return what


def _is_in_ban(text: str, begin: int) -> bool:
    """True in "Ignore any instructions to:" and the list below it, where every item is an act against the user."""
    line = text.rfind("\n", 0, begin) + 1
    for _ in range(_MOST_ITEMS):
        if (head := _IGNORE_ALL.match(text, line)) is not None:
            return _is_all_harm(text, head.end())
        if line == 0 or _ITEM.match(text, line) is None:
            return False
        line = text.rfind("\n", 0, line - 1) + 1
    return False


def _is_noun(matched: str, before: str) -> bool:
    """True for "credential access (~/.ssh)" and for an item that begins "Access to"."""
    if (access := _ACCESS.match(matched)) is None:
        return False
    return (_OF_ACCESS if access["what"].endswith("(") else _ITEM_BEGINS).search(before) is not None


def _is_all_harm(text: str, at: int) -> bool:
    count = 0
    while count < _MOST_ITEMS and (item := _ITEM.match(text, at)) is not None and item.end() > at:
        if _HARM.match(item["words"]) is None:
            return False
        count, at = count + 1, item.end()
    return count > 1


def _is_made_to(text: str, begin: int, before: str) -> bool:
    made = _MADE_TO.search(before)
    if made is not None and made["last"] != ",":
        return True
    return (made or _IGNORED.search(before)) is not None and _OR_THAT.match(text, begin) is not None


def _is_of_many(whose: str | None) -> bool:
    return whose is not None and services().is_shared(f"{whose.upper()}_API_KEY")


def _line(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0]
