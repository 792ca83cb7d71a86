"""Hosts of an Ansible inventory: which there are, and how each is reached.

Law: acts through testinfra's reader of inventories (it runs `ansible-inventory`); what comes out are targets
and words for ssh. Ansible itself runs nothing on a host: facts go the same way as everywhere.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pytest_dflash.errors import UsageError
from pytest_dflash.facts.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryRoute:
    """How the inventory reaches one host. `extra` are ssh's further arguments."""

    target: Target
    identity_file: str | None = None
    extra: tuple[str, ...] = ()
    sudo: bool = False
    sudo_user: str | None = None


def expand(targets: Iterable[Target], ansible_inventory: str | None = None) -> tuple[Target, ...]:
    """Every `ansible://` target becomes the hosts it stands for, in the inventory's order; others stay.

    Raises:
        UsageError: The inventory cannot be read, or has no such group or host.
    """
    found: dict[str, Target] = {}
    for target in targets:
        for each in _members(target, ansible_inventory) if target.scheme == "ansible" else (target,):
            if found.setdefault(each.name, each) != each:
                raise UsageError(
                    f"--host names {each.name} twice, directly and by the inventory: name it once"
                )
    return tuple(found.values())


def route(
    target: Target, ansible_inventory: str | None, ssh_config: str | None, ssh_identity_file: str | None
) -> InventoryRoute:
    """How to reach a host that `expand` gave.

    Raises:
        UsageError: The inventory reaches it in a way that is not ours, or by password.
    """
    try:
        host = _runner(ansible_inventory).get_host(
            target.host, ssh_config=ssh_config, ssh_identity_file=ssh_identity_file
        )
    except Exception as error:
        raise _unreadable(target, error) from error
    backend: Any = getattr(host, "backend", None)
    kind = getattr(backend, "NAME", "a plugin")
    if kind not in ("ssh", "paramiko", "local", "docker"):
        raise UsageError(
            f"the inventory reaches {target.name} by {kind}; ssh, docker and local can be tested through"
        )
    if kind in ("local", "docker"):
        near = replace(target, scheme=kind, host=getattr(backend, "name", ""))
        return InventoryRoute(target=near, sudo=backend.sudo, sudo_user=backend.sudo_user)
    place = backend.host
    if place.password:
        raise UsageError(
            f"the inventory has a password for {target.name}; use a key: nobody can type one here"
        )
    return InventoryRoute(
        target=replace(
            target,
            scheme="ssh",
            host=place.name,
            user=place.user,
            port=int(place.port) if place.port else None,
        ),
        identity_file=backend.ssh_identity_file,
        extra=tuple(shlex.split(getattr(backend, "ssh_extra_args", None) or "")),
        sudo=backend.sudo,
        sudo_user=backend.sudo_user,
    )


def _members(group: Target, ansible_inventory: str | None) -> list[Target]:
    try:
        names = list(_runner(ansible_inventory).get_hosts(group.host))
    except Exception as error:
        raise _unreadable(group, error) from error
    if not names:
        raise UsageError(f"--host=ansible://{group.host}: the inventory has no such group or host")
    return [Target(scheme="ansible", name=name, host=name) for name in names]


def _runner(ansible_inventory: str | None) -> Any:
    from testinfra.utils.ansible_runner import AnsibleRunner  # noqa: PLC0415 - few have an inventory

    return AnsibleRunner.get_runner(ansible_inventory)


def _unreadable(target: Target, error: Exception) -> UsageError:
    lines = str(error).strip().splitlines()
    return UsageError(
        f"--host=ansible://{target.host}: the inventory cannot be read ({lines[-1][:300] if lines else type(error).__name__}); "
        "`ansible-inventory --list` must work here, --ansible-inventory names another one"
    )
