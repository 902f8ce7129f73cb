"""Starts the fork server in a bare interpreter (`python -I -S`), where no site-packages and no finder exist.

Arguments: the server's folder, its socket's name, its idle time in seconds, then `package=folder` for each package
that is needed. Their `__init__` modules are not run. The process that was started ends at once; the server is its
child, and nobody's to wait for.
"""

import os
import sys
import types

for _pair in sys.argv[4:]:
    _name, _, _folder = _pair.partition("=")
    _package = types.ModuleType(_name)
    _package.__path__ = [_folder]
    sys.modules[_name] = _package

from skillkeep.runner.native.server import main  # noqa: E402

if os.fork():
    os._exit(0)
sys.exit(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
