#!/bin/sh
# Makes .venv in the project's root, with this project in it, ready to run; a moment when there is nothing to do.
#
# Needs python3 >= 3.11 and a package index that pip reaches by its ordinary configuration. It also works where
# Debian's python3 came without ensurepip and pip, without root: pip's wheel is then taken from Debian's own package.
# PYTHON chooses the interpreter.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/.venv
python=${PYTHON:-python3}
# The folder is in it because scripts of a venv hold its path: a moved project gets a new one.
stamp=$(cat "$root/pyproject.toml" "$root/setup/venv.sh" | cksum && echo "$root")

say() { echo "set-up: $*" >&2; }
give_up() { say "$*"; exit 1; }

if [ "$(cat "$venv/stamp" 2>/dev/null || true)" = "$stamp" ] && "$venv/bin/python" -c '' 2>/dev/null; then
    exit 0
fi
command -v "$python" >/dev/null || give_up "$python is not there. Install Python 3.11 or newer (apt-get install python3), or say PYTHON=/path/to/it."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    give_up "$python is $("$python" -V 2>&1), and 3.11 is needed. Say PYTHON=/path/to/a/newer/one."

# The wheel of pip that Debian ships, without root: apt works in folders of its own, dpkg only unpacks.
debian_pip() { # FOLDER: prints the path of the wheel
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
    mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/tree"
    set -- "$1" -q -o Dir::State::Lists="$1/lists" -o Dir::Cache="$1/cache" -o APT::Sandbox::User= -o Debug::NoLocking=1
    folder=$1
    shift
    (cd "$folder" && apt-get "$@" update && apt-get "$@" download python3-pip-whl) >"$folder/log" 2>&1 || {
        cat "$folder/log" >&2
        return 1
    }
    dpkg-deb -x "$folder"/python3-pip-whl_*.deb "$folder/tree"
    ls "$folder"/tree/usr/share/python-wheels/pip-*.whl
}

# Puts pip into the venv, by the first way that this machine offers.
bring_pip() {
    if "$python" -c 'import ensurepip, sys; sys.exit(not ensurepip.version())' 2>/dev/null &&
        "$venv/bin/python" -m ensurepip -q --default-pip >"$scratch/ensurepip" 2>&1; then
        return
    fi
    if "$python" -m pip --version >/dev/null 2>&1 &&
        "$python" -m pip --python "$venv/bin/python" install -q pip >"$scratch/pip" 2>&1; then
        return
    fi
    say "python3 came without pip; taking Debian's python3-pip-whl …"
    wheel=$(debian_pip "$scratch") ||
        give_up "no pip to be had: install it (apt-get install python3-venv), then run make again."
    "$python" "$wheel/pip" --python "$venv/bin/python" install -q pip
}

say "making .venv (a minute the first time) …"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
was=$(sed -n 2p "$venv/stamp" 2>/dev/null || true)
if ! "$venv/bin/python" -c '' 2>/dev/null || [ "${was:-$root}" != "$root" ]; then
    rm -rf "$venv"
    "$python" -m venv --without-pip "$venv" || give_up "$python cannot make a venv: apt-get install python3-venv, then run make again."
fi
"$venv/bin/python" -m pip --version >/dev/null 2>&1 || bring_pip
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_WARN_SCRIPT_LOCATION=1
# `--group` needs pip 25.1.
"$venv/bin/python" -m pip install -q 'pip>=25.1' || give_up "pip reached no package index: see its message above, mend its configuration or the network, then run make again."
(cd "$root" && "$venv/bin/python" -m pip install -q -e . --group dev) ||
    give_up "the dependencies could not be installed: see pip's message above, then run make again."
printf '%s\n' "$stamp" >"$venv/stamp"
