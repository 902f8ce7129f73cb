"""Ways to say the same thing so that a scanner misses it; each turns a tree's files into another tree's files.

A mutation keeps the harm: what an agent or an interpreter would do stays the same. One that does not apply to a tree
returns it unchanged and is not counted.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from score.samples import Sample
from skillkeep.auditor.syntax.grammars import bare_tree

__all__ = ["MUTATIONS", "Files", "mutated_samples"]

Files = Mapping[str, bytes]

_FRONT = re.compile(rb"\A---\r?\n.*?\n---\r?\n", re.DOTALL)
_FENCES = re.compile(r"^([ \t]*)(```+|~~~+)([^\n]*)\n(.*?)^[ \t]*\2[ \t]*$", re.DOTALL | re.MULTILINE)
_SHELL_LABELS = frozenset({"bash", "sh", "shell", "zsh"})
_WORD = re.compile(r"(?<![\w/.:@-])([A-Za-z]{3})([A-Za-z]{3,})(?![\w/.:@-])")
_EXACT = re.compile(r"[`$|/~\\]|\w\.\w|\w=|^ {4}")
_STRING = re.compile(r"""(?<![\w"'])(["'])([\w ./:=-]{4,80})\1(?!["':])""")
_COMMAND = re.compile(
    r"(^|[|;&(])([ \t]*)(cu|wg|ba|py|no|ch|rm|nc|ev|os|po|ba)(rl|et|sh|thon3?|de|mod|al|ascript|se64)(?=[ \t])",
    re.MULTILINE,
)

_BESIDE = {
    "js": ("javascript", b"/* a */"), "mjs": ("javascript", b"/* a */"), "cjs": ("javascript", b"/* a */"),
    "ts": ("typescript", b"/* a */"), "ps1": ("powershell", b"<# a #>"), "psm1": ("powershell", b"<# a #>"),
}  # fmt: skip
_HOLDERS = frozenset(
    {
        "argument_expression_list", "argument_list", "arguments", "array", "array_expression",
        "array_literal_expression",
        "assignment_expression", "await_expression", "binary_expression", "computed_property_name",
        "hash_literal_expression", "object", "pair", "parenthesized_expression", "return_statement", "spread_element",
        "sub_expression", "subscript_expression", "template_substitution", "throw_statement", "variable_declarator",
    }
)  # fmt: skip


def mutated_samples(samples: Iterable[Sample], root: Path, into: Path) -> list[Sample]:
    """Write every mutation of every staged sample below `into`, one slice a mutation."""
    made = []
    for sample in samples:
        tree = root / sample.id
        files = {path.relative_to(tree).as_posix(): path.read_bytes() for path in tree.rglob("*") if path.is_file()}
        for name, mutation in MUTATIONS.items():
            changed = mutation(files)
            if changed == files:
                continue
            mutant = replace(sample, id=f"{name}/{sample.id.replace('/', '__')}", slice=f"mutated {name}")
            for path, body in changed.items():
                place = into / mutant.id / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(body)
            made.append(mutant)
    return made


def _each_page(change: Callable[[str], str]) -> Callable[[Files], Files]:
    """`change` applied to the body (what follows the front matter) of every Markdown file."""

    def mutation(files: Files) -> Files:
        return {
            path: _with_body(body, change) if path.lower().endswith(".md") else body for path, body in files.items()
        }

    return mutation


def _with_body(data: bytes, change: Callable[[str], str]) -> bytes:
    front = _FRONT.match(data)
    at = front.end() if front else 0
    try:
        text = data[at:].decode()
    except UnicodeDecodeError:
        return data
    return data[:at] + change(text).encode()


def _prose(change: Callable[[str], str]) -> Callable[[str], str]:
    """`change` applied between the fences only."""

    def mutation(text: str) -> str:
        parts, at = [], 0
        for fence in _FENCES.finditer(text):
            parts += [change(text[at : fence.start()]), fence.group()]
            at = fence.end()
        return "".join([*parts, change(text[at:])])

    return mutation


def _commands(change: Callable[[str], str]) -> Callable[[Files], Files]:
    """`change` applied to shell fences and shell scripts."""

    def one(fence: re.Match[str]) -> str:
        indent, mark, label, body = fence.groups()
        if indent or label.strip().lower() not in _SHELL_LABELS:
            return fence.group()
        return f"{mark}{label}\n{change(body)}{mark}"

    def mutation(files: Files) -> Files:
        pages = _each_page(lambda text: _FENCES.sub(one, text))(files)
        return {path: change(body.decode(errors="surrogateescape")).encode(errors="surrogateescape")
                if path.endswith(".sh") else body for path, body in pages.items()}  # fmt: skip

    return mutation


def _quoted_strings(files: Files) -> Files:
    """Literals of Python and JavaScript in two halves."""

    def halves(match: re.Match[str]) -> str:
        mark, text = match.groups()
        middle = len(text) // 2
        return f"({mark}{text[:middle]}{mark} + {mark}{text[middle:]}{mark})"

    def change(body: bytes) -> bytes:
        text = body.decode(errors="surrogateescape")
        lines = [line if line.lstrip().startswith(("import ", "from ", "#", "//", '"', "'")) or "import(" in line
                 or "require(" in line else _STRING.sub(halves, line) for line in text.split("\n")]  # fmt: skip
        return "\n".join(lines).encode(errors="surrogateescape")

    return {path: change(body) if path.endswith((".py", ".js", ".mjs")) and b'"""' not in body and b"f'" not in body
            and b'f"' not in body else body for path, body in files.items()}  # fmt: skip


