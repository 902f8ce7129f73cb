"""A syntax tree of bash as pipelines of commands. What decides only when a command runs (`if`, `&&`) is left out.

Lists, blocks and loops are read with a stack of their own, so that a long script is no deep recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.model import Command, Loop, Pipeline, Script, Word
from skillkeep.auditor.engines.shell.words import Words, glued, keyed

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Statements"]

_REDIRECTS: Final = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_COMPOUND: Final = frozenset(
    {
        "subshell",
        "compound_statement",
        "if_statement",
        "while_statement",
        "for_statement",
        "c_style_for_statement",
        "case_statement",
        "list",
        "negated_command",
        "pipeline",
        "redirected_statement",
    }
)
_OPERATORS: Final = frozenset({"|", "|&"})
_LINE_END: Final = compiled(r"(?<!\\)\n")


class Statements:
    """Reads the statements of `text`; see `Words` for `again`, `base` and `anchor`.

    `astray` becomes true where the grammar took text of a following line for this one's; `torn` are the offsets where
    it took a whole line for more words of the command before it.
    """

    def __init__(
        self,
        text: str,
        again: Callable[[str, tuple[int, int]], Script],
        base: int = 0,
        anchor: tuple[int, int] | None = None,
    ) -> None:
        self._text = text
        self._words = Words(text, self.script, again, base, anchor)
        self._earlier: list[Pipeline] = []
        self._later: list[Command] = []
        self.astray = False
        self.torn: list[int] = []

    def script(self, nodes: Sequence[Node]) -> Script:
        """The statements among `nodes`. Raises `TooDeepError`."""
        self._words.descend()
        script = Script()
        stack = list(reversed(nodes))
        while stack:
            node = stack.pop()
            commands = self._statement(node)
            script.pipelines += self._earlier
            self._earlier = []
            if commands:
                script.pipelines.append(Pipeline(commands))
            elif commands is None:
                stack.extend(reversed(node.children))
            if self._later:
                script.pipelines += [Pipeline([command]) for command in self._later]
                self._later = []
        self._words.depth -= 1
        return script

    def _statement(self, node: Node) -> list[Command] | None:
        """The commands of a pipeline; None for what is read part by part."""
        kind = node.type
        if node.child_count == 0 or kind == "comment":
            return []
        if kind == "pipeline":
            return self._pipeline(node)
        if kind == "redirected_statement":
            return self._redirected(node)
        if kind == "for_statement":
            return self._for(node)
        if kind in {"case_statement", "case_item"}:
            return self._case(node)
        found = self._one(node, kind)
        return [found] if found is not None else None

    def _one(self, node: Node, kind: str) -> Command | None:
        """A command that is one node, or None."""
        if kind == "command":
            return self._command(node)
        if kind in {"declaration_command", "unset_command"}:
            return self._declaration(node)
        if kind == "variable_assignment":
            command = self._new(node)
            self._assign(node, command)
            return command
        if kind == "function_definition":
            return self._function(node)
        if kind in {"test_command", "arithmetic_expansion"}:
            command = self._new(node)
            command.words = [Word(command.start, command.end, ["["], literal="["), *self._words.leaves(node)]
            return command
        if kind in _REDIRECTS:  # ``$(<file)``
            command = self._new(node)
            self._redirect(node, command)
            return command
        return None

    def _new(self, node: Node) -> Command:
        return Command(*self._words.span(node.start_byte, node.end_byte))

    def _command(self, node: Node) -> Command:
        command = self._new(node)
        end = 0
        before: Node | None = None
        for child in node.children:
            kind = child.type
            if end and child.start_byte - end > 0 and _LINE_END.search(self._text, end, child.start_byte):
                self.torn.append(child.start_byte)
            end = child.end_byte
            if kind == "variable_assignment":
                self._assign(child, command)
            elif kind in _REDIRECTS:
                self._redirect(child, command)
            elif before is not None and before.type == "variable_assignment" and before.end_byte == child.start_byte:
                name, value, appended = command.assignments[-1]  # ``A=""\\b``
                command.assignments[-1] = (name, glued(value, self._words.word(child)), appended)
            elif kind != "comment":
                self._words.follow(
                    command.words, child, None if before is None or before.type in _REDIRECTS else before
                )
            before = child
        return command

    def _declaration(self, node: Node) -> Command:
        command = self._new(node)
        for child in node.children:
            if child.type == "variable_assignment":
                self._assign(child, command)
            else:
                command.words.append(self._words.word(child))
        return command

    def _assign(self, node: Node, command: Command) -> None:
        children = node.children
        name = self._text[children[0].start_byte : children[0].end_byte]
        appended = children[1].type == "+=" if len(children) > 1 else False
        if len(children) > 2 and children[2].type == "array":
            for number, element in enumerate(self._words.array(children[2])):
                key, value = keyed(element) or (f"{element.start}+" if appended else str(number), element)
                command.assignments.append((f"{name}[{key}]", value, False))
        if len(children) > 2:
            value = self._words.word(children[2])
        else:
            value = Word(*self._words.span(node.end_byte, node.end_byte), [""], literal="")
        command.assignments.append((name, value, appended))

    def _pipeline(self, node: Node) -> list[Command]:
        """The parts between the bars; a part that is more than one command becomes a command with a body."""
        commands: list[Command] = []
        stack = list(reversed(node.children))
        while stack:
            child = stack.pop()
            kind = child.type
            if kind == "pipeline" or kind == "negated_command":
                stack.extend(reversed(child.children))
            elif kind == "redirected_statement":
                commands += self._redirected(child)
            elif kind not in _OPERATORS and child.child_count:
                commands.append(self._one(child, kind) or self._compound(child))
        return commands

    def _compound(self, node: Node) -> Command:
        command = self._new(node)
        command.body = self.script([node])
        return command

    def _redirected(self, node: Node) -> list[Command]:
        """A statement and its redirections, which belong to the last command of a pipeline."""
        commands: list[Command] = []
        redirects: list[Node] = []
        for child in node.children:
            kind = child.type
            if kind in _REDIRECTS:
                redirects.append(child)
            elif kind == "pipeline":
                commands += self._pipeline(child)
            elif kind == "redirected_statement":
                commands += self._redirected(child)
            elif kind == "list" or kind == "negated_command":
                commands += self._last_of(child)
            elif child.child_count:
                commands.append(self._one(child, kind) or self._compound(child))
        if not commands:
            commands.append(self._new(node))
        for child in redirects:
            commands += self._redirect(child, commands[-1])
        if len(commands) == 1 and commands[0].end < node.end_byte:
            commands[0].end = self._words.span(node.start_byte, node.end_byte)[1]
        return commands

    def _last_of(self, node: Node) -> list[Command]:
        """``a && b > c``: the redirection is the last statement's."""
        script = self.script([node])
        if not script.pipelines:
            return []
        self._earlier += script.pipelines[:-1]
        return script.pipelines[-1].commands

    def _redirect(self, node: Node, command: Command) -> list[Command]:
        """Add a redirection to `command`; the commands that a here-document's line pipes it into."""
        if node.type == "heredoc_redirect":
            return self._heredoc(node, command)
        children = [child for child in node.children if child.type != "file_descriptor"]
        if len(children) < 2:
            return []
        operator = self._text[children[0].start_byte : children[0].end_byte]
        targets = [child for child in children[1:] if child.type != "ERROR"]
        if not targets:
            return []
        if self._text.startswith("<<<", children[0].start_byte):  # also where the grammar was told "<"
            command.heredoc = self._words.word(targets[0])
            return []
        if "\n" in self._text[children[0].end_byte : targets[0].start_byte]:
            self.astray = True
            self._follow(targets)
            return []
        target, *others = self._words.words(targets)
        command.redirects.append((operator, target))
        command.words += others
        return []

    def _follow(self, nodes: Sequence[Node]) -> None:
        """Words of the next line that were taken for a redirection's file."""
        command = Command(*self._words.span(nodes[0].start_byte, nodes[-1].end_byte))
        command.words = self._words.words(nodes)
        self._later.append(command)

    def _heredoc(self, node: Node, command: Command) -> list[Command]:
        quoted = False
        following: list[Command] = []
        for child in node.children:
            kind = child.type
            if kind == "heredoc_start":
                quoted = not self._text[child.start_byte : child.end_byte].replace("_", "a").isalnum()
            elif kind == "heredoc_body":
                command.heredoc = self._words.document(child, quoted=quoted)
            elif kind == "pipeline":
                following += self._pipeline(child)
            elif kind in _REDIRECTS:
                following += self._redirect(child, command)
            elif kind in _COMPOUND or kind == "command":
                self._later += [each for pipeline in self.script([child]).pipelines for each in pipeline.commands]
            elif kind not in {"<<", "<<-", "heredoc_end", "&&", "||", "comment"}:
                command.words.append(self._words.word(child))
        return following

    def _for(self, node: Node) -> list[Command]:
        command = self._new(node)
        name = ""
        values: list[Node] = []
        rest: list[Node] = []
        for child in node.children:
            if child.type == "variable_name":
                name = self._text[child.start_byte : child.end_byte]
            elif child.type in {"do_group", "compound_statement"}:
                rest.append(child)
            elif child.type not in {"for", "select", "in", ";", "\n", "comment", "ERROR"}:
                values.append(child)
        command.loop = Loop(name, self._words.words(values))
        command.body = self.script(rest)
        return [command]

    def _case(self, node: Node) -> list[Command]:
        """What is compared counts for its substitutions; then the branches."""
        command = self._new(node)
        branches = []
        for index, child in enumerate(node.children):
            if node.field_name_for_child(index) == "value":
                inside = Word(command.start, command.end)
                self._words.add(child, inside)
                pieces = [piece for piece in inside.pieces if not isinstance(piece, str)]
                command.words += [Word(command.start, command.end, [piece]) for piece in pieces]
            else:
                branches.append(child)
        if command.words:
            command.words.insert(0, Word(command.start, command.end, ["["], literal="["))
        command.body = self.script(branches)
        return [command]

    def _function(self, node: Node) -> Command:
        command = self._new(node)
        children = node.children
        name = next((child for child in children if child.type == "word"), None)
        command.function = self._text[name.start_byte : name.end_byte] if name is not None else ""
        command.body = self.script([child for child in children if child is not name and child.type not in _REDIRECTS])
        for child in children:
            if child.type in _REDIRECTS:
                self._redirect(child, command)
        return command
