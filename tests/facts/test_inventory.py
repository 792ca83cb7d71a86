"""Hosts of an inventory, read through a stand-in `ansible-inventory`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pytest_dflash.errors import UsageError
from pytest_dflash.facts.connection import open_connection
from pytest_dflash.facts.inventory import InventoryRoute, expand, route
from pytest_dflash.facts.target import Target, parse_specs

HOSTS = {
    "gpu1": {
        "ansible_host": "10.1.2.201",
        "ansible_user": "ops",
        "ansible_port": 2222,
        "ansible_become": True,
    },
    "gpu2": {
        "ansible_ssh_common_args": "-o ProxyCommand='ssh -W %h:%p bastion'",
        "ansible_private_key_file": "/k",
    },
    "here": {"ansible_connection": "local"},
    "box": {"ansible_connection": "docker"},
    "win": {"ansible_connection": "winrm"},
    "old": {"ansible_user": "me", "ansible_ssh_pass": "hunter2"},
}


@pytest.fixture
def inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    groups = {"_meta": {"hostvars": HOSTS}, "all": {"children": ["gpu"]}, "gpu": {"hosts": ["gpu2", "gpu1"]}}
    (tmp_path / "list.json").write_text(json.dumps(groups))
    tool = tmp_path / "ansible-inventory"
    tool.write_text(
        f'#!/bin/sh\ncase $* in *broken*) echo "no such file" >&2; exit 5;; esac\ncat "{tmp_path}/list.json"\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return str(tmp_path / "hosts.ini")


def host(name: str) -> Target:
    return Target(scheme="ansible", name=name, host=name)


def test_a_group_becomes_its_hosts_and_others_stay(inventory: str) -> None:
    targets = expand(parse_specs(["ansible://gpu,10.1.2.9"]), inventory)
    assert sorted(target.name for target in targets) == ["10.1.2.9", "gpu1", "gpu2"]


def test_a_group_that_is_not_there_is_refused(inventory: str) -> None:
    with pytest.raises(UsageError, match="has no such group or host"):
        expand(parse_specs(["ansible://tpu"]), inventory)


def test_an_inventory_that_cannot_be_read_is_refused(inventory: str) -> None:
    with pytest.raises(
        UsageError, match=r"the inventory cannot be read .*`ansible-inventory --list` must work here"
    ):
        expand(parse_specs(["ansible://gpu"]), "/broken.ini")


def test_a_host_that_is_named_directly_too_is_refused(inventory: str) -> None:
    with pytest.raises(UsageError, match="names gpu1 twice"):
        expand(parse_specs(["ansible://gpu,gpu1"]), inventory)


def test_ssh_hosts_are_reached_as_the_inventory_says(inventory: str) -> None:
    assert route(host("gpu1"), inventory, None, "/mine") == InventoryRoute(
        target=Target(scheme="ssh", name="gpu1", host="10.1.2.201", user="ops", port=2222),
        identity_file="/mine",
        sudo=True,
    )
    assert route(host("gpu2"), inventory, None, None) == InventoryRoute(
        target=Target(scheme="ssh", name="gpu2", host="gpu2"),
        identity_file="/k",
        extra=("-o", "ProxyCommand=ssh -W %h:%p bastion"),
    )


def test_local_and_docker_hosts_are_entered_directly(inventory: str) -> None:
    assert route(host("here"), inventory, None, None).target.scheme == "local"
    assert route(host("box"), inventory, None, None).target == Target(scheme="docker", name="box", host="box")
    assert open_connection(host("here"), ansible_inventory=inventory).run("echo in").stdout == b"in\n"


def test_what_is_reached_otherwise_is_refused(inventory: str) -> None:
    with pytest.raises(UsageError, match="the inventory reaches win by a plugin"):
        open_connection(host("win"), ansible_inventory=inventory)
    with pytest.raises(UsageError, match="has a password for old; use a key") as refused:
        open_connection(host("old"), ansible_inventory=inventory)
    assert "hunter2" not in str(refused.value)
