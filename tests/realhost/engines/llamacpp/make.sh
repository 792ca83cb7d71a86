#!/bin/sh
# Makes a real llama.cpp server that runs on the CPU, and the tests' models as it reads them.
#
#   venv/          xllamacpp, which holds llama.cpp's own server; its only other dependency is for reading the models
#   llama-server   a copy of the script beside this one, which takes llama-server's flags
#   models/        target.gguf and dflash.gguf, out of tests/realhost/models
#   stamp          the checksum of this recipe, written last: a folder without it is made again
#
# About 190 MB and ten seconds, in ${DFLASH_CACHE:-$HOME/.cache/pytest-dflash}/llamacpp.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
folder=${DFLASH_CACHE:-$HOME/.cache/pytest-dflash}/llamacpp
python=${DFLASH_ENGINE_PYTHON:-/usr/bin/python3.11} # Debian 12's, as for the other engines
recipe=$(cat "$here/make.sh" "$here/to_gguf.py" "$here/llama-server" | cksum)

[ "$(cat "$folder/stamp" 2>/dev/null || true)" != "$recipe" ] || exit 0
"$root/setup/venv.sh"
mkdir -p "$folder"
exec 9>"$folder/.lock"
flock 9
[ "$(cat "$folder/stamp" 2>/dev/null || true)" != "$recipe" ] || exit 0
echo "engines: making llama.cpp for the CPU in $folder (ten seconds, 190 MB) …" >&2
rm -rf "$folder/venv" "$folder/models" "$folder/stamp"
cd "$folder"
"$python" -m venv --without-pip venv
"$root/.venv/bin/python" -m pip --python "$folder/venv/bin/python" install -q \
    xllamacpp==2026.10.11549 gguf==0.19.0 numpy==2.4.6 safetensors==0.8.0
mkdir models
for each in target dflash; do
    venv/bin/python "$here/to_gguf.py" "$here/../../models/$each" "$here/../../models/target" "models/$each.gguf"
done
cp "$here/llama-server" llama-server
chmod -R a+rX venv models llama-server
printf '%s\n' "$recipe" >stamp
