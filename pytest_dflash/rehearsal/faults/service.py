"""Faults of the unit and of the settings on their way to the draft runner.

Law: a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dflash.rehearsal import layout
from pytest_dflash.rehearsal.faults import stages
from pytest_dflash.rehearsal.faults.fault import SERVING, Fault

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.host import StandInHost


def _drop_in_of_a_dead_run(host: StandInHost) -> None:
    folder = host.root / "run/systemd/system" / f"{host.unit}.d"
    folder.mkdir()
    (folder / "zzz-dflash-0badcafe.conf").write_text("[Service]\n", "utf-8")


SERVICE = (
    Fault(
        "stale-journal",
        "read",
        ("window.reaches_draft_runner", "flags.none_ignored"),
        "this start's log lines are gone, only those of the previous process are there",
        layer="tool",
        severity="silent-wrong",
        says="messages were dropped",
        after=stages.tool("control", "suppress", SERVING),
    ),
    Fault(
        "nothing-logged-yet",
        "read",
        (
            "endpoint.serves",
            "window.reaches_draft_runner",
            "flags.in_force",
            "flags.no_drift",
            "flags.none_ignored",
        ),
        "the process loads for ever: active, first lines logged, port closed",
        layer="process",
        severity="down",
        says="not ready",
        before=stages.switch(load_hangs=True),
        settled_by="Load weight begin",
    ),
    Fault(
        "edited-not-reloaded",
        "read",
        ("systemd.reloaded", "window.reaches_draft_runner", "flags.no_drift"),
        "the window was put into the unit file, without daemon-reload and restart",
        layer="systemd",
        severity="silent-wrong",
        says="unit file",
        before=stages.window(None),
        after=stages.window(layout.WINDOW),
    ),
    Fault(
        "reloaded-not-restarted",
        "read",
        ("systemd.restarted", "window.reaches_draft_runner", "flags.no_drift"),
        "the window was put into the unit file and loaded, the process is the old one",
        layer="systemd",
        severity="silent-wrong",
        says="2048",
        before=stages.window(None),
        after=stages.both(stages.window(layout.WINDOW), stages.tool("systemctl", "daemon-reload")),
    ),
    Fault(
        "wrong-flag",
        "read",
        ("flags.in_force[chunked-prefill-size]",),
        "a flag has another value than expected, all along the chain",
        layer="configuration",
        severity="silent-slow",
        says="4096",
        before=stages.replace("--chunked-prefill-size 8192", "--chunked-prefill-size 4096"),
    ),
    Fault(
        "window-dropped",
        "read",
        ("window.reaches_draft_runner", "flags.no_drift", "flags.none_ignored"),
        "the target was told the window, the draft runner was built without it",
        layer="speculation",
        severity="silent-slow",
        says="2048",
        before=stages.switch(window_dropped=True),
    ),
    Fault(
        "left-behind",
        "read",
        ("lifecycle.nothing_left_behind",),
        "the drop-in of a run that was killed is still there",
        layer="tool",
        severity="silent-wrong",
        says="zzz-dflash-0badcafe.conf",
        before=_drop_in_of_a_dead_run,
    ),
    Fault(
        "foreign-traffic",
        "restart",
        (
            "lifecycle.restarts",
            "lifecycle.ready_in_time",
            "lifecycle.window_after_restart",
            "lifecycle.flags_after_restart",
            "lifecycle.stays_up",
        ),
        "requests of others run on the host, so that it is not restarted",
        layer="tool",
        severity="noisy",
        says="foreign_traffic: requests that are not ours",
        before=stages.switch(foreign_requests=3),
    ),
)
