"""Opens the way to a host, whatever kind of host it is.

Law: chooses; the ways themselves are `shell` and `ssh_connection`. Nothing is sent before the first command.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from pytest_dflash.errors import UsageError
from pytest_dflash.facts import inventory, ssh
from pytest_dflash.facts.shell import DEADLINE_S, Connection
from pytest_dflash.facts.ssh_connection import SshConnection
from pytest_dflash.facts.target import Target

__all__ = ["Connection", "SshConnection", "check_options", "local_connection", "open_connection"]

LOCAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def open_connection(  # noqa: PLR0913 - one for each option of the command line
    target: Target,
    *,
    ssh_config: str | None = None,
    ssh_identity_file: str | None = None,
    sudo: bool = False,
    sudo_user: str | None = None,
    ansible_inventory: str | None = None,
    deadline_s: float = DEADLINE_S,
) -> Connection:
    """A connection to `target`, not yet connected: the first command does that.

    Args:
        target: Anything but rehearsal; of ansible a single host, as `inventory.expand` gives.
        ssh_config: Instead of the user's and the system's.
        ssh_identity_file: A private key.
        sudo: Run everything by `sudo -n`.
        sudo_user: As this user instead of root.
        ansible_inventory: A file instead of Ansible's default.
        deadline_s: Default for each command, in seconds.

    Raises:
        UsageError: `sudo_user` is no user name, or the inventory is of no use.
    """
    check_options(ssh_config=ssh_config, ssh_identity_file=ssh_identity_file, sudo_user=sudo_user)
    extra: tuple[str, ...] = ()
    if target.scheme == "ansible":
        way = inventory.route(target, ansible_inventory, ssh_config, ssh_identity_file)
        target, ssh_identity_file, extra = way.target, way.identity_file, way.extra
        sudo, sudo_user = sudo or way.sudo, sudo_user or way.sudo_user
    if target.scheme == "ssh":
        return SshConnection(
            target,
            ssh_config=ssh_config,
            ssh_identity_file=ssh_identity_file,
            sudo=sudo,
            sudo_user=sudo_user,
            extra=extra,
            deadline_s=deadline_s,
        )
    elevated = ssh.sudo_words(sudo_user, wanted=sudo)
    if target.scheme == "local":
        return Connection(target, lambda _: [*elevated, "/bin/sh", "-s"], deadline_s=deadline_s)
    user = ["-u", target.user] if target.user else []
    enter = [target.scheme, "exec", "-i", *user, target.host, *elevated, "/bin/sh", "-s"]
    return Connection(target, lambda _: enter, deadline_s=deadline_s)


def check_options(
    *, ssh_config: str | None = None, ssh_identity_file: str | None = None, sudo_user: str | None = None
) -> None:
    """Refuses testinfra's options where they cannot work, before anything is run.

    Raises:
        UsageError: A file that is not there or not readable, a user name that is none.
    """
    for option, name in (("--ssh-config", ssh_config), ("--ssh-identity-file", ssh_identity_file)):
        if name is not None and not (
            Path(name).expanduser().is_file() and os.access(Path(name).expanduser(), os.R_OK)
        ):
            raise UsageError(f"{option}={name}: no such file, or not readable")
    if sudo_user and (sudo_user.startswith("-") or shlex.quote(sudo_user) != sudo_user):
        raise UsageError(f"--sudo-user={sudo_user!r} is no user name")


def local_connection(root: str | Path, bin_folder: str | Path, deadline_s: float = DEADLINE_S) -> Connection:
    """A connection to the stand-in host: local processes, its executables first on PATH, a clean environment."""
    environment = {"PATH": f"{bin_folder}:{LOCAL_PATH}", "HOME": "/nonexistent", "LANG": "C.UTF-8"}
    return Connection(
        Target(scheme="rehearsal", name="rehearsal"),
        lambda _: ["/bin/sh", "-s"],
        environment=environment,
        root=str(root),
        deadline_s=deadline_s,
    )
