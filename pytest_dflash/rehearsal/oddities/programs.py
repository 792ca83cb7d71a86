"""Programs between systemd and the engine, each of which means the same.

Law: a table. A program that this machine may lack is played by a script that does its part.
"""

from __future__ import annotations

from pytest_dflash.rehearsal.faults import command
from pytest_dflash.rehearsal.oddities.oddity import Oddity

PASSING_ON = """#!/bin/sh
while case $1 in -*) ;; *) break ;; esac; do shift; done
exec "$@"
"""
"""A program that takes options, sets something of its process, and becomes what it is given."""

PROGRAMS = (
    Oddity(
        "behind-env",
        "the engine is started by env, with a variable",
        before=command.behind("/usr/bin/env OMP_NUM_THREADS=8 "),
        places=("command",),
    ),
    Oddity(
        "behind-nice",
        "the engine is started by nice",
        before=command.behind("/usr/bin/nice -n 1 "),
        places=("command",),
    ),
    Oddity(
        "behind-taskset",
        "the engine is bound to CPUs by taskset",
        before=command.behind_program("taskset", "-c 0-1023 ", PASSING_ON.replace("exec", "shift; exec")),
        places=("command",),
    ),
    Oddity(
        "behind-numactl",
        "the engine is bound to memory by numactl, below ionice and stdbuf",
        before=command.behind_program("numactl", "--interleave=all /usr/bin/env stdbuf -oL ", PASSING_ON),
        places=("command",),
    ),
    Oddity(
        "behind-a-shell",
        "the engine is started by a shell, which gives way to it",
        before=command.in_shell("exec "),
        places=("command",),
    ),
    Oddity(
        "below-a-shell",
        "the engine is the child of a shell, which is the main process",
        before=command.in_shell(": once; "),
        places=("command",),
    ),
)
