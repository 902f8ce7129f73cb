"""Whether a sentence tells its reader to run a piece of inline code, in any of sixteen languages."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.lazily import lazily

__all__ = ["is_said_not", "is_told_to_run"]

_BEFORE: Final = 100
_AFTER: Final = 40
_TOLD: Final = lazily(
    r"\b(?:run|execute|paste|type|enter|invoke|launch|start|use|install|via|with|by)(?:s|ning|ing)?\b[^`.]{0,60}$",
    re.IGNORECASE,
)
_NOT_TOLD: Final = lazily(
    r"(?:\b(?:never|not|avoid|instead of|rather than)|n't)[ \t]+(?:\w+[ \t]+){0,2}$", re.IGNORECASE
)
_TOLD_ELSEWHERE: Final = lazily(  # no beginning of an English word
    r"(?:执行|运行|输入|键入|粘贴|安装|使用|通过|启动|实行|実行|入力|貼り付け|起動|실행|입력|붙여|설치"
    r"|\b(?:запуст|выполн|введ|вставь|установ|набер|uruchom|wykonaj|wklej|wpisz|ejecut|corr[ae]\b|escrib|pega\b|pegue\b"
    r"|instal(?:a|e|ar|ez|lez|ler)\b|lanza|execut[ae]r?\b|rod[ae]\b|cole\b|digit[ae]\b|exécut|lanc(?:e|ez)\b|tapez"
    r"|coll(?:e|ez)\b|utilis|ausführ|führ|starte\b|eingeb|gib\b|nutze|verwend|installier|çalıştır|yapıştır|yazın"
    r"|kullan|kurun|esegu|incoll|avvia|jalankan|tempel|ketik|chạy|dán|gõ|cài|nhập)|شغ[لّ]|نف[ذّ]|चला)[^`.。|（(]{0,60}$",
    re.IGNORECASE,
)
_TOLD_AFTER: Final = lazily(  # where the verb ends the sentence
    r"[^`.。\n]{0,16}(?:执行|运行|を?(?:実行|入力|貼り付け|起動)|(?:을|를)? ?(?:실행|입력|붙여|설치)"
    r"|\b(?:çalıştır|yapıştır|yazın|kullan))",
    re.IGNORECASE,
)
_NOT_HERE: Final = lazily(r"(?:\b(?:never|not|avoid|without)|n't)\b[^.;:]{0,40}$", re.IGNORECASE)
_NOT_ELSEWHERE: Final = lazily(
    r"(?:不要|切勿|请勿|严禁|禁止|避免|不得|拒绝|别)[^。；]{0,40}$|\b(?:не|никогда|nunca|jamás|não|ne|jamais|nicht|niemals|kein\w*|asla|non|mai|nie"
    r"|nigdy|đừng|không|jangan)\b[^.。]{0,40}$",
    re.IGNORECASE,
)
_NOT_AFTER: Final = lazily(
    r"[^.。\n]{0,24}(?:しない|ないで|せず|禁止|避け|않|마세요|마십시오|말고|m[ae]y[ıi]n)", re.IGNORECASE
)


def is_told_to_run(text: str, start: int, end: int) -> bool:
    """True when the line around the code ``text[start:end]`` tells to run it, or is nothing but that code."""
    before = text[max(0, start - _BEFORE) : start].rpartition("\n")[2]
    after = text[end : end + _AFTER].partition("\n")[0]
    if verb := _TOLD.search(before):
        return not _NOT_TOLD.search(before[: verb.start()])
    if not before.strip(" \t>*_-`") and not after.strip(" \t*_`.。"):
        return True
    if is_said_not(before, after):
        return False
    return bool(_TOLD_ELSEWHERE.search(before) or _TOLD_AFTER.match(after))


def is_said_not(before: str, after: str) -> bool:
    """True where the words around something say that it is not to be done."""
    return bool(_NOT_HERE.search(before) or _NOT_ELSEWHERE.search(before) or _NOT_AFTER.match(after))
