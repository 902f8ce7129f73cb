#!/bin/sh
# Make .venv from the lock. Called by `make setup`, with the interpreter and the stamp; safe to run again at any time.
set -eu
python=$1
ready=$2
cd "$(dirname "$0")/.."

fail() { echo "setup: $1" >&2; exit 1; }

command -v "$python" >/dev/null 2>&1 || fail "$python not found; install Python 3.11 or newer, or say make PYTHON=/path/to/python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$("$python" --version 2>&1) is too old; Python 3.11 or newer is needed (make PYTHON=/path/to/python3)"

# A virtual environment does not survive a move of its folder or the loss of its interpreter.
here=$(pwd -P)/.venv
if [ -d .venv ] && ! { .venv/bin/python -c '' && head -n 3 .venv/bin/pip | grep -qF "$here/"; } 2>/dev/null; then
    echo "setup: .venv belongs to another place; making it again"
    rm -rf .venv
fi
rm -f .venv/.ready*

if ! [ -x .venv/bin/python ]; then
    if "$python" -c 'import ensurepip' 2>/dev/null; then
        "$python" -m venv .venv
    elif "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv --without-pip .venv
        "$python" -m pip --python .venv/bin/python install --quiet --disable-pip-version-check pip
    else
        fail "this Python cannot make virtual environments (Debian and Ubuntu: apt install python3-venv)"
    fi
fi

echo "setup: installing $(grep -c '==' requirements/dev.txt) pinned packages into .venv (a minute or two the first time)"
pip() { .venv/bin/python -m pip --disable-pip-version-check --no-input "$@"; }
pip install -qq --requirement requirements/dev.txt
# The lock holds everything, so the project itself brings nothing in, its build back end included.
pip install -qq --no-deps --no-build-isolation --editable .
for command in skill auditor vault runner; do
    .venv/bin/$command --version >/dev/null || fail "the command $command does not start"
done
touch "$ready"
echo "setup: ready; skill, auditor, vault and runner are in .venv/bin"
