"""Calls that turn data into code, lose the caller's process, or follow a link someone else laid."""

from __future__ import annotations

import ast

import pytest
from support.sources import Source, calls, helper_sources, imports_of, product_sources

# Dotted name as written -> the modules that may write it. A name without a dot is the builtin.
BANNED: dict[str, tuple[str, ...]] = {
    "eval": (),
    "exec": ("runner/warm/zygote.py",),  # runs inside the sandbox, where the tool runs
    "compile": (),
    "__import__": (),
    "os.system": (),
    "os.popen": (),
    "os.fork": ("skillkeep/kernel/", "runner/native/", "runner/warm/zygote.py", "runner/selftest/inside/"),
    "os.forkpty": (),
    "pty.fork": (),
    "pty.spawn": (),
    "yaml.load": ("auditor/strict_yaml.py",),
    "yaml.unsafe_load": (),
    "yaml.full_load": (),
    "tempfile.mktemp": (),
    "shutil.unpack_archive": (),
    # Resolving follows links: nothing that handles a stranger's tree does it.
    "os.path.realpath": ("skillkeep/", "vault/", "runner/", "dispatch/"),
    "ssl._create_unverified_context": (),
}
BANNED_MODULES = {"pickle", "marshal", "shelve", "dill", "multiprocessing", "xml.etree.ElementTree"}
# These modules resolve a path that the user typed, never one from a source.
MAY_RESOLVE = ("ingest/source.py",)


def where(source: Source, node: ast.AST) -> str:
    return f"{source.relative}:{getattr(node, 'lineno', 0)}"


@pytest.mark.parametrize("name", BANNED)
def test_a_banned_call_is_made_nowhere_else(name: str) -> None:
    wrong = [
        where(source, node)
        for source in product_sources()
        for called, node in calls(source)
        if called == name and not source.relative.startswith(BANNED[name] or ("\0",))
    ]
    assert wrong == []


def test_archives_are_never_unpacked_by_the_library_at_once() -> None:
    wrong = [where(s, node) for s in product_sources() for name, node in calls(s) if name.endswith(".extractall")]
    assert wrong == []


def test_no_program_is_started_through_a_shell() -> None:
    wrong = [
        where(source, keyword.value)
        for source in (*product_sources(), *helper_sources("scripts", "demo", "benchmarks"))
        for _, node in calls(source)
        for keyword in node.keywords
        if keyword.arg == "shell" and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
    ]
    assert wrong == []


def test_no_process_is_started_with_code_between_fork_and_exec() -> None:
    wrong = [
        where(source, node)
        for source in product_sources()
        if not source.relative.startswith(("skillkeep/kernel/", "runner/native/"))
        for _, node in calls(source)
        if any(keyword.arg == "preexec_fn" for keyword in node.keywords)
    ]
    assert wrong == []


def test_no_module_that_runs_code_from_data_is_imported() -> None:
    wrong = [
        f"{source.relative}:{found.line}: {found.name}"
        for source in product_sources()
        for found in imports_of(source)
        if found.name in BANNED_MODULES
    ]
    assert wrong == []


def test_paths_of_a_source_are_never_resolved() -> None:
    wrong = [
        where(source, node)
        for source in product_sources()
        if source.folder in {"ingest", "auditor"} and source.relative not in MAY_RESOLVE
        for name, node in calls(source)
        if name.endswith(".resolve") and not node.args and "__file__" not in ast.unparse(node)
    ]
    assert wrong == []


def test_no_broad_handler_swallows_an_error() -> None:
    wrong = [
        where(source, node)
        for source in product_sources()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"}))
        and all(isinstance(step, ast.Pass | ast.Continue) for step in node.body)
    ]
    assert wrong == []


def test_only_command_line_layers_print_to_standard_output() -> None:
    wrong = [
        where(source, node)
        for source in product_sources()
        if not source.in_cli_layer
        for name, node in calls(source)
        if name == "print" and not any(keyword.arg == "file" for keyword in node.keywords)
    ]
    assert wrong == []


def test_the_check_of_certificates_is_never_switched_off() -> None:
    wrong = [
        where(source, keyword.value)
        for source in product_sources()
        for _, node in calls(source)
        for keyword in node.keywords
        if keyword.arg in {"verify", "check_hostname"}
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is False
    ]
    assert wrong == []


def test_tests_do_not_sleep_to_synchronise() -> None:
    """A poll with a bound lives in `tests/support/waiting.py`; everywhere else waits for a fact."""
    wrong = [
        where(source, node)
        for source in helper_sources("tests")
        if source.relative != "tests/support/waiting.py"
        for name, node in calls(source)
        if name in {"time.sleep", "sleep"}
    ]
    assert wrong == []


def test_nothing_is_left_open_in_the_code() -> None:
    marks = ("TO" + "DO", "FIX" + "ME", "XX" + "X", "raise NotImplemented" + "Error", "pragma: no " + "cover")
    wrong = [
        f"{source.relative}:{number}"
        for source in (*product_sources(), *helper_sources("tests", "scripts", "demo", "benchmarks", "fuzz"))
        for number, line in enumerate(source.path.read_text(encoding="utf-8").splitlines(), 1)
        if any(mark in line for mark in marks)
    ]
    assert wrong == []
