"""A real journald that keeps what nobody would read: a million lines of the service, and one of 100 MB."""

from __future__ import annotations

import time
from pathlib import Path

from tests.realhost.services import Service
from tests.realhost.test_acceptance import red, run

LINES, BYTES = 1_000_000, 100_000_000
SENDER = """
import fcntl, os, socket, struct, sys
pid, lines, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
journal.connect("/run/systemd/journal/socket")
ours = f"OBJECT_PID={pid}\\nPRIORITY=6\\n".encode()  # journald adds the invocation of that process
for n in range(lines):
    journal.send(b"MESSAGE=chatter %d \\x1b[2J\\n" % n + ours)
held = os.memfd_create("long", os.MFD_ALLOW_SEALING)
os.write(held, ours + b"MESSAGE\\n" + struct.pack("<Q", size))
for _ in range(size // 1_000_000):
    os.write(held, b"x" * 1_000_000)
os.write(held, b"\\n")
fcntl.fcntl(held, 1033, 15)  # F_ADD_SEALS: journald takes sealed memory only
socket.send_fds(journal, [b""], [held])
"""
"""Natively, as logging libraries speak to journald: a line on a pipe would be split at 48 KiB."""


def test_a_million_lines_and_one_of_100_megabytes_change_nothing(
    mini_host: Service, tmp_path: Path, figures: list[str]
) -> None:
    service = mini_host
    service.machine.put("/root/sender.py", SENDER)
    pid = service.show("MainPID")
    service.machine.sh(
        "systemd-run --wait --collect -p LogRateLimitIntervalSec=0 "
        f"python3.11 /root/sender.py {pid} {LINES} {BYTES} && journalctl --sync",
        deadline_s=500,
    )
    service.machine.sh("rm /root/sender.py")
    begun = time.monotonic()
    document = run(service, tmp_path, "--dflash-allow=probe")
    took = time.monotonic() - begun
    figures.append(f"a run over a journal of {LINES} lines and one line of {BYTES} bytes: {took:.0f} s")
    assert red(document) == set()
    assert document["run"]["verdict"] == "accept"
    assert took < 180
