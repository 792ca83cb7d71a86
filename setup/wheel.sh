#!/bin/sh
# Builds the wheel and runs it as a stranger would: in a venv of its own, from a folder that is not this one.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

rm -rf "$root/dist"
"$root/.venv/bin/python" -m build --no-isolation --outdir "$root/dist" "$root" >"$scratch/build" 2>&1 || {
    cat "$scratch/build" >&2
    exit 1
}
"$root/.venv/bin/python" -m venv --without-pip "$scratch/venv"
"$root/.venv/bin/python" -m pip --python "$scratch/venv/bin/python" install -q "$root"/dist/*.whl
cd "$scratch"
"$scratch/venv/bin/python" - <<PY
import pathlib, pytest_dflash
where = pathlib.Path(pytest_dflash.__file__)
assert where.is_relative_to("$scratch"), f"the source tree was imported: {where}"
assert (where.parent / "py.typed").is_file(), "py.typed is not in the wheel"
PY
"$scratch/venv/bin/pytest" -q -p no:cacheprovider --pyargs pytest_dflash.suites --host=rehearsal
