#!/bin/sh
# Resolve the project, its extras and its development tools afresh, and write requirements/dev.txt.
set -eu
python=$1
cd "$(dirname "$0")/.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$python" -m venv "$place/venv"
pip() { "$place/venv/bin/python" -m pip --disable-pip-version-check --no-input "$@"; }
pip install --quiet --upgrade pip
pip install --quiet --group dev ".[all]"
pip uninstall --quiet --yes skillkeep
{
    echo "# Every package of the development environment at the version the tests ran with."
    echo "# Written by \`make lock\`; used by \`make setup\`. Floors for users are in pyproject.toml."
    pip freeze --all --exclude pip
} > "$place/dev.txt"
mkdir -p requirements
mv "$place/dev.txt" requirements/dev.txt
