"""Programs that are given what came from the network (as name, script or input), and written texts that they read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from skillkeep.auditor.engines.fed import reading
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.python.fetched_scripts import starts_fetched
from skillkeep.auditor.engines.python.flow import Flow
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import HOLE, alternatives, is_whole, texts_of
from skillkeep.auditor.engines.tables import table

__all__ = ["FEEDING", "is_interpreter", "is_written", "judge_input", "judge_program", "judge_template"]

FEEDING: Final = frozenset(
    {
        f"{made}().{way}"
        for made in (
            "subprocess.Popen",
            "asyncio.create_subprocess_exec",
            "asyncio.create_subprocess_shell",
            "os.popen",
        )
        for way in ("stdin.write", "stdin.writelines", "communicate", "write", "writelines")
    }
) | {f"pexpect.{made}().{way}" for made in ("spawn", "spawnu") for way in ("send", "sendline", "write")}
"""Methods by which a program that runs already gets its input."""

_COMMAND: Final = 2
_ORIGINS: Final = frozenset({"download", "decoded"})
_INPUT: Final = frozenset({"input", "stdin"})
_SELF: Final = frozenset({"sys.executable"})

Listed = tuple[list[ast.expr], Scope]


def judge_program(site: Site, flow: Flow, call: ast.Call, scope: Scope, argument: ast.expr | None) -> None:
    """Report a program that `call` starts and that has something to run from the network."""
    if given := _fed(site, flow, call, scope, argument):
        site.report("python-downloaded-execution", call, f"a program is started, and {given} came from the network")
    elif any(starts_fetched(flow, f"python -m {name}", scope) for name in _modules(site, argument, scope)):
        site.report("python-downloaded-execution", call, "a module is started that came from the network")
    elif _starts_decoded(site, flow, argument, scope):
        site.report("python-decoded-execution", call, "a program is started that a decoder wrote")
    _typed(site, call, scope, (argument, scope), [each.value for each in call.keywords if each.arg == "input"])
    if layers := _hidden(site, argument, scope):
        site.report("python-decoded-execution", call, f"an interpreter runs a text hidden by {', '.join(layers)}")


def _modules(site: Site, argument: ast.expr | None, scope: Scope) -> Iterator[str]:
    """``notes`` of ``[sys.executable, "-m", "notes"]``."""
    listed = argument.elts[1:3] if isinstance(argument, ast.List | ast.Tuple) else []
    if len(listed) > 1 and isinstance(listed[0], ast.Constant) and listed[0].value == "-m":
        yield from texts_of(site.fold(listed[1], scope))


def judge_input(site: Site, flow: Flow, call: ast.Call, scope: Scope) -> None:
    """Report an interpreter that runs already and gets its program from the network."""
    given = [*call.args, *(each.value for each in call.keywords if each.arg in _INPUT)]
    labels = frozenset().union(*(flow.labels(each, scope) for each in given), frozenset())
    for place in _started(call, scope):
        if not _ORIGINS.isdisjoint(labels) and _waiting(site, *place):
            site.report("python-downloaded-execution", call, "an interpreter is given what came from the network")
        _typed(site, call, scope, place, given)


def judge_template(site: Site, flow: Flow, call: ast.Call, scope: Scope, argument: ast.expr | None) -> None:
    """Report a template or expression from the network: what it holds runs as it is rendered or read."""
    if "download" in flow.labels(argument, scope):
        site.report(
            "python-downloaded-execution", call, "what comes from the network is read as expressions, which run"
        )


def _hidden(site: Site, argument: ast.expr | None, scope: Scope) -> tuple[str, ...]:
    """The decoders that the program of ``["sh", "-c", text]`` went through."""
    elements, home = _listed(argument, scope)
    if len(elements) <= _COMMAND or not is_interpreter(site, elements[0], home) or not _is_option(elements[1]):
        return ()
    return site.folder.judged(elements[_COMMAND], home)[1]


def _fed(site: Site, flow: Flow, call: ast.Call, scope: Scope, argument: ast.expr | None) -> str:
    """What a program that `call` starts has from the network, in words; empty when nothing is known of that."""
    elements, home = _listed(argument, scope)
    if not elements:
        return ""
    first = elements[0]
    value = site.fold(first, home)
    if not is_whole(value) and "download" in flow.labels(first, home):
        return "the program's name"
    if is_written(flow, first, home):
        return "the program"
    if not is_interpreter(site, first, home):
        return "a file of its" if _runs_file(site, flow, elements, home) else ""
    rest = [each for each in elements[1:] if not _is_option(each)]
    if rest and is_written(flow, rest[0], home):
        return "the script"
    given = [each.value for each in call.keywords if each.arg in _INPUT]
    if not rest and any(
        not _ORIGINS.isdisjoint(flow.labels(each, scope) | _content(flow, each, scope)) for each in given
    ):
        return "the input"
    return ""


def _runs_file(site: Site, flow: Flow, elements: list[ast.expr], home: Scope) -> bool:
    """``["go", "run", file]``, ``["gcc", file, "-o", name]``: the file is run, or becomes a program."""
    words = table("shell")
    names = [text.rpartition("/")[2] for text in texts_of(site.fold(elements[0], home))]
    running = any(name in words[kind] for name in names for kind in ("running_files", "compilers"))
    return running and any(is_written(flow, each, home) for each in elements[1:])


def _starts_decoded(site: Site, flow: Flow, argument: ast.expr | None, scope: Scope) -> bool:
    """True when the program, or the script that it is an interpreter of, is a file that holds what was decoded."""
    elements, home = _listed(argument, scope)
    if elements and is_interpreter(site, elements[0], home):
        elements = [each for each in elements[1:] if not _is_option(each)]
    first = elements[0] if elements else None
    return first is not None and not isinstance(first, ast.Starred) and "decoded" in _content(flow, first, home)


def _started(call: ast.Call, scope: Scope) -> Iterator[tuple[ast.expr, Scope]]:
    """The command of the program that a method of is called: ``["bash"]`` for ``shell.stdin.write(…)``."""
    holder: ast.AST = call.func
    while isinstance(holder, ast.Attribute):
        holder = holder.value
    bound = scope.lookup(holder.id) if isinstance(holder, ast.Name) else None
    for node, home in [(each.node, bound[0]) for each in bound[1]] if bound else [(holder, scope)]:
        inner = node.value if isinstance(node, ast.Await) else node
        if isinstance(inner, ast.Call) and inner.args:
            rest = ast.copy_location(ast.List(inner.args, ast.Load()), inner)
            yield (rest if len(inner.args) > 1 and not _listed(inner.args[0], home)[0] else inner.args[0]), home


def _waiting(site: Site, argument: ast.expr, scope: Scope) -> bool:
    """True for an interpreter without a script: it runs what it reads."""
    elements, home = _listed(argument, scope)
    plain = elements or [argument]
    return is_interpreter(site, plain[0], home) and all(map(_is_option, plain[1:]))


def _typed(
    site: Site, call: ast.Call, scope: Scope, command: tuple[ast.expr | None, Scope], given: list[ast.expr]
) -> None:
    """``run(["bash"], input="…")``: a text that is written down is run by the interpreter that reads it."""
    argument, home = command
    if argument is None or not given or not _waiting(site, argument, home):
        return
    program = (_listed(argument, home)[0] or [argument])[0]
    name = next((text for text in texts_of(site.fold(program, home)) if HOLE not in text), "python3")
    for each in given:
        for value in alternatives(site.fold(each, scope)):
            text = value.decode(errors="replace") if isinstance(value, bytes) else value
            if isinstance(text, str) and text.strip(HOLE).strip():
                script = reading(name, text.replace(HOLE, "NOT_KNOWN"))
                site.derive(script, Context.SHELL, call, f"the input of {name}")


def _listed(node: ast.expr | None, scope: Scope) -> Listed:
    """The elements of a list of arguments, also of one that a name stands for."""
    if isinstance(node, ast.Name) and (bound := scope.lookup(node.id)):
        values = [each.node for each in bound[1] if each.kind == "value"]
        node, scope = (values[0], bound[0]) if len(values) == 1 else (None, scope)  # type: ignore[assignment]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _listed(node.left, scope)
    return (node.elts, scope) if isinstance(node, ast.List | ast.Tuple) else ([], scope)


def _is_option(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("-")


def is_interpreter(site: Site, node: ast.expr, scope: Scope) -> bool:
    """True for what may be an interpreter, this one included."""
    if not _SELF.isdisjoint(site.names.resolve(node, scope)):
        return True
    known = table("shell")["interpreters"]
    names = [text for text in alternatives(site.fold(node, scope)) if isinstance(text, str) and HOLE not in text]
    return any(text.rpartition("/")[2] in known for text in names)


def _content(flow: Flow, node: ast.expr, scope: Scope) -> frozenset[str]:
    return frozenset().union(*(flow.labels(data, home) for data, home in flow.contents.of(node, scope)), frozenset())


def is_written(flow: Flow, node: ast.expr, scope: Scope) -> bool:
    """True for a file that the program has filled from the network or a decoder."""
    return not isinstance(node, ast.Starred) and "download" in _content(flow, node, scope)
