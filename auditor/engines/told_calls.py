"""What a page says of an interface's calls, a program's options and files of requests: no order to send or to read."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.table_rows import is_endpoint_row

__all__ = ["is_told_call"]

_NEAR: Final = 60
_REACH: Final = 240
_ADDRESS: Final = compiled(r"(?:https?://|[\w-]@)\w")
_TELLS_OF: Final = compiled(
    r"(?i)(?:(?<![a-z])|_)(?:credentials?|keys?|apikey|tokens?|secrets?|env(?:ironment)?|pass(?:words?|phrases?)|private"
    r"|ssh|wallets?|mnemonic|cookies|histor(?:y|ies)|logs?|contents?|files?|everything|all|webhooks?|collector|discord"
    r"|telegram|pastebin|ngrok)(?![a-z])"
)
_ANSWERED: Final = compiled(  # "POST /agents → get apiKey + id (include your callback_url for webhooks)"
    r"(?:POST|PUT|PATCH)[ \t]+/[\w/{}:-]*[`*]{0,3}[ \t]+(?:(?:→|->|=>)[ \t]*(?:get|gets|returns?|receives?)|returns)\b"
    r"(?:(?!\b(?i:send|upload|post|transmit|forward|submit"
    r"|push|pass|append|attach|embed|e?mail|then|from|with|to|give|put|body|payload|goes|carr(?:y|ies)|hand|share"
    r"|deliver|relay|into|all|every|users?|your(?! (?:callback|webhook)_url))\b)"
    r"[^\n])*"
)
_OPTION: Final = compiled(r"`?--[a-z][\w-]*`?")
_OPTIONS_GIVEN: Final = compiled(r"(?i)pass[ \t]+(?:these|them|those)[ \t]+(?:as|by|with)[ \t]")
_IS_ASKED: Final = compiled(
    r"(?i)(?:^|[\n.!?])[ \t*_\"]*(?:do|does|must|should)[ \t]+(?:you|i|we)[ \t]+(?:(?:need|have)[ \t]+to[ \t]+)?\Z"
)
_IS_ANSWERED_NO: Final = compiled(
    r"(?:[ \t]*\((?i:e\.g\.,?)?[\w \t-]{1,40}\))?\?[*_\"]{0,3}[ \t]+No[ \t]*(?=[—–.,;:\n-]|\Z)"
    r"(?i:(?![^.\n]*\b(?:must|always|have to|do it|instead|every|all|but|should|yes|except|unless|only)\b)"
    r"(?![^\n]*\b(?:(?:do|send|post|include|pass|attach|append|forward) (?:it|so|that|them)|anyway|still)\b))"
)
_OF_AN_OPTION: Final = (
    compiled(  # "- `--purge` — Also remove all data (`~/.notes`)", below the head of that very program
        r"(?:^|\n)[ \t]*[-*+][ \t]+`--[a-z][\w-]*`[ \t]*[–—:-]{1,2}[ \t]+(?:[Aa]lso[ \t]+)?\Z"
    )
)
_OWN_FOLDER: Final = compiled(
    r"\.(?P<name>(?!(?:ssh|aws|gnupg|kube|docker|config|local|cache|git|claude|openclaw|clawdbot)\b)[a-z][\w-]{1,30})"
    r"/?`?\)?[.]?[ \t]*(?:\n|\Z)"
)
_KEPT_LOGINS: Final = compiled(
    r"(?i)(?P<rest>[^\n]*?)(?:~/|\$HOME/|/home/\w+/)?\.(?:openclaw|clawdbot|moltbot)/credentials\Z"
)
_REQUESTS: Final = compiled(  # who asks to be let in, with a code that opens nothing by itself
    r"/[\w<>*{}$-]{1,40}-pairing\.json(?![\w/.-]*[\w/-])(?P<rest>[^\n]*)"
)
_OTHER_FILE: Final = compiled(r"(?i)[~$\\]|/\w|\.[a-z]\w*/|\bid_\w|\.env|secret|token|\bkey|passw|credential|login")


def is_told_call(text: str, begin: int, matched: str) -> bool:
    """True where the words `matched` at `begin` say what a request takes or is answered, name options, ask what is
    answered in the negative, say what an option of a program does with that program's own folder, or name files that
    hold no more than requests."""
    end = begin + len(matched)
    before = text[max(0, begin - _NEAR) : begin]
    if _is_call(text, begin, matched) or (_IS_ASKED.search(before) and _IS_ANSWERED_NO.match(text, end)):
        return _ADDRESS.search(text[text.rfind("\n", 0, begin) + 1 :].partition("\n")[0]) is None
    if _OF_AN_OPTION.search(before) and (own := _OWN_FOLDER.match(text, end)) is not None:
        head = text[max(0, begin - _REACH) : begin].rpartition("\n#")[2].partition("\n")[0]
        return matched.endswith("~/") and f"`{own['name']} " in head
    if (kept := _KEPT_LOGINS.fullmatch(matched)) and (requests := _REQUESTS.match(text, end)) is not None:
        return _OTHER_FILE.search(kept["rest"] + requests["rest"]) is None
    return False


def _is_call(text: str, begin: int, matched: str) -> bool:
    if matched.startswith(("POST", "PUT", "PATCH")):
        return _ANSWERED.fullmatch(matched) is not None or is_endpoint_row(text, begin)
    return _OPTIONS_GIVEN.match(matched) is not None and _names_options(text[begin:].partition("\n")[0])


def _names_options(line: str) -> bool:
    """True when all that a line says of secrets and places are names of options."""
    return _TELLS_OF.search(_OPTION.sub("", line)) is None
