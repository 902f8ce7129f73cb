"""A file that is fetched and then started: the same name stands where it is saved and where it is run.

Told by the token alone, so that it holds for every language and for mixed ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.given import names_given, with_given
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.patterns import PatternSet

__all__ = ["Drop", "drops", "saves"]

_NAME: Final = (
    r"(?P<name>\$\{?\w+\}?(?:[/\\][\w.$\{\}-]+)*|[A-Za-z_][\w.]*\b(?:-[\w.-]{1,80}\b)?(?!\s{0,9}\()|[~./][\w~./$\{\}-]+|%\w/[\w./-]+"
    r"|[\"'`][^\"'`\n]{2,160}[\"'`])"
)
_PLACE: Final = (  # a file's name that is put together, as AutoHotkey, Visual Basic and Ansible write it
    r"(?P<place>A_\w{1,20}[ \t]{0,3}(?:\.[ \t]{0,3})?\"[^\"\n]{1,80}\"|%\w{1,30}%\\[\w.\\-]{1,80}"
    r"|(?i:Environ)\$?\(\"\w{1,20}\"\)[ \t]{0,3}&[ \t]{0,3}\"[^\"\n]{1,80}\"|\{\{[ \w.]{1,40}\}\}[\w/.-]{1,80})"
)
_SAVED: Final = compiled(
    r"(?:\b(?:curl|wget)\b[^\n|;]{0,300}?[\s\"'](?:-[a-zA-Z]{0,8}[oO]|--output|--output-document)"
    r"(?:[\"'],\s{0,9}&?|[ \t=]*)[\"']?"
    r"|\b(?:curl|wget)[\"'][^|;]{0,300}?[\"']-[a-zA-Z]{0,8}[oO][\"'](?:\]\)|\))?\s{0,40}\.args?\(\[?\s{0,9}&?"
    r"|\burlretrieve\(\s{0,9}[^,\n]{1,200},\s{0,9}(?:filename\s{0,9}=\s{0,9})?"
    r"|\bcreateWriteStream\(\s{0,9}|\bwrite(?:Text)?File(?:Sync)?\(\s{0,9}|\bBun\.write\(\s{0,9}|-(?i:OutFile)[ \t]+"
    r"|\bDownloadFile\(\s{0,9}[^,\n]{1,200},\s{0,9}"
    r"|\bf?open\(\s{0,9}(?=[^\n]{1,120}[\"'][wa]b[\"'])"
    r"|\bFile\.(?:binwrite|write|WriteAllBytes(?:Async)?)\(\s{0,9}|\bcopyfileobj\([^,\n]{1,80},\s{0,9}"
    r"|\bfile_put_contents\(\s{0,9}|\b(?:getstore|mirror)\(\s{0,9}[^,\n]{1,200},\s{0,9}"
    r"|\bFiles\.(?:copy\(\s{0,9}[^,\n]{1,120},\s{0,9}|write\(\s{0,9})"
    r"|\bos\.(?:OpenFile|Create|WriteFile)\(\s{0,9}|\b(?:File::create|fs::write)\(\s{0,9}&?|\bDownloadFile\w*\(\s{0,9}[^,\n]{1,200},\s{0,9}"
    r"|\b(?:Path\((?!__file__)|with_name\(|joinpath\()\s{0,9}(?=[^\n]{1,160}\)\.write_(?:text|bytes)\()"
    r"|\bIO\.copy_stream\(\s{0,9}[^\n]{1,200},\s{0,9}"
    r"|\bNamedTemporaryFile\([^\n]{0,120}?\)\s{0,9}as\s{1,9}|\.extractall\((?:path\s{0,9}=\s{0,9})?"
    r"|\bDownloads\.download\(\s{0,9}[^,\n]{1,200},\s{0,9}|\bdownload\(\s{0,9}\"https?://[^,\n]{1,200},\s{0,9}"
    r"|\bFile\(\s{0,9}(?=[^\n]{1,160}\)\.(?:writeAs(?:Bytes|String)|openWrite|writeText|writeBytes))|#>\s{0,9}(?:new\s{1,9})?(?:java\.io\.)?[Ff]ile\(\s{0,9}"
    r"|\.write\(\s{0,9}to:\s{0,9}(?:URL\(fileURLWithPath:\s{0,9})?|\|\s{0,9}save\s{1,9}(?:--?\w{1,9}\s{1,9}){0,3}"
    r"|\bget_url\b(?:[^#\n]|\n(?![ \t]{0,40}-[ \t])){0,300}?\bdest[:=]\s{0,9}[\"']?"
    r"|\.(?i:SaveToFile)[ \t]{0,3}\(?[ \t]{0,3}|\bURLDownloadToFile\w?[ \t(]{1,3}\w{1,9}&?,[^,\n]{1,200},[ \t]{0,3}"
    r"|\b(?:Download|UrlDownloadToFile)[ \t,(]{1,4}[^,\n]{1,200},[ \t]{0,3}"
    r")(?:"
    + _PLACE
    + "|"
    + _NAME
    + r")|(?<![\w.])(?P<mine>[A-Za-z_]\w*)(?:\.(?:openWrite|writeAs(?:Bytes|String)(?:Sync)?)\b"
    r"|(?:,[ \t]{0,3}\w{1,20})?[ \t]{0,3}:?=[ \t]{0,3}(?:os\.CreateTemp|ioutil\.TempFile|Downloads\.download)\()"
    r"|(?<![\w.])(?P<own>[A-Za-z_]\w*)(?:\.(?:writeBytes|write_bytes|withOutputStream|setBytes)\b"
    r"|[ \t]{0,4}=[ \t]{0,4}(?:tempfile\.)?NamedTemporaryFile\()"
)
_FETCHES: Final = compiled(
    r"https?[.:]//|https?://|\bhttps?\.get\(|\bfetch\(|\burlopen\(|\brequests\.get|\burlretrieve\(|\bcurl\b|\bwget\b"
    r"|URI\.open|Invoke-WebRequest|\biwr\b|DownloadFile|\bhttp\.Get\(|\breqwest::|\bureq::|GetByteArrayAsync"
    r"|\bDownloads\.download\(|(?i:XMLHTTP|WinHttpRequest)|\.toURL\(|\bhttp\.(?:Client|NewRequest|DefaultClient)\b|\bHttp(?:Client|Request)\b|\bcurl_(?:exec|easy_\w+)\("
    r"|\bLWP::|\bgetstore\(|\bHTTP::Tiny\b|\bisahc::|\bminreq::|\battohttpc::|\bopenConnection\(\)|\bURLSession\b|\bsocket\.http\b"
)
_SAVES: Final = (  # what every way of `_SAVED` begins with
    r"\b(?:curl|wget)\b|\b(?:urlretrieve|createWriteStream|write(?:Text)?File|write(?:Text)?FileSync|DownloadFile|copyfileobj|Bun\.write"
    r"|file_put_contents|getstore|mirror)\("
    r"|-(?i:OutFile)|[\"'][wa]b[\"']|\bFile\.(?:binwrite|write|WriteAllBytes)|\bos\.(?:OpenFile|Create|WriteFile)\(|\bFile::create\(|\bfs::write\("
    r"|\bFiles\.(?:copy|write)\(|\.(?:writeBytes|writeText|write_bytes|write_text|withOutputStream|setBytes)\b|\bIO\.copy_stream\(|\bNamedTemporaryFile\(|\.extractall\("
    r"|\b[dD]ownload\(|\b(?:Downloads\.download|TempFile|os\.CreateTemp)\(|\.(?:openWrite|writeAs(?:Bytes|String)(?:Sync)?)\b|#>|\.write\(\s{0,9}to:"
    r"|\|\s{0,9}save\b|\bget_url\b|\.(?i:SaveToFile)\b|\bU[Rr][Ll]DownloadToFile|\bDownload\b"
)
_SAVED_FIRST: Final = (
    r"\b(?:curl|wget|urlretrieve|createWriteStream|write(?:Text)?File|DownloadFile|f?open|Files?|copyfileobj|os|fs|Bun"
    r"|file_put_contents|getstore|mirror|IO|Path|with_name|joinpath)\b"
    r"|\b(?:write(?:Text)?FileSync|DownloadFile\w+)\(|-(?i:OutFile)|\b[A-Za-z_]\w*\.(?:writeBytes|write_bytes|withOutputStream|setBytes)\b"
    r"|\bNamedTemporaryFile\(|\.extractall\(|\b[A-Za-z_]\w*[ \t]*=[ \t]*(?:tempfile\.)?NamedTemporaryFile\("
    r"|\b(?:Downloads\.download|download)\(|#>|\|\s{0,9}save\b|\bget_url\b|\.(?i:SaveToFile)\b|\bURLDownloadToFile|\bDownload\b|\bUrlDownloadToFile\b"
    r"|\.write\(\s{0,9}to:|\b[A-Za-z_]\w*\.(?:openWrite|writeAs(?:Bytes|String)(?:Sync)?)\b"
    r"|\b[A-Za-z_]\w*(?:,[ \t]{0,3}\w{1,20})?[ \t]{0,3}:?=[ \t]{0,3}"
    r"(?:os\.CreateTemp|ioutil\.TempFile|Downloads\.download)\("
)
_PROGRAM_FILE: Final = compiled(r"(?:^|[\"'`/\\])(?P<stem>[A-Za-z_][\w-]{0,60})\.(?:py|pyw|[cm]?js|ts|rb)(?:$|[\"'`)])")
_BODY: Final = 1500  # characters of a function
_MOST_KEPT: Final = 5
_MOST_SAVES: Final = 40
_FUNCTION: Final = compiled(
    r"^[ \t]*(?:(?:export|async|public|private|protected|static|final|pub|inline|suspend)[ \t]+){0,4}"
    r"(?:(?:def|func|fn|fun|function|sub)[ \t]+(?:\([^)\n]{0,40}\)[ \t]*)?"
    r"|(?:const|let)[ \t]+(?=\w{1,40}[ \t]*=[ \t]*(?:async\b|\())"
    r"|(?:Path|String|File|string|FileInfo)[ \t]+)(?:self\.)?(?P<name>\w{1,40})[ \t]*(?:\(|=[ \t]*(?:async\b|\())",
    re.MULTILINE,
)
_PARAMETERS: Final = compiled(r"\(([^()\n]{1,300})\)")
_ARGUMENTS: Final = r"\(([^()\n]{1,300}(?:\([^()\n]{0,80}\)[^()\n]{0,200})?)\)"
_PLAIN_NAME: Final = compiled(r"\$?[A-Za-z_][\w.]{0,60}")
_RUNNING: Final = (  # what runs the file it is given, or makes a program of it
    r"python3?|java|dotnet|go|swift|dart|zig|kotlin|scala|uv|npx|pnpm|bun|deno|tsx|ts-node|streamlit|papermill|jupyter"
    r"|ansible-playbook|nextflow|gcc|cc|g\+\+|c\+\+|clang(?:\+\+)?|rustc|javac|tcc|ghc|swiftc"
)
_WORDS_BEFORE: Final = r"run|script|fsi|exec|dlx|tsx|ts-node|nbconvert|notebook"
_CALLS: Final = (
    r"\b(?:posix_spawnp?|Popen|startfile|execv\w*|execl\w*|spawn\w*|execFile(?:Sync)?|exec|execSync|system|run|call|"
    r"check_call|check_output|Command|Command::new|ProcessBuilder|Start|dlopen|CDLL|PyDLL|WinDLL|LoadLibrary|zipimporter|run_path|fork|import|require|create_subprocess_exec)\s{0,9}\(\s{0,9}"
    r"(?:os\.P_\w+\s{0,9},\s{0,9})?(?:\[\s{0,9}\*\w{1,30}\s{0,9},\s{0,9})?"
    r"(?:(?:sys\.executable|process\.execPath)\s{0,9},\s{0,9}\[\s{0,9})?"
    r"[\[(]?\s{0,9}(?:sys\.executable\s{0,9},\s{0,9})?[\[(]?\s{0,9}"
    r"(?:[frb]?[\"'`](?:(?:/usr)?/bin/)?"
    r"(?:sh|bash|node|open|nohup|env|ruby|perl|wine|rundll32|" + _RUNNING + r")[\"'`]\s{0,9},\s{0,9}(?:\[\s{0,9})?"
    r"(?:[\"'`](?:-jar|-y|--to|--execute|" + _WORDS_BEFORE + r")[\"'`]\s{0,9},\s{0,9}){0,3})?"
    r"[\[(]?\s{0,9}(?:&|str\(|os\.fspath\(|(?:\w+\.)?pathToFileURL\(|[\"'`]file://[\"'`]\s{0,9}\+\s{0,9}|`(?:file://)?\$\{)?(?:await\s{1,9})?"
    r"|\b(?:spawn\w{0,4}|execFile\w{0,4}|exec|Popen|run|Start|Command|call|ProcessBuilder)\(\s{0,9}\[?\s{0,9}[\"'`](?:wscript|cscript|mshta|regsvr32|rundll32|msiexec)(?:\.exe)?[\"'`]\s{0,9},\s{0,9}\[?\s{0,9}(?:[\"'`](?://?|-)\w{1,20}[\"'`]\s{0,9},\s{0,9}){0,4}"
    r"|\b(?:exec\w{0,8}|system|popen|spawn\w{0,4}|run\w{0,7}|call|Popen|check_call|check_output|getoutput|sh|shell\w{0,5}|passthru)"
    r"\s{0,9}\(\s{0,9}[frb]?[\"'`](?:[^\"'`\n]{0,80}(?:&&|;)\s{0,9})?(?:(?:sudo|nohup|env|exec)\s{1,9}){0,2}"
    r"(?:(?:/(?:usr/)?bin/)?(?:(?:ba|z|da)?sh|node|ruby|perl|php|" + _RUNNING + r")\s{1,9}"
    r"(?:(?:" + _WORDS_BEFORE + r")\s{1,9}){0,2}"
    r"(?:-{1,2}\w[\w-]{0,20}\s{1,9}){0,3})?(?:\./|\$?\{)?"
    r"|\brun\(\s{0,9}(?:\w{1,20}\()?`(?:(?:ba|z|da)?sh\s{1,9}|julia\s{1,9})?\$?\(?"
    r"|\bProcess\.(?:start|runSync)\(\s{0,9}(?:[\"'](?:/bin/)?(?:ba|z|da)?sh[\"']\s{0,9},\s{0,9}\[\s{0,9})?"
    r"|\bSeq\(\s{0,9}\"(?:/bin/)?(?:ba|z|da)?sh\"\s{0,9},\s{0,9}|\bProcess\(\s{0,9}(?:Seq\(\s{0,9})?"
    r"|\b(?:executableURL|launchPath)\s{0,9}=\s{0,9}(?:URL\(fileURLWithPath:\s{0,9})?"
    r"|/(?:(?:ba|z|da)?sh|python3?|osascript|env)\"\)?[;\s]{1,40}\w{1,20}\.arguments\s{0,9}=\s{0,9}\[\s{0,9}"
    r"|\.(?i:Run|Exec|ShellExecute)[ \t]{0,3}\(?[ \t]{0,3}"
    r"(?:\"(?i:cmd|wscript|cscript|mshta)[\w. /]{0,20}\"{1,3}[ \t]{0,3}&[ \t]{0,3})?(?:\"{2,4}[ \t]{0,3}&[ \t]{0,3})?"
    r"|^[ \t]*(?:Run(?:Wait)?[ \t,(]{1,4}|(?:Call[ \t]{1,3}|\w{1,20}[ \t]{0,3}=[ \t]{0,3})?Shell[ \t(]{1,3})"
    r"|\b(?:joblib\.load|read_pickle)\(\s{0,9}"
    r"|\b(?:spec_from_file_location|SourceFileLoader|load_source)\(\s{0,9}[^,\n]{1,80},\s{0,9}(?:str\()?"
    r"|\bprocess\.dlopen\(\s{0,9}[^,\n]{1,80},\s{0,9}"
    r"|\bsys\.path\.(?:insert\(\s{0,9}\d\s{0,9},\s{0,9}|append\(\s{0,9})(?:str\(|os\.fspath\()?"
)
_WORDS: Final = (
    r"(?:^|[;|]\s{0,9}|(?<![(,=])(?<![(,=] )&\s{0,9}"
    r"|\bthen\s{1,9}|\bdo\s{1,9}|\bnohup\s{1,9}|\bstart\s{1,9}|\bsetsid\s{1,9}|\bexec\s{1,9}|\bsudo\s{1,9}|\bnice\s{1,9})(?:[\"']?(?:(?:ba|z|da)?sh|node|python3?)[\"']?\s{1,9})?"
    r"|\b(?:ENTRYPOINT|CMD)\b[^\n]{0,80}?[\"' ]|^-?s?include[ \t]{1,9}"
    r"|^Exec(?:Start|StartPre|StartPost|Reload|Stop)=[-@:+!]{0,3}"
    r"(?:(?:/usr)?/bin/(?:ba)?sh[ \t]{1,9}-\w{1,4}[ \t]{1,9}[\"'])?"
    r"|\bStart-Process\s{1,9}(?:-FilePath\s{1,9})?|\b[&.]\s{1,9}"
    r"|(?<![\w)\]])\^(?:(?:ba|z|da)?sh\s{1,9})?"
    r"|^[ \t]*(?:-[ \t]{1,9})?(?:ansible\.\w{1,20}\.)?(?:command|shell|raw|script):[ \t]{1,9}[\"']?"
    r"(?:(?:ba|z|da)?sh[ \t]{1,9})?(?=[/~{])"
)
_STARTS: Final = rf"(?:{_CALLS}|{_WORDS})"
_DOWNLOADER: Final = compiled(
    r"(?i)\W?(?:curl|wget|urlretrieve|DownloadFile|-OutFile|Downloads|getstore|mirror|URLDownload)"
)
_ASKED_FOR: Final = compiled(
    r"\b(?:fetch|urlopen|got|ky|needle)\(|\b(?:requests|httpx?|axios|session|client|ky|got)\.(?:get|post|request)\("
    r"|URI\.open|\bhttp\.Get\(|Net::HTTP|Invoke-(?:WebRequest|RestMethod)"
)
_LONGEST_VALUE: Final = 240
_CALLED_BY_NAME: Final = (
    r"\b(?:run|call|check_call|check_output|Popen|system|exec|execSync|execFile|execFileSync|spawn|spawnSync|sh|shell"
    r"|Command|create_subprocess_exec)\(\s{0,9}\[?\s{0,9}[frb]?[\"'`](?:[^\"'`\n]{0,80}(?:&&|;)\s{0,9})?"
)
_HANDLE: Final = compiled(
    r"(?<![\w.])([A-Za-z_]\w{0,40})(?:,[ \t]{0,3}\w{1,20})?[ \t]{0,3}:?=[ \t]{0,3}(?:[\w.]{1,30}\.)?$"
)
_MADE_OF: Final = r"[ \t]*:?=[ \t]*(?:new[ \t]+)?(?:[\w.]{1,40}\()?[ \t]*[\"']([^\"'\n]{0,80}[/\\][^\"'\n]{1,80})[\"']"
_ASKED: Final = r"(?:\.(?:Name|getPath|getAbsolutePath|toString)\(\)|\.(?:path|absolutePath|name)\b)"  # a file's name


@dataclass(frozen=True)
class Drop:
    """Character offsets of the save and the start, and the name they share."""

    saved: int
    started: int
    name: str


def drops(text: str) -> Iterator[Drop]:
    """Every name that something fetched is saved under and that is started afterwards."""
    if not _may_drop(text):
        return
    seen: set[str] = set()
    for found in _saved(text):
        mine = found["mine"]  # a file's own variable, of which the name is asked
        name = found["place"] or (found["name"] or found["own"] or mine).strip("\"'`")
        if name in seen or not name or len(seen) > 40:
            continue
        seen.add(name)
        if not _FETCHES.search(text, max(0, found.start() - 1500), found.end() + 300):
            continue
        names = [re.escape(name), *_handed_out(text, found, name), *_renamed(text, found.end(), name)]
        names += _other_names(text, found, name)
        called = "|".join([*names, *_kept_in(text, name)])
        start = re.compile(
            rf"(?:{_CALLS if mine else _STARTS})[\"'`]?(?:\.\\)?(?:{called})(?![\w/-])[\"'`]?(?!\s*=)"
            rf"{_as_module(text, name)}",
            re.MULTILINE,
        )
        for run in start.finditer(text, found.end()):
            if run[0].endswith("(") and run[0][:-1].strip().isidentifier():
                continue  # the helper that saves is called, on a line of its own
            yield Drop(found.start(), run.start(), name)
            break
        else:
            yield from _given_to(text, found, name)
            yield from _by_own_name(text, found, name)


def saves(text: str) -> Iterator[tuple[int, str]]:
    """Where something fetched is saved, and the name or the variable of the file, as it is spelled."""
    if not _may_drop(text):
        return
    for found in islice(_saved(text), _MOST_SAVES):
        if _FETCHES.search(text, max(0, found.start() - 1500), found.end() + 300):
            yield found.start(), (found["place"] or found["name"] or found["own"] or found["mine"]).strip("\"'`")


def _by_own_name(text: str, saved: re.Match[str], name: str) -> Iterator[Drop]:
    """What is saved under the name of a file that a program looks for: ``package.json``, and then ``npm install``."""
    own = _own_files().get(re.split(r"[/\\]", name)[-1])
    if own and not _DOWNLOADER.match(saved[0]):
        line = text[saved.end() : saved.end() + _LONGEST_VALUE].partition("\n")[0]
        own = (
            own if _ASKED_FOR.search(with_given(line, names_given(text))) else None
        )  # and no text of the program's own
    run = re.search(_CALLED_BY_NAME + rf"(?:{own})\b", text[saved.end() :]) if own else None
    if run is not None:
        yield Drop(saved.start(), saved.end() + run.start(), name)


@cache
def _own_files() -> dict[str, str]:
    """Patterns of the programs that look for a file, with the words behind which they do so, by its name."""
    found: dict[str, list[str]] = {}
    for program, how in table("shell")["building"].items():
        words = "|".join(map(re.escape, how.get("behind", ())))
        spelled = re.escape(program) + (rf"[\"'`, ]{{1,8}}(?:{words})" if words else "")
        for name in how.get("own", ()):
            found.setdefault(name, []).append(spelled)
    return {name: "|".join(programs) for name, programs in found.items()}


def _given_to(text: str, saved: re.Match[str], name: str) -> Iterator[Drop]:
    """What is saved under a name that a caller gives, where that caller starts it."""
    above = list(_FUNCTION.finditer(text, max(0, saved.start() - _BODY), saved.start()))
    given = _PARAMETERS.match(text, above[-1].end() - 1) if above and name.lstrip("$").isidentifier() else None
    words = [re.findall(r"\w+", each) for each in given[1].split(",")] if given else []
    at = next((number for number, each in enumerate(words) if name.lstrip("$") in each), -1)
    for call in islice(re.finditer(rf"\b{above[-1]['name']}{_ARGUMENTS}", text), _MOST_KEPT) if at >= 0 else ():
        parts = [each.strip(" \t\n&*") for each in call[1].split(",")]
        if call.start() == above[-1].start("name") or at >= len(parts) or not _PLAIN_NAME.fullmatch(parts[at]):
            continue
        start = re.compile(rf"{_STARTS}[\"'`]?{re.escape(parts[at])}(?![\w/-])[\"'`]?(?!\s*=)", re.MULTILINE)
        if run := start.search(text, call.end(), call.end() + _BODY):
            yield Drop(saved.start(), run.start(), parts[at])
            return


def _handed_out(text: str, saved: re.Match[str], name: str) -> list[str]:
    """Patterns of the other names of what was saved: the function that returns it, and what its answer is put into."""
    back = re.compile(rf"\breturn[ \t]+(?:str\(|\w{{1,12}}\()?{re.escape(name)}\b(?![\w.\[(])")
    if not back.search(text, saved.end(), saved.end() + _BODY):
        return []
    above = [found["name"] for found in _FUNCTION.finditer(text, max(0, saved.start() - _BODY), saved.start())]
    if not above:
        return []
    call = rf"(?:[\w$]{{1,30}}(?:\.|->|::)){{0,3}}{re.escape(above[-1])}\("
    kept = re.finditer(rf"(?<![\w.])(?P<kept>[A-Za-z_]\w{{0,40}})[ \t]*:?=[ \t]*(?:await[ \t]+)?{call}", text)
    return [call, *dict.fromkeys(re.escape(found["kept"]) for found in islice(kept, _MOST_KEPT))]


def _renamed(text: str, saved: int, name: str) -> list[str]:
    """Patterns of the names that what was saved is given afterwards."""
    quoted = rf"[\"'`]?{re.escape(name)}[\"'`]?"
    renamed = re.compile(
        rf"(?:\b(?i:mv|move|ren|Move-Item|Rename-Item)[ \t]+(?:-\w+[ \t]+){{0,4}}{quoted}[ \t]+"
        rf"(?:-(?:Destination|NewName)[ \t]+)?|\b(?:rename|renameSync|replace|move)\(\s{{0,9}}{quoted}\s{{0,9}},"
        r"\s{0,9})(?P<to>[\"'`][^\"'`\n]{2,160}[\"'`]|[\w.$/\\{}~-]{2,160})"
    )
    found = [each["to"].strip("\"'`") for each in islice(renamed.finditer(text, saved), _MOST_KEPT)]
    folder = name[: max(name.rfind("/"), name.rfind("\\")) + 1]
    beside = [folder + to for to in found if folder and not re.search(r"[/\\]", to)]
    return [re.escape(each) for each in dict.fromkeys([*found, *beside])]


def _other_names(text: str, saved: re.Match[str], name: str) -> list[str]:
    """Patterns of what a variable that holds a file was made of, and of the variables that tell its name."""
    handle = _HANDLE.search(text, max(0, saved.start() - 60), saved.start())
    told = saved[0].startswith("urlretrieve")  # it answers with the file's name
    asked = [re.escape(handle[1]) + (r"\b" if told else _ASKED)] if handle else []
    if not name.isidentifier():
        return asked
    path = re.finditer(rf"(?<![\w.]){name}{_MADE_OF}", text)
    held = re.finditer(rf"(?<![\w.])([A-Za-z_]\w{{0,40}})[ \t]*:?=[ \t]*{name}{_ASKED}[ \t]*;?$", text, re.MULTILINE)
    found = [each[1] for each in chain(islice(path, _MOST_KEPT), islice(held, _MOST_KEPT))]
    return [*asked, *map(re.escape, dict.fromkeys(found))]


def _kept_in(text: str, name: str) -> list[str]:
    """Patterns of the build variables whose value tells the name of what was saved."""
    if not name.startswith((".", "/", "$")):
        return []
    kept = re.finditer(rf"^(\w{{1,40}})[ \t]*[:?]?=[ \t]*\$\(shell[ \t][^\n]*{re.escape(name)}", text, re.MULTILINE)
    return [rf"\$[({{]{found[1]}[)}}]" for found in islice(kept, _MOST_KEPT)]


def _as_module(text: str, name: str) -> str:
    """An alternative of a pattern: the saved file is loaded as a module, by the stem of a program's file name."""
    told = name
    if name.isidentifier():
        bound = re.search(rf"(?<![\w.]){name}[ \t]*(?::[^=\n]{{1,40}})?=[^\n]*", text)
        told = bound[0] if bound else ""
    found = _PROGRAM_FILE.search(told)
    if found is None:
        return ""
    stem = re.escape(found["stem"])
    return (
        rf"|\b(?:import_module|__import__)\(\s{{0,9}}(?:f?[\"'][\w.]{{0,60}}\.)?[\"']?{stem}[\"']"
        rf"|^[ \t]*(?:from[ \t]+\.?{stem}[ \t]+import\b|import[ \t]+{stem}\b)"
        r"|\b(?:require|require_relative|import|load)[ \t(]{1,3}[\"'`]\./(?:[\w.-]{1,40}/)*"
        rf"{stem}(?:\.\w{{1,4}})?[\"'`]"
        rf"|\brequire_relative[ \t(]{{1,3}}[\"']{stem}[\"']"
        + (rf"|^[ \t]*(?:require|load)[ \t(]{{1,3}}[\"']{stem}[\"']" if ".rb" in found[0] else "")
    )


def _saved(text: str) -> Iterator[re.Match[str]]:
    """Every match of `_SAVED`, which is tried only where one of its words stands."""
    data, end = text.encode("utf-8", "replace"), 0
    for hit in _both().find(2, data, len(data)):
        at = hit.start if len(data) == len(text) else len(data[: hit.start].decode("utf-8", "replace"))
        found = _SAVED.match(text, at) if at >= end else None
        if found is not None:
            end = found.end()
            yield found


def _may_drop(text: str) -> bool:
    """False, told in one pass of an automaton, where nothing is fetched or nothing is saved."""
    patterns, data = _both(), text.encode("utf-8", "replace")
    return patterns.occurs(0, data) and patterns.occurs(1, data)


@cache
def _both() -> PatternSet:
    return PatternSet([_FETCHES.pattern, _SAVES, _SAVED_FIRST])
