"""Traffic that a program sends elsewhere: an agent's, a package manager's, all of it, by a variable or a setting."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Final, NamedTuple

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.behaviour.given import names_given, with_given
from skillkeep.auditor.engines.behaviour.recipients import is_placeholder
from skillkeep.auditor.engines.interface import Context, SourceTree
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Location
from skillkeep.auditor.patterns import PatternSet
from skillkeep.auditor.services import services

__all__ = ["Redirect", "is_well_known", "may_redirect", "redirects", "shown_endpoints"]


class Redirect(NamedTuple):
    """What is set (`name`) to which address, and where that stands."""

    name: str
    url: str
    start: int
    end: int
    text: str


_REDIRECTED: Final = (
    r"\b(?P<name>(?:ANTHROPIC|OPENAI|CLAUDE|GEMINI|GOOGLE_GEMINI|AZURE_OPENAI|CODEX)_(?:BASE_URL|API_BASE|API_URL|BEDROCK_BASE_URL)"
    r"|(?:HTTPS?|ALL)_PROXY|(?:https?|all)_proxy|PIP_(?:EXTRA_)?INDEX_URL|UV_(?:DEFAULT_|EXTRA_)?INDEX(?:_URL)?"
    r"|(?:openai|anthropic|litellm)\.(?:base_url|api_base)|NPM_CONFIG_REGISTRY|npm_config_registry|GOPROXY|HF_ENDPOINT|YARN_REGISTRY)"
)
_SETTING: Final = (
    r"\b(?P<name>(?:npm|yarn|pnpm)[ \t]+config[ \t]+set[ \t]+(?:-\S+[ \t]+)*(?:https?-)?proxy"
    r"|git[ \t]+config[ \t]+(?:-\S+[ \t]+)*https?\.proxy|pip3?[ \t]+config[ \t]+set[ \t]+(?:-\S+[ \t]+)*\w+\.proxy"
    r"|netsh[ \t]+winhttp[ \t]+set[ \t]+proxy|networksetup[ \t]+-set\w*webproxy[ \t]+(?:\"[^\"\n]{1,40}\"|\S+))"
)
_PROXY: Final = (  # of a program's own requests
    r"\b(?P<name>proxies(?:\.update)?[\"'\]]{0,2}[ \t]{0,4}[:=(][ \t]{0,4}(?:dict\()?"
    r"\{?[^}\n]{0,60}?\bhttps?[\"']?[ \t]{0,4}[:=]"
    r"|ProxyHandler\([ \t]{0,4}\{[^}\n]{0,60}?\bhttps?[\"']?[ \t]{0,4}[:=]"
    r"|(?:Https?|Socks)?Proxy(?:Agent)?\((?:[ \t\n]{0,8}\{?[ \t\n]{0,8}(?:uri|url)[ \t]{0,4}[:=])?"
    r"|(?:set_proxy|install_proxy|Net::HTTP::Proxy)\(|proxy(?:_?[uU]rl)?[ \t]{0,4}[:=]"
    r"|curl[ \t][^|;\n]{0,160}?[ \t](?:-x|--proxy|--socks5(?:-hostname)?)[ \t=])"
)
_SDK: Final = compiled(r"\b(?:Async|Azure|Chat|new[ \t]){0,2}(?P<vendor>OpenAI|Anthropic)\(")
_BASE: Final = compiled(
    r"\b(?:base_?(?:url|URL)|(?:openai|anthropic)_api_(?:base|url))\b[\"']?[ \t]{0,4}[=:](?P<value>[^,\n]{1,200})"
)
_KEY_GIVEN: Final = compiled(r"\b(?:api_?[kK]ey|(?:openai|anthropic)_api_key)\b(?P<value>[^,\n]{0,200})")
_KEY_NAME: Final = compiled(r"\b[A-Z][A-Z0-9_]{1,60}_(?:KEY|TOKEN)\b")
_LONGEST_CALL: Final = 800
_DEEPEST: Final = 4
_CLIENT: Final = (
    r"\bapi_?[kK]ey[\"']?[ \t]*[=:][^,\n]{0,60}?\b(?P<name>[A-Z][A-Z0-9_]{2,60}_(?:KEY|TOKEN))\b"
    r"[^,\n]{0,40},\s{0,40}base_?(?:url|URL)\b"
)
_OTHER_BASE: Final = (
    r"\b(?:\w{0,16}(?:[aA]pi|[bB]ase|[sS]erver)_?(?:url|Url|URL)|endpoint(?:_url|Url)?)[\"']?"
    r"[ \t]{0,4}[:=][ \t]{0,4}[\"'`]"
)
_BESIDE: Final = (  # a client that is told another address beside the key of a service
    rf"\b(?P<name>[A-Z][A-Z0-9_]{{2,60}}_(?:KEY|TOKEN|PAT))\b[^,;\n]{{0,40}},\s{{0,40}}(?:\{{\s{{0,40}})?{_OTHER_BASE}"
)
_PROVIDER: Final = r"(?s)\b(?P<name>model_providers)\b.{0,300}?(?:\b|\\n)base_url[ \t]*=[ \t]*\\{0,2}[\"']"
_URL: Final = r"(?P<url>(?:https?|socks5h?)://[\w.:@/-]{3,200})"
_SPELLED: Final = tuple(
    map(
        compiled,
        (
            _REDIRECTED + r"[\"'\]]{0,2}[ \t]{0,4}(?:=>?|:|,|\?\?|\|\|)[ \t]{0,4}[\"'`]?" + _URL,
            _SETTING + r"(?:=|[ \t]+)[\"']?" + _URL,
            _CLIENT + r"[ \t]*[=:][ \t]*[\"'`](?P<url>https?://[\w.:@/-]{3,200})",
            _PROVIDER + _URL,
            _PROXY + r"[ \t]{0,4}[\"'`]?" + _URL,
            _BESIDE + _URL,
            _OTHER_BASE + _URL + r"[\"'`][ \t]{0,4},\s{0,40}(?:auth|token|api_?[kK]ey|access_?[tT]oken)\b[^,;\n]{0,40}?"
            r"\b(?P<name>[A-Z][A-Z0-9_]{2,60}_(?:KEY|TOKEN|PAT))\b",
        ),
    )
)
_PROXY_NAMED: Final = compiled(_PROXY + r"[ \t]{0,4}(?:f?[\"'`]?[$#]?\{?)(?P<given>[A-Za-z_]\w{0,40})(?![\w(.\[])")
_BARE: Final = compiled(r"[\s\"'`${]{0,9}(?P<name>[A-Za-z_]\w{0,40})[\s\"'`})\];,]{0,9}")
_OF_KEYS: Final = (_SPELLED[2], *_SPELLED[-2:])  # count with a key that opens more than one tool
_NAMED: Final = (  # what is set begins with a name, which is given an address elsewhere
    compiled(
        _REDIRECTED + r"[\"'\]]{0,2}[ \t]{0,4}(?:=>?|:|,)[ \t]{0,4}"
        r"(?:f?[\"'`]?[$#]?\{?|[\"'][^\"'\n]{0,20}[\"'](?:[ \t]*%[ \t]*|\.format\()\(?)"
        r"(?P<given>[A-Za-z_]\w{0,40})(?![\w(.\[])"
    ),
    compiled(
        _PROVIDER
        + r"(?:%s|\{[^}\n]{0,40}\}|\$\{[^}\n]{0,40}\})[^\n]{0,200}?%[ \t]*\(?(?P<given>[A-Za-z_]\w{0,40})(?![\w(.\[])"
    ),
    compiled(_PROVIDER + r"\$?\{(?P<given>[A-Za-z_]\w{0,40})\}"),
)
_ADDRESS: Final = compiled(_URL)
_KEY: Final = compiled(  # written down: whoever has its account sees what is asked
    r"(?i)\b(?P<whose>\w{0,40}?)_?(?:api_?key|auth_token|key|token)\b[\"'\]]{0,2}[ \t]{0,4}(?:=>?|:|,)[ \t]{0,4}"
    r"[rbfu]?[\"'`]?(?![\w.-]{0,40}(?:your|xxx|\.\.\.))[A-Za-z0-9_-]{16,}"
)
_ENDPOINT_WORDS: Final = ("_BASE_URL", "_API_BASE", "_API_URL", "model_providers")
_ENDPOINT: Final = compiled(
    r"(?:ANTHROPIC|CLAUDE|CODEX|OPENAI|GEMINI|GOOGLE_GEMINI)_|model_providers"
)  # an agent's own
_PORT: Final = compiled(r"\A\w+://(?:[\w-]+:[\w-]+@)?[A-Za-z][\w-]*:port/?\Z")


def _is_form(url: str) -> bool:
    """True for ``http://host:port``: it shows how an address is written, and nobody is asked there."""
    return _PORT.search(url) is not None


