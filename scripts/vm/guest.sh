#!/bin/sh
# Runs inside the guest, as root, from /input: the tests, once for each kind of user. Its output is the second serial port.
#
# /input holds src/ (the repository), the project's wheel, and `plan`: WHO (words), TESTS (arguments of pytest), SECONDS_EACH.
set -u
. /input/plan
say() { printf '\n== %s (up %ss)\n' "$*" "$(cut -d. -f1 /proc/uptime)"; }

say "guest: $(. /etc/os-release; echo "$PRETTY_NAME"), kernel $(uname -r), $(systemctl --version | head -n 1)"
echo "security modules: $(cat /sys/kernel/security/lsm)"
echo "cgroup: $(stat -fc %T /sys/fs/cgroup), controllers: $(cat /sys/fs/cgroup/cgroup.controllers)"
/opt/venv/bin/pip install --quiet --no-index --no-deps --disable-pip-version-check /input/*.whl || exit 1

# A failure is told when it happens: a run may be broken off before its summary.
cat >/input/told_at_once.py <<'PLUGIN'
def pytest_configure(config):
    global plugins
    plugins = config.pluginmanager


def pytest_runtest_logreport(report):
    terminal = plugins.get_plugin("terminalreporter")
    if report.failed and terminal is not None:
        terminal.ensure_newline()
        terminal.write_line(f"-- failed: {report.nodeid} ({report.when})")
        terminal.write_line(report.longreprtext[-3000:])
PLUGIN

cat >/input/one.sh <<'INSIDE'
cd "$1" && shift || exit 1
echo "control group: $(cut -d: -f3 /proc/self/cgroup), XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-}"
export PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
# The installed package is tested; the folder skillkeep/ here is only its ground floor.
export PYTHONSAFEPATH=1
seconds=$1; shift
timeout -s INT -k 60 "$seconds" python -c 'import sys; sys.path.append("/input"); import pytest; sys.exit(pytest.main())' \
  -p told_at_once -p no:cacheprovider --color=no -q -n 2 --dist loadfile --timeout=1800 "$@"
code=$?
for log in "${XDG_RUNTIME_DIR:-/nowhere}"/skillkeep/*.log /tmp/skillkeep-"$(id -u)"-*/*.log; do
  [ -s "$log" ] && { echo "-- $log"; tail -n 40 "$log"; }
done
exit "$code"
INSIDE

# root and person log in, so both have a user manager; job is started by the system and has none.
for who in $WHO; do
  say "tests as $who"
  place=$(getent passwd "$who" | cut -d: -f6)/src
  cp -r /input/src "$place" && chown -R "$who:" "$place"
  login=PAMName=login
  [ "$who" = job ] && login=Nice=0
  # shellcheck disable=SC2086
  systemd-run --quiet --wait --pipe -p "User=$who" -p "$login" sh /input/one.sh "$place" "$SECONDS_EACH" $TESTS 2>&1
  printf '\n== RESULT %s %s\n' "$who" "$?"
done
echo "== END"
