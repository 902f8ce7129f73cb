"""The pipeline's order is held by types: what a step hands on, only that step can build."""

from __future__ import annotations

import ast
import dataclasses
import importlib

import pytest
from support.sources import calls, dotted, product_sources

from skillkeep.sealed import Sealed, sealer

STEPS = {
    "Fetched": "ingest",
    "Artifact": "ingest",
    "Decision": "ingest",
    "VaultedTool": "vault",
}


def sealed_types() -> dict[str, type[Sealed]]:
    for source in product_sources():
        if source.folder in {"ingest", "vault"} and not source.in_cli_layer and not source.is_package:
            importlib.import_module(source.module)

    def below(cls: type[Sealed]) -> list[type[Sealed]]:
        return [found for child in cls.__subclasses__() for found in (child, *below(child))]

    return {cls.__name__: cls for cls in below(Sealed) if cls.__module__.startswith("skillkeep.")}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_of_the_pipeline_is_sealed_and_lives_in_its_own_folder(name: str) -> None:
    assert sealed_types()[name].__module__.startswith(f"skillkeep.{STEPS[name]}.")


@pytest.mark.parametrize("name", STEPS)
def test_a_step_cannot_be_built_from_outside(name: str) -> None:
    cls = sealed_types()[name]
    fields = {field.name: None for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        cls(**fields)
    with pytest.raises(TypeError):
        cls()


@pytest.mark.parametrize("name", STEPS)
def test_the_right_to_build_a_step_is_given_once(name: str) -> None:
    with pytest.raises(TypeError):
        sealer(sealed_types()[name])


def test_a_sealer_is_taken_only_in_the_module_that_defines_the_type() -> None:
    wrong = []
    for source in product_sources():
        defined = {node.name for node in source.tree.body if isinstance(node, ast.ClassDef)}
        for name, node in calls(source):
            if name.split(".")[-1] == "sealer" and not (node.args and dotted(node.args[0]) in defined):
                wrong.append(f"{source.relative}:{node.lineno}")
    assert wrong == []