def _encoded_shell(commands: str) -> str:
    return f"echo {base64.b64encode(commands.encode()).decode()} | base64 -d | bash\n" if commands.strip() else commands


def _encoded(files: Files) -> Files:
    """Shell and Python once more in base64, run by what decodes it."""
    return {path: b"import base64\nexec(base64.b64decode('" + base64.b64encode(body) + b"'))\n"
            if path.endswith(".py") and body.strip() else body
            for path, body in _commands(_encoded_shell)(files).items()}  # fmt: skip


def _of_another_version(files: Files) -> Files:
    """A last line that only newer versions of Python read."""
    return {path: body + b"\n\ntype Mutated = int | None\n" if path.endswith(".py") else body
            for path, body in files.items()}  # fmt: skip


def _of_other_endings(files: Files) -> Files:
    """Scripts below names of texts, as everything else then calls them."""
    renamed = {path: re.sub(r"\.(?:py|m?js|sh|rb)$", ".txt", path) for path in files}
    names = {old.rpartition("/")[2]: new.rpartition("/")[2] for old, new in renamed.items() if old != new}
    if not names:
        return files
    found = re.compile("|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)).encode())
    return {renamed[path]: found.sub(lambda name: names[name[0].decode()].encode(), body)
            for path, body in files.items()}  # fmt: skip


def _moved(files: Files) -> Files:
    return {f"tests/fixtures/{path}": body for path, body in files.items()}


def _commented(text: str) -> str:
    return text if "-->" in text or not text.strip() else f"# Notes\n\n<!--\n{text}\n-->\n"


def _beside_code(files: Files) -> Files:
    """Comments before what calls, lists and operators of JavaScript, TypeScript and PowerShell hold."""
    changed = dict(files)
    for path, body in files.items():
        grammar, comment = _BESIDE.get(path.rpartition(".")[2].lower(), ("", b""))
        places = sorted(_inner_places(grammar, body) if grammar else (), reverse=True)
        text = bytearray(body)
        for at in places:
            text[at:at] = comment
        changed[path] = bytes(text)
    return changed


def _inner_places(grammar: str, body: bytes) -> set[int]:
    """Where the parts of such nodes begin, in bytes."""
    found, queue = set[int](), [bare_tree(grammar, body)]
    while queue:
        node = queue.pop()
        if node.type in _HOLDERS:
            found.update(child.start_byte for child in node.named_children if child.type != "comment")
        queue.extend(node.children)
    return found


def _shouted(text: str) -> str:
    """Upper case, but for lines with commands or addresses, which it would change."""
    return "\n".join(line if _EXACT.search(line) else line.upper() for line in text.split("\n"))


def _zero_width(text: str) -> str:
    return _WORD.sub("\\1\u200b\\2", text)


MUTATIONS: Mapping[str, Callable[[Files], Files]] = {
    "fence": _each_page(lambda text: f"# Notes\n\n~~~~~~text\n{text}\n~~~~~~\n"),
    "heading": _each_page(lambda text: f"# Security tutorial\n\n## Examples of what to avoid\n\n{text}"),
    "padding": _each_page(lambda text: "\n" * 3000 + " " * 400 + "\n" * 3000 + text),
    "zero-width": _each_page(_prose(_zero_width)),
    "split": lambda files: _quoted_strings(_commands(lambda body: _COMMAND.sub(r"\1\2\3''\4", body))(files)),
    "case": _each_page(_prose(_shouted)),
    "tests": _moved,
    "encode": _encoded,
    "comment": _each_page(_commented),
    "beside": _beside_code,
    "version": _of_another_version,
    "ending": _of_other_endings,
    "crlf": _each_page(lambda text: text.replace("\n", "\r\n")),
}
