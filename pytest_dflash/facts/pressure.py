"""How busy the machine's processors are, at a moment.

Law: the kernel's own numbers, none of them judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_dflash.facts.probe import Probe, Reply
from pytest_dflash.facts.reading import Absent, Reading, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """The machine's CPU.

    Attributes:
        waiting_percent: Of the last 10 s, the share in which some task waited for a CPU (PSI "some avg10").
        load: The load average of the last minute: tasks that ran, were runnable, or hung in I/O.
        cpus: How many there are.
    """

    waiting_percent: Reading[float]
    load: float
    cpus: int


_SCRIPT = r"""cat "$R/proc/loadavg" || exit
echo "cpus=$(nproc)"
cat "$R/proc/pressure/cpu" 2>/dev/null || echo 'no pressure'
"""
_SOME = re.compile(r"^some avg10=(\d{1,3}\.\d{1,4}) ", re.MULTILINE)
_LOAD = re.compile(r"^(\d{1,7}\.\d{1,4}) \d", re.MULTILINE)
_CPUS = re.compile(r"^cpus=(\d{1,6})$", re.MULTILINE)


def _parse(reply: Reply) -> Reading[Pressure]:
    where = "/proc/pressure/cpu"
    some, load, cpus = (shape.search(reply.text) for shape in (_SOME, _LOAD, _CPUS))
    if load is None or cpus is None:
        return reply.silence("cat /proc/loadavg")
    waiting: Reading[float] = Value(float(some[1]), where) if some else Absent(where)
    return Value(
        Pressure(waiting_percent=waiting, load=float(load[1]), cpus=int(cpus[1])), "/proc/loadavg, " + where
    )


PRESSURE: Probe[Pressure] = Probe("pressure", _SCRIPT, _parse)
"""Kernels without PSI, or with it switched off, tell the load alone."""
