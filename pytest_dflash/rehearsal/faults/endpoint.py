"""Faults of the port and of what answers there.

Law: a table.
"""

from __future__ import annotations

from pytest_dflash.rehearsal.faults import stages
from pytest_dflash.rehearsal.faults.fault import Fault

ENDPOINT = (
    Fault(
        "active-not-serving",
        "read",
        ("endpoint.serves", "flags.in_force", "flags.no_drift"),
        "the unit is active and its process alive, but nobody listens any more",
        layer="endpoint",
        severity="down",
        says="port",
        before=stages.switch(dies_inside=True),
        settled_by="Scheduler hit an exception",
    ),
    Fault(
        "endpoint-dead",
        "probe",
        ("endpoint.completion", "endpoint.stream_ends"),
        "the port is open and passive routes answer, completions do not",
        layer="endpoint",
        severity="down",
        says="500",
        before=stages.switch(completions="error"),
    ),
)
