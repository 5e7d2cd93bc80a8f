#!/bin/sh
# Make .venv with the pinned packages. Usage: tools/set_up.sh run|dev
#
# Called by the Makefile when the stamp .venv/.setup-$1 is older than the pins. Safe to run again: what is there
# already is kept, and then no network is needed. PYTHON=/path/to/python chooses the interpreter.
set -eu
cd "$(dirname "$0")/.."
wanted=${1:?run or dev}

say() { printf '%s\n' "set-up: $*" >&2; }

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_new_enough "$PYTHON" && { echo "$PYTHON"; return; }
        say "PYTHON=$PYTHON is not a Python 3.11 or newer."
        exit 1
    fi
    for name in python3 python3.13 python3.12 python3.11 python3.14 python; do
        is_new_enough "$name" && { echo "$name"; return; }
    done
    say "Python 3.11 or newer is needed and none is on the PATH. Install one, or run: make PYTHON=/path/to/python3.11 …"
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

can_install() {
    command -v apt-get >/dev/null 2>&1 && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
}

make_venv() {
    python=$(find_python)
    say "making .venv with $("$python" --version)"
    said=$("$python" -m venv --clear .venv 2>&1) && return
    # Debian and Ubuntu ship venv's ensurepip in a package of its own, named after the version.
    package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    if can_install; then
        say "installing $package"
        as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null || true
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -yqq --no-install-recommends "$package" >/dev/null || true
        said=$("$python" -m venv --clear .venv 2>&1) && return
    fi
    case $said in *ensurepip*) ;; *) say "$said" ;; esac
    say "$python cannot make a virtual environment. Run: sudo apt-get install $package   and then this again."
    exit 1
}

if ! [ -x .venv/bin/python ] || ! is_new_enough .venv/bin/python || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    make_venv
fi

case $wanted in
    run) target=. ;;
    dev) target='.[dev]' ;;
    *) say "run or dev, not $wanted"; exit 2 ;;
esac

say "installing the packages pinned in constraints.txt (torch is large: the first time takes some minutes)"
export PIP_DISABLE_PIP_VERSION_CHECK=1
# Progress bars for a person at a terminal; in a log, errors alone.
if [ -t 2 ]; then quiet=; else quiet=-qq; fi
# The build back-end goes into the venv too, so that a set-up that is complete needs no network to be run again.
.venv/bin/python -m pip install $quiet -c constraints.txt hatchling
.venv/bin/python -m pip install $quiet -c constraints.txt --no-build-isolation --editable "$target"
touch ".venv/.setup-$wanted"
