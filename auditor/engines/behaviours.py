"""What several places of a tool do together: unasked starts, data for strangers, files fetched and started."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import ClassVar

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.acts import CODE, Act, Acts, code_of
from skillkeep.auditor.engines.behaviour.answered import answered
from skillkeep.auditor.engines.behaviour.build_secrets import sent_build_secrets
from skillkeep.auditor.engines.behaviour.carried import carried
from skillkeep.auditor.engines.behaviour.chains import chained
from skillkeep.auditor.engines.behaviour.changed_pages import ANNOUNCED, changed_pages
from skillkeep.auditor.engines.behaviour.coded import masked_addresses
from skillkeep.auditor.engines.behaviour.configured import configured_channels, configured_copies, configured_payees
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.behaviour.drained import drained, may_drain
from skillkeep.auditor.engines.behaviour.dropped import drops
from skillkeep.auditor.engines.behaviour.given_settings import given_settings
from skillkeep.auditor.engines.behaviour.guessable import ANNOUNCED as MADE_AGAIN
from skillkeep.auditor.engines.behaviour.guessable import guessable
from skillkeep.auditor.engines.behaviour.handed import handed_over
from skillkeep.auditor.engines.behaviour.handed_workflows import handed_workflows
from skillkeep.auditor.engines.behaviour.listed import listed, listed_in_code
from skillkeep.auditor.engines.behaviour.looked_up import looked_up, looks_up
from skillkeep.auditor.engines.behaviour.other_ways import other_ways
from skillkeep.auditor.engines.behaviour.password_windows import taken_passwords
from skillkeep.auditor.engines.behaviour.places import unnamed_places
from skillkeep.auditor.engines.behaviour.printed_orders import printed_orders
from skillkeep.auditor.engines.behaviour.recipients import Recipient, declared_sources, named_nowhere, recipients
from skillkeep.auditor.engines.behaviour.redirected import is_well_known, may_redirect, redirects, shown_endpoints
from skillkeep.auditor.engines.behaviour.scripts import scripts, spelled_out
from skillkeep.auditor.engines.behaviour.second_hosts import second_hosts
from skillkeep.auditor.engines.behaviour.strangers import READS, SENDS, strangers
from skillkeep.auditor.engines.behaviour.stubs import stubs_fetch
from skillkeep.auditor.engines.behaviour.swapped_payees import ANNOUNCED as TAKES_PART
from skillkeep.auditor.engines.behaviour.swapped_payees import pays, swapped_payees
from skillkeep.auditor.engines.behaviour.trusted import trusted
from skillkeep.auditor.engines.behaviour.typed_passwords import typed_passwords
from skillkeep.auditor.engines.behaviour.unasked import loaded_by, unasked
from skillkeep.auditor.engines.behaviour.wallet_keys import ANNOUNCED as KEY_LEAVES
from skillkeep.auditor.engines.behaviour.wallet_keys import opens_wallets, sent_keys, wrapped_functions
from skillkeep.auditor.engines.behaviour.whole_environment import sent_environments
from skillkeep.auditor.engines.examples import example_severity
from skillkeep.auditor.engines.installers import saves_installer
from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile, SourceTree
from skillkeep.auditor.engines.network import host_of, is_near
from skillkeep.auditor.interface import Capability, Location, Severity
from skillkeep.auditor.services import services
from skillkeep.auditor.syntax.comments import with_bare

__all__ = ["ENGINE", "BehaviourEngine"]

_MOST_ACTS = 5_000
_ADDRESS = compiled(
    r"https?://[\w.-]{4,200}"
    r"|\b(?:connect\w*|[dD]ial\w*|send_?to|Socket|TcpClient|fsockopen|new)\([^\n\"']{0,60}?[\"']"
    r"(?:(?:tcp|udp)[\"'],[ \t]?[\"'])?"
    r"(?P<host>[\w-]{1,63}(?:\.[\w-]{1,63}){1,6})[\"']?(?:,[ \t]{0,3}|:)\d{1,5}\b"
)
_BUILDS = compiled(
    r"(?i)(?:^|/)(?:[\w.-]*dockerfile[\w.-]*|containerfile|makefile|justfile|[\w.-]+\.(?:mk|tf|gradle|def|targets|props|[cfv][sb]?proj))$"
)
_UNANNOUNCED = (  # noted in files: what documents say of it, the rule where they do not, and what it is
    ("pages", ANNOUNCED, "tactic-agent-pages", "every page that is there already is changed"),
    ("guessed", MADE_AGAIN, "tactic-guessable-secret", "a day or a name decides what is made"),
)
_OF_TREE = (  # what each finds in a tree and its documents
    ("behaviour-data-to-stranger", carried),
    ("behaviour-data-to-stranger", second_hosts),
    ("tactic-told-by-server", printed_orders),
    ("undeclared-workflow", handed_workflows),
    ("undeclared-account", trusted),
    ("behaviour-data-to-stranger", typed_passwords),
    ("code-environment-sent", given_settings),
    ("behaviour-redirected-traffic", shown_endpoints),
)
_LIBRARY_SETTING = compiled(r"\s*openai\.(?:api_(?:key|type|version)|organization)\s*=")
_PASSWORDS = compiled(r"\bgetpass\b")  # a function whose answer is a password


class BehaviourEngine(Engine):
    """See the module."""

    name: ClassVar[str] = "behaviours"
    order: ClassVar[int] = 80

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Find what is fetched and started in one file, and note its acts for the tree."""
        for segment in with_bare(code_of(file)):
            if not file.depth and may_redirect(segment.text):
                emit.notes.setdefault("redirects", set()).add(file.path)
            _note_acts(file, segment, emit)
            emit.notes.setdefault("recipients", []).extend(recipients(segment))
            emit.notes.setdefault("pages", []).extend(changed_pages(segment))
            emit.notes.setdefault("payees", []).extend(swapped_payees(segment))
            emit.notes.setdefault("guessed", []).extend(guessable(segment))
            _judged_alone(segment, emit)
            if may_drain(segment.text):
                emit.notes.setdefault("drains", set()).add(file.path)
            if opens_wallets(segment.text):
                emit.notes.setdefault("wallets", set()).add(file.path)
            if looks_up(segment.text):
                emit.notes.setdefault("looks_up", set()).add(file.path)
            if segment.context is Context.TEXT:
                _dropped(segment, segment.text, emit)
                _answered(segment, emit)
            for found in _ADDRESS.finditer(segment.text) if segment.context is Context.TEXT else ():
                emit.capability(
                    "network", host_of(found["host"] or found[0]).name, segment.locate(found.start(), found.end())
                )
        emit.notes.setdefault("recipients", []).extend(declared_sources(file))
        for segment in with_bare(file.of(*CODE)):
            _dropped(segment, spelled_out(segment), emit)
        if file.whole and file.text is not None and not code_of(file) and _runs(file.known_as, file.text):
            _dropped(Segment(file.path, Context.TEXT, file.text, anchor=file.place), file.text, emit)
        for script in scripts(file) if file.text is not None else ():
            at = script.segment.locate(script.start, script.end)
            emit.derive(script.text, script.context, at, script.via, script.segment)

    def scan_tree(self, tree: SourceTree, emit: Emitter) -> None:
        """Judge the acts of all files by who starts them and to whom they send."""
        documents = Documents(tree.files)
        starters = unasked(tree)
        acts = _without_stubs(sorted(_acts(tree, starters, emit)), tree)
        _redirected(tree, documents, emit)
        _tampered(tree, acts, emit)
        for rule, act, message in chained(acts, documents):
            emit.finding(rule, Location(act.path, act.line), act.text, message)
        _given_away(tree, acts, documents, emit)
        for rule, judge in _OF_TREE:
            for at, text, why in judge(tree, documents):
                emit.finding(rule, at, text, why)
        _followed_back(tree, documents, emit)
        for path, line, found_at, act in chain(listed(tree), listed_in_code(tree, emit.notes.get("spelled", ()))):
            message = f"{act.path} reads what this list names and sends something: {act.text.strip()[:60]}"
            emit.finding("behaviour-listed-secrets", Location(path, line), found_at, message)
        for noted, said, blocks, message in _UNANNOUNCED:
            for at, text in emit.notes.get(noted, ()):
                emit.finding("announced-behaviour" if documents.says(said) else blocks, at, text, message)
        swapped = [*emit.notes.get("payees", ()), *configured_payees(tree)]
        for at, text in swapped if swapped and pays(tree) else ():
            rule = "announced-behaviour" if documents.says(TAKES_PART) else "tactic-payee-swapped"
            emit.finding(rule, at, text, "the payee that was given gives way to one that is written down")
        _handed(tree, emit)
        sent_to: list[Recipient] = [
            *emit.notes.get("recipients", []),
            *configured_copies(tree),
            *configured_channels(tree),
        ]
        for found in sent_to:
            if named_nowhere(found, documents):
                rule = "undeclared-source" if found.what in {"a source", "a program"} else "undeclared-recipient"
                message = f"{found.what} that no document names: {found.to[:100]}"
                emit.finding(rule, found.at, found.text, message)
        for place, message in unnamed_places(tree, documents, starters):
            emit.finding("undeclared-persistence", place.evidence, place.value, message)
        _unasked(tree, acts, starters, emit)


