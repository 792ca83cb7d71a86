"""Healthy hosts that are odd where systemd, sudo and the shell are the point: accepted by a run as a user runs it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.realhost.machine import free_port
from tests.realhost.services import ENVIRONMENT, Service
from tests.realhost.test_acceptance import PROFILE, finding, red, run

FOLDER = "/opt/sglang/über 'alles' 100%"
ODD = r"""
[Unit]
Description=An instance of a template, with blanks, quotation marks and letters in every place

[Service]
User=sglang
StateDirectory=sglang
CacheDirectory=sglang
EnvironmentFile={folder}/odd ä.env
Environment="NOTE=a \"b\" c" 'OTHER=d=e'
WorkingDirectory={folder}
ExecStartPre=-/bin/false --port 1
ExecStart=/usr/bin/env "X=1 2" taskset -c 0-1023 nice -n 1 "{folder}/venv/bin/python" -m sglang.launch_server \
    --model-path '{escaped}/model "x"' --served-model-name "%i \x22fp4\x22" \
    --host 127.0.0.1 --port {port} \
# a comment within the command
    {arguments} \
    --speculative-algorithm DFLASH --speculative-draft-model-path /srv/models/dflash \
    --speculative-draft-window-size 2048
Restart=on-failure
TimeoutStopSec=30
"""
SOCKET = """\
[Socket]
ListenStream=127.0.0.1:{port}
"""


def profiled(service: Service, folder: Path, name: str = "dflash.toml") -> Path:
    """The folder of a run, with a profile of that unit."""
    folder.mkdir(exist_ok=True)
    served = service.served.replace('"', '\\"')
    text = PROFILE.format(served=served, window=service.window, ready=120)
    (folder / name).write_text(text.replace("sglang-k26-ddtree.service", service.unit), "utf-8")
    return folder


@contextlib.contextmanager
def beside(service: Service, *files: str) -> Iterator[Service]:
    """A unit beside those that are there, serving; its files are gone afterwards."""
    first = files[0].rpartition("/")[2] if files[0].endswith(".socket") else service.unit
    try:
        service.machine.sh(f"systemctl daemon-reload && systemctl start {first}")
        service.wait()
        yield service
    finally:
        service.machine.sh(
            f"systemctl stop {first} {service.unit}; rm -rf {' '.join(files)}; systemctl daemon-reload",
            check=False,
        )


@pytest.fixture(scope="module")
def odd(mini_host: Service) -> Iterator[Service]:
    """An instance of a template whose every path and argument is odd, beside the host's first service."""
    machine = mini_host.machine
    service = replace(mini_host, port=free_port(), unit="sglang@Kimi-K2.6.service", served='Kimi-K2.6 "fp4"')
    machine.sh(
        f'f="{FOLDER}"; m="$f/model \\"x\\""; mkdir -p "$m" && cp -a /opt/sglang/venv "$f/venv" && '
        f'cp -r /srv/models/target/. "$m/" && cp {ENVIRONMENT} "$f/odd ä.env"'
    )
    folder, unit = FOLDER.replace("%", "%%"), "/etc/systemd/system/sglang@.service"
    escaped = folder.replace("'", "\\x27")
    text = ODD.format(folder=folder, escaped=escaped, port=service.port, arguments=service.arguments)
    machine.put(unit, text)
    machine.put(f"{unit}.d/10-limits.conf", "[Service]\nLimitNOFILE=65536\n")
    with beside(service, unit, f"{unit}.d"):
        yield service


def test_two_services_on_one_host_of_which_one_is_odd_in_every_place_are_accepted(
    mini_host: Service, odd: Service, tmp_path: Path
) -> None:
    folder = profiled(odd, profiled(mini_host, tmp_path / "run", "first.toml"))
    document = run(mini_host, folder, f"--dflash-profile={folder / 'first.toml'}")
    assert red(document) == set(), document["stdout"][-4000:]
    assert document["run"]["verdict"] == "accept"
    assert {each["unit"] for each in document["hosts"]} == {mini_host.unit, odd.unit}


