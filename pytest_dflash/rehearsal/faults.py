"""The faults that the stand-in host can have, and the checks that must notice each.

Law: a table. A stage is what a careless hand or a bad day would do to a host: an edited file, an engine's
switch, lost lines. Exactly the named checks turn red or unproven, everything else stays as it was.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_dflash.errors import UsageError
from pytest_dflash.rehearsal import layout, venv

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.host import StandInHost

Stage = Callable[["StandInHost"], None]
SERVING = "The server is fired up and ready to roll!"


def nothing(_host: StandInHost) -> None:
    """No stage."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        name: Kebab-case, stable.
        level: How far a run must be allowed to go to notice: read, probe, load, restart, reconfigure.
        checks: Which checks must notice, as `check` or `check[param]`; unproven is noticing.
        title: What happened, in one line.
        before: Done to the host before the unit is started (a daemon-reload follows).
        after: Done once the unit has settled.
        settled_by: The line of the log by which it has.
    """

    name: str
    level: str
    checks: tuple[str, ...]
    title: str
    before: Stage = nothing
    after: Stage = nothing
    settled_by: str = SERVING


def _window(host: StandInHost, window: int | None) -> None:
    host.unit_file.write_text(layout.unit_text(host.root, host.port, window), "utf-8")


def _drop_in_of_a_dead_run(host: StandInHost) -> None:
    folder = host.root / "run/systemd/system" / f"{host.unit}.d"
    folder.mkdir()
    (folder / "zzz-dflash-0badcafe.conf").write_text("[Service]\n", "utf-8")


def _without_window(host: StandInHost) -> None:
    _window(host, None)


def _window_on_disk(host: StandInHost) -> None:
    _window(host, layout.WINDOW)


def _window_loaded(host: StandInHost) -> None:
    _window_on_disk(host)
    host.tool("systemctl", "daemon-reload")


def _switch(**switches: object) -> Stage:
    def stage(host: StandInHost) -> None:
        known = json.loads(host.mischief.read_text("utf-8")) if host.mischief.exists() else {}
        host.mischief.write_text(json.dumps(known | switches), "utf-8")

    return stage


def _replace(old: str, new: str) -> Stage:
    def stage(host: StandInHost) -> None:
        text = host.unit_file.read_text("utf-8")
        assert old in text
        host.unit_file.write_text(text.replace(old, new), "utf-8")

    return stage


def _lose_start_lines(host: StandInHost) -> None:
    host.tool("control", "suppress", SERVING)


def _older_flashinfer(host: StandInHost) -> None:
    name = "flashinfer-python"
    (held,) = host.site_packages.glob("flashinfer_python-*.dist-info")
    held.rename(host.folder / "replaced.dist-info")
    venv.install(host.site_packages, name, "0.5.3")


def _lose_gpu(host: StandInHost) -> None:
    table = host.folder / "gpus.json"
    cards = json.loads(table.read_text("utf-8"))
    del cards["each"][5]
    table.write_text(json.dumps(cards), "utf-8")


_ALL = (
    Fault(
        "stale-journal",
        "read",
        ("window.reaches_draft_runner", "flags.none_ignored"),
        "this start's log lines are gone, only those of the previous process are there",
        after=_lose_start_lines,
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
        before=_switch(load_hangs=True),
        settled_by="Load weight begin",
    ),
    Fault(
        "edited-not-reloaded",
        "read",
        ("systemd.reloaded", "window.reaches_draft_runner", "flags.no_drift"),
        "the window was put into the unit file, without daemon-reload and restart",
        before=_without_window,
        after=_window_on_disk,
    ),
    Fault(
        "reloaded-not-restarted",
        "read",
        ("systemd.restarted", "window.reaches_draft_runner", "flags.no_drift"),
        "the window was put into the unit file and loaded, the process is the old one",
        before=_without_window,
        after=_window_loaded,
    ),
    Fault(
        "active-not-serving",
        "read",
        ("endpoint.serves", "flags.in_force", "flags.no_drift"),
        "the unit is active and its process alive, but nobody listens any more",
        before=_switch(dies_inside=True),
        settled_by="Scheduler hit an exception",
    ),
    Fault(
        "wrong-flag",
        "read",
        ("flags.in_force[chunked-prefill-size]",),
        "a flag has another value than expected, all along the chain",
        before=_replace("--chunked-prefill-size 8192", "--chunked-prefill-size 4096"),
    ),
    Fault(
        "window-dropped",
        "read",
        ("window.reaches_draft_runner", "flags.no_drift", "flags.none_ignored"),
        "the target was told the window, the draft runner was built without it",
        before=_switch(window_dropped=True),
    ),
    Fault(
        "package-version",
        "read",
        ("stack.package[flashinfer-python]",),
        "a package of the serving interpreter is older than expected",
        before=_older_flashinfer,
    ),
    Fault(
        "gpu-missing",
        "read",
        ("gpu.count",),
        "nvidia-smi lists seven of eight GPUs",
        before=_lose_gpu,
    ),
    Fault(
        "endpoint-dead",
        "probe",
        ("endpoint.completion", "endpoint.stream_ends"),
        "the port is open and passive routes answer, completions do not",
        before=_switch(completions="error"),
    ),
    Fault(
        "left-behind",
        "read",
        ("lifecycle.nothing_left_behind",),
        "the drop-in of a run that was killed is still there",
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
        before=_switch(foreign_requests=3),
    ),
)  # fmt: skip

FAULTS: Mapping[str, Fault] = {fault.name: fault for fault in _ALL}
"""Every fault by its name."""


class UnknownFault(UsageError):  # noqa: N818 - named for what was asked for
    """A name that is no fault's."""


def named(name: str) -> Fault:
    """The fault called `name`.

    Raises:
        UnknownFault: With the names that come close.
    """
    if name in FAULTS:
        return FAULTS[name]
    close = difflib.get_close_matches(name, FAULTS, 3, 0.5)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise UnknownFault(f"--dflash-fault={name}: there is no such fault{hint}")


def listing(faults: Iterable[Fault] = _ALL) -> str:
    """One line a fault: name, level, checks that must notice, title, with tabs between."""
    return "".join(
        f"{fault.name}\t{fault.level}\t{','.join(fault.checks)}\t{fault.title}\n" for fault in faults
    )
