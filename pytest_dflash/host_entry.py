"""What the reports say of a host as a whole.

Law: reads a `HostRun` as it is; asks nobody, makes nothing.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from pytest_dflash.facts.identity import Identity
from pytest_dflash.portrait import portrait

if TYPE_CHECKING:
    from pytest_dflash.host_run import HostRun
    from pytest_dflash.lifecycle.controller import Controller


def _controller(run: HostRun) -> Controller | None:
    """The controller, if anything was asked of it."""
    made: Controller | None = run.__dict__.get("controller")
    return made


def broken(run: HostRun) -> str:
    """What is left on the host, where it could not be put back."""
    controller = _controller(run)
    return controller.broken if controller else ""


def document(run: HostRun, identity: Identity | None) -> dict[str, Any]:
    """The host's entry in findings.json."""
    connection = run.collector.connection if "collector" in run.__dict__ else None
    controller = _controller(run)
    settled = run.__dict__.get("_settled") or run.before
    seen = portrait(settled[0]) if isinstance(settled, tuple) else {}
    return {
        "name": run.name,
        "unit": run.profile.service.unit,
        "boot_id": identity.boot_id if identity else None,
        "invocation_id": identity.invocation_id if identity else None,
        "main_pid": identity.main_pid if identity else None,
        "engine": run.profile.service.engine,
        "engine_version": run.__dict__.get("version")
        or seen.get("stack", {}).get(run.profile.service.engine),
        "commands": connection.commands if connection else 0,
        "connections": connection.connections if connection else 0,
        "changed": bool(controller and controller.changed),
        "restored": controller.restored if controller else None,
        "unreachable": run.unreachable,
        "notes": _left(controller),
        "waivers": [
            {"check": w.check, "param": w.param, "reason": w.reason, "expires": str(w.expires)}
            for w in run.profile.waivers
            if w.host is None or fnmatchcase(run.name, w.host)
        ],
    } | seen


def _left(controller: Controller | None) -> list[str]:
    """What changing the host has left or met, for the summary."""
    if controller is None:
        return []
    return [*([f"NOT PUT BACK: {controller.broken}"] if controller.broken else []), *controller.notes]


def notes(run: HostRun) -> list[str]:
    """What a reader of the summary should know of the profile beside the findings."""
    lines = []
    if not run.loaded.reviewed:
        lines.append(
            f"profile: {run.loaded.path} says reviewed = false: nobody vouches for these expectations yet"
        )
    if run.profile.endpoint.expect is None:
        lines.append("profile: no endpoint.expect, so only the structure of answers is checked")
    if run.profile.gpu.count is None:
        lines.append("profile: no gpu.count, so a GPU that is missing, or all of them, goes unnoticed")
    if run.profile.endpoint.url is not None:
        lines.append(
            f"profile: endpoint.url says that {run.profile.service.unit} is asked at {run.profile.endpoint.url}; that this "
            "unit answers there, and not another host's, is believed"
        )
    return lines
