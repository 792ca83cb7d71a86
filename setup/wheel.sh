#!/bin/sh
# Tests what strangers get: sdist, wheel and bundle, away from this source tree.
#
# The bundle is installed without an index, and its suites are run where nothing but the loopback can be reached (as
# root: a network namespace), and nothing else is even tried. Other Pythons and the oldest pytest: setup/pythons.sh.
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
alone() { # COMMAND…: where only the loopback is; whoever tried to reach anything else has failed
    if [ "$(id -u)" = 0 ] && unshare -n true 2>/dev/null; then
        # shellcheck disable=SC2016  # expanded by the inner shell
        unshare -n sh -c '"$0" -c "import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack(\"16sH14x\", b\"lo\", 0x41))"
            "$@" || exit
            tried=$(awk "/^Ip: [0-9]/ { print \$13 }" /proc/net/snmp) # packets for which there was no route
            [ "$tried" = 0 ] || { echo "$1 tried $tried times to reach something else than this machine" >&2; exit 1; }' "$here" "$@"
    else
        echo "no network namespace is to be had: not tried without a network" >&2
        "$@"
    fi
}
accepts() { # FOLDER WORD: the installed suites accept the rehearsal as far as WORD allows
    echo "$("$1/bin/python" -V), pytest $("$1/bin/python" -c 'import pytest; print(pytest.__version__)'), --dflash-allow=$2:"
    cd "$scratch"
    quietly alone "$1/bin/pytest" --pyargs pytest_dflash.suites --host=rehearsal --dflash-allow="$2"
    tail -n 1 "$scratch/log"
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
"$here" -m venv --without-pip "$scratch/venv"
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
