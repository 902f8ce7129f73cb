"""Starts the supervisor in a bare interpreter (`python -I -S`), where no site-packages and no finder exist.

Arguments: the caller's pid, then `package=folder` for each package that is needed. Their `__init__` modules are
not run.
"""

import sys
import types

for _pair in sys.argv[2:]:
    _name, _, _folder = _pair.partition("=")
    _package = types.ModuleType(_name)
    _package.__path__ = [_folder]
    sys.modules[_name] = _package

from skillkeep.runner.native.supervisor import main  # noqa: E402

sys.exit(main(int(sys.argv[1])))
