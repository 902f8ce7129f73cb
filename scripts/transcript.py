"""Put a real run of the demo into README.md, with the port made plain.

Run it by `make transcript`, and read the difference before you commit it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"(<!-- transcript -->\n).*?(<!-- end transcript -->)", re.DOTALL)
PORTS = re.compile(r"""(127\.0\.0\.1:|"127\.0\.0\.1", )\d+""")


def transcript() -> str:
    """What `make demo` prints after the set-up, standard output and standard error in the order they came."""
    env = {**os.environ, "NO_COLOR": "1", "COLUMNS": "110", "PYTHONUNBUFFERED": "1"}
    env.pop("SOURCE", None)
    env.pop("SKILLKEEP_HOME", None)
    done = subprocess.run(
        [sys.executable, str(ROOT / "demo" / "run.py")],
        env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"the demo failed:\n{done.stdout}")
    text = PORTS.sub(r"\g<1>8000", done.stdout)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def main() -> None:
    """Replace README's transcript."""
    readme = ROOT / "README.md"
    block = f"```console\n{transcript()}\n```\n"
    text = readme.read_text(encoding="utf-8")
    readme.write_text(BLOCK.sub(lambda found: found[1] + block + found[2], text), encoding="utf-8")


if __name__ == "__main__":
    main()
