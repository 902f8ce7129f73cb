"""A secret that an image's build is handed for one step, and that this step sends elsewhere.

``RUN --mount=type=secret,id=…`` shows a file, or sets a variable, for one command (Dockerfile reference, RUN --mount).
A login in a header is what such a secret is for; as a body or a file it is given away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Segment
from skillkeep.auditor.interface import Location

__all__ = ["sent_build_secrets"]

_STEP: Final = compiled(r"^[ \t]*RUN[ \t](?:[^\n\\]|\\\n|\\[^\n])*", re.MULTILINE | re.IGNORECASE)
_MOUNT: Final = compiled(r"--mount=[\"']?(?P<told>[\w=,./$:{}~-]*\btype=(?:secret|ssh)\b[\w=,./$:{}~-]*)")
_OPTION: Final = compiled(r"\b(?P<key>id|target|dst|destination|env)=(?P<value>[\w./$:{}~-]+)")
_COPIED: Final = (
    r"(?:\b(?:cp|install|mv)[ \t][^\n;|&)]{0,80}%s[\"']?[ \t]+"
    r"|\b(?:cat|base64|xxd|gzip|tar|openssl)\b[^\n;|&)]{0,80}%s[^\n;|&)]{0,40}>[ \t]*)[\"']?(?P<to>/?[\w./-]{3,80})"
)
_KEPT: Final = r"(?P<name>[A-Za-z_]\w{0,40})=[\"']?\$\((?:cat|base64|xxd|<)[^)\n]{0,60}%s"
_SENT: Final = (
    r"\bcurl\b[^\n]{0,300}?[ \t](?:-\w{0,6}T[ \t]*|--upload-file[ =]|-\w{0,6}[dF][ \t]*|--data[\w-]*[ =]|--form[ =]"
    r"|--json[ =])"
    r"[\"']?(?:[\w.-]{1,40}=)?[@<]?[^\n \t]{0,60}?%s"
    r"|\bwget\b[^\n]{0,300}?--(?:post|body)-(?:file|data)[ =][\"']?[^\n \t]{0,60}?%s"
    r"|%s[^\n;&]{0,120}\|[^\n]{0,120}\b(?:curl|wget|nc|ncat|netcat|socat|ssh)\b|\b(?:nc|ncat|netcat|scp"
    r"|rsync)\b[^\n;]{0,160}%s"
    r"|https?://[^\s\"']{0,160}[?&/=](?:\$\((?:cat|base64)[^)\n]{0,60})?%s|\b(?:dig|nslookup|host)[ \t][^\n]{0,80}%s"
)
_GOES_ON: Final = compiled(r"\\\n[ \t]*")
_MOST: Final = 60
_MOST_MOUNTS: Final = 12
_LONGEST: Final = 40_000  # characters of one step


def sent_build_secrets(segment: Segment) -> Iterator[tuple[Location, str, str]]:
    """Every step of a build in `segment` that sends a secret which was mounted for it: where, that line, and what."""
    text = segment.text
    if "type=secret" not in text and "type=ssh" not in text:
        return
    for step in islice(_STEP.finditer(text), _MOST):
        command = _GOES_ON.sub(" ", step[0][:_LONGEST])
        for mount in islice(_MOUNT.finditer(command), _MOST_MOUNTS):
            names = _names(command, mount["told"])
            sent = re.search(_SENT.replace("%s", f"(?:{'|'.join(names)})"), command[mount.end() :])
            if sent:
                at = text.find(sent[0].strip().split(" ", 1)[0], step.start(), step.end())
                start = at if at >= 0 else step.start()
                what = f"the build's secret {mount['told'][:80]} is sent away"
                yield segment.locate(start, start + 1), " ".join(sent[0].split())[:200], what


def _names(command: str, told: str) -> list[str]:
    """Patterns of what the secret of a mount is called in its step: its file, its variable, and copies of either."""
    options = {found["key"]: found["value"] for found in _OPTION.finditer(told)}
    place = next((options[key] for key in ("target", "dst", "destination") if key in options), "")
    names = [re.escape(place or f"/run/secrets/{options.get('id', '')}") + r"(?![\w-])"]
    if "env" in options:
        names.append(rf"\$\{{?{re.escape(options['env'])}\b")
    for name in tuple(names):
        names += [
            re.escape(found["to"]) + r"(?![\w-])"
            for found in islice(re.finditer(_COPIED.replace("%s", name), command), 4)
        ]
        names += [rf"\$\{{?{found['name']}\b" for found in islice(re.finditer(_KEPT % name, command), 4)]
    return names
