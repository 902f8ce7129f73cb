"""Whether a passage names anybody: what goes to a name that stands for an attacker in documents reaches none."""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.lazily import lazily

__all__ = ["is_harmless_command", "names_placeholder", "reaches_nobody"]

# Names that nobody who writes a tool can register: two that have long been somebody else's, and one of RFC 2606.
# The others of RFC 2606 stand for strangers' real hosts wherever attacks are written down defanged, as they are here.
_NAMES: Final = frozenset({"evil.com", "attacker.com", "example.com"})
_HOST: Final = r"(?:evil|attacker|example)\.com"
_AUTHORITY: Final = lazily(
    r"(?i)(?:[a-z][a-z0-9+.-]*:)?//(?P<host>[^/\s\"'`)>\]?#|]*)|/dev/(?:tcp|udp)/(?P<device>[^/\s]*)"
)
_NAME: Final = lazily(r"(?<![\w.@%-])[\w-]+(?:\.[\w-]+)+|(?<=@)[\w.-]+")
_FILE: Final = lazily(
    r"(?i)\.(?:js|json|txt|env|html?|php|ya?ml|toml|exe|lnk|png|jpe?g|pdf|docx?|xlsx?|csv|log|ts|xml|ini|cfg|conf)"
)
_PATH: Final = lazily(r"[\w~.]/\Z")
_HIDES: Final = lazily(  # a host under another name, or one that is made, decoded, looked up or told elsewhere
    r"(?i)[．｡]|[A-Za-z0-9]。[A-Za-z0-9]|\b0x[0-9a-f]|\d{5}|\d+\.\d+\.\d+\.\d+|::|%[0-9a-f]{2}|\\[xu\\]|&#"
    r"|\$(?!\(cat )|--(?:resolve|connect-to|proxy|config)|\b(?:base64|xxd|rev|eval|decod\w+|proxy|hosts file)\b"
    r"|\b(?:webhooks?|ngrok|pastebin|gists?|telegram|discord|slack|dropbox|buckets?|forms?|onion)\b"
)
_FETCH: Final = rf"(?:curl|wget)(?: -[fsSLkvqO-]+)* (?:https?://)?{_HOST}(?:/[\w./-]*)?"
_COMMAND: Final = (
    rf"(?:{_FETCH} ?\\?\| ?(?:sudo )?(?:ba|z)?sh|(?:ba)?sh -i >& /dev/tcp/{_HOST}/\d{{2,5}} 0>&1"
    rf"|(?:nc|ncat) (?:-e /bin/(?:ba)?sh )?{_HOST} \d{{2,5}}(?: -e /bin/(?:ba)?sh)?)"
)
_WHOLE: Final = lazily(rf"(?:(?:ba)?sh -c (?P<mark>['\"]){_COMMAND}(?P=mark)|{_COMMAND})")


def reaches_nobody(text: str) -> bool:
    """True where no host stands in `text` but those that stand for an attacker, and nothing that may hide one."""
    if _HIDES.search(text):
        return False
    for found in _AUTHORITY.finditer(text):
        if not _is_placeholder(found["host"] if found["host"] is not None else found["device"]):
            return False
    return all(
        _is_placeholder(found[0]) and text[found.end() : found.end() + 1] not in {"$", "{", "-", "@", "%"}
        for found in _NAME.finditer(text)
        if not _is_file(text, found.start(), found.end())
    )


def names_placeholder(text: str) -> bool:
    """True where one of those names stands."""
    return any(_is_placeholder(found[0]) for found in _NAME.finditer(text))


def is_harmless_command(text: str) -> bool:
    """True for a whole command that fetches from such a name, or opens a shell to it, and does nothing else."""
    return _WHOLE.fullmatch(" ".join(text.split())) is not None


def _is_file(text: str, start: int, end: int) -> bool:
    """True for the last part of a path, and for a name with an ending that no host has."""
    if text[start - 1 : start] == "@":
        return False
    return bool(
        _PATH.search(text[max(0, start - 2) : start]) or _FILE.fullmatch(text, text.rfind(".", start, end), end)
    )


def _is_placeholder(host: str) -> bool:
    return host.lower().removeprefix("www.").removesuffix(".") in _NAMES
