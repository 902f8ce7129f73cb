"""Whether a sentence tells its reader to run a piece of inline code, in any of sixteen languages."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["is_said_not", "is_told_to_run"]

_BEFORE: Final = 100
_AFTER: Final = 40
_TOLD: Final = compiled(
    r"\b(?:run|execute|paste|type|enter|invoke|launch|start|use|install|set|configure|via|with|by)(?:s|ning|ing)?\b"
    r"[^`.]{0,60}$",
    re.IGNORECASE,
)
_NOT_TOLD: Final = compiled(
    r"(?:\b(?:never|not|avoid|instead of|rather than)|n't)[ \t]+(?:\w+[ \t]+){0,2}$", re.IGNORECASE
)
_INSTEAD: Final = compiled(  # what stands right behind these words is what is not done
    r"(?:(?:\b(?:instead of|rather than|avoid(?:ing|s)?|refrain from|as opposed to)"
    r"|\bprefer\b[^`.;:]{1,80}\bover)"
    r"[ \t]+(?:(?:recommending|suggesting|running|using|piping|executing|showing|offering|pasting)[ \t]+)?"
    r"|(?:而不是|而非|代替)(?:直接)?(?:运行|执行|使用)?[ \t]*"
    r"|\b(?:statt|anstatt|anstelle von|en lugar de|en vez de|em vez de|ao invés de|au lieu de|plutôt que|plutôt que de"
    r"|invece di|anziché|вместо|zamiast|daripada|thay vì)[ \t]+"
    r"(?:(?:ejecutar|usar|utilizar|executar|exécuter|utiliser|d'exécuter|d'utiliser|eseguire|usare|запуска|uruchamiania"
    r"|menjalankan|chạy)[ \t]+)?)"
    r"(?:(?:an?|the|any|plain|raw|eines?|der|des|von|el|la|um|une?|le|il|un)[ \t]+){0,2}[\"'“«(]?$",
    re.IGNORECASE,
)
_INSTEAD_AFTER: Final = compiled(r"[\"'”»)]?[ \t]*(?:の代わり|(?:을|를)?[ \t]?대신|yerine\b)", re.IGNORECASE)
_NAMES_A_HABIT: Final = compiled(  # a way of installing, with no address that anything could come from
    r"(?:sudo[ \t]+)?(?:curl|wget|irm|iwr)(?:[ \t]+-[\w-]+)*(?:[ \t]+-)?[ \t]*"
    r"(?:<[\w -]{1,20}>|\.\.\.|…|URL)?[ \t]*\|[ \t]*(?:sudo[ \t]+)?(?:(?:ba|z|da)?sh|iex)(?:[ \t]+-s?)?"
)
_STEP: Final = compiled(  # what stands before the command of a step
    r"[ \t>]*(?:[*+-][ \t]+)?(?:(?:\d{1,2}|[a-z])[.)]|step \d{1,2}|first|then|next|finally|once|set-?up|prepare"
    r"|bootstrap|prerequisites?|requirements?|(?:quick )?install(?:ation)?|quick ?start|mac ?os|linux|windows|terminal"
    r"|command)"
    r"[ \t]*[,:.—–-]?[ \t]*",
    re.IGNORECASE,
)
_FETCHED_AND_RUN: Final = compiled(
    r"https?://[^|\n]{1,400}+\|[ \t]*(?:sudo[ \t]+)?(?:(?:ba|z|da)?sh|iex|python3?|node)\b|[<$]\([ \t]*(?:curl|wget)\b"
)
_RUN_IT: Final = compiled(r"\b(?:run|execute|paste|type|enter|invoke|launch|start)\b[^`.]{0,60}$", re.IGNORECASE)
_ADDRESS: Final = compiled(r"://|\bwww\.|[\w-]\.(?!md\b|sh\b|txt\b|py\b)[a-z]{2,10}/")
_NEAR: Final = 300
_VERBS: Final = (  # no beginning of an English word
    r"(?:执行|运行|输入|键入|粘贴|安装|使用|通过|启动|实行|実行|入力|貼り付け|起動|실행|입력|붙여|설치"
    r"|\b(?:запуст|выполн|введ|вставь|установ|набер|uruchom|wykonaj|wklej|wpisz|ejecut|corr[ae]\b|escrib|pega\b|pegue\b"
    r"|instal(?:a|e|ar|ez|lez|ler)\b|lanza|execut[ae]r?\b|rod[ae]\b|cole\b|digit[ae]\b|exécut|lanc(?:e|ez)\b|tapez"
    r"|coll(?:e|ez)\b|utilis|ausführ|führ|starte\b|eingeb|gib\b|nutze|verwend|installier|çalıştır|yapıştır|yazın"
    r"|kullan|kurun|esegu|incoll|avvia|jalankan|tempel|ketik|chạy|dán|gõ|cài|nhập)|شغ[لّ]|نف[ذّ]|चला)"
)
_TOLD_ELSEWHERE: Final = compiled(_VERBS + r"[^`.。|（(]{0,60}$", re.IGNORECASE)
_TURNS: Final = rf"[^.。；;]{{0,60}}[，,][^.。；;，,`]{{0,20}}{_VERBS}"  # "in order not to fail, run"
_TOLD_AFTER: Final = compiled(  # where the verb ends the sentence
    r"[^`.。\n]{0,16}(?:执行|运行|を?(?:実行|入力|貼り付け|起動)|(?:을|를)? ?(?:실행|입력|붙여|설치)"
    r"|\b(?:çalıştır|yapıştır|yazın|kullan))",
    re.IGNORECASE,
)
_NOT_HERE: Final = compiled(r"(?:\b(?:never|not|avoid|without)|n't)\b[^.;:]{0,40}$", re.IGNORECASE)
_NOT_ELSEWHERE: Final = compiled(
    r"(?:不要|切勿|请勿|严禁|禁止|避免|不得(?!不)|拒绝|(?<![特分区个级类性识辨差告])别)(?!犹豫|担心|怕|忘|等|客气)"
    rf"(?!{_TURNS})[^。；]{{0,40}}$"
    r"|\b(?:не|никогда|nunca|jamás|não|ne|jamais|nicht|niemals|kein\w*|asla|non|mai|nie|nigdy|đừng|không|jangan)\b"
    r"(?! (?:бой|волн|беспоко|пережив|забуд|жди|dudes|hesite|se preocup|tenha|vous inqui|t'inqui|hésit|sorge|angst"
    r"|zögern|endişe|preoccup|esit|tem|martw|bój|lo\b|ngại|ragu|khawatir))"
    rf"(?!{_TURNS})[^.。]{{0,40}}$",
    re.IGNORECASE,
)
_NOT_AFTER: Final = compiled(
    r"[^.。\n]{0,24}(?:しない|ないで|せず|禁止|避け|않|마세요|마십시오|말고|m[ae]y[ıi]n)", re.IGNORECASE
)


def is_told_to_run(text: str, start: int, end: int) -> bool:
    """True when the line around the code ``text[start:end]`` tells to run it, or is nothing but that code."""
    before = _plain(text[max(0, start - _BEFORE) : start].rpartition("\n")[2])
    after = text[end : end + _AFTER].partition("\n")[0]
    if _INSTEAD.search(before) or _INSTEAD_AFTER.match(after):
        return False
    if _names_a_habit(text, start, end) and not _RUN_IT.search(before) and not _TOLD_ELSEWHERE.search(before):
        return False
    if verb := _TOLD.search(before):
        return not _NOT_TOLD.search(before[: verb.start()])
    alone = not after.strip(" \t*_`.。")
    if alone and not before.strip(" \t>*_-`"):
        return True
    if is_said_not(before, after):
        return False
    if _STEP.fullmatch(before) and (alone or _FETCHED_AND_RUN.search(text, start, end)):
        return True
    return bool(_TOLD_ELSEWHERE.search(before) or _TOLD_AFTER.match(after))


def _names_a_habit(text: str, start: int, end: int) -> bool:
    """True for `curl | sh` where no address stands near it."""
    if _NAMES_A_HABIT.fullmatch(text[start:end].strip("`")) is None:
        return False
    return _ADDRESS.search(text[max(0, start - _NEAR) : end + _NEAR]) is None


def _plain(before: str) -> str:
    """Without emphasis, which stands around a negation more often than not."""
    return before.replace("*", "").replace("__", "").replace("’", "'")


def is_said_not(before: str, after: str) -> bool:
    """True where the words around something say that it is not to be done."""
    return bool(_NOT_HERE.search(before) or _NOT_ELSEWHERE.search(before) or _NOT_AFTER.match(after))