def _runs(name: str, text: str) -> bool:
    """True for a file of a build, and for the tasks that Ansible runs."""
    return bool(_BUILDS.search(name)) or ("get_url" in text and name.lower().endswith((".yml", ".yaml")))


def _judged_alone(segment: Segment, emit: Emitter) -> None:
    """What one segment tells by itself."""
    for at, text, why in sent_build_secrets(segment):
        emit.finding("behaviour-data-to-stranger", at, text, why)
    for start, address in masked_addresses(segment.text):
        at = segment.locate(start, start + 1)
        emit.finding("behaviour-masked-address", at, address[:200], f"the numbers are {address[:120]}, masked")
    for at, text in taken_passwords(segment):
        message = "a window that asks for a password as the system does, and what it is told is kept, tried or sent"
        emit.finding("tactic-password-taken", at, text, message)
    for at, text, why in wrapped_functions(segment):
        emit.finding("behaviour-tampered-library", at, text, why)
    for at, text in sent_environments(segment):
        emit.finding("code-environment-sent", at, text, "all variables of the environment go into a request")
    for at, text in other_ways(segment):
        emit.finding("code-check-bypassed", at, text, "what is written down is accepted in place of the check")


@dataclass
class _Noted:
    """The acts of one path that chains need, how many segments they are of, and those that matter where it connects."""

    acts: list[Act] = field(default_factory=list)
    segments: int = 0
    sending: list[Act] | None = None  # None where they were not looked for


