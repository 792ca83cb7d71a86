"""How long the same questions take through plain testinfra modules, and through one transcript.

    python -m benchmarks.round_trips --host root@10.1.2.200 --unit sglang-k26-ddtree.service
    python -m benchmarks.round_trips --host gpu1 --ssh-config ./config --unit x.service --delay-ms 40

Both sides connect anew, as a run of pytest does. The plain side asks only what testinfra's modules or a single
command can answer, and asks nothing twice; it is a lower bound of what a suite written with them costs. With
--delay-ms both go through a proxy that adds so much to each round trip.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import testinfra

from benchmarks.latency_proxy import latency
from pytest_dflash.facts.collector import Collector
from pytest_dflash.facts.connection import open_connection
from pytest_dflash.facts.host_facts import ALL
from pytest_dflash.facts.target import parse_spec

Ask = Callable[[Any, str], object]

PLAIN: Mapping[str, Ask] = {
    "unit-properties": lambda host, unit: (
        host.service(unit).is_running,
        host.service(unit).is_enabled,
        host.service(unit).systemd_properties,
    ),
    "unit-files": lambda host, unit: [
        (host.file(path).exists and host.file(path).content_string)
        for path in (
            f"/etc/systemd/system/{unit}",
            f"/etc/systemd/system/{unit}.d",
            f"/run/systemd/system/{unit}.d",
        )
    ],
    "loaded-command": lambda host, unit: host.run("systemctl cat %s", unit).rc,
    "processes": lambda host, _: [
        (process.args, host.run("cat /proc/%s/environ", str(process.pid)).rc)
        for process in host.process.filter(comm="python")[:4]
    ],
    "listeners": lambda host, _: host.socket.get_listening_sockets(),
    "listener-owners": lambda host, _: host.run("ss -ltnp").rc,
    "journal": lambda host, unit: host.run("journalctl -b -u %s -o json -n 400", unit).rc,
    "previous-invocation": lambda host, unit: host.run("journalctl -u %s -n 40", unit).rc,
    "starts-24h": lambda host, unit: host.run("journalctl -u %s --since=-1day _PID=1", unit).rc,
    "kernel-journal": lambda host, _: host.run("journalctl -k -b | grep -i xid").rc,
    "kernel-command-line": lambda host, _: host.file("/proc/cmdline").content,
    "memory": lambda host, _: host.file("/proc/meminfo").content,
    "system": lambda host, _: (host.system_info.distribution, host.system_info.arch, host.user().name),
    "shared-memory": lambda host, _: host.mount_point("/dev/shm").exists,
    "disks": lambda host, _: [host.run("df -P %s", path).rc for path in ("/", "/tmp", "/var/log/journal")],
    "packages": lambda host, _: host.run("ls -d /opt/*/lib/python3*/site-packages/*.dist-info").rc,
    "toolkit": lambda host, _: (host.exists("nvcc"), host.file("/usr/local/cuda/version.json").exists),
    "driver": lambda host, _: host.file("/proc/driver/nvidia/version").exists,
    "gpus": lambda host, _: host.run("nvidia-smi --query-gpu=index,uuid,name --format=csv,noheader").rc,
    "gpu-processes": lambda host, _: host.run("nvidia-smi --query-compute-apps=gpu_uuid,pid --format=csv").rc,
    "clock": lambda host, _: host.run("date +%s").rc,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One side of the comparison."""

    seconds: float
    commands: int


def plain(spec: str, ssh_config: str | None, identity: str | None, unit: str) -> Measured:
    """Every question through testinfra's own ssh backend, counted at its one door."""
    host: Any = testinfra.get_host(f"ssh://{spec}", ssh_config=ssh_config, ssh_identity_file=identity)
    commands = 0
    run = host.backend.run

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal commands
        commands += 1
        return run(*args, **kwargs)

    host.backend.run = counted
    started = time.perf_counter()
    for name, ask in PLAIN.items():
        try:
            ask(host, unit)
        except (RuntimeError, AssertionError, ValueError, NotImplementedError) as error:
            print(f"  plain testinfra could not answer {name}: {str(error)[:80]}")
    return Measured(seconds=time.perf_counter() - started, commands=commands)


