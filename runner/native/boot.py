"""Starts a program of ours in a bare interpreter (`python -I -S`), where no site-packages and no finder exist.

Arguments: `package=folder` for each package that is needed (their `__init__` modules are not run), `--`, then
``server FOLDER NAME IDLE_SECONDS``, ``proxy PARENT GRANT...`` or ``tracer PARENT PAYLOAD NETWORK``. The process that
starts a server ends at once; the server is its child, and nobody's to wait for.
"""

import os
import sys
import types

_end = sys.argv.index("--")
for _pair in sys.argv[1:_end]:
    _name, _, _folder = _pair.partition("=")
    _package = types.ModuleType(_name)
    _package.__path__ = [_folder]
    sys.modules[_name] = _package
_what, *_words = sys.argv[_end + 1 :]

if _what == "server":
    from skillkeep.runner.native.server import main as serve

    if os.fork():
        os._exit(0)
    sys.exit(serve(_words[0], _words[1], float(_words[2])))

if _what == "tracer":
    from skillkeep.runner.native.tracer import main as trace

    sys.exit(trace(int(_words[0]), int(_words[1]), _words[2] == "1"))

from skillkeep.runner.egress.proxy import main as proxy  # noqa: E402

sys.exit(proxy(int(_words[0]), _words[1:]))
