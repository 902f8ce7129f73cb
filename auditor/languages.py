"""Which language a file or a fenced block is in. Names and labels are chosen by the author, so content counts too."""

from __future__ import annotations

import re
from functools import cache

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.patterns import PatternSet

__all__ = [
    "command_lines", "is_other_language", "language_of_label", "languages_of_file", "looks_like", "may_be_shell",
    "sniff",
]  # fmt: skip

_SUFFIXES: dict[Context, str] = {
    Context.PYTHON: "py pyw pyi pyx pth wsgi",
    Context.JAVASCRIPT: "js mjs cjs jsx",
    Context.TYPESCRIPT: "ts tsx mts cts",
    Context.SHELL: "sh bash zsh ksh fish command bats mk envrc bashrc zshrc profile bash_profile zprofile zshenv",
    Context.POWERSHELL: "ps1 psm1 psd1 bat cmd",
    Context.RUBY: "rb gemspec rake ru",
    Context.INSTRUCTION: (
        "md mdx markdown mdc mkd rst adoc asciidoc asc txt text org tex textile wiki log prompt skill cursorrules "
        "windsurfrules clinerules goosehints"
    ),
    Context.CONFIG: (
        "json jsonc json5 jsonl yaml yml toml ini cfg conf env xml plist properties service timer desktop npmrc "
        "yarnrc gitattributes gitmodules gitconfig lfsconfig editorconfig lock tf hcl ipynb"
    ),
}
_BY_SUFFIX = {suffix: context for context, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
_BY_NAME = {
    "makefile": Context.SHELL, "gnumakefile": Context.SHELL, "justfile": Context.SHELL, "crontab": Context.SHELL,
    "dockerfile": Context.SHELL, "containerfile": Context.SHELL, "procfile": Context.SHELL, "pkgbuild": Context.SHELL,
    "gemfile": Context.RUBY, "rakefile": Context.RUBY, "podfile": Context.RUBY, "brewfile": Context.RUBY,
    "vagrantfile": Context.RUBY, "fastfile": Context.RUBY, "appfile": Context.RUBY, "dangerfile": Context.RUBY,
    "guardfile": Context.RUBY, "capfile": Context.RUBY, "berksfile": Context.RUBY, "thorfile": Context.RUBY,
    "sconstruct": Context.PYTHON, "sconscript": Context.PYTHON, "wscript": Context.PYTHON,
    "earthfile": Context.SHELL, "apkbuild": Context.SHELL, "jenkinsfile": Context.TEXT, "cmakelists.txt": Context.TEXT,
    "tiltfile": Context.TEXT, "workspace": Context.TEXT, "snakefile": Context.TEXT, "readme": Context.INSTRUCTION,
    "pip.conf": Context.CONFIG, "requirements.txt": Context.CONFIG, "conanfile.txt": Context.CONFIG,
}  # fmt: skip
_LABELS = {
    Context.SHELL: "bash sh shell zsh ksh fish console terminal shell-session shellsession sh-session cmdline command",
    Context.PYTHON: "python py python3 ipython pycon py3 sage",
    Context.JAVASCRIPT: "javascript js jsx node mjs cjs",
    Context.TYPESCRIPT: "typescript ts tsx",
    Context.POWERSHELL: "powershell ps1 pwsh ps batch bat cmd dos",
    Context.RUBY: "ruby rb irb",
}
_BY_LABEL = {label: context for context, labels in _LABELS.items() for label in labels.split()}
_INTERPRETERS = (
    ("python", Context.PYTHON), ("node", Context.JAVASCRIPT), ("deno", Context.TYPESCRIPT), ("bun", Context.TYPESCRIPT),
    ("tsx", Context.TYPESCRIPT), ("ts-node", Context.TYPESCRIPT), ("ruby", Context.RUBY), ("pwsh", Context.POWERSHELL),
    ("sh", Context.SHELL),
)  # fmt: skip
_SHEBANG = compiled(r"#![ \t]*(?:\S*/)?([\w.-]+)((?:[ \t]+\S+){0,8})")

_SHELL_WORDS = (
    "curl wget bash sh zsh sudo npm npx pnpm yarn pip pip3 pipx uv uvx git chmod chown export source eval exec echo "
    "cat mkdir rm cp mv cd docker podman brew apt apt-get yum dnf python python3 node ruby go cargo make tar unzip "
    "base64 nc ncat socat ssh scp rsync openssl crontab systemctl launchctl nohup xattr osascript open "
    "clawhub openclaw claude"
)
_MODULE = r"\w[\w.]*(?:[ \t]+as[ \t]+\w+)?"
_SNIFFS: tuple[tuple[Context, str], ...] = (
    (
        Context.SHELL,
        (r"^[ \t]*(?:[$%❯][ \t]+)?(?:[A-Z_][A-Z0-9_]*=\S*[ \t]+)*(?:/(?:usr/)?(?:local/)?s?bin/)?"
        rf"(?:{'|'.join(_SHELL_WORDS.split())})(?:[ \t]+[^\s=(:].*|[ \t]*\|.*|[ \t]+\(.*)?$"
        r"|\|[ \t]*(?:sudo[ \t]+)?(?:ba|z|da|k)?sh\b"
        r"|^[ \t]*(?:if[ \t]+\[|for[ \t]+\w+[ \t]+in\b.*;[ \t]*do\b)|\$\(\w+[ \t]"),
    ),
    (
        Context.PYTHON,
        (r"^[ \t]*(?:>>>[ \t]+)?(?:import[ \t]+"
        rf"{_MODULE}(?:[ \t]*,[ \t]*{_MODULE})*[ \t]*(?:#.*|;[ \t]*\w.*)?$"
        r"|from[ \t]+[\w.]+[ \t]+import[ \t(]|(?:async[ \t]+)?def[ \t]+\w+\(.*\).*:|class[ \t]+\w+.*:[ \t]*$"
        r"|(?:\w+[ \t]*=[ \t]*)?(?:exec|eval|__import__)\(|print\(|if[ \t]+__name__)"),
    ),
    (
        Context.JAVASCRIPT,
        (r"^[ \t]*(?:(?:const|let|var)[ \t]+[\w{\[]|import[ \t].*[ \t]from[ \t]+['\"]"
        r"|export[ \t]+(?:default|const|function)\b"
        r"|(?:async[ \t]+)?function\b[ \t]*\w*\(|module\.exports|console\.log\()|\brequire\(['\"]|=>[ \t]*\{"
        r"|\bimport\(['\"`]|\bprocess\.(?:mainModule|binding|getBuiltinModule)\b"),
    ),
    (
        Context.POWERSHELL,
        (r"^[ \t]*(?:PS[^>\n]*>[ \t]*)?(?:powershell|pwsh)(?:\.exe)?[ \t]|\b(?i:iex|iwr|irm)\b|\$(?i:env):|"
        r"\b(?:Invoke|New|Set|Get|Start|Write|Import)-[A-Z]\w+"
        r"|\b(?i:invoke-(?:webrequest|restmethod|expression|command)|new-object|start-process)\b"),
    ),
)  # fmt: skip
# Labels of languages nobody runs by pasting: there only lines that are commands by themselves count as shell.
_OTHER_WORDS = (
    "php go golang java kotlin scala rust rs c cpp c++ csharp cs swift dart r julia lua perl elixir haskell sql "
    "graphql json jsonc json5 yaml yml toml ini xml html css scss less vue svelte diff patch mermaid dot latex tex "
    "proto hcl terraform nginx regex csv http svg solidity sol vyper move asm wasm matlab fortran zig nim"
)
_OTHER_LABELS = frozenset(_OTHER_WORDS.split())
_COMMAND = compiled(
    r"^[ \t]*(?:[$%❯][ \t]+)?(?:sudo[ \t]+)?(?:curl|wget|bash|sh|zsh|npm|npx|pip3?|git|chmod|python3?|node|docker|brew"
    r"|nc|eval|echo|base64|export|source|rm|openssl|powershell|crontab)[ \t]+(?![=({:])\S.*$"
)
# Statements of Perl and PHP that begin as commands do: one that holds no other command runs nothing in a shell.
_STATEMENT = compiled(r"^[ \t]*(?:eval|echo)[ \t]+(?:\"[^\"`|&(]*\"|'[^'`|&(]*')[ \t]*;[ \t]*(?:#[^`]*)?$")
_SNIFF_CHARACTERS = 1 << 20
# Endings of pictures, fonts, sound and opaque data: a text below such a name is not what it is called.
_NO_TEXT_WORDS = "png jpg jpeg gif webp ico bmp tiff woff woff2 ttf otf eot mp3 mp4 wav ogg webm pdf dat bin"
_NO_TEXTS = frozenset(_NO_TEXT_WORDS.split())


def languages_of_file(path: str, text: str, executable: bool) -> tuple[Context, ...]:
    """The contexts of a file: by its name, by its ``#!`` line, and by its content where neither tells."""
    name = path.rpartition("/")[2].lower()
    suffix = name.rpartition(".")[2] if "." in name else ""
    found: list[Context] = []
    by_name = _BY_NAME.get(name) or _BY_NAME.get(name.partition(".")[0] if suffix not in _BY_SUFFIX else "")
    if name.startswith((".env", "dockerfile.")) and suffix not in {"md"}:
        by_name = by_name or (Context.CONFIG if name.startswith(".env") and name != ".envrc" else Context.SHELL)
    if context := by_name or _BY_SUFFIX.get(suffix):
        found.append(context)
    if text.startswith("#!") and (context := _by_shebang(text)) and context not in found:
        found.append(context)
    if not found:
        found.extend(sniff(text) if executable or not suffix or suffix in _NO_TEXTS else ())
    if not found and not suffix:
        return (Context.INSTRUCTION,)  # an agent that is sent to ``notes`` reads them as it reads ``notes.md``
    return tuple(found) or (Context.TEXT,)


def language_of_label(label: str) -> Context | None:
    """The language a fence's info string claims, or None when it claims none that we read as code."""
    words = re.split(r"[\s{,:}]+", label.strip().lower().lstrip("{."), maxsplit=1)
    return _BY_LABEL.get(words[0].lstrip(".")) if words and words[0] else None


def is_other_language(label: str) -> bool:
    """True for a fence's label of a language that is no script and that nobody runs by pasting."""
    return re.split(r"[\s{,:}]+", label.strip().lower(), maxsplit=1)[0] in _OTHER_LABELS


def command_lines(text: str) -> str:
    """`text` with only the lines that are commands by themselves; the others are emptied."""
    kept, continued = [], False
    for line in text.split("\n"):
        keep = continued or bool(_COMMAND.match(line) and not _STATEMENT.match(line))
        continued = keep and line.endswith("\\")
        kept.append(line if keep else "")
    return "\n".join(kept)


def looks_like(context: Context, text: str) -> bool:
    """True when typical lines of `context` occur in the first Mi characters of `text`."""
    head = text[:_SNIFF_CHARACTERS]
    wanted = Context.JAVASCRIPT if context is Context.TYPESCRIPT else context
    data = head.encode("utf-8", "replace")
    return any(each is wanted and _sniffers().occurs(index, data) for index, (each, _) in enumerate(_SNIFFS))


def may_be_shell(text: str) -> bool:
    """True when `sniff` answers `Context.SHELL` among others, which takes a quarter as long to tell by itself."""
    return looks_like(Context.SHELL, text) or (text.startswith("#!") and _by_shebang(text) is Context.SHELL)


def sniff(text: str) -> tuple[Context, ...]:
    """Every language whose typical lines occur in the first Mi characters of `text`."""
    head = text[:_SNIFF_CHARACTERS]
    data = head.encode("utf-8", "replace")
    found = [context for index, (context, _) in enumerate(_SNIFFS) if _sniffers().occurs(index, data)]
    if head.startswith("#!") and (context := _by_shebang(head)) and context not in found:
        found.insert(0, context)
    return tuple(found)


@cache
def _sniffers() -> PatternSet:
    """With words of any script, as Python and JavaScript have them."""
    words = [pattern.replace(r"[\w", r"[\pL\pN_").replace(r"\w", r"[\pL\pN_]") for _, pattern in _SNIFFS]
    return PatternSet(words)


def _by_shebang(text: str) -> Context | None:
    match = _SHEBANG.match(text)
    if not match:
        return None
    program = match.group(1)
    if program == "env":
        words = [word for word in match.group(2).split() if not word.startswith("-") and "=" not in word]
        program = words[0].rpartition("/")[2] if words else ""
    return next((context for stem, context in _INTERPRETERS if stem in program), None)