def ours(spec: str, ssh_config: str | None, identity: str | None, unit: str) -> Measured:
    """Every question in one transcript, connecting included."""
    started = time.perf_counter()
    with open_connection(parse_spec(spec), ssh_config=ssh_config, ssh_identity_file=identity) as connection:
        taken = Collector(connection, unit).collect(ALL)
        seconds = time.perf_counter() - started
        if taken.cut or taken.torn:
            print(f"  the transcript is {'cut' if taken.cut else 'torn'}: {taken.cut or taken.torn}")
        return Measured(seconds=seconds, commands=connection.commands)


@contextlib.contextmanager
def lengthened(spec: str, ssh_config: str | None, delay_ms: float) -> Iterator[tuple[str, str | None, str]]:
    """SPEC and config for the longer way; as given where there is no delay."""
    if not delay_ms:
        yield spec, ssh_config, "as it is"
        return
    target = parse_spec(spec)
    options = ["-F", ssh_config] if ssh_config else []
    port = ["-p", str(target.port)] if target.port else []
    said = subprocess.run(
        ["ssh", "-G", *options, *port, target.host], capture_output=True, text=True, check=True
    ).stdout
    means = dict(line.split(" ", 1) for line in said.splitlines() if " " in line)
    with (
        latency(means["hostname"], int(means["port"]), delay_ms) as proxy,
        tempfile.TemporaryDirectory() as folder,
    ):
        config = Path(folder, "config")
        place = f"[{means['hostname']}]:{means['port']}" if means["port"] != "22" else means["hostname"]
        include = [f'Include "{Path(ssh_config).resolve()}"'] if ssh_config else ["Include ~/.ssh/config"]
        config.write_text(
            "\n".join(
                [
                    f"Host {target.host}",
                    "  HostName 127.0.0.1",
                    f"  Port {proxy.port}",
                    f"  HostKeyAlias {place}",
                    *include,
                    "",
                ]
            )
        )
        user = f"{target.user}@" if target.user else ""
        yield f"{user}{target.host}", str(config), f"+{delay_ms:.0f} ms a round trip"


def compare(
    spec: str, ssh_config: str | None, identity: str | None, unit: str, delay_ms: float
) -> dict[str, Any]:
    """Both sides over one way, printed and returned."""
    with lengthened(spec, ssh_config, delay_ms) as (longer, config, words):
        mine = ours(longer, config, identity, unit)
        theirs = plain(longer, config, identity, unit)
    ratio = theirs.seconds / mine.seconds
    print(f"{len(ALL)} questions, {words}")
    print(f"  plain testinfra  {theirs.seconds:7.2f} s  {theirs.commands:4d} commands")
    print(f"  one transcript   {mine.seconds:7.2f} s  {mine.commands:4d} command{'s' * (mine.commands != 1)}")
    print(f"  ratio            {ratio:7.1f} x")
    return {
        "delay_ms": delay_ms,
        "plain_s": theirs.seconds,
        "ours_s": mine.seconds,
        "ratio": ratio,
        "commands": theirs.commands,
    }


def main() -> None:
    """Compares over the way as it is, and over the longer one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--host", required=True, metavar="SPEC")
    parser.add_argument("--unit", required=True)
    parser.add_argument("--ssh-config")
    parser.add_argument("--ssh-identity-file")
    parser.add_argument("--delay-ms", type=float, default=40.0, help="of the longer way; 0 leaves it out")
    parser.add_argument("--json", metavar="PATH", help="also write the numbers there")
    given = parser.parse_args()
    print(f"{shlex.quote(given.host)}, {given.unit}")
    delays = [0.0, given.delay_ms] if given.delay_ms else [0.0]
    rows = [
        compare(given.host, given.ssh_config, given.ssh_identity_file, given.unit, delay) for delay in delays
    ]
    if given.json:
        Path(given.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