def is_well_known(found: Redirect, host: str, text: str) -> bool:
    """True for the public mirror of what `found` sets, and for a model's vendor where `text` holds no key of its own.

    The host is one of the table, over https and at no port: below it strangers have no place. With a key that is
    written down, what the user asks goes to the account of whoever wrote it.
    """
    known = table("acts")["well_known"]
    if not found.url.startswith((f"https://{host}/", f"https://{host}")) or found.url[8 + len(host) :][:1] not in {
        "",
        "/",
    }:
        return False
    if host in known["mirrors"].get(found.name.upper(), ()):
        return True
    service = found.name.upper().removesuffix("_BASE_URL").removesuffix("_API_BASE")
    keys = {key["whose"].upper() for key in _KEY.finditer(text)}
    return host in known["vendors"] and service != found.name.upper() and keys.isdisjoint({service, ""})


def shown_endpoints(tree: SourceTree, documents: Documents) -> Iterator[tuple[Location, str, str]]:
    """Blocks that a page has the reader copy, and that send the agent's own talk to somebody whom no sentence names."""
    for file in tree.files:
        if file.text is None or file.is_program or not any(word in file.text for word in _ENDPOINT_WORDS):
            continue
        for segment in file.of(Context.FENCED):
            for found in redirects(segment.text):
                host = host_of(found.url)
                if not _ENDPOINT.match(found.name) or host.near or host.shown or is_placeholder(found.url):
                    continue
                known = is_well_known(found, host.name, segment.text) or services().owns(found.name, host.name)
                if not known and not documents.outside_blocks.names(host.name):
                    why = f"{found.name} is set to {host.name}, which no sentence of the documents names"
                    yield segment.locate(found.start, found.end), found.text, why


