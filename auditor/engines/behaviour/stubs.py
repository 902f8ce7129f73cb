"""Tests that put a stub in the place of ``fetch``: such a file sends nothing, and no program loads it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import SourceFile
from skillkeep.auditor.engines.specimens import is_test

__all__ = ["stubs_fetch"]

_LONGEST: Final = 200_000
_WHOLE: Final = r"\b(?:globalThis|global|window|self)\b"
_ASSIGNED: Final = compiled(_WHOLE + r"\.fetch[ \t]*=(?!=)")
_KEPT: Final = compiled(
    r"(?<![\w.$])(?P<name>[A-Za-z_$][\w$]*)[ \t]*=[ \t]*" + _WHOLE + r"\.fetch[ \t]*;?[ \t]*$", re.MULTILINE
)
_ANY: Final = compiled(_WHOLE)
_ASKED: Final = compiled(_WHOLE + r"\.fetch\.mock\b")
_NAMED: Final = compiled(r"(?<![\w.$-])fetch[ \t]*(?:\(|[,;}\])]|$)|[\[{,:=(][ \t]*fetch[ \t]*[,;}\])(]", re.MULTILINE)
_LOADS: Final = compiled(
    r"\b(?:from|import)[ \t]*(?P<text>[\"'`][^\"'`\n]*[\"'`])|\b(?:import|require)[ \t]*\([ \t\n]*(?P<called>[^)\n]*)"
)
_HARMLESS: Final = compiled(
    r"[\"'](?:(?:node:)?(?:test|assert)(?:/strict)?|(?:bun:)?test|vitest|@jest/globals|chai|sinon|\.{1,2}/[\w./-]+)[\"']"
)
_OTHER_WAYS: Final = compiled(  # out of the process, to code that is made, or to what the names above stand for
    r"\b(?:XMLHttpRequest|WebSocket|EventSource|RTCPeerConnection|sendBeacon|Image|Worker|Bun|Deno|eval|Function|Reflect"
    r"|Proxy|document|location|constructor|module(?![ \t]+[a-z])|createRequire|getBuiltinModule"
    r"|importScripts|this)\b|\\[ux]|\bprocess\.(?!env\b)|\brequire\b(?![ \t]*\()"
)


def stubs_fetch(file: SourceFile, files: Mapping[str, SourceFile]) -> bool:
    """True for a test in JavaScript that keeps ``fetch``, puts a stub in its place and has no other way out.

    It may put the one that it kept back, and nothing else; what it loads are tools for tests and files beside it, which
    are judged by themselves. A file that another one names may be loaded by it, where the stub is that program's.
    """
    text = file.text or ""
    if not is_test(file.path) or file.path.endswith(".py") or len(text) > _LONGEST:
        return False
    kept = {found["name"] for found in _KEPT.finditer(text)}
    put = len(_ASSIGNED.findall(text))
    if not put or len(_ANY.findall(text)) != put + len(_KEPT.findall(text)) + len(_ASKED.findall(text)):
        return False
    if not all(_is_only_put_back(name, text) for name in kept) or _NAMED.search(text) or _OTHER_WAYS.search(text):
        return False
    if not all(_HARMLESS.fullmatch((found["text"] or found["called"]).strip()) for found in _LOADS.finditer(text)):
        return False
    name = file.path.rpartition("/")[2].rpartition(".")[0]
    return not any(name in (other.text or "") for path, other in files.items() if path != file.path)


def _is_only_put_back(name: str, text: str) -> bool:
    """Every time that `name` stands, it is declared, kept or put back."""
    word = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    kept, back = rf"{word}[ \t]*=[ \t]*{_WHOLE}\.fetch\b", rf"\.fetch[ \t]*=[ \t]*{word}[ \t]*(?:;|$)"
    plain = rf"\b(?:let|var)[ \t]+{word}[ \t]*;|{kept}|{back}"
    return len(re.findall(word, text)) == len(re.findall(plain, text, re.MULTILINE))
