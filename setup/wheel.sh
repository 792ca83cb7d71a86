#!/bin/sh
# Tests what strangers get: sdist, wheel and bundle, away from this source tree.
#
# The bundle is installed without an index, and its suites are run where nothing but the loopback can be reached (as
# root: a network namespace). Then the oldest pytest that is supported, and each further Python that is here.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
here=$root/.venv/bin/python
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PYTEST_ADDOPTS="-p no:cacheprovider -q"

quietly() { # COMMAND…: its output only where it fails
    "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; return 1; }
}
alone() { # COMMAND…: where only the loopback is
    if [ "$(id -u)" = 0 ] && unshare -n true 2>/dev/null; then
        # shellcheck disable=SC2016  # expanded by the inner shell
        unshare -n sh -c '"$0" -c "import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack(\"16sH14x\", b\"lo\", 0x41))"; exec "$@"' "$here" "$@"
    else "$@"
    fi
}
venv() { # FOLDER [PYTHON]
    "${2:-$here}" -m venv --without-pip "$1"
}
into() { # FOLDER PIP-ARGUMENTS…
    folder=$1
    shift
    quietly "$here" -m pip --python "$folder/bin/python" install -q "$@"
}
accepts() { # FOLDER WORD: the installed suites accept the rehearsal as far as WORD allows
    echo "$("$1/bin/python" -V), pytest $("$1/bin/python" -c 'import pytest; print(pytest.__version__)'), --dflash-allow=$2:"
    (cd "$scratch" && alone "$1/bin/pytest" --pyargs pytest_dflash.suites --host=rehearsal --dflash-allow="$2" | tail -n 1)
}

rm -rf "$root/dist"
quietly "$here" -m build --no-isolation --outdir "$root/dist" "$root" # the wheel is made from the sdist
sdist=$(ls "$root"/dist/*.tar.gz)
tar -tzf "$sdist" >"$scratch/names"
for name in suites/test_window.py tests/conftest.py docs/profile.md examples/Jenkinsfile LICENSE Makefile setup/venv.sh .ci/run; do
    grep -q "/$name\$" "$scratch/names" || { echo "$name is not in the sdist" >&2; exit 1; }
done

quietly "$root/setup/bundle.sh"
tar -C "$scratch" -xf "$root"/dist/pytest-dflash-bundle-*.tar
venv "$scratch/venv"
alone "$here" -m pip --python "$scratch/venv/bin/python" install -q --no-index --find-links "$scratch/pytest-dflash-bundle" pytest-dflash
(cd "$scratch" && "$scratch/venv/bin/python" - <<PY)
import importlib.metadata, pathlib, pytest_dflash
where = pathlib.Path(pytest_dflash.__file__)
assert where.is_relative_to("$scratch"), f"the source tree was imported: {where}"
for name in ("py.typed", "checks.toml", "suites/test_window.py", "report/page/page.css"):
    assert (where.parent / name).is_file(), f"{name} is not in the wheel"
told = importlib.metadata.metadata("pytest-dflash")
assert told["License-Expression"] == "Apache-2.0", told["License-Expression"]
assert told["Summary"] and told["Description-Content-Type"] == "text/markdown"
PY
accepts "$scratch/venv" probe
(cd "$scratch" && "$scratch/venv/bin/pytest" --dflash-explain=gpu.count >/dev/null)

oldest=$(sed -n 's/^ *"pytest>=\([0-9.]*\).*/\1/p' "$root/pyproject.toml")
into "$scratch/venv" "pytest==$oldest.0"
accepts "$scratch/venv" read
for version in 3.12 3.13; do
    python=$(command -v "python$version" || true)
    if [ -n "$python" ] && "$python" -c '' 2>/dev/null; then
        venv "$scratch/venv$version" "$python"
        into "$scratch/venv$version" "$root"/dist/*.whl
        accepts "$scratch/venv$version" read
    else
        echo "python$version is not here"
    fi
done
