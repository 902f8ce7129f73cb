"""Starts the builder of an environment in a bare interpreter (`python -I -S`), as `native/boot.py` does a server.

Arguments: `package=folder` for each package that is needed; their `__init__` modules are not run.
"""

import sys
import types

for _pair in sys.argv[1:]:
    _name, _, _folder = _pair.partition("=")
    _package = types.ModuleType(_name)
    _package.__path__ = [_folder]
    sys.modules[_name] = _package

from skillkeep.runner.environments.builder import main  # noqa: E402

sys.exit(main())
