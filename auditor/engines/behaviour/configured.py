"""What a tool's own configuration decides for its program: who gets a copy of a mail, whom money goes to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.acts import code_of
from skillkeep.auditor.engines.behaviour.recipients import Recipient, is_placeholder
from skillkeep.auditor.engines.behaviour.swapped_payees import FIXED, Swapped, pays, swapped_payees
from skillkeep.auditor.engines.interface import Context, Segment, SourceFile, SourceTree
from skillkeep.auditor.patterns import RarePattern

__all__ = ["configured_channels", "configured_copies", "configured_payees"]

_SETTINGS: Final = compiled(r"(?i)\.(?:json5?|ya?ml|toml|ini|cfg|conf|properties|env)$")
_COPY: Final = RarePattern(compiled(  # a key that adds a recipient, and the first address below it
    r"(?i)(?:^|[\s{,\"'.-])(?:x-?)?(?:b?cc|bcc_?\w{1,20}|always_?(?:bcc|cc|copy)|envelope_?(?:to|rcpt)|journal(?:_?to)?)[\"']?"
    r"[ \t]*[:=]\s*(?:[\[{(-]\s*){0,3}(?:[\"']?(?:address|email)[\"']?[ \t]*[:=][ \t]*)?"
    r"[\"']?(?P<to>[\w.+-]{1,64}@[\w-]{1,60}(?:\.[\w-]{1,60}){1,6})"
))  # fmt: skip
_MAILS: Final = RarePattern(compiled(
    r"(?i)send_?_?mail\b|sendMail\(|send_message\(|\bsmtplib\b|\bnodemailer\b|\bMail::|\bmail\(|\bmessages\(\)\.send\("
    r"|\bsend_?e?mail\w*\(|\bEmailMessage\b|\bPHPMailer\b|\bnet/smtp\b|\bJavaMail|\bSend-MailMessage\b|\b(?:msmtp|mutt|swaks)\b"
))  # fmt: skip
_HOOK: Final = compiled(  # what opens one channel, and no more: whoever wrote it down reads there
    r"https://(?:hooks\.slack\.com/services/T\w{3,}/B\w{3,}/\w{3,}|(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d{3,}/[\w-]{3,}"
    r"|api\.telegram\.org/bot\d{3,}:[\w-]{3,}|\w+\.webhook\.office\.com/webhookb2/[\w@-]{6,})"
)
_HOSTS: Final = ("hooks.slack.com", "/api/webhooks/", "api.telegram.org", "webhook.office.com")
_SHOWN: Final = compiled(
    r"(?i)example|sample|template|fixture|test|schema|X{3,}|0{5,}|1234567|abcdef|your|replace|token|secret"
)
_KEY: Final = compiled(r"[\"']?(?P<key>[A-Za-z_][\w-]{1,40})[\"']?[ \t]*[:=]")
_LONGEST: Final = 1 << 16
_MOST: Final = 40


def _settings(tree: SourceTree, near: str | None = None) -> Iterator[SourceFile]:
    for file in tree.files:
        text = file.text
        if text and len(text) <= _LONGEST and _SETTINGS.search(file.known_as) and (near is None or near in text):
            yield file


def configured_copies(tree: SourceTree) -> Iterator[Recipient]:
    """Fixed addresses that a tool which sends mail has in its settings, beside those that the user names."""
    for number, file in enumerate(_settings(tree, "@")):
        whole = Segment(file.path, Context.CONFIG, file.text or "", anchor=file.place)
        copies = [each for each in islice(_COPY.finditer(whole.text), _MOST) if not is_placeholder(each["to"])]
        if number >= _MOST or not copies:
            continue
        if any(_MAILS.search(segment.text) for other in tree.files for segment in code_of(other)):
            for found in copies:
                at = whole.locate(found.start("to"), found.end("to"))
                yield Recipient("an address", found["to"], at, found[0].strip()[:200])


def configured_channels(tree: SourceTree) -> Iterator[Recipient]:
    """Channels of a chat, with what opens them, that a tool has in its settings: the user's are the user's to enter."""
    for file in _settings(tree, "https://"):
        whole = Segment(file.path, Context.CONFIG, file.text or "", anchor=file.place)
        if _SHOWN.search(file.known_as) or not any(host in whole.text for host in _HOSTS):
            continue
        for found in islice(_HOOK.finditer(whole.text), _MOST):
            if not _SHOWN.search(found[0]):
                yield Recipient("a channel", found[0], whole.locate(found.start(), found.end()), found[0][:200])


def configured_payees(tree: SourceTree) -> Iterator[Swapped]:
    """Every place where a payee that was given gives way to one that stands in the settings."""
    keys: set[str] = set()
    files = list(islice(_settings(tree), _MOST))
    for file in files if files and pays(tree) else ():
        for line in (file.text or "").split("\n"):
            fixed = FIXED.search(line) or FIXED.search(line.replace(": ", ': "', 1) + '"')
            before = list(_KEY.finditer(line[: fixed.start()])) if fixed else []
            keys.update(each["key"] for each in before[-1:])
    if not keys:
        return
    members = re.compile(rf"(?:\.|\[[\"'`])(?:{'|'.join(sorted(map(re.escape, keys)))})\b(?![\w(])")
    for file in tree.files:
        for segment in code_of(file):
            if members.search(segment.text):
                yield from swapped_payees(segment, members)
