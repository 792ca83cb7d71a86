#!/bin/sh
# Tries the wheel on each further Python that is here, with the oldest pytest that is supported on the first of them and
# the newest on the others: tests of seconds, then all suites against the rehearsal. `make test` is for .venv's own.
#
# Interpreters are found on PATH and among pyenv's; what is not here is said. ALLOW (probe) is how far the suites go.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
here=$root/.venv/bin/python
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PYTEST_ADDOPTS="-p no:cacheprovider -q"
TESTS="tests/load/test_load_stream.py tests/plugin/test_exit_codes.py tests/report tests/witness"

found() { # VERSION: the interpreter of that version, if there is one
    for each in "$(command -v "python$1" || true)" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        [ -x "$each" ] && "$each" -c '' 2>/dev/null && echo "$each" && return
    done
    true
}
install() { # VERSION PYTHON PYTEST: a venv with the wheel and what its tests need
    "$2" -m venv --without-pip "$scratch/$1"
    "$here" -m pip --python "$scratch/$1/bin/python" install -q "$scratch"/dist/*.whl "$3" pytest-xdist hypothesis prometheus-client jsonschema
}
try() { # VERSION: the tests, away from the source of the package, then the suites
    bin=$scratch/$1/bin
    echo "--- $("$bin/python" -V), pytest $("$bin/python" -c 'import pytest; print(pytest.__version__)')"
    # shellcheck disable=SC2086  # one word each
    (cd "$scratch/tree" && "$bin/python" -W error -c 'import pytest_dflash.activation, pytest_dflash.plugin' &&
        "$bin/pytest" -m "not slow and not browser and not realhost and not matrix" -n 2 $TESTS >"$scratch/log" 2>&1) ||
        { cat "$scratch/log"; return 1; }
    tail -n 1 "$scratch/log"
    (cd "$scratch" && "$bin/pytest" --pyargs pytest_dflash.suites --host=rehearsal --dflash-allow="${ALLOW:-probe}" \
        --dflash-report-dir="$scratch/report" >"$scratch/log" 2>&1) || { cat "$scratch/log"; return 1; }
    tail -n 1 "$scratch/log"
}

"$here" -m build --no-isolation --outdir "$scratch/dist" "$root" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
mkdir "$scratch/tree"
tar -C "$scratch/tree" --strip-components=1 -xzf "$scratch"/dist/*.tar.gz
rm -rf "$scratch/tree/pytest_dflash" # the wheel is what is tried

pytest="pytest==$(sed -n 's/^ *"pytest>=\([0-9.]*\).*/\1/p' "$root/pyproject.toml").0"
tried=""
installing=""
for version in $(sed -n 's/.*Python :: \(3\.[0-9]*\)".*/\1/p' "$root/pyproject.toml"); do
    [ "$("$here" -c 'import sys; print("%d.%d" % sys.version_info[:2])')" != "$version" ] || continue
    python=$(found "$version")
    [ -n "$python" ] || { echo "python$version is not here, and not tried"; continue; }
    install "$version" "$python" "$pytest" >"$scratch/$version.log" 2>&1 & # they wait for the index, not for each other
    installing="$installing $!"
    tried="$tried $version"
    pytest=pytest
done
[ -n "$tried" ] || { install own "$here" "$pytest" && tried=own; }
for each in $installing; do wait "$each" || { cat "$scratch"/3.*.log >&2; exit 1; }; done
for version in $tried; do try "$version"; done