def may_redirect(text: str) -> bool:
    """False when `redirects` finds nothing: most files are told by one pass of an automaton."""
    return bool(_words().candidates(text.encode("utf-8", "replace")))


@cache
def _words() -> PatternSet:
    return PatternSet([
        _REDIRECTED, _SETTING, _CLIENT, _PROXY, _BESIDE, _OTHER_BASE,
        r"\bmodel_providers\b", r"\b\w{0,12}(?:OpenAI|Anthropic)\("
    ])  # fmt: skip


def redirects(text: str) -> Iterator[Redirect]:
    """Every setting of `text` that is given an address, spelled out or by a name that the text gives one."""
    for pattern in _SPELLED:
        for found in pattern.finditer(text):
            if (pattern not in _OF_KEYS or services().is_shared(found["name"])) and not _is_form(found["url"]):
                yield Redirect(found["name"], found["url"], found.start(), found.end(), found[0].strip())
    given = names_given(text)
    for found in chain.from_iterable(pattern.finditer(text) for pattern in _NAMED) if given else ():
        told = given.get(found["given"])
        url = _ADDRESS.search(with_given(told, given)) if told else None
        if url:
            yield Redirect(found["name"], url["url"], found.start("name"), found.end("given"), found[0].strip())
    for found in _PROXY_NAMED.finditer(text) if given else ():
        if to := _address(found["given"], given):
            yield Redirect(found["name"], to, found.start(), found.end(), found[0].strip())
    yield from _clients(text, given)


def _address(value: str, given: dict[str, str]) -> str:
    """The address that `value` is, or that the name is given which is all of it; else an empty text."""
    for _ in range(_DEEPEST):
        if url := _ADDRESS.search(value):
            return "" if _is_form(url["url"]) else url["url"]
        bare = _BARE.fullmatch(value)
        value = given.get(bare["name"], "") if bare else ""
    return ""


def _clients(text: str, given: dict[str, str]) -> Iterator[Redirect]:
    """Clients of a model's vendor that are told another address, and bring that vendor's key there.

    They take it out of the environment by themselves; what is given another key is the client of another vendor.
    """
    for found in _SDK.finditer(text):
        end = _closing(text, found.end())
        call = text[found.end() : end]
        key, base = _KEY_GIVEN.search(call), _BASE.search(call)
        own = f"{found['vendor'].upper()}_API_KEY"
        names = set(_KEY_NAME.findall(with_given(key["value"], given))) if key else {own}
        if base and names == {own} and (url := _address(base["value"], given)):
            name = own.replace("API_KEY", "BASE_URL")
            yield Redirect(name, url, found.start(), end, text[found.start() : end][:200])


def _closing(text: str, start: int) -> int:
    """Where the call ends whose arguments begin at `start`."""
    depth = 1
    for at in range(start, min(len(text), start + _LONGEST_CALL)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if not depth:
            return at
    return min(len(text), start + _LONGEST_CALL)
