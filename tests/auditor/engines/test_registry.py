"""Every engine is found, whichever side of the confinement runs it."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module

from skillkeep.auditor import engines
from skillkeep.auditor.engines import file_engines, program_engines


def test_every_module_that_binds_an_engine_is_one() -> None:
    names = [f"{engines.__name__}.{module.name}" for module in pkgutil.iter_modules(engines.__path__)]
    bound = {id(engine) for name in names if (engine := getattr(import_module(name), "ENGINE", None))}
    assert bound == {id(engine) for engine in (*file_engines(), *program_engines())}


def test_who_starts_programs_does_not_import_the_readers() -> None:
    code = (
        "import sys; from skillkeep.auditor.engines import program_engines; assert program_engines(); "
        "sys.exit(any('python_ast' in name or 'tree_sitter' in name for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