@dataclass
class _Notes:
    """By path, and how many acts they are."""

    paths: dict[str, _Noted] = field(default_factory=dict)
    acts: int = 0


def _note_acts(file: SourceFile, segment: Segment, emit: Emitter) -> None:
    """Note what chains need of a file's segment, and all acts of what is found inside of files."""
    notes: _Notes = emit.notes.setdefault("acts", _Notes())
    noted, acts = notes.paths.setdefault(file.path, _Noted()), Acts(segment)
    noted.segments += 1
    if "secret" in acts.possible:
        emit.notes.setdefault("spelled", set()).add(file.path)
    if notes.acts < _MOST_ACTS:
        found = acts.all() if file.depth else acts.chained()
        noted.acts += found
        noted.sending = _sending(acts)
        notes.acts += len(found) + len(noted.sending)


def _sending(acts: Acts) -> list[Act]:
    """What is sent and what is read by code that sends."""
    sent = [acts.of(kind) for kind in SENDS]
    return acts.those(READS) if any(sent) else []


def _acts(tree: SourceTree, starters: Mapping[str, str], emit: Emitter) -> list[Act]:
    """The acts of all files: every one where somebody may ask for it, else those of chains."""
    connected = {each.evidence.path for each in tree.capabilities if each.kind == "network"}
    notes: dict[str, _Noted] = emit.notes.pop("acts", _Notes()).paths
    found: list[Act] = []
    for file in tree.files:
        noted = notes.pop(file.path, None)
        if noted is None or len(found) >= _MOST_ACTS:
            continue
        if noted.segments > 1 or file.path in starters:
            noted.acts += (act for each in with_bare(code_of(file)) for act in Acts(each).all())
        elif file.path in connected:
            known = noted.sending
            if known is None:
                known = [act for each in with_bare(code_of(file)) for act in _sending(Acts(each))]
            noted.acts += known
        found += dict.fromkeys(noted.acts)
    return [*found, *(act for noted in notes.values() for act in noted.acts)]