@pytest.mark.parametrize("become", ["root", "sglang"])
def test_a_login_with_no_more_than_the_printed_sudo_rule_is_enough(
    mini_host: Service, become: str, tmp_path: Path
) -> None:
    asked = [sys.executable, "-m", "pytest", "--dflash-print-sudoers"]
    printed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    (rule,) = [line for line in printed.splitlines() if line.startswith(f"acceptance ALL=({become})")]
    machine = mini_host.machine
    machine.sh("useradd --create-home --shell /bin/bash acceptance; usermod -aG systemd-journal sglang")
    machine.put("/etc/sudoers.d/acceptance", rule + "\n", mode=0o440)
    machine.put("/home/acceptance/.bashrc", "echo; echo \"Welcome, $USER\"; printf 'no newline'\n")
    try:
        document = run(mini_host, tmp_path / "run", "--sudo", f"--sudo-user={become}", user="acceptance")
    finally:
        machine.sh(
            "rm /etc/sudoers.d/acceptance; userdel -rf acceptance; gpasswd -d sglang systemd-journal",
            check=False,
        )
    assert red(document) == set(), document["stdout"][-4000:]
    assert document["run"]["verdict"] == "accept"


def test_a_port_that_systemd_has_bound_is_the_units(mini_host: Service, tmp_path: Path) -> None:
    service = replace(mini_host, port=free_port(), unit="sglang-activated.service")
    socket = "/etc/systemd/system/sglang-activated.socket"
    service.machine.put(socket, SOCKET.format(port=service.port))
    service.machine.put(service.fragment, service.text())
    with beside(service, socket, service.fragment):
        document = run(mini_host, profiled(service, tmp_path / "run"))
    assert red(document) == set(), document["stdout"][-4000:]
    owners = finding(document, "exposure.bind")
    assert owners["outcome"] == "pass"


AS_SGLANG = """
uid=$(id -u sglang)
export XDG_RUNTIME_DIR=/run/user/$uid
own() { setpriv --reuid="$uid" --regid="$(id -g sglang)" --init-groups systemctl --user "$@"; }
"""


@pytest.fixture(scope="module")
def of_user(mini_host: Service) -> Iterator[Service]:
    """A unit of the own manager of sglang, which lingers; its paths begin with the user's home."""
    machine = mini_host.machine
    service = replace(mini_host, port=free_port(), unit="sglang-own.service")
    system = ("User=", "StateDirectory=", "CacheDirectory=")
    lines = [line for line in service.text().splitlines(keepends=True) if not line.startswith(system)]
    text = "".join(lines).replace("WorkingDirectory=/var/lib/sglang", "WorkingDirectory=%h")
    text = text.replace("--model-path /srv/models/target", "--model-path %h/model")
    machine.put("/etc/systemd/user/sglang-own.service", text.replace("multi-user", "default"))
    machine.sh(
        "cp -rT /srv/models/target /var/lib/sglang/model; loginctl enable-linger sglang; usermod -aG systemd-journal sglang"
    )
    try:
        machine.sh(
            f"{AS_SGLANG} until [ -S $XDG_RUNTIME_DIR/bus ]; do sleep 0.1; done\n"
            f"own daemon-reload; own start {service.unit}"
        )
        service.wait()
        yield service
    finally:
        machine.sh(
            f"{AS_SGLANG} own stop {service.unit}; loginctl disable-linger sglang; "
            "gpasswd -d sglang systemd-journal; rm /etc/systemd/user/sglang-own.service",
            check=False,
        )


@pytest.mark.parametrize("options", [(), ("--sudo", "--sudo-user=sglang")], ids=["root", "the user"])
def test_a_unit_of_a_users_own_manager_is_accepted(
    of_user: Service, options: tuple[str, ...], tmp_path: Path
) -> None:
    folder = profiled(of_user, tmp_path / "run")
    profile = folder / "dflash.toml"
    text = profile.read_text("utf-8").replace("[endpoint]", 'user_manager = "sglang"\n[endpoint]', 1)
    profile.write_text(text, "utf-8")
    document = run(of_user, folder, *options, user="admin" if options else "root")
    assert red(document) == set(), document["stdout"][-4000:]
    assert document["run"]["verdict"] == "accept"
    window = finding(document, "window.reaches_draft_runner")
    assert "/systemd/user/sglang-own.service:" in window["evidence"][0]["where"]
