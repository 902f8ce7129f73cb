"""Starts the confined launcher in a bare interpreter (`python -I -S`), where no site-packages and no finder exist.

Arguments: `package=folder` for each package that is needed (their `__init__` modules are not run), `--`, the descriptor
of the plan and that of the socket to whoever started it.
"""

import sys
import types

_end = sys.argv.index("--")
for _pair in sys.argv[1:_end]:
    _name, _, _folder = _pair.partition("=")
    _package = types.ModuleType(_name)
    _package.__path__ = [_folder]
    sys.modules[_name] = _package

from skillkeep.runner.filtered.start import main  # noqa: E402

sys.exit(main(int(sys.argv[_end + 1]), int(sys.argv[_end + 2])))
