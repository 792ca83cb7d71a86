#!/bin/sh
# One tar of wheels for a site without a package index: unpack it there, then
#   python3 -m venv venv && venv/bin/pip install --no-index --find-links pytest-dflash-bundle pytest-dflash
# The wheels are for the Python and the platform that this runs with; PYTHON chooses another interpreter.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
folder=$scratch/pytest-dflash-bundle

"$root/.venv/bin/python" -m build --no-isolation --wheel --outdir "$folder" "$root" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
"$root/.venv/bin/python" -m pip --python "$python" download -q --only-binary :all: --dest "$folder" "$folder"/pytest_dflash-*.whl pytest-xdist pip
version=$("$python" -c 'import sys; print(f"py{sys.version_info[0]}{sys.version_info[1]}")')
machine=$(uname -m)
mkdir -p "$root/dist"
tar=$root/dist/pytest-dflash-bundle-$version-$machine.tar
tar -C "$scratch" --owner=0 --group=0 --sort=name -cf "$tar" pytest-dflash-bundle
echo "$tar ($(ls "$folder" | wc -l) wheels, $(du -m "$tar" | cut -f1) MB)"
