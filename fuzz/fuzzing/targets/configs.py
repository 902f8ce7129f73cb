"""Manifests, lock files, agent configurations, and the user's own files: settings and suppressions."""

from __future__ import annotations

import tempfile
from datetime import date
from pathlib import Path

from fuzzing.target import Target, chosen, examples, with_choice
from skillkeep.auditor.collect import Collector
from skillkeep.auditor.engines import file_engines
from skillkeep.auditor.engines.dependencies.advisories import advice_on
from skillkeep.auditor.engines.dependencies.model import Ecosystem, Named
from skillkeep.auditor.engines.interface import SourceTree
from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.interface import AuditOptions
from skillkeep.auditor.rulebook import default_rulebook
from skillkeep.auditor.sources import decode, source_file
from skillkeep.auditor.suppressions import load_suppressions
from skillkeep.errors import SkillkeepError
from skillkeep.home import Home
from skillkeep.settings import load_settings

MANIFESTS = (
    "package.json", "package-lock.json", "pyproject.toml", "requirements.txt", "setup.cfg", "setup.py", "Pipfile",
    "Pipfile.lock", "poetry.lock", "uv.lock", "yarn.lock", "pnpm-lock.yaml", "environment.yml", "Cargo.toml", "go.mod",
    "Gemfile", "composer.json", ".npmrc", "pip.conf", "deno.json", "SKILL.md", "a.sh",
)  # fmt: skip
STARTERS = (
    ".mcp.json", "hooks/hooks.json", ".claude/settings.json", ".claude/settings.local.json", ".vscode/tasks.json",
    ".vscode/settings.json", ".cursor/mcp.json", "package.json", ".devcontainer/devcontainer.json", "plugin.json",
    ".claude-plugin/plugin.json", "composer.json", ".zed/settings.json", ".kiro/hooks/a.json", ".codex/config.toml",
    ".gemini/settings.json", "claude_desktop_config.json", ".github/workflows/a.yml", "opencode.json", "a.pth",
)  # fmt: skip
_CONFIG_ENGINES = frozenset({"autorun", "dependencies", "instructions", "manifest", "network"})


def _configs(data: bytes, names: tuple[str, ...]) -> None:
    name, content = chosen(data, names)
    file = source_file(name, content, decode(name, content), executable=False)
    collector = Collector(default_rulebook())
    tree = SourceTree(Path("/nonexistent"), (file,), AuditOptions())
    for engine in file_engines():
        if engine.name in _CONFIG_ENGINES:
            engine.scan_file(file, collector.bound(engine.name))
            engine.scan_tree(tree, collector.bound(engine.name))
    for item in collector.capabilities:
        item.value.encode("utf-8", "surrogatepass")


def _suppressions(data: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="skillkeep-fuzz-") as folder:
        path = Path(folder) / "suppressions.toml"
        path.write_bytes(data)
        try:
            found = load_suppressions(path, date(2026, 1, 1), (), named=True)
        except AuditError as error:
            assert error.code == "bad_suppressions"
            return
        assert all(entry.expires <= date(2027, 1, 2) for entry in found.entries)


def _settings(data: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="skillkeep-fuzz-") as folder:
        path = Path(folder) / "config.toml"
        path.write_bytes(data)
        try:
            load_settings(Home(Path(folder)), path)
        except SkillkeepError as error:
            assert error.hint


def _advisories(data: bytes) -> None:
    with tempfile.NamedTemporaryFile(prefix="skillkeep-fuzz-", suffix=".json") as file:
        file.write(data)
        file.flush()
        wanted = [Named("left-pad", Ecosystem.NPM, "1.0.0"), Named("requests", Ecosystem.PYPI, "==2.0")]
        try:
            list(advice_on(file.name, wanted))
        except ValueError:
            return


def _config_seeds(names: tuple[str, ...]) -> list[bytes]:
    seeds = [
        with_choice(names, name, text.encode("utf-8", "replace"))
        for name in names
        for text in examples(name.rpartition("/")[2])[:20]
    ]
    return seeds + [with_choice(names, name, text.encode()) for name, text in PLAIN if name in names]


PLAIN = (
    ("package.json", '{"scripts":{"postinstall":"node a.js"},"dependencies":{"a":"^1","b":"git+https://x.example.invalid/b"}}'),
    ("package-lock.json", '{"packages":{"node_modules/a":{"resolved":"https://r.example.invalid/a.tgz","version":"1"}}}'),
    ("pyproject.toml", '[project]\ndependencies=["a>=1","b @ https://x.example.invalid/b.whl"]\n[tool.poetry.dependencies]\nc="*"\n'),
    ("requirements.txt", "-i https://x.example.invalid/simple\na==1 \\\n --hash=sha256:0\n-e git+ssh://x.example.invalid/b#egg=b\n"),
    ("environment.yml", "dependencies:\n- a=1\n- pip:\n  - b\n"),
    ("Cargo.toml", '[dependencies]\na = { git = "https://x.example.invalid/a" }\n'),
    ("go.mod", "module x\nrequire (\n\tgithub.com/a/b v1.2.3\n)\nreplace a => b v1\n"),
    ("Gemfile", "source 'https://rubygems.org'\ngem 'a', '~> 1', git: 'https://x.example.invalid/a'\n"),
    ("setup.py", "from setuptools import setup\nsetup(install_requires=['a', 'b>1'], cmdclass={})\n"),
    (".mcp.json", '{"mcpServers":{"a":{"command":"npx","args":["-y","b"],"env":{"T":"${T}"}}}}'),
    ("hooks/hooks.json", '{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"./a.sh"}]}]}}'),
    (".vscode/tasks.json", '{"tasks":[{"label":"a","command":"b","runOptions":{"runOn":"folderOpen"}}]} // c\n'),
    (".codex/config.toml", '[mcp_servers.a]\ncommand="b"\nargs=["c"]\n'),
    (".devcontainer/devcontainer.json", '{"postCreateCommand":{"a":["b","c"]},"initializeCommand":"d"}'),
)  # fmt: skip
SUPPRESSED = (
    '[[suppress]]\nrule="code-network"\ndigest="sha256:' + "a" * 64 + '"\nreason="our own mirror, reviewed"\n'
    'owner="ada"\nexpires=2026-06-01\npath="a.py"\nfingerprint="' + "0" * 16 + '"\n'
).encode()
SETTINGS = (
    b'[trust]\nowners=["a"]\n[limits]\nartifact_files=5\nfetch_seconds=1.5\n[sandbox]\nbackend="native"\ncpus=2\n'
    b'[auditor]\nbandit=false\n[rubric]\nbase_url="http://127.0.0.1:1/v1"\nmodel="m"\napi_key_env="K"\n[journal]\n'
)
ADVISORY = (
    b'{"id":"MAL-1","summary":"s","affected":[{"package":{"ecosystem":"npm","name":"left-pad"},"versions":["1.0.0"],'
    b'"ranges":[{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":"2.0.0-rc.1"}]}]}]}\n'
)

TARGETS = (
    Target("manifests", "package manifests and lock files", lambda data: _configs(data, MANIFESTS),
           lambda: _config_seeds(MANIFESTS)),
    Target("starters", "hooks, MCP servers, tasks and other files that start something",
           lambda data: _configs(data, STARTERS), lambda: _config_seeds(STARTERS)),
    Target("suppressions", "the user's accepted warnings", _suppressions, lambda: [SUPPRESSED]),
    Target("settings", "config.toml", _settings, lambda: [SETTINGS]),
    Target("advisories", "records of known-bad packages", _advisories, lambda: [ADVISORY, b"[" + ADVISORY + b"]"]),
)  # fmt: skip
