"""Every engine is found, whichever side of the confinement runs it."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from skillkeep.auditor import engines
from skillkeep.auditor.engines import file_engines, program_engines
from skillkeep.auditor.engines.by_language import BY_LANGUAGE, LanguageEngine


def test_every_module_that_binds_an_engine_is_one() -> None:
    names = [f"{engines.__name__}.{module.name}" for module in pkgutil.iter_modules(engines.__path__)]
    bound = {id(engine) for name in names if (engine := getattr(import_module(name), "ENGINE", None))}
    found = (*file_engines(), *program_engines())
    assert bound == {id(each.engine if isinstance(each, LanguageEngine) else each) for each in found}


def test_who_starts_programs_does_not_import_the_readers() -> None:
    code = (
        "import sys; from skillkeep.auditor.engines import program_engines; assert program_engines(); "
        "sys.exit(any('python_ast' in name or 'tree_sitter' in name for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("late", BY_LANGUAGE, ids=lambda each: each.module)
def test_what_stands_for_an_engine_says_what_it_says(late: LanguageEngine) -> None:
    told = (late.engine.name, late.engine.order, late.engine.version)
    assert (late.name, late.order, late.version) == told


def test_an_engine_of_a_language_is_not_imported_for_a_skill_without_it(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("---\nname: a\ndescription: Says hello.\n---\n\nSay hello.\n")
    script = (
        "import sys; from pathlib import Path; from skillkeep.auditor.worker import read_tree; "
        "from skillkeep.auditor.interface import AuditOptions; "
        "read_tree(Path(sys.argv[1]), AuditOptions(bandit=False)); "
        "print([name for name in sys.modules if name.endswith(('_ast', '_syntax')) and 'engines' in name])"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
