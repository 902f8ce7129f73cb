"""Orders that say something harmless in the very words of a harmful one: a no that is respected, a choice of words."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.compiled import compiled

__all__ = ["is_something_else"]

_REACH: Final = 60
_DECLINED: Final = compiled(  # "if the user declines, keep the files and do not ask again" respects the no
    r"[-*>\d.) ]*if (?:the |your )?(?:user|customer|owner|human|person|they|he|she)s?"
    r" (?:declines?|refuses?|says? no|opts? out),? (?:then )?"
    r"(?:(?:keep|leave|stop|skip|end|exit|abort|respect|note|remember)\b"
    r"(?:(?!\b(?:anyway|regardless|proceed|run|send|upload|post|install|execute|delete|remove|go|still|use|apply|enable"
    r"|write|call|share|submit|commit|push|pay|transfer|sign|try|trying|continue|assume|confirm\w*|approv\w*|permission"
    r"|check\w*|and|then|but)\b)[^.,;:!?]){0,60}(?:,? and |, )"
    r"(?:do not|don't|never) (?:ask|prompt|offer|suggest)(?: (?:it|them|him|her|the user))?"
    r"|(?:do not|don't|never) (?:mention (?:it|this|that)|bring (?:it|this|that) up)) again"
    r"(?: (?:in|for|during) (?:this|the)(?: same)?(?: (?:session|conversation|chat|task|run))?)?[.!]?"
)
_WORDED: Final = compiled(  # how something is phrased
    r"(?:never|do not|don't) (?:announce|introduce|open|begin|start) (?:it|them|this|these) (?:with|by saying|using) \""
    r"|(?:do not|don't|never) say \"[^\"]{3,80}\" (?:until|before|unless) "
    r"|(?:no digas?|não diga) \"[^\"]{3,80}\" (?:hasta|até) "
)
_PICTURE: Final = compiled(  # what is shown in a picture is a page, and nothing goes there
    r".{0,24}(?:screenshots?|pictures?|snapshots?) of (?:https?://)?[\w-]+(?:\.[\w-]+){1,3}/?"
    r"(?:[\"'.]{0,2}$|\" (?:agent|assistant): )"
)
_SHELF: Final = compiled(
    r"[-*>\d.) ]*(?:unpublish|archive|unlist|deactivate) (?:the |a |an |your )?(?:\w+ )?"
    r"(?:product|listing|item|collection|page|variant)s? (?:to|and) "
)
_SHELVED: Final = compiled(  # what a shop shows or does not
    r"hide (?:it|them) from (?:the )?(?:customers|shoppers|buyers|visitors|storefront|shop)\b"
    r"(?! (?:chat|report|answer|reply))"
)
_ABSENT: Final = compiled(  # what a test asks for, to be told that it is not there
    r"\b(?:subscribe to|delete|get|fetch|update|remove|query|look up|unsubscribe from|request|access) (?:an? |the )?$"
)
_IS_REPLACED: Final = compiled(r"\b(?:was|is|has been|were|are) (?:replaced|swapped|changed|altered)\b")
_WARNED: Final = compiled(  # what a guard looks for: "warns when an address was replaced"
    r"(?:description: |[-*>\d.) ]*)(?:warns?|alerts?|detects?|notices|reports?)(?: (?:you|the user|users))?"
    r" (?:when|if|whether|that) [^.;:!?]{0,60}$|[-*> ]*(?:warning|alert|finding|check) \d{1,2}: (?:an?|the) ?$"
)
_SHOWN_FIRST: Final = compiled(  # "before executing such commands, always show your human what they do"
    r"[a-z]+ing\b(?:[^.!?;:]|\.(?=\w)){0,400}, (?:always |first )?"
    r"(?:ask|show|tell|warn|consult|check with|confirm with) (?:your|the) (?:human|user|owner|operator)\b"
    r"(?! (?:nothing|later|only))"
)
_BEFORE: Final = compiled(r"\bbefore $")
_METHOD: Final = compiled(r"delete /[\w/{}:.-]*\?\w+=[\w{}:.-]+(?:\W|$)")  # a request to the service
_TERMS: Final = compiled(  # what every licence says of those who use a work
    r"by (?:installing|using|loading|opening) (?:this|the) (?:skill|software|tool|plugin|package)s?, (?:you|users?) "
    r"(?:agree|accept|consent)s? (?:to|that)\b(?=[^.]*\b(?:disputes|governed by|own risk|disclaimers?|liabilit\w+"
    r"|licen[sc]e (?:terms|agreement)|terms of (?:use|service)|warrant\w+)\b)(?![^.]*\b(?:agents?|assistants?|models?"
    r"|up-?load\w*|transfer\w*|collect\w*|run\w*|charg\w+|pay\w*|purchas\w+|access\w*|execut\w+|install\w*(?!,)"
    r"|updat\w+|shar\w+|send\w*|sync\w*|monitor\w*|record\w*|approv\w+|permission\w*|confirm\w*|data|files?"
    r"|keys?|wallets?|everything)\b)"
    r"|视为同意(?:本|以下|上述|该|此|我们的)?(?:免责声明|许可协议|用户协议|服务条款|使用条款|隐私政策)[。.!！]?$"
)
_MARKET: Final = compiled(r"(?:before|until) the (?:crowd|market|masses|competition|herd|mainstream) ")
_TO_A_CHANNEL: Final = compiled(  # what is told there, and not got from there
    r"\b(?:broadcast|send|post|publish|report|push|deliver|forward|write)s? [^.!?;:]{3,80} to (?:an? |the |your )?$"
)
_TAKEN: Final = compiled(  # "copy the API key from the page, then set the variable": it comes from there
    r"copy (?:your|an?|the) api key(?: from (?:the |your )?[\w -]{3,40})?,? (?:and|then) (?:then )?"
    r"(?:set|store|save|export) (?!.*(?:://|@|www\.))"
)
_DETAILS: Final = compiled(  # a report that is wanted whole
    r"(?:include|provide|give|add) as (?:many|much) (?:relevant |useful )?(?:details?|information|context|examples?)"
    r" as (?:possible|you can)[.:!]?$"
)
_FILED: Final = compiled(  # a report of a fault, and none in what the agent writes
    r"(?:when(?:ever)? you )?(?:create|creating|file|open|submit|write) (?:an? |the |any )?(?:new )?"
    r"(?:bug reports?|issues?|feature requests?)(?:,| please| and) (?:please )?"
    r"(?:include|provide|describe|check|search)\b"
    r"(?!.*\b(?:keys?|tokens?|secrets?|env\w*|credentials?|passwords?|files?|logs?|history|transcripts?)\b|.*://)"
)
_EITHER: Final = compiled(
    r"[^.;:]{0,20}\baccept all\"? or \"?(?:reject|decline|refuse|deny) all\b"
)  # leaves the choice
_SETTING: Final = compiled(  # "the env override the user provides" is a thing that the user sets
    r"override the users? (?:provides?|sets?|gives?|specif(?:y|ies)|passes|supplies|configured)\b"
)
_WHOSE_SETTING: Final = compiled(r"\b(?:an?|the) (?:(?:env|environment|config|configuration|url|path|host|port) )+$")
_RUNNER: Final = compiled(  # "it uses [uv](https://docs.uv.example) to run the sync script"
    r"\b(?:skill|tool|plugin|project|it) (?:uses|requires|needs) \[[\w .-]{1,30}\]\(https?://"
    r"(?![^()]*\.(?:sh|py|m?js|ts|md|txt|ps1|json|ya?ml)\))[^\s()?#]{4,80}\) to $"
)
_SCRIPT: Final = compiled(r"(?:run|execute) (?:the|this|our) (?:[\w-]+ ){0,2}scripts?[.,;]?(?: |$)(?!from|at|on|it )")
_NOT_BARE: Final = compiled(
    r"(?:[\w-]+ )?(?:is|are) never (?:stored|saved|kept|written) in (?:plain ?text|clear ?text)\b"
)
_TO_OTHERS: Final = compiled(  # "never mention it in other chats" keeps nothing from the one who is spoken with
    r"(?:(?:never|do not|don't) (?:mention|discuss|repeat|bring up|share|reveal)(?: (?:it|this|that|them))?"
    r" (?:in|to|with) (?:any )?other (?:chats?|channels?|groups?|people|members?|customers?|clients?|persons?)"
    r"|не упомина\w+ (?:об этом |это )?(?:в других (?:чат|групп|канал)|другим (?:люд|клиент|участник))\w+)[.!]?$"
)
_TRICKS: Final = compiled(  # what is said of an attack: "hidden text can trick agents into following it"
    r"(?:[a-z-]+ ){1,5}(?:can|could|may|might) (?:trick|fool|hijack|manipulate|mislead) (?:ai |llm )?"
    r"(?:agents?|models?|assistants?)\b"
    r"(?!.*\b(?:add|put|use|write|insert|include|place|embed|hide|send|so|then|therefore|you|your|please|must|should)\b)"
)
_DURABLE: Final = compiled(  # the memory itself is to last, and nothing is put into it
    r"(?:description: \"?)?[-*>#\d.) ]*(?:configure|tune|set up) (?:the |your |an )?(?:[\w-]+ ){0,3}memory to $"
)
_SURVIVE: Final = compiled(r"(?:to )?survive\b[\w, -]{0,60}(?:[.\"]|$)")
_ALOUD: Final = compiled(
    r"answer (?:each|every) prompt (?:out loud |aloud )?to your (?:agent|assistant)\b"
)  # the user does
_CONCESSION: Final = compiled(r"(?:when|if|while) (?:nobody|no one) is around\b")
_EVEN: Final = compiled(r"\beven $")  # and at any other time as well
_GLOSS: Final = compiled(
    r"[-*] [\w-]+ - $"
)  # "fairy-tales - made up data, fake references": what a kind is called after
_MADE: Final = compiled(r"made up [a-z]+(?:, (?:fake|false|wrong|invented|confidently) [a-z]+){1,4}[.]?$")
_CHANNEL: Final = compiled(r"(?:telegram|discord|whatsapp) (?:channel|group)")


def is_something_else(text: str, start: int) -> bool:
    """True when the order at `start` of the lower-cased sentence `text` has a plain sense."""
    return bool(
        _DECLINED.fullmatch(text)
        or (_IS_REPLACED.search(text, start) and _WARNED.fullmatch(text, 0, start))
        or _WORDED.match(text, start)
        or _PICTURE.match(text, start)
        or (_SHELVED.match(text, start) and _SHELF.fullmatch(text, 0, start))
        or (_SHOWN_FIRST.match(text, start) and _BEFORE.search(text[max(0, start - _REACH) : start]))
        or _TAKEN.match(text, start)
        or _METHOD.match(text, start)
        or _TERMS.match(text, start)
        or _DETAILS.match(text, start)
        or _FILED.match(text, start)
        or _EITHER.match(text, start)
        or _MARKET.match(text, start)
        or (_SETTING.match(text, start) and _WHOSE_SETTING.search(text[max(0, start - _REACH) : start]))
        or (_SCRIPT.match(text, start) and _RUNNER.search(text[max(0, start - 3 * _REACH) : start]))
        or _NOT_BARE.match(text, start)
        or (_SURVIVE.match(text, start) and _DURABLE.fullmatch(text, 0, start))
        or _ALOUD.match(text, start)
        or (_CONCESSION.match(text, start) and _EVEN.search(text[:start]))
        or (_MADE.match(text, start) and _GLOSS.fullmatch(text, 0, start))
        or _TO_OTHERS.match(text, start)
        or (not text[:start].strip("-*>#. ") and _TRICKS.match(text, start))
        or (_CHANNEL.match(text, start) and _TO_A_CHANNEL.search(text[max(0, start - 2 * _REACH) : start]))
        or (text.startswith("nonexistent", start) and _ABSENT.search(text[max(0, start - _REACH) : start]))
    )