def _without_stubs(acts: list[Act], tree: SourceTree) -> list[Act]:
    """Without what a test puts in the place of ``fetch``."""
    files = tree.texts()
    patched = {act.path for act in acts if act.kind == "patch" and act.path in files}
    stubbed = {path for path in patched if stubs_fetch(files[path], files)}
    return [act for act in acts if act.kind != "patch" or act.path not in stubbed] if stubbed else acts


def _dropped(segment: Segment, text: str, emit: Emitter) -> None:
    for drop in drops(text):
        line = text.count("\n", 0, drop.started + 1) + 1
        at = segment.place(line, 1, line, 2)
        shown = text.split("\n")[line - 1].strip()
        message = f"{drop.name} is fetched, saved and started"
        severity = Severity.WARN if saves_installer(text, drop.name) else example_severity(segment)
        emit.finding("behaviour-dropped-program", at, shown, message, segment=segment, severity=severity)


def _answered(segment: Segment, emit: Emitter) -> None:
    """What a server answers is run by a shell or an interpreter."""
    for start, name in answered(segment.text):
        at = segment.locate(start, start + 1)
        shown = segment.text[start : start + 120].split("\n")[0].strip()
        emit.finding("text-downloaded-execution", at, shown, f"{name} is fetched or decoded, and run", segment=segment)


def _tampered(tree: SourceTree, acts: list[Act], emit: Emitter) -> None:
    """A library's function is replaced in a file that sends, or that reads secrets."""
    remote = {each.evidence.path for each in tree.capabilities if each.kind == "network" and not is_near(each.value)}
    files = tree.texts()
    for patch in (act for act in acts if act.kind == "patch"):
        program = [files[patch.path], *loaded_by(files[patch.path], files).values()] if patch.path in files else []
        mine = [act for act in acts if act.path == patch.path]
        others = (each for file in program[1:] for each in with_bare(code_of(file)))
        mine += (act for each in others for act in Acts(each).those(("secret", "login")))
        if _LIBRARY_SETTING.match(patch.text):
            continue
        taken = patch if _PASSWORDS.search(patch.text) else _first(mine, ("secret", "login"))
        if taken and (taken.kind == "secret" or any(file.path in remote for file in program)):
            message = f"{patch.text.strip()[:60]} is replaced, and {taken.text.strip()[:40]} is taken"
            emit.finding("behaviour-tampered-library", Location(patch.path, patch.line), patch.text, message)


def _followed_back(tree: SourceTree, documents: Documents, emit: Emitter) -> None:
    """What names that are looked up carry, a wallet's keys, and its balance or a right over it for a fixed address."""
    looks, drains, wallets = (emit.notes.get(noted) for noted in ("looks_up", "drains", "wallets"))
    programs = [each for file in tree.files for each in code_of(file)] if looks or drains or wallets else []
    for at, text, why in sent_keys(programs) if wallets else ():
        emit.finding("announced-behaviour" if documents.says(KEY_LEAVES) else "tactic-phrase-sent", at, text, why)
    for at, text, why in looked_up(programs, documents) if looks else ():
        emit.finding("tactic-dns-data", at, text, why)
    for at, text, why, said in drained(programs, documents) if drains else ():
        emit.finding("announced-behaviour" if said else "tactic-coins-moved", at, text, why)


