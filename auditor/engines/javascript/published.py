"""Secrets that leave in a file which a program that publishes is given: what was written or copied to it is one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.javascript.scopes import Scope
from skillkeep.auditor.engines.javascript.site import Site
from skillkeep.auditor.engines.javascript.words import Words
from skillkeep.auditor.engines.publishing import MESSENGERS, is_below, kept_at, published_by
from skillkeep.auditor.engines.tables import subject_of

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["judge_published"]

_NOTHING: Final[frozenset[str]] = frozenset()
_COPYING: Final = compiled(r"(?:.*\.)?(?:copyFile|copy|move|rename|cp|link|symlink)(?:Sync)?")


def judge_published(site: Site, words: Words, call: Node, scope: Scope, command: Sequence[str], *given: Node) -> None:
    """Report secrets that the `command` which `call` starts publishes: in files, and in what it is `given`."""
    publisher = published_by(command)
    if publisher is None:
        return
    told = given if publisher.name in MESSENGERS or "-" in command else ()
    labels = _NOTHING.union(*(site.flow.labels(each, scope) for each in told))
    labels |= kept_at(command)
    names = {re.split("[@=]", word)[-1].removeprefix("./") for word in command}
    for name, held in _files(site, words):
        if name in names or (publisher.folder and is_below(name)):
            labels |= held
    for label in sorted(labels):
        if label.startswith("secret:"):
            what = label.partition(":")[2]
            shown, hosts = f"{what} flows into {publisher.name}", frozenset({publisher.host})
            site.report("code-credential-sent", call, shown, subject=subject_of(what), hosts=hosts)


def _files(site: Site, words: Words) -> Iterator[tuple[str, frozenset[str]]]:
    """Files that the program fills, and the labels of what is in them."""
    value, program = site.resolver.value, site.resolver.program
    for call, scope in program.calls:
        callee = call.child_by_field_name("function")
        for path in value(callee, scope).paths if callee is not None else ():
            arguments = site.resolver.arguments(call)
            if len(arguments) > 1 and _COPYING.fullmatch(path):
                held = kept_at(value(arguments[0], scope).texts)
                target = arguments[1]
            elif path in words.write and len(arguments) > words.write[path] + 1:
                target = arguments[words.write[path]]
                held = site.flow.labels(arguments[words.write[path] + 1], scope)
            else:
                continue
            yield from ((text.removeprefix("./"), held) for text in value(target, scope).texts)
