"""Law 2: no option, environment variable or setting leads past a FAIL verdict or past the audit."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from support.commands import every_command
from support.sources import product_sources

from skillkeep.settings import Settings

OVERRIDE = re.compile(
    r"force|overr|skip|bypass|unsafe|insecure|ignore|allow[-_]?(fail|all)|trust[-_]?all|whitelist"
    r"|(no|disable|without)[-_](audit|verify|check|scan|sandbox|confirm|gate|quarantine)|yes[-_]?to[-_]?all",
    re.IGNORECASE,
)
# The environment variables that are ours, with what they can do. None of them changes a decision.
OUR_VARIABLES = {
    "SKILLKEEP_HOME": "where the home is",
    "SKILLKEEP_POLICY": "set inside a sandbox, never read: where the run's policy can be read",
    "SKILLKEEP_TRACEBACK": "shows where a defect of ours happened",
}


def setting_names(settings: Any, prefix: str = "") -> Iterator[str]:
    for field in fields(settings):
        yield prefix + field.name
        if is_dataclass(value := getattr(settings, field.name)):
            yield from setting_names(value, f"{prefix}{field.name}.")


def test_no_command_has_an_option_that_overrides_a_verdict() -> None:
    spellings = {(command.words, name) for command in every_command() for name in command.spellings}
    assert len(spellings) > 40
    assert sorted((words, name) for words, name in spellings if OVERRIDE.search(name)) == []


def test_no_setting_overrides_a_verdict() -> None:
    names = set(setting_names(Settings()))
    assert "limits.artifact_files" in names
    assert sorted(name for name in names if OVERRIDE.search(name)) == []


def test_every_environment_variable_of_ours_is_known_and_harmless() -> None:
    found = {
        match
        for source in product_sources()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for match in re.findall(r"\bSKILLKEEP_[A-Z_]+\b", node.value)
    }
    assert found == set(OUR_VARIABLES)


def test_only_the_vault_and_the_command_lines_read_the_environment_for_decisions() -> None:
    """The gate gets everything handed in: neither it nor the auditor looks at the environment."""
    wrong = [
        f"{source.relative}:{node.lineno}"
        for source in product_sources()
        if source.folder in {"auditor", "vault"} and not source.in_cli_layer
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in {"os.environ", "os.getenv"}
    ]
    assert wrong == []
