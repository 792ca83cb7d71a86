"""Debian trees, made once and kept in the cache: the real host's, and a fresh installation's.

Law: how a tree is made and where it lies. None is ever written to: what runs in one runs in a throw-away copy.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

RELEASE = "bookworm"
# Who logs in: may become root · reads the journal · neither · has no shell. `sglang` runs the engine.
USERS = """
useradd --system --home-dir /var/lib/sglang --shell /usr/sbin/nologin sglang
useradd --create-home --shell /bin/bash admin
useradd --create-home --shell /bin/bash --groups systemd-journal auditor
useradd --create-home --shell /bin/bash visitor
useradd --create-home --shell /usr/sbin/nologin guest
echo 'admin ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/admin
"""
# A host of the tests has no screen, no mail and no updates to look for. Logins begin no session, as where PAM knows none:
# the managers of users are started by lingering alone.
QUIET = """
pam-auth-update --package --remove systemd
systemctl mask -q getty@.service console-getty.service apt-daily.timer apt-daily-upgrade.timer \
    dpkg-db-backup.timer e2scrub_all.timer fstrim.timer systemd-networkd.service systemd-timesyncd.service
rm -f /etc/ssh/ssh_host_*
mkdir -p /var/log/journal
echo inferhost >/etc/hostname
printf '127.0.0.1 localhost inferhost\\n::1 localhost\\n' >/etc/hosts
"""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a tree is made of; `hook` runs in it at the end."""

    name: str
    packages: tuple[str, ...]
    hook: str


HOST = Recipe(
    "host",
    (
        "systemd",
        "dbus",
        "openssh-server",
        "python3",
        "procps",
        "iproute2",
        "sudo",
        "libnuma1",  # for vLLM
        "libgomp1",  # for llama.cpp
        "libpam-systemd",  # this and the next one for units of users
        "dbus-user-session",
    ),
    USERS + QUIET,
)
# What the project asks of a new machine, and a person without rights.
FRESH = Recipe("fresh", ("git", "make", "python3"), "\nuseradd --create-home --shell /bin/bash person\n")
TOOLS = {
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "setpriv": "util-linux",
}


def cache() -> Path:
    """The folder of what takes long to make: `DFLASH_CACHE`, else the user's cache."""
    return Path(os.environ.get("DFLASH_CACHE") or Path.home() / ".cache" / "pytest-dflash")


def missing() -> str | None:
    """The sentence that enables the real host on this machine; None where nothing is missing."""
    if os.geteuid() != 0:
        return "the real host needs root (systemd-nspawn): run `make realhost` as root"
    packages = sorted({package for tool, package in TOOLS.items() if shutil.which(tool) is None})
    if packages:
        return f"the real host needs tools that are not here: apt-get install {' '.join(packages)}"
    return None


def tree(recipe: Recipe) -> Path:
    """The tree, made where it is missing or other than its recipe says.

    Raises:
        RuntimeError: mmdebstrap failed; the message ends with its words.
    """
    stamp = hashlib.sha256(repr((RELEASE, recipe)).encode()).hexdigest()[:12]
    folder = cache()
    made = folder / f"{RELEASE}-{recipe.name}-{stamp}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f".{recipe.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.is_dir():
            _make(made, recipe)
            for old in folder.glob(f"{RELEASE}-{recipe.name}-*"):
                if old != made:
                    shutil.rmtree(old)
    return made


def _make(made: Path, recipe: Recipe) -> None:
    half = made.with_name(f".half-{made.name}")
    shutil.rmtree(half, ignore_errors=True)
    script = f"set -eu{recipe.hook}".replace("'", "'\\''")
    command = ["mmdebstrap", "--quiet", "--variant=apt", f"--include={','.join(recipe.packages)}"]
    command += [
        f"--customize-hook=chroot \"$1\" sh -c '{script}'",
        '--customize-hook=rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/*',
    ]
    run = subprocess.run([*command, RELEASE, str(half)], capture_output=True, text=True, check=False)
    if run.returncode:
        shutil.rmtree(half, ignore_errors=True)
        raise RuntimeError(f"mmdebstrap made no {RELEASE} tree in {half}:\n{run.stderr[-2000:]}")
    # mmdebstrap sets the mode of a scratch folder; a root folder that others may not enter is no root folder.
    half.chmod(0o755)
    half.rename(made)


if __name__ == "__main__":
    if (why := missing()) is not None:
        sys.exit(why)
    for each in (HOST, FRESH):
        sys.stdout.write(f"{tree(each)}\n")
