"""Which tools a source holds, and which of them are taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.door import brought_in, digest_of, limited, refused, take
from support.hostile import clean_skill, write_files

from skillkeep.ingest.artifacts import Uncut
from skillkeep.ingest.discovery import discover, slug
from skillkeep.ingest.request import Floor
from skillkeep.tree import TreeView
from skillkeep.vault.names import check_name


def skill(name: str, at: str = "") -> dict[str, bytes]:
    return {f"{at}{path}": data for path, data in clean_skill(name).items()}


def found(tmp_path: Path, files: dict[str, bytes]) -> list[tuple[str, str, str, str | None]]:
    root = write_files(tmp_path / "tree", files)
    with TreeView.open(root) as view:
        return [(each.name, str(each.kind), each.path, each.owner) for each in discover(view, "fallback")]


PLUGIN = json.dumps({"name": "My Plugin", "description": "d"}).encode()
MCP = json.dumps({"mcpServers": {"x": {"command": "python", "args": ["server.py"]}}}).encode()


def test_each_kind_is_found_by_its_marker(tmp_path: Path) -> None:
    files = {
        **skill("one", "skills/one/"),
        "plugin/.claude-plugin/plugin.json": PLUGIN,
        "server/.mcp.json": MCP,
        "npm/package.json": b'{"name": "@x/npm-mcp", "dependencies": {"@modelcontextprotocol/sdk": "1"}}',
        "py/pyproject.toml": b'[project]\nname = "py-mcp"\ndependencies = ["mcp[cli]>=1.2"]\n',
        "reg/server.json": b'{"$schema": "https://static.modelcontextprotocol.io/x.json", "name": "io.x/reg"}',
        "web/package.json": b'{"name": "web"}',
        "web2/server.json": b'{"port": 1}',
    }
    assert found(tmp_path, files) == [
        ("x-npm-mcp", "mcp", "npm", None),
        ("my-plugin", "plugin", "plugin", None),
        ("py-mcp", "mcp", "py", None),
        ("io.x-reg", "mcp", "reg", None),
        ("server", "mcp", "server", None),
        ("one", "skill", "skills/one", None),
    ]


def test_a_plugin_owns_what_is_inside_it_and_a_skill_too(tmp_path: Path) -> None:
    files = {
        ".claude-plugin/plugin.json": PLUGIN, ".mcp.json": MCP, **skill("inner", "skills/inner/"),
        **skill("deeper", "skills/inner/more/deeper/"),
    }  # fmt: skip
    assert found(tmp_path, files) == [
        ("my-plugin", "plugin", "", None),
        ("inner", "skill", "skills/inner", ""),
        ("deeper", "skill", "skills/inner/more/deeper", "skills/inner"),
    ]


def test_an_mcp_configuration_at_the_root_hides_no_skill(tmp_path: Path) -> None:
    files = {".mcp.json": MCP, **skill("one", "skills/one/")}
    assert [(name, owner) for name, _, _, owner in found(tmp_path, files)] == [("fallback", None), ("one", None)]


def test_tools_of_one_name_get_distinct_names(tmp_path: Path) -> None:
    names = [name for name, *_ in found(tmp_path, {**skill("same", "a/x/"), **skill("same", "b/x/")})]
    assert names == ["a-x", "b-x"]


def test_broken_markers_still_mark_their_folder(tmp_path: Path) -> None:
    files = {"a/SKILL.md": b"\xff\xfe---\nname: [", "b/.claude-plugin/plugin.json": b"[" * 100_000, "c/skill.MD": b""}
    assert [(name, kind) for name, kind, *_ in found(tmp_path, files)] == [
        ("a", "skill"),
        ("b", "plugin"),
        ("c", "skill"),
    ]


def test_scripts_without_a_marker_are_one_tool(tmp_path: Path) -> None:
    assert found(tmp_path, {"run": b"#!/bin/sh\necho\n", "lib/x.txt": b""}) == [("fallback", "script", "", None)]


def test_the_one_folder_of_an_archive_is_the_tool(tmp_path: Path) -> None:
    assert found(tmp_path, {"repo-main/x.py": b"", "repo-main/y.py": b""}) == [
        ("repo-main", "script", "repo-main", None)
    ]


@pytest.mark.parametrize(
    "text", ["../../etc", "objects", "registry.sqlite3", "a" * 64, "-x", "A B", "é", "x" * 200, "\x1b[2J"]
)
def test_a_name_a_tool_claims_becomes_one_the_vault_can_have(text: str) -> None:
    name = slug(text)
    assert not name or check_name(name) == name


def test_several_tools_have_to_be_chosen_from(floor: Floor, tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", {**skill("one", "one/"), **skill("two", "two/")})
    error = refused(floor, source, confirm=True)
    assert (error.code, int(error.exit_code)) == ("choose_artifact", 2)
    assert [item["name"] for item in error.context["artifacts"]] == ["one", "two"]
    unknown = refused(floor, source, select=("tow",))
    assert (unknown.code, unknown.hint) == ("unknown_artifact", "Did you mean two?")
    assert refused(floor, source, select=("TWO",)).hint == "Did you mean two?"
    assert [each.path for each in brought_in(floor, source, select=("two",))] == ["two"]
    assert [each.path for each in brought_in(floor, source, select=("one/",))] == ["one"]
    assert [each.name for each in brought_in(floor, source, everything=True)] == ["one", "two"]


def test_a_skill_of_a_plugin_is_taken_alone_when_it_is_selected(floor: Floor, tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", {".claude-plugin/plugin.json": PLUGIN, **skill("inner", "skills/inner/")})
    assert [each.name for each in brought_in(floor, source)] == ["my-plugin"]
    assert [each.path for each in brought_in(floor, source, select=("inner",))] == ["skills/inner"]


def test_a_tool_without_a_marker_is_selected_by_its_path_and_a_slash(floor: Floor, tmp_path: Path) -> None:
    scripts = {"tools/a.py": b"print(1)\n", "tools/b.txt": b"x"}
    source = write_files(tmp_path / "source", {**skill("one", "one/"), **scripts})
    selected = take(floor, source, select=("tools/",))
    assert (selected.kind, selected.path) == ("script", "tools")
    assert selected.digest == digest_of(floor, source, path="tools")
    assert "--select tools/ " in str(selected.next)
    single = digest_of(floor, source, select=("tools/a.py/",))
    assert single == digest_of(floor, source, path="tools/a.py")
    assert refused(floor, source, select=("tools",)).code == "unknown_artifact"


def test_many_tools_cannot_multiply_one_large_file_by_links(floor: Floor, tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", {"shared/large": bytes(1 << 20)})
    for number in range(6):
        write_files(source, skill(f"s{number}", f"s{number}/"))
        (source / f"s{number}" / "large").symlink_to("../shared/large")
    tight = limited(floor, source_bytes=(4 << 20) + 4096)
    tools = brought_in(tight, source, everything=True)
    assert [each.error.code if isinstance(each, Uncut) else "" for each in tools] == [""] * 4 + ["limit_exceeded"] * 2
