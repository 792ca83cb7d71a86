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
        ("endpoint.serves",),
        "the unit is active and its process alive, but nobody listens any more",
        layer="endpoint",
        severity="down",
        says="does not serve",
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
    Fault(
        "stream-cut",
        "probe",
        ("endpoint.stream_ends",),
        "streams end in the middle, without a finish reason",
        layer="endpoint",
        severity="silent-wrong",
        says="the stream ended without [DONE]",
        before=stages.switch(completions="cut"),
    ),
    Fault(
        "wrong-model",
        "read",
        ("endpoint.served_model",),
        "another model is served than the one that is expected",
        layer="endpoint",
        severity="silent-wrong",
        says="served model: expected Kimi-K2.6, found Kimi-K2",
        before=stages.replace("--served-model-name Kimi-K2.6", "--served-model-name Kimi-K2"),
    ),
    Fault(
        "dies-while-tested",
        "probe",
        ("endpoint.same_process",),
        "the engine dies of the second request, and Restart= hides it",
        layer="process",
        severity="down",
        says="the answers of this run are not of one process",
        before=stages.switch(dies_after=2),
    ),
)
