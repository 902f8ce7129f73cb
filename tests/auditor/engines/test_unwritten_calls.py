"""A function's callers are not all seen where a name made at run time may call it."""

from __future__ import annotations

import pytest
from support.audited import audited

from skillkeep.auditor.interface import Verdict

PAGE = "---\nname: boxes\ndescription: Shows boxes.\n---\n\n# Boxes\n\n`python3 a.py`\n"
RUN = "import subprocess, sys\n\n\ndef run(cmd):\n    return subprocess.run(cmd, shell=True)\n\n\nrun('ls data')\n"
TEXT = "open('data/last.txt').read()"


def verdict(files: dict[str, str]) -> Verdict:
    return audited({"SKILL.md": PAGE, **files}).verdict


@pytest.mark.parametrize(
    "call",
    [
        "getattr(sys.modules[__name__], 'r' + 'un')(X)",
        "globals()['ru' + 'n'](X)",
        "vars()['ru' + 'n'](X)",
        "locals()['ru' + 'n'](X)",
        "import __main__\n__main__.run(X)",
        "from __main__ import run as again\nagain(X)",
        "import operator, __main__\noperator.attrgetter('ru' + 'n')(__main__)(X)",
        "import importlib\nimportlib.import_module(__name__).run(X)",
        "import importlib, operator\noperator.methodcaller('run', X)(importlib.import_module(__name__))",
        "sys._getframe().f_globals['ru' + 'n'](X)",
        "main = lambda: 0\nmain.__globals__['ru' + 'n'](X)",
        "eval('run')(X)",
        "import a\nif __name__ == '__main__':\n    a.run(X)",
        "__import__('a').run(X)",
        "import gc\nfor f in gc.get_objects():\n    if getattr(f, '__name__', '') == 'run':\n        f(X)",
        "def g(o, n):\n    return getattr(o, n)\n\n\ng(g, '__glob' + 'als__')['run'](X)",
        "import os\n\n\ndef g(o, n):\n    return getattr(o, n)\n\n\ng(os.sys, 'mod' + 'ules')[__name__].run(X)",
        "import cProfile\ncProfile.run('run(open(\"data/last.txt\").read())')",
        "import fire\nfire.Fire()",
    ],
)
def test_a_call_by_a_name_made_at_run_time_may_give_anything(call: str) -> None:
    assert verdict({"a.py": f"{RUN}{call.replace('X', TEXT)}\n"}) is Verdict.FAIL


@pytest.mark.parametrize(
    "more",
    [
        "",
        "print(getattr(sys.argv, 'x' + sys.argv[1], None))",
        "class A:\n    def go(self, n):\n        return getattr(self, f'do_{n}')()\n\n\nA().go(sys.argv[1])",
        "import argparse\nprint(vars(argparse.ArgumentParser().parse_args()))",
        "if 'pytest' in sys.modules:\n    print(1)",
        "import importlib\nimportlib.import_module('json').dumps({})",
        "def f(a):\n    return '%(a)s' % locals()",
    ],
)
def test_what_never_holds_the_module_leaves_all_callers_seen(more: str) -> None:
    assert verdict({"a.py": f"{RUN}{more}\n"}) is Verdict.PASS


@pytest.mark.parametrize(
    "other",
    [
        "import importlib\nm = importlib.import_module('a')\ngetattr(m, chr(114) + 'un')(X)\n",
        "import runpy\nrunpy.run_path('a.py')['run'](X)\n",
        "from importlib import machinery\nm = machinery.SourceFileLoader('x', 'a.py').load_module()\nm.run(X)\n",
        "import pkgutil\npkgutil.resolve_name('a:run')(X)\n",
    ],
)
def test_another_file_may_call_it_so_as_well(other: str) -> None:
    assert verdict({"a.py": RUN, "u.py": other.replace("X", TEXT)}) is Verdict.FAIL


def test_a_snippet_that_imports_the_file_is_a_caller() -> None:
    block = "```python\nfrom a import {}\n```\n"
    assert verdict({"a.py": RUN, "more.md": block.format(f"run\nrun({TEXT})")}) is Verdict.FAIL
    assert verdict({"a.py": RUN, "go.sh": f'python3 -c "from a import run; run({TEXT})"\n'}) is Verdict.FAIL
    counts = f"{RUN}\n\ndef count(x):\n    return len(x)\n"
    assert verdict({"a.py": counts, "more.md": block.format("count\ncount('abc')")}) is Verdict.PASS


def test_a_module_that_its_only_caller_names_is_no_way_to_another() -> None:
    start = "def load(name):\n    return __import__(name)\n\n\n"
    assert verdict({"a.py": f"{start}load('other').go()\n", "other.py": "def go():\n    print(1)\n"}) is Verdict.PASS
    assert verdict({"a.py": f"{RUN}{start}load('a').run({TEXT})\n"}) is Verdict.FAIL


SCRIPT = """const { execSync } = require("child_process");
const fs = require("fs");

function run(cmd) {
  return execSync(cmd).toString();
}

run("ls data");
"""
BARE = SCRIPT.replace("function run(cmd)", "run = function (cmd)")
FILE = 'fs.readFileSync("data/last.txt", "utf8")'


@pytest.mark.parametrize(
    "code",
    [
        SCRIPT + 'eval("run")(X);',
        SCRIPT + 'this["ru" + "n"](X);',
        BARE + 'globalThis["r" + "un"](X);',
        BARE + "const w = globalThis;\nw.run(X);",
        BARE + "globalThis.run(X);",
        BARE + 'require("vm").runInThisContext("r" + "un")(X);',
        BARE + 'new Function("return run")()(X);',
        BARE + 'function t() {\n  return this;\n}\nt()["r" + "un"](X);',
    ],
)
def test_javascript_calls_by_such_names_too(code: str) -> None:
    assert verdict({"a.js": f"{code.replace('X', FILE)}\n"}) is Verdict.FAIL


@pytest.mark.parametrize(
    "more",
    [
        "",
        "globalThis.shown = 1;",
        "class A {\n  go(n) {\n    return this[n];\n  }\n}",
        "console.log(globalThis.process);",
    ],
)
def test_javascript_that_names_other_members_leaves_all_callers_seen(more: str) -> None:
    assert verdict({"a.js": f"{SCRIPT}{more}\n"}) is Verdict.PASS
