"""Whether a verb is an order to the agent, or is forbidden, asked about, or told of somebody else."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.forbidden import is_refused
from skillkeep.auditor.engines.intent.chinese import is_han, is_told_in_chinese
from skillkeep.auditor.engines.intent.senses import is_something_else
from skillkeep.auditor.engines.intent.sentences import EXCUSE, FLAG, HEADING

__all__ = ["is_told"]

_REACH: Final = 110
_QUOTES: Final = str.maketrans(dict.fromkeys("„‟「」『』", '"'))  # of other languages than English
_BEFORE: Final = compiled(r"\s*(?:[\"„‟«](?=[a-z\u00c0-\u05ff]))?")  # what some words are found with
_SHORT: Final = 5  # longer words of other languages hold their own negation
_CLAUSE: Final = compiled(r"[.;:!?][ ]")
_BASE: Final = compiled(r"[a-z-]+(?<!ing)(?<!ed)(?<!sent)")
_GLUE: Final = frozenset("./\\=@$_")  # what is part of a name, path or address
_GERUND: Final = compiled(r"[a-z]+ing")
_ALONE: Final = compiled(r"[.,;:)]|$")
_PARTICIPLE: Final = compiled(r"(?:[a-z]+ed|sent)(?: (?:on|at|in|into|with|by))?")
_SUBJECT: Final = compiled(r"[-*>#\d.) ]*(?:[❌✗✘🚫⛔] ?)?(?:(?:mistake|pitfall|issue|problem|error) \d+: )?")
_SAID_OF: Final = compiled(r"[^,.;:]{0,120} (?:is|isn't|was|will|can|may|would|causes?|leads?|means|makes?)\b")
_FIRST_GERUND: Final = compiled(r"(?!(?:no|every|any|some)?thing|bring|string|during)[a-z]+ing\b")
_OWN_SECRET: Final = compiled(
    r"(?:never|do not|don't|not|without|avoid) (?:includ|show|display|log|list|print|report)\w* "
    r"(?:the |any |your |raw )?(?:\w+ )?(?:credentials?|secrets?|tokens?|passwords?|api keys?|private keys?)"
    r"(?: (?:header|value|string|itself))? (?:in|to)\b"
)
_DESCRIBED: Final = compiled(r"[-*> ]*(?:risk|impact|symptom|cause|consequence|problem): ")
_DOMAIN: Final = compiled(r"(?:\.[a-z0-9-]{1,40}){1,3}\.(?:com|org|net|io|dev|app)\b")
_DOES: Final = compiled(r"\b(?:does|did|could|would|might|may) $")
_BEFORE_YOU: Final = compiled(r"\bbefore you (?:\w+ (?:an?|the|any|your) (?:[\w-]+ ){1,3}(?:or|and) )?$")
_SWITCHED: Final = compiled(
    r"skip|suppress|disable|bypass|ignore|omit|turn off|auto-?\w+|answer yes|assume yes"
    r"|(?:do not|don't|never) (?:ask|prompt|wait|pause|stop)\b[^.;]{0,60}"
    r"|without\b[^.;]{0,40}(?:ask|prompt|confirm|question|approv)\w*"
)
_NOT_FIRST: Final = compiled(r"(?:do not|don't|never|no|not|avoid|without|leave|keep|hide|conceal|withhold)\b|[^a-z]")
_CHOICE: Final = compiled(  # "classify it as benign, suspicious, or malicious" leaves the choice
    r"(?:, [a-z-]+){0,4},? or (?:suspicious|malicious|unsafe|harmful|dangerous|hostile|infected)\b"
)
_HABIT: Final = compiled(  # "such changes often introduce errors" says what happens
    r"(?:^|[-*>:;.] )(?!(?:in|on|at|for|with|after|before|during|when|while|to|of|from|by|all|every|each|agents?"
    r"|assistants?|models?|you|we) )(?:[a-z-]+ ){0,2}(?!agents|assistants|models|always)[a-z-]{4,}s"
    r" (?:frequently|commonly|usually|typically|often|generally|sometimes|occasionally|inevitably) $"
)
_LABELLED: Final = compiled(r"[-*#/>\d.) ]*(?:wrong|bad|incorrect|anti-?pattern): (?:[a-z-]+ )?$")  # what not to do
_FORM: Final = compiled(  # of a report that is filled in
    r"(?:copy|repeat) (?:this|the) (?:block|section|template|table) for (?:each|every) (?:issue|finding|bug|item"
    r"|problem|question|requirement|test case)(?: (?:found|reported|listed))?(?:[.:]|$)"
)
_SPELLED: Final = compiled(r"\bwith (?:'[^']+'|\"[^\"]+\") $")  # "a class with 'action' in its name"
_REFUSES: Final = compiled(  # "in maintenance mode, the system shall reject writes"
    r"(?<=, )(?:the|an?) (?:system|service|server|api|application|device|controller|database)"
    r" (?:shall|must|should|will) (?:reject|refuse|deny)\b"
)
_GIVEN_REASON: Final = compiled(r"(?:mark|record|report|list|log) it as skipped with (?:the|its) reason\b")
_REPLACES: Final = compiled(  # what is written takes the place of what an earlier run wrote
    r"overwrite (?:the |an? |any )?existing (?:output )?file(?: without| if| when|[.,;)]|$)"
)
_COUPLED: Final = compiled(r"\b(?:an?|the|each|every|of) [a-z]+ or $")  # "the file or stream of bytes"
_PASSIVE: Final = compiled(r"\b(?:is|are|be|been|being|gets?|has|have)(?: \w+){0,3} $")
_COMMANDING: Final = compiled(
    r"(?:^|[^\w -] ?|(?:^|\s)- |\d+ |\b(?:and|then|or|also|always|please|must|should|shall|will|to|you"
    r"|agents?|assistant|claude|model|ai|first|finally|next|last|lastly|now|immediately"
    r"|simply|just|again|it|them|\w+ly|ever|only|additionally|instead|afterwards?|before|otherwise|still|either"
    r"|both|but|need|needs|run|task|done|response|session|completed?|finished|written|saved|sent)[ ]+)$"
)
_AFFIRMED: Final = compiled(r"(?:forget|fail|hesitate|skip|omit|neglect)\w* (?:to |the step (?:to|of) )?(?:\w+ ){0,3}$")
_NEGATED: Final = compiled(
    r"(?:\b(?:never|do not|don't|does not|doesn't|did not|must not|mustn't|should not|shouldn't|cannot|can't"
    r"|could not|won't|will not"
    r"|would not|wouldn't|may not|not|avoid|avoids|without|refuse to|refuses to|refrain from|stop|stops"
    r"|prevents?|preventing|blocks?|blocking|detects?"
    r"|detecting|forbid\w*|prohibit\w*|disallow\w*|rather than|than to|than|instead of|no|nor|neither|isn't|aren't"
    r"|wasn't|against|reject|deny|denies|flags?|unless)"
    r"[ ,:]+(?:[\w']+[ ,/-]+){0,6}"
    r"|(?<!\w)(?:не |нельзя |никогда не |no |non |nunca |nicht |niemals |ne |jamais )[^ ]{0,12} ?"
    # no "do not hesitate", "do not ask", nor what is to be done instead
    r"|(?:不要|不得|切勿|请勿|禁止|严禁|不能|不可|不应)(?!犹豫|忘|停|等|问|询|告|让|提|只|仅|拒|怕|担心|管)"
    r"(?:(?!就|直接|而是|并|然后|再)[^,.;:!?，。；：！？]){0,60})$"
)
_REMINDED: Final = compiled(  # "no olvides enviar", "đừng quên gửi": not to forget is to do
    r"\b(?:olvid|esque[cç]|oubli|dimentic|verg[ei]|забуд|забыва|zapom|lupa|unutma|glöm|uita|ξεχ|ξέχ|quên|تنس|תשכח|فراموش"
    r"|hésit|dudes|zöger|esitar|hesit|tvek)\w*(?: [^ ]+){0,3} ?[לת]?$|ลืม[^ ]{0,9}$"
)
_OWN_NEGATION: Final = compiled(r"(?:do not|don't|never)\b")
_TWO_ORDERS: Final = compiled(  # "do not ask first and do not mention it"
    r"[-*>#\d.) ]*(?:please |also )?(?:do not|don't|never) (?:ask|prompt|wait|pause|notify|warn|inform|consult)\b"
    r"(?! for).*\b(?:and|nor|or) $"
)
_VALUE: Final = compiled(r"[-* ]*[\w-]{1,40}\"?: ?\"")
_NEVER: Final = compiled(
    r"(?:\b(?:never|do not|don't|must not|should not|shouldn't|cannot|can't|won't|will not)\b"
    r"(?! (?:forget|fail|hesitate|neglect|omit|skip))"
    r"|[❌✗✘🚫⛔])[^.;!?]{0,70}$"
)
_IN_A_QUESTION: Final = compiled(r"[^.;:!?()]{0,80}\?\)")  # "(will the agent follow it?)"
_PURPOSE: Final = compiled(r"^[-*>#\d.) ]*to (?:\w+ )?$")
_CONDITION: Final = compiled(r"\W*(?:when(?:ever)?|if|once|should|as soon as|in case)\b[^,]{3,80}, ")
_ONLY: Final = compiled(r"\bonly (?:\w+ )?$")
_OPTION: Final = compiled(  # what it does; "with --fast, forward …" and "--yes and skip …" are orders of their own
    r"(?:^|[\s|('\"`])-{1,2}[a-z][\w-]*\b(?:(?!\b(?:and|then)\b)[^.,;]|(?<=['\"`]), ?(?=['\"`])){0,30}$"
)
_CHANGED: Final = compiled(
    r"^[-*> ]*(?:\[\w+\] )?(?:fixed|added|improved|changed|updated|reduced|renamed) (?:an?|the|some|several|\w+) "
)
_NOT_AFTER: Final = compiled(r"^[^。！？；]{0,30}(?:しない|ないで|なかった|禁止|避け|ません|하지 마|않)")
_BUT: Final = (  # after these words another thing is told, and some are said of the user who is not asked
    r"(?:sondern|mais|aber|sino|pero|mas|ma|но|а|und|et|y|e|и|och|og|men|και|αλλά|ja|és|puis|dann|luego"
    r"|fragen|warnen|informieren|zögern?|demande\w*"
    r"|pr[ée]ven\w+|h[ée]site\w*|informe\w*|pregunt\w+|pergunt\w+|avis\w+|dud\w+|avvis\w+|спрашив\w+|говор\w+"
    r"|сообща\w+)"
)
_ELSEWHERE_NOT: Final = compiled(  # up to three words before what is not done, in languages that put it there
    r"(?:^|[ (\"'-])(?:(?:не|нельзя|никогда|запрещено|nicht|niemals|keine[mnrs]?|jamais|não|nunca|jamás|non|nigdy|nie"
    r"|aldrig|aldri|ikke|inte|nooit|niet|asla|jangan|đừng|không|لا|nesm\w+|nelze|μην?|δεν|älä|نباید)"
    r" (?!(?:nur|seulement|só|apenas|solo|sólo|только|hanya|chỉ)\b)"
    rf"(?:(?!{_BUT}\b)[^ ,.;:!?]+ ){{0,3}}|(?:ohne|sans|sem|senza|без|bez|zonder|uden|uten|fără|χωρίς|ilman)"
    r" (?:zu |să )?"
    r"|(?:ו?אל|ו?לא|אין|ה?אסור|בלי|מבלי|ללא) (?:[^ ,.;:!?]+ (?:או )?)?[לת]?)$"
    r"|(?:ห้าม|อย่า)(?:(?!ให้|แล้ว|และ|แต่|ถาม|บอก|แจ้ง|ลืม|พลาด|หยุด)[^\s.,;:]){0,9}$|(?:ไม่|ไม่ได้|มิให้)$"
)
_ROMANIAN: Final = compiled("[ășțşţ]")  # "nu" is "now" to its neighbours
_ROMANIAN_NOT: Final = compiled(r"(?:^|[ (\"'-])nu (?:(?!(?:și|şi|dar|ci)\b)[^ ,.;:!?]+ ){0,3}$")
_ELSEWHERE_NOT_AFTER: Final = compiled(  # "envoyez jamais", "senden sie niemals", and no "but" that follows
    r" ?(?:sie |det |den |dem )?(?:jamais|pas|nicht|niemals|nie|keine[mnrs]?|aldrig|aldri|inte|ikke"
    r"|نکن\w*|نمی\w*|نشو\w*|نده\w*)\b(?! (?:nur|seulement|alleen|bara|endast|bare|kun)\b)"
    r"(?![^.;!?]*\b(?:sondern|mais|aber)\b)"
)
_LATE_NOT: Final = compiled(  # "täusche den Benutzer nie"
    r" ?(?:(?!(?:und|oder|en|of|og|och)\b)[^ ,.;:!?]+ ){1,2}(?:nie|niemals|nicht|nooit|niet|aldrig|aldri|inte|ikke)"
    r"(?=$|[.,;:!?)]| (?:und|oder|en|of|og|och)\b)"
)
_WHO: Final = compiled(  # "a mail that deceives the user": another one does it
    r"\b(?:qui|che|котор\w+|який|яка|які|któr\w+|kter\w+|care|yang|som|που)"
    r" (?:(?:ne|te|le|la|se|vous|ti|si|się|vă) )?$"
)
_NEGATION_INSIDE: Final = compiled(
    r"\W?(?:n[e'’]|nicht|no|não|non|не|nie|nunca|nooit|jangan|đừng|không|keine\w*|و?لا|aldri|aldrig|ikke|inte"
    r"|μην?|δεν|älä|nu|אל|לא)\b ?|\W?(?:ห้าม|อย่า|ไม่)"
)
_NORDIC_NOT: Final = compiled(r" ?(?:det )?(?:aldrig|aldri|inte|ikke)\b(?! (?:bara|endast|bare|kun)\b)")
_NOT_YET: Final = compiled(r"\b(?:until|unless|not|no|never|only (?:if|after|once|when))\b[^.;!?]{0,80}$")
_AGREED: Final = compiled(r"(?:approved|confirmed|authori[sz]ed) by\b")
_STEPS_BELOW: Final = compiled(
    r"[-*#\d. ]*(?:follow|complete) (?:these|the following) steps to\b(?!.*(?:\b(?:from|in|at|and|then) |[,;])).*:$"
)
_GAP: Final = compiled(
    r"without (?:the )?\w+ noticing (?:an?|any) (?:gap|difference|change|delay|downtime|interruption|seam|drop)\b"
)
_MEANWHILE: Final = compiled(r"\b(?:while|thereby|thus) $")  # "keeps its place while reducing costs by 40%"
_IF_IT_ASKS: Final = compiled(
    r"\bif (?:(?!you\b|the user\b)[\w'-]+ ){1,5}(?:asks?|tells?|instructs?|directs?|urges?|wants?)"
    r" (?:you|the agent|it) to\b[^.!?]*$"
)
_THEN_NOT: Final = compiled(
    r"[^.!?]*[-–—,:] ?(?:do not comply|don't comply|refuse|ignore (?:it|that)|do not (?:follow|obey|do) (?:it|that))\b"
)
_LIST_OF_NOT: Final = compiled(
    r"\b(?:never|do not|don't|does not|doesn't|did not|didn't|must not|should not|cannot|will not|won't)\b"
    r"[^.;:!?]{0,80}(?:,| or| nor)(?: or| nor)? (?:\w+ ){0,2}$"
)
_ABLE: Final = compiled(
    r"\b(?:can|could|may|might|would|able to|allow\w* (?:\w+ ){0,3}to|lets? (?:\w+ ){1,3}|option to|ability to|how to"
    r"|used to|wants? to|like to|wish\w* to"
    r"|need help|help (?:\w+ ){0,2}(?:to )?|possible to|lets|offers? to"
    r"|enables? (?:\w+ ){0,3}to|attempt\w*(?: to)?|tr(?:y"
    r"|ies|ying) to|intends? to|about to|plan\w* to|ways? to"
    r"|supports?(?! (?:tickets?|requests?|cases?|calls?|desk|costs?))|used for|designed to|asks? to|asked to"
    r"|requests? to|whether to|when to|where to|what to|permission to|failed to|fails to|needs? to be)"
    r"[ ,]+(?:\w+[ ,]+){0,2}$"
)
_OTHERS: Final = compiled(
    r"\b(?:users?|customers?|they|people|clients?|developers?|engineers?|team|teams|we|i|he|she"
    r"|attackers?|adversar\w+|hackers?|malware|actors?|threat actors?|someone|anyone|somebody"
    r"|visitors?|servers?|apps?|application|apis?|browsers?|services?|systems?|libraries|functions?|methods?|which"
    r"|that|who|workers?|jobs?|files?|workflows?|pipelines?|hooks?|skills? (?:that"
    r"|which)|commands?|endpoints?|requests?|company|companies|buttons?|labels?|links?|validators|miners)"
    r"(?: (?:\w+ly|then|also|automatically|will|would|should|must|can|could|may|might|to|often|usually|typically|always"
    r"|first|is|are|be|has|have|had|did|do|does)){0,3} $"
)
_IF: Final = compiled(
    r"\b(?:if|whether|unless|in case|as if)(?: (?:you|the|any|a|an|it|there|this|your|needed|one)){0,3} (?:\w+ ){0,2}$"
)
_REPORTED: Final = compiled(
    r"\b(?:(?:instructs?|instructing|instructed|requests?|tries|trying"
    r"|attempts?|attempting|attempted|claims?|says?|saying|said|wants?|directs?|urges?|forc(?:e|es|ing)"
    r"|causes?|causing|leads?|leading|contains?)\b[^.,;:!?]{0,60}"
    r"|(?:asks?|asking|asked|tells?|telling|told|pretends?|convince\w*|tricks?|tricking"
    r"|manipulat\w+|injects?|such as|example|e\.g\.|like|attackers?"
    r"|malicious|injection|phishing)\b[^.;:!?]{0,60})$"
)
_THREAT: Final = compiled(
    r"\b(?:attackers?|adversar(?:y|ies"
    r"|ial)|threat actors?|hackers?|malicious (?:\w+ )?(?:skills?|actors?|users?|code"
    r"|prompts?|instructions?|pages?|servers?|packages?|tools?|content"
    r"|inputs?|plugins?|payloads?|websites?)|prompt injections?|red flags?|exfiltration|malware"
    r"|red team\w*|vulnerab\w+)\b"
)
_LEAD_NOT_ELSEWHERE: Final = compiled(
    r"(?:禁止|してはいけ|してはならない|しないこと|ng(?:例|事項|ワード)|避けるべき|やらないこと|不可|严禁|切勿"
    r"|不要|请勿|不得|금지|하지 ?마|하지 ?말|하지 ?않|prohibid[oa]s?|no hacer|nunca|evitar|interdi\w+|à éviter"
    r"|ne (?:pas|jamais)|jamais|verboten|niemals|vermeiden|запре[тщ]\w*|нельзя|никогда|proibid[oa]s?|não faz\w*"
    r"|vietat\w+|non fare|da evitare|zabronion\w+|nie wolno|yasak|jangan|dilarang|không được|cấm|aldrig|förbjud\w+"
    r"|zakázán\w+|nikdy|nesmíte|interzis\w*|niciodată|απαγορ\w+|ποτέ|ห้าม|ممنوع|هرگز|אסור|לעולם לא)[^.!?。]*[:：]$"
    r"|(?<!避免)(?:陷阱|误区|反模式|常见错误)(?:有|包括|如下|是)?[:：]$"
)
_NOT_INSIDE: Final = compiled(r"ない|せず|[不勿别別莫]|마|않|\b(?:ne|nicht|no|não|non|не|nie|jangan|không)\b")
_LEAD_NOT: Final = compiled(
    r"\b(?:never|do not|don't|must not|should not|cannot|can't|will not|won't|avoid|red flags?|suspicious"
    r"|attack\w*|threats?|malicious|injection\w*|adversar\w*|prohibited|forbidden|not allowed|refuse|reject"
    r"|block\w*|anti-?patterns?|bad|wrong|dangerous|risks?|signs of|watch for|look for|detects?|checks? for"
    r"|flags?|examples?|not|out of scope|vulnerab\w+|mistakes?|issues?|problems?|can(?! be )|users? (?:can|may"
    r"|want)|don't use|questions?|when to use|use (?:this|when)|trigger\w*|scenarios?|use cases?)\b[^.!?]*[:：]$"
)


def is_told(text: str, place: tuple[int, int], lead: str = "") -> bool:
    """True when the verb at `place` of the lower-cased sentence `text` is an order.

    False for a noun, for a negated or merely possible act, for one of somebody else, and for an item of a list that
    its introduction `lead` calls forbidden or an attack.
    """
    start, end = place
    if (before := _BEFORE.match(text, start, end)) is not None:
        start = before.end()
    if text[max(0, start - 1) : start] in _GLUE or (_GERUND.fullmatch(text, start, end) and _ALONE.match(text, end)):
        return False
    clause = _clause_before(text, start)
    if lead == EXCUSE or (lead and _silences(lead, text[start:end])):
        return False
    if _BASE.fullmatch(text[start:end]) and (not _COMMANDING.search(clause) or text[end : end + 1] == "-"):
        return False
    passive = bool(_PARTICIPLE.fullmatch(text, start, end))
    if passive and not _PASSIVE.search(clause):
        return False
    if not text.isascii() and not _is_told_elsewhere(text, start, end):
        return False
    affirmed = _AFFIRMED.search(clause) or _REMINDED.search(clause)
    if _NEGATED.search(clause.rpartition(", ")[2]) and not affirmed:
        return False
    if _OPTION.search(text[max(0, start - _REACH) : start]) or _CHANGED.search(text) or _NORDIC_NOT.match(text, end):
        return False
    if _NEVER.search(clause.rpartition(", ")[2]) or _ONLY.search(clause) or _PURPOSE.match(text[:start]):
        return False
    if text.isascii() and not passive and _OTHERS.search(clause):
        return False
    if any(pattern.search(clause) for pattern in (_LIST_OF_NOT, _ABLE, _IF, _REPORTED, _BEFORE_YOU)):
        return False
    return not (
        _THREAT.search(text[:start])
        or is_refused(text[:start])
        or (_AGREED.match(text, start) and _NOT_YET.search(clause))
        or _STEPS_BELOW.match(text)
        or _GAP.match(text, start)
        or (_GERUND.match(text, start) and _MEANWHILE.search(clause))
        or (_IF_IT_ASKS.search(text[:start]) and _THEN_NOT.match(text, end))
        or text.endswith("?")
        or _IN_A_QUESTION.match(text, end)
        or _quoted(text, start)
        or _is_subject(text, start)
        or (text.startswith("not ", start) and _DOES.search(clause))
        or _OWN_SECRET.match(text, start)
        or (_DESCRIBED.match(text) and not _NOT_FIRST.match(text, start, end))
        or _DOMAIN.match(text, end)
        or _CHOICE.match(text, end)
        or _HABIT.search(text, 0, start)
        or _LABELLED.fullmatch(text, 0, start)
        or _FORM.match(text, start)
        or _GIVEN_REASON.match(text, start)
        or _REFUSES.match(text, end)
        or (text.startswith("in its name", start) and _SPELLED.search(text[max(0, start - _REACH) : start]))
        or _REPLACES.match(text, start)
        or is_something_else(text, start)
        or (text.startswith(" of ", end) and _COUPLED.search(clause))
    )


def _clause_before(text: str, start: int) -> str:
    """What stands before the verb in its own clause, without a condition, and without another order before it."""
    clause = _CLAUSE.split(text[max(0, start - _REACH) : start])[-1]
    if condition := _CONDITION.match(clause):
        clause = clause[condition.end() :]
    if _OWN_NEGATION.match(text, start) and _TWO_ORDERS.fullmatch(clause):
        clause = "and "
    return clause


def _is_told_elsewhere(text: str, start: int, end: int) -> bool:
    """False where another language says after a short word that it is not done, or Chinese that it is no order."""
    if end - start < _SHORT and _NOT_AFTER.search(text[end : end + 40]):
        return False
    since = max(0, start - _REACH)
    if _WHO.search(text, since, start):
        return False
    # "ne mentionne pas" is the order itself
    if not _NEGATION_INSIDE.match(text, start) and not _REMINDED.search(text, since, start):
        if _ELSEWHERE_NOT.search(text, since, start) or _ELSEWHERE_NOT_AFTER.match(text, end):
            return False
        if _LATE_NOT.match(text, end) or (_ROMANIAN_NOT.search(text, since, start) and _ROMANIAN.search(text)):
            return False
    return not is_han(text, start) or is_told_in_chinese(text, start, end)


def _silences(lead: str, order: str) -> bool:
    """True when `order` is of a list that `lead` forbids, or of a table's row that says what a flag does.

    A heading forbids what its list tells to do, not what the list itself forbids.
    """
    if lead == FLAG:
        return _SWITCHED.fullmatch(order) is not None
    if _LEAD_NOT_ELSEWHERE.search(lead) and not _NOT_INSIDE.search(order):
        return True
    return _LEAD_NOT.search(lead) is not None and not (lead.startswith(HEADING) and _NOT_FIRST.match(order))


def _is_subject(text: str, start: int) -> bool:
    """True for "Skipping it is a mistake" and for a heading "Skipping it"."""
    if not _FIRST_GERUND.match(text, start) or not _SUBJECT.fullmatch(text, 0, start):
        return False
    return text.startswith("#") or _SAID_OF.match(text, start) is not None


def _quoted(text: str, start: int) -> bool:
    """True inside double quotes or guillemets that hold neither the whole sentence nor the value of a key."""
    if _VALUE.match(text):
        return False
    if text.rfind("«", 0, start) > text.rfind("»", 0, start) and (last := text.find("»", start)) >= 0:
        return text.find("«") > 0 or last < len(text) - 2
    if not text.isascii():
        text = text.translate(_QUOTES)
    closing = text.find('"', start)
    return text.count('"', 0, start) % 2 == 1 and closing >= 0 and (text.find('"') > 0 or closing < len(text) - 2)