def _handed(tree: SourceTree, emit: Emitter) -> None:
    """What one place fetches and saves, another one starts."""
    for each in handed_over(tree):
        message = f"{each.name} is fetched and saved by {each.by}, and started here"
        severity = Severity.WARN if each.known else None
        emit.finding("behaviour-dropped-program", each.at, each.shown, message, severity=severity)


def _given_away(tree: SourceTree, acts: list[Act], documents: Documents, emit: Emitter) -> None:
    """What goes to a host that no document names: once a line, as a user's account only where nothing else goes."""
    sends: dict[tuple[str, int], tuple[Act, str, bool]] = {}
    for act, why, account in strangers(tree, acts, documents):
        known = sends.setdefault((act.path, act.line), (act, why, account))
        if known[2] and not account:
            sends[act.path, act.line] = (act, why, False)
    for (path, line), (act, why, account) in sends.items():
        subject = f"account:{path}:{line}" if account else ""
        emit.finding("behaviour-data-to-stranger", Location(path, line), act.text, why, subject=subject)


def _redirected(tree: SourceTree, documents: Documents, emit: Emitter) -> None:
    """A script points the agent, a package manager or all traffic at a host that no document names."""
    for file in tree.files:
        for segment in code_of(file) if file.path in emit.notes.get("redirects", ()) else ():
            for found in redirects(segment.text):
                host = host_of(found.url).name
                if is_near(host) or host_of(found.url).shown or host.startswith("your-"):
                    continue
                if not documents.names(host, exact=True) and not services().owns(found.name, host):
                    at = segment.locate(found.start, found.end)
                    message = f"{found.name} is set to {host}, which no document names"
                    severity = Severity.WARN if is_well_known(found, host, segment.text) else None
                    emit.finding(
                        "behaviour-redirected-traffic", at, found.text, message, segment=segment, severity=severity
                    )


def _unasked(tree: SourceTree, acts: list[Act], starters: dict[str, str], emit: Emitter) -> None:
    """What runs unasked sends what it reads, fetches and starts programs, or writes the agent's own files."""
    hosts: dict[str, Capability] = {}
    for each in tree.capabilities:
        if each.kind == "network" and (not is_near(each.value) or each.value.startswith("*")):
            hosts.setdefault(each.evidence.path, each)
    for path, who in starters.items():
        mine = [act for act in acts if act.path == path]
        told, put = _first(mine, "agent_file"), _first(mine, "append")
        if told and put and _first(mine, ("agent_home", "at_home")):
            message = f"{who} starts it, and it writes {told.text.strip()[:60]} of the user's home"
            emit.finding("undeclared-agent-entry", Location(path, told.line), told.text, message)
        if (sent := _first(mine, "publishes")) and not path.endswith((".yml", ".yaml")):  # no workflow of a release
            message = f"{who} starts it, and it publishes packages: {sent.text.strip()[:60]}"
            emit.finding("behaviour-unasked-send", Location(path, sent.line), sent.text, message)
        if path not in hosts:
            continue
        send, local = _first(mine, "send"), _first(mine, ("local", "secret"))
        told = next((act for act in mine if act.kind == "secret" and "transcript_path" in act.text), None)
        if told and not send:  # an address carries it as well
            message = f"{who} starts it, and it reads what was said and connects to {hosts[path].value}"
            emit.finding("behaviour-unasked-send", hosts[path].evidence, told.text, message)

        start, write = _first(mine, "start"), _first(mine, "write")
        host = hosts[path].value
        if send and local:
            message = f"{who} starts it, and it sends to {host} what {local.text.strip()[:40]} reads"
            emit.finding("behaviour-unasked-send", Location(path, send.line), send.text, message)
        elif start and write:
            message = f"{who} starts it, and it fetches from {host}, saves, and starts a program"
            emit.finding("behaviour-unasked-download", Location(path, start.line), start.text, message)


def _first(acts: Iterable[Act], kinds: str | tuple[str, ...]) -> Act | None:
    return next((act for act in acts if act.kind in kinds), None)


ENGINE = BehaviourEngine()
