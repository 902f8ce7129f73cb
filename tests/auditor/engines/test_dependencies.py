"""Packages: who is found where, which names are mistaken, and what the user's advisories say."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.audited import audited

from skillkeep.auditor.audit import audit_tree
from skillkeep.auditor.engines.dependencies import other_files, python_files
from skillkeep.auditor.engines.dependencies.advisories import version_key
from skillkeep.auditor.engines.dependencies.commands import commands, told
from skillkeep.auditor.engines.dependencies.locks import LOCKS, taken
from skillkeep.auditor.engines.dependencies.lookalike import imitated
from skillkeep.auditor.engines.dependencies.model import Ecosystem
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import AuditOptions, Severity

PYPROJECT = """
project.dependencies = ["a>1"]
project.optional-dependencies.x = ["b"]
build-system.requires = ["c"]
dependency-groups.d = ["d"]
tool.poetry.dependencies = {python = "^3", e = "^1"}
"""


@pytest.mark.parametrize(
    ("file", "text", "packages"),
    [
        ("requirements.txt", "Rich==1.0 # why\n-r other.txt\na.b[x]>=2; python_version>'3'\n-e .\n",
         {"pypi/rich", "pypi/a-b"}),
        ("requirements-dev.txt", "git+https://github.com/x/y.git@main\n", {"pypi/y"}),
        ("pyproject.toml", PYPROJECT, {"pypi/a", "pypi/b", "pypi/c", "pypi/d", "pypi/e"}),
        ("setup.cfg", "[options]\ninstall_requires =\n    a>=1\n    b\n", {"pypi/a", "pypi/b"}),
        ("setup.py", "from setuptools import setup\nsetup(install_requires=['a>=1'], extras_require={'x': ['b']})\n",
         {"pypi/a", "pypi/b"}),
        ("setup.py", "from setuptools import setup\nprint 'x'\nsetup(install_requires=['a'])\n", {"pypi/a"}),
        ("Pipfile", '[packages]\na = "*"\nb = {version = "==1"}\n', {"pypi/a", "pypi/b"}),
        ("package.json", '{"dependencies": {"a": "1"}, "devDependencies": {"@s/b": "^2"}}', {"npm/a", "npm/@s/b"}),
        ("Gemfile", "source 'https://rubygems.org'\ngem 'a', '~> 1'\n", {"gem/a"}),
        ("go.mod", "module m\nrequire (\n\texample.org/a/b v1.2.3\n)\n", {"golang/example.org/a/b"}),
        ("Cargo.toml", '[dependencies]\na = "1"\n[target.x.dependencies]\nb = "1"\n', {"cargo/a", "cargo/b"}),
        ("tool.py", '# /// script\n# dependencies = [\n#   "a<2",\n# ]\n# ///\nx = 1\n', {"pypi/a"}),
        ("run.sh", "pip install a b==1 -r c.txt ./d && uv add e\nuvx f\n", {"pypi/a", "pypi/b", "pypi/e", "pypi/f"}),
        ("run.sh", "npm i -g @s/g@1 h\nnpx -y -p i j\ngem install k\n", {"npm/@s/g", "npm/h", "npm/i", "gem/k"}),
        ("run.sh", "cargo install a\ngo install example.org/b/c@latest\nbrew install d\nuv run --with e x.py\n",
         {"cargo/a", "golang/example.org/b/c", "brew/d", "pypi/e"}),
        ("run.sh", "# pip install a\npip install $B <c> . ./d [e]\necho pip installs\n", set()),
        ("SKILL.md", "# A\n\nRun `pip install a` or see `npm install`.\n", {"pypi/a"}),
        (".mcp.json", '{"mcpServers": {"x": {"command": "npx", "args": ["-y", "a"]}}}', {"npm/a"}),
    ],
)  # fmt: skip
def test_packages_are_found_where_they_are_named(file: str, text: str, packages: set[str]) -> None:
    found = {each.value for each in audited({file: text}).capabilities if each.kind == "package"}
    assert found == packages


@pytest.mark.parametrize(
    ("ecosystem", "name", "target"),
    [
        (Ecosystem.PYPI, "reqeusts", "requests"),
        (Ecosystem.PYPI, "requets", "requests"),
        (Ecosystem.PYPI, "requestss", "requests"),
        (Ecosystem.PYPI, "numpi", ""),
        (Ecosystem.PYPI, "pandaz", "pandas"),
        (Ecosystem.PYPI, "c0lorama", "colorama"),
        (Ecosystem.PYPI, "colorarna", "colorama"),
        (Ecosystem.PYPI, "reque\u0455ts", "requests"),
        (Ecosystem.PYPI, "Scikit_Learn", ""),
        (Ecosystem.PYPI, "scikitlearn", "scikit-learn"),
        (Ecosystem.NPM, "crossenv", "cross-env"),
        (Ecosystem.NPM, "@modelcontextprotocl/sdk", "@modelcontextprotocol/sdk"),
        (Ecosystem.NPM, "lodahs", "lodash"),
        (Ecosystem.NPM, "lodash", ""),
        (Ecosystem.NPM, "preact", ""),
        (Ecosystem.GEM, "reqeusts", ""),
    ],
)
def test_a_name_is_compared_with_the_popular_ones(ecosystem: Ecosystem, name: str, target: str) -> None:
    assert imitated(ecosystem, name) == target


def test_no_popular_name_passes_for_an_imitation() -> None:
    names = table("popular")
    assert not {name for group in ("pypi", "npm") for name in names[group] if imitated(Ecosystem(group), name)}
    assert not {scope for scope in names["scopes"] if imitated(Ecosystem.NPM, f"@{scope}/x")}


RECORDS = [
    {"id": "MAL-2025-1", "affected": [{"package": {"ecosystem": "PyPI", "name": "bad_tool"},
                                       "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}]}]},
    {"id": "GHSA-1", "summary": "a weakness", "affected": [
        {"package": {"ecosystem": "PyPI", "name": "weak"},
         "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "1.0"}, {"fixed": "1.10"}]}]}]},
    {"id": "MAL-2025-2", "affected": [{"package": {"ecosystem": "npm", "name": "taken"}, "versions": ["2.0.1"]}]},
    {"id": "MAL-2025-3", "withdrawn": "2025-01-01T00:00:00Z",
     "affected": [{"package": {"ecosystem": "npm", "name": "cleared"}}]},
]  # fmt: skip


@pytest.mark.parametrize("form", ["list", "lines", "one"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pip install Bad.Tool\n", {"dependency-malicious": Severity.FAIL}),
        ("pip install weak==1.9\n", {"dependency-vulnerable": Severity.WARN}),
        ("pip install weak==1.10\n", {}),
        ("pip install weak==0.9\n", {}),
        ("pip install weak\n", {"dependency-vulnerable": Severity.WARN}),
        ("npm install taken@2.0.1\n", {"dependency-malicious": Severity.FAIL}),
        ("npm install taken@2.0.0\n", {}),
        ("npm install taken\n", {"dependency-malicious": Severity.WARN}),
        ("npm install cleared@1.0.0\n", {}),
    ],
)
def test_advisories_of_the_user_are_applied(
    tmp_path: Path, form: str, text: str, expected: dict[str, Severity]
) -> None:
    path = tmp_path / "osv.json"
    if form == "one":
        wanted = [record for record in RECORDS if json.dumps(record).replace("_", ".").find(_name(text)) > 0]
        path.write_text(json.dumps(wanted[0], indent=1))
    else:
        path.write_text(json.dumps(RECORDS) if form == "list" else "".join(json.dumps(each) + "\n" for each in RECORDS))
    report = audited({"run.sh": text}, AuditOptions(bandit=False, advisories=str(path)))
    assert {each.rule: each.severity for each in report.findings if each.rule in _ADVISED} == expected


def _name(command: str) -> str:
    return command.split()[-1].lower().partition("=")[0].partition("@")[0]


_ADVISED = {"dependency-malicious", "dependency-vulnerable", "audit-incomplete"}


@pytest.mark.parametrize("content", ["", "not json", '{"id": 1', "[1, 2"])
def test_advisories_that_cannot_be_read_are_said(tmp_path: Path, content: str) -> None:
    path = tmp_path / "osv.json"
    path.write_text(content + " rich\n" if content else "")
    report = audited({"run.sh": "pip install rich==1\n"}, AuditOptions(bandit=False, advisories=str(path)))
    assert ("audit-incomplete" in {each.rule for each in report.findings}) == bool(content)


def test_the_confined_reader_may_read_the_advisories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "osv.jsonl").write_text("".join(json.dumps(each) + "\n" for each in RECORDS))
    tool = tmp_path / "tool"
    tool.mkdir()
    (tool / "run.sh").write_text("pip install bad-tool\n")
    monkeypatch.chdir(tmp_path)
    report = audit_tree(tool, AuditOptions(bandit=False, semgrep=False, advisories="osv.jsonl"))
    assert "dependency-malicious" in {finding.rule for finding in report.findings}


def test_versions_are_ordered() -> None:
    ordered = ["0.9", "1.0.dev1", "1.0a1", "1.0rc1", "1.0", "1.0.1", "1.2", "1.10", "2.0-beta", "2.0"]
    assert sorted(set(ordered), key=version_key) == ordered
    assert version_key("1.0") == version_key("v1.0.0")


READERS = [
    python_files.requirements, python_files.pyproject, python_files.pipfile, python_files.inline_metadata,
    python_files.setup_cfg, python_files.setup_py, other_files.package_json, other_files.gemfile, other_files.go_mod,
    other_files.cargo_toml, commands, told, *(partial(taken, name) for name in LOCKS),
]  # fmt: skip
PIECES = [
    "pip install ", "npx ", "-", "--from", "a", "==1", "@", "git+https://x", "\n", " ", '"', "'", "{", "[", "]", "}",
    "dependencies", "=", ":", "`", "# /// script\n", "# ///", "install_requires =", "gem '", "\t", "\\", ",", "<", "$",
    '"node_modules/a": {', '"a": {},', '"resolved": "https://a"', "a@1:\n", 'name = "a"\n', "[[package]]\n",
]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_no_file_breaks_its_reader(text: str) -> None:
    for reader in READERS:
        list(reader(text))


@pytest.mark.parametrize("piece", PIECES)
def test_reading_grows_with_the_size_alone(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    start = time.process_time()
    for reader in READERS:
        list(reader(text))
    assert time.process_time() - start < 15


def test_a_locked_package_without_an_address_may_have_any_number_of_lines() -> None:
    text = "a@1:\n" + "  x y\n" * 20_000 + "z\n"
    start = time.process_time()
    assert not list(taken("yarn.lock", text))
    assert time.process_time() - start < 5


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80))
def test_any_text_has_a_verdict_as_a_name_and_as_a_version(text: str) -> None:
    for ecosystem in Ecosystem:
        imitated(ecosystem, text)
    version_key(text)
