"""What the stand-in host has on its disk before anything runs.

Law: files only. `root` is the host's file system as far as it is looked at, `bin` its commands.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

from pytest_dflash.rehearsal import client, service, venv
from pytest_dflash.rehearsal.manager import TOOLS

UNIT = "sglang-k26-ddtree.service"
RECORDINGS = Path(__file__).parent / "recordings"
WINDOW_FLAG = "--speculative-draft-window-size"
WINDOW = 2048
CUDA_TOOLS = ("nvcc", "ptxas")
COMMAND_LINE = "BOOT_IMAGE=/boot/vmlinuz-6.12.48+deb13-amd64 root=/dev/nvme0n1p2 ro quiet iommu=pt\n"
DRAFT_CONFIG = '{"architectures": ["DFlashDraftModel"], "block_size": 8, "model_type": "qwen3", "num_hidden_layers": 5}\n'
TARGET_CONFIG = '{"architectures": ["KimiK25ForConditionalGeneration"], "model_type": "kimi_k25"}\n'
PACE = {"step_ms": 20.0, "step_ms_per_request": 3.0}
"""What streamed answers take a step, with drafts or without: long beside what the numbers need, so that a busy machine
changes no rate, and speculation pays as it does on a card."""
REAL_PROC = ("uptime", "stat", "loadavg", "net", "version", "cpuinfo", "mounts", "self")


def quoted(text: str) -> str:
    """A word for a unit file."""
    return '"' + text.replace("%", "%%").replace('"', '\\"') + '"' if set(text) & set(" %\"'") else text


def unit_text(root: Path, port: int, window: int | None = WINDOW) -> str:
    """The unit file of the healthy host; without the window's flag when `window` is None."""
    python = quoted(str(root / "opt/sglang/venv/bin/python"))
    models = root / "srv/models"
    name = service.user_name()
    user = f"User={name}\n" if name else ""
    flag = f" \\\n    {WINDOW_FLAG} {window}" if window is not None else ""
    return f"""\
[Unit]
Description=SGLang server with DFlash speculative decoding
After=network.target
StartLimitIntervalSec=600
StartLimitBurst=5

[Service]
{user}EnvironmentFile={root / "etc/sglang/k26.env"}
Environment={quoted("CUDA_HOME=" + str(root / "usr/local/cuda"))}
WorkingDirectory={root / "var/lib/sglang"}
ExecStart={python} -m sglang.launch_server \\
    --model-path {quoted(str(models / "Kimi-K2.6"))} --served-model-name Kimi-K2.6 \\
    --host 127.0.0.1 --port {port} \\
    --tp-size 8 --mem-fraction-static 0.85 --chunked-prefill-size 8192 \\
    --attention-backend triton --context-length 4096 --trust-remote-code --enable-metrics --enable-cache-report \\
    --speculative-algorithm DFLASH --speculative-num-draft-tokens 8 \\
    --speculative-dflash-enable-ddtree --speculative-eagle-topk 4 \\
    --speculative-draft-model-path {quoted(str(models / "Kimi-K2.6-DFlash"))}{flag}
Restart=on-failure
RestartSec=5
TimeoutStopSec=30

[Install]
WantedBy=multi-user.target
"""


def environment_text(root: Path) -> str:
    """The unit's EnvironmentFile."""
    search = ":".join(
        [str(root / "usr/local/cuda/bin"), "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"]
    )
    return f"""\
PYTHONUNBUFFERED=1
PYTHONDONTWRITEBYTECODE=1
OMP_NUM_THREADS=8
HF_HUB_OFFLINE=1
NCCL_P2P_LEVEL=SYS
HOME={root / "var/lib/sglang"}
HF_HOME={root / "var/cache/sglang/hf"}
XDG_CACHE_HOME={root / "var/cache/sglang"}
PATH={search}
"""


def _tool(folder: Path, path: Path, name: str) -> None:
    """An executable that asks the manager; sh, because an interpreter's path may hold blanks."""
    words = [sys.executable, "-I", "-S", "-E", client.__file__, str(folder), name]
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', "utf-8")
    path.chmod(0o755)


def lay_out(folder: Path, port: int, unit_file: Path) -> None:
    """Writes everything below `folder`, which must be empty."""
    root, programs = folder / "root", folder / "bin"
    texts = {
        str(unit_file.relative_to(root)): unit_text(root, port),
        "etc/sglang/k26.env": environment_text(root),
        "etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nNAME="Debian GNU/Linux"\nID=debian\nVERSION_ID="13"\n',
        "proc/driver/nvidia/version": (RECORDINGS / "driver.txt").read_text("utf-8"),
        "proc/cmdline": COMMAND_LINE,
        "proc/meminfo": (RECORDINGS / "meminfo.txt").read_text("utf-8"),
        "srv/models/Kimi-K2.6/config.json": TARGET_CONFIG,
        "srv/models/Kimi-K2.6-DFlash/config.json": DRAFT_CONFIG,
        "usr/local/cuda/version.json": '{"cuda": {"name": "CUDA SDK", "version": "13.0.2"}}\n',
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    for name in ("run/systemd/system", "usr/lib/systemd/system", "var/lib/sglang", "var/cache/sglang/hf",
                 "var/log/journal", "tmp", "dev/shm", "sys", "usr/local/cuda/bin", "proc/sys/kernel/random"):  # fmt: skip
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in REAL_PROC:
        (root / "proc" / name).symlink_to(f"/proc/{name}")
    for name in ("random/boot_id", "osrelease", "hostname"):
        (root / "proc/sys/kernel" / name).symlink_to(f"/proc/sys/kernel/{name}")
    shutil.copy(RECORDINGS / "gpus.json", folder / "gpus.json")
    venv.lay_out(root / "opt/sglang/venv")
    switches = venv.site_packages(root / "opt/sglang/venv") / "sglang/miniature/mischief.json"
    switches.write_text(json.dumps({"pace": PACE}), "utf-8")
    programs.mkdir()
    for name in TOOLS:
        _tool(folder, (root / "usr/local/cuda/bin" if name in CUDA_TOOLS else programs) / name, name)
