"""Faults of the unit: what the manager holds, whether it runs, and what it does behind everybody's back.

Law: a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_dflash.rehearsal import layout
from pytest_dflash.rehearsal.faults import stages
from pytest_dflash.rehearsal.faults.fault import SERVING, Fault

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.host import StandInHost

NOT_SERVING = ("endpoint.serves",)
"""What a unit that does not serve turns red beside its own check; the rest is blocked by it."""


def _drop_in_of_a_dead_run(host: StandInHost) -> None:
    folder = host.root / "run/systemd/system" / f"{host.unit}.d"
    folder.mkdir()
    (folder / "zzz-dflash-0badcafe.conf").write_text("[Service]\n", "utf-8")


def _drained_by_a_dead_run(host: StandInHost) -> None:
    folder = host.root / "run/pytest-dflash"
    folder.mkdir(parents=True)
    (folder / f"{host.unit}.drained").write_text("haproxyctl enable server pool/gpu7\n", "utf-8")


def _masked(host: StandInHost) -> None:
    host.unit_file.unlink()
    host.unit_file.symlink_to("/dev/null")


def _removed(host: StandInHost) -> None:
    host.unit_file.unlink()


def _without_environment_file(host: StandInHost) -> None:
    (host.root / "etc/sglang/k26.env").unlink()


UNIT = (
    Fault(
        "edited-not-reloaded",
        "read",
        ("systemd.reloaded", "window.reaches_draft_runner", "flags.no_drift"),
        "the window was put into the unit file, without daemon-reload and restart",
        layer="systemd",
        severity="silent-wrong",
        says="only on disk: --speculative-draft-window-size 2048",
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
        "drop-in-not-loaded",
        "read",
        ("systemd.reloaded",),
        "a drop-in lies in a folder that is new since the reload, and NeedDaemonReload says no",
        layer="systemd",
        severity="silent-wrong",
        says="override.conf",
        after=stages.drop_in("[Service]\nLimitNOFILE=65536\n"),
    ),
    Fault(
        "environment-file-edited",
        "read",
        ("systemd.environment_files",),
        "the EnvironmentFile was edited after the start",
        layer="systemd",
        severity="silent-wrong",
        says="OMP_NUM_THREADS",
        after=stages.in_file("etc/sglang/k26.env", "OMP_NUM_THREADS=8", "OMP_NUM_THREADS=16"),
    ),
    Fault(
        "restarts-by-itself",
        "read",
        ("systemd.stable",),
        "the process crashed, and Restart= started it anew while nobody looked",
        layer="process",
        severity="down",
        says="the manager restarted the unit by itself, once",
        before=stages.replace("RestartSec=5", "RestartSec=0.1"),
        after=stages.both(stages.tool("control", "kill", "SIGSEGV"), stages.awaited(SERVING)),
    ),
    Fault(
        "crashed",
        "read",
        ("systemd.active", "window.reaches_draft_runner", *NOT_SERVING),
        "the process crashed, and nothing starts it anew",
        layer="process",
        severity="down",
        says="state of the unit: expected active (running), found failed (failed)",
        before=stages.replace("Restart=on-failure", "Restart=no"),
        after=stages.tool("control", "kill", "SIGSEGV"),
    ),
    Fault(
        "stopped",
        "read",
        ("systemd.active", "window.reaches_draft_runner", *NOT_SERVING),
        "somebody stopped the unit",
        layer="systemd",
        severity="down",
        says="found inactive (dead)",
        after=stages.tool("systemctl", "stop", layout.UNIT),
    ),
    Fault(
        "masked",
        "read",
        ("systemd.loaded", "systemd.active", "window.reaches_draft_runner", *NOT_SERVING),
        "the unit is masked, so that it can never start",
        layer="systemd",
        severity="down",
        says="load state of the unit: expected loaded, found masked",
        before=_masked,
        settled_by="",
    ),
    Fault(
        "no-such-unit",
        "read",
        ("systemd.loaded", "systemd.active", "window.reaches_draft_runner", *NOT_SERVING),
        "the unit's file is gone",
        layer="systemd",
        severity="down",
        says="load state of the unit: expected loaded, found not-found",
        before=_removed,
        settled_by="",
    ),
    Fault(
        "flag-renamed",
        "read",
        (
            "systemd.active",
            "systemd.stable",
            "flags.none_ignored",
            "window.reaches_draft_runner",
            *NOT_SERVING,
        ),
        "an upgrade renamed a flag: the engine refuses it, and Restart= tries again and again",
        layer="configuration",
        severity="down",
        says="unrecognized arguments",
        before=stages.both(
            stages.replace("--speculative-draft-window-size", "--speculative-dflash-draft-window-size"),
            stages.replace("RestartSec=5", "RestartSec=0.3"),
        ),
        after=stages.awaited("unrecognized arguments"),
        settled_by="",
    ),
    Fault(
        "environment-file-missing",
        "read",
        ("systemd.active", "window.reaches_draft_runner", *NOT_SERVING),
        "the EnvironmentFile is gone, so that the unit cannot start",
        layer="systemd",
        severity="down",
        says="result resources",
        before=_without_environment_file,
        settled_by="",
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
        "left-drained",
        "read",
        ("lifecycle.nothing_left_behind",),
        "a run that was killed took the host out of its load balancer, and nobody brought it back",
        layer="tool",
        severity="down",
        says="the host out of its load balancer",
        before=_drained_by_a_dead_run,
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
