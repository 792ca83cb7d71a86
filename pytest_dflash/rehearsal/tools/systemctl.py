"""systemctl, as of systemd 252.

Law: reads the service's state and asks for changes; how a service changes is `service`'s.
"""

from __future__ import annotations

import pwd
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_dflash.rehearsal.tools import Answer, unknown

if TYPE_CHECKING:
    from pytest_dflash.rehearsal.manager import Manager
    from pytest_dflash.rehearsal.service import Service

RECORDED = Path(__file__).parent.parent / "recordings" / "show.txt"
SILENT_WHEN_EMPTY = (
    "LoadError", "SourcePath", "DropInPaths", "StatusText", "Group", "RootDirectory", "InvocationID", "AllowedCPUs",
    "Environment", "EnvironmentFiles", "ExecStart", "FragmentPath", "ControlGroup", "Job", "User", "Documentation",
    "UnitFileState", "UnitFilePreset", "WorkingDirectory", "TriggeredBy", "ExecStartPre", "ExecStopPost",
)  # fmt: skip
STAMPS = (
    "StateChange",
    "InactiveExit",
    "ActiveEnter",
    "ActiveExit",
    "InactiveEnter",
    "ExecMainStart",
    "ExecMainExit",
)
IS_ACTIVE = {"active": 0, "reloading": 0}
NOTHING = {"LoadState": "not-found", "ActiveState": "inactive", "SubState": "dead", "Result": "success"}


def recorded() -> dict[str, str]:
    """A whole `systemctl show` of a running service."""
    lines = RECORDED.read_text("utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines)


def properties(service: Service) -> dict[str, str]:
    """All properties, in systemd's order, empty ones last."""
    loaded, running = service.loaded, service.process is not None
    fragment = loaded.fragment.path if loaded.fragment else ""
    user = loaded.last("User")
    said = dict.fromkeys(SILENT_WHEN_EMPTY, "") | {
        "Id": service.name,
        "Names": service.name,
        "Description": loaded.last("Description", service.name),
        "LoadState": loaded.load_state,
        "ActiveState": service.active,
        "SubState": service.sub,
        "Result": service.result,
        "FragmentPath": fragment,
        "DropInPaths": " ".join(file.path for file in loaded.drop_ins),
        "NeedDaemonReload": "yes" if service.needs_reload else "no",
        "UnitFileState": "enabled" if loaded.fragment else "",
        "UnitFilePreset": "enabled" if loaded.fragment else "",
        "InvocationID": service.invocation,
        "MainPID": str(service.process.pid if service.process else 0),
        "ExecMainPID": str(service.exec_pid),
        "ExecMainCode": str(service.exec_code),
        "ExecMainStatus": str(service.exec_status),
        "NRestarts": str(service.restarts),
        "ControlGroup": service.control_group if running else "",
        "Type": "simple",
        "Restart": loaded.last("Restart", "no"),
        "RestartUSec": loaded.last("RestartSec", "100m") + "s",
        "TimeoutStopUSec": "30s",
        "User": user,
        "UID": str(pwd.getpwnam(user).pw_uid) if user else "[not set]",
        "GID": str(pwd.getpwnam(user).pw_gid) if user else "[not set]",
        "WorkingDirectory": loaded.last("WorkingDirectory"),
        "Environment": " ".join(loaded.assignments()),
        "EnvironmentFiles": " ".join(
            f"{path} (ignore_errors={'yes' if optional else 'no'})"
            for path, optional in loaded.environment_files()
        ),
        "ExecStart": "".join(_command(service, argv) for argv in loaded.argument_lists()),
        "CanStart": "yes" if loaded.load_state == "loaded" else "no",
        "RequiresMountsFor": "",
        "StateDirectory": "",
        "CacheDirectory": "",
    }
    for name in STAMPS:
        realtime, monotonic = service.stamps.get(name, (0, 0))
        said[f"{name}TimestampMonotonic"] = str(monotonic)
        said[f"{name}Timestamp"] = (
            time.strftime("%a %Y-%m-%d %H:%M:%S UTC", time.gmtime(realtime / 1e6)) if realtime else ""
        )
    base = recorded()
    base.pop("ExecStartEx", None)
    own = {name: value for name in base if (value := loaded.last(name))}
    return {**base, **own, **said}


def _command(service: Service, argv: Sequence[str]) -> str:
    start = service.stamps.get("ExecMainStart", (0, 0))[0]
    since = time.strftime("%a %Y-%m-%d %H:%M:%S UTC", time.gmtime(start / 1e6)) if start else "n/a"
    return (
        f"{{ path={argv[0]} ; argv[]={' '.join(argv)} ; ignore_errors=no ; start_time=[{since}] ; stop_time=[n/a] ; "
        f"pid={service.exec_pid} ; code=(null) ; status=0/0 }}"
    )


def _parse(argv: Sequence[str]) -> tuple[str, list[str], list[str], bool] | str:
    """(verb, units, asked properties, values only), or what is not known."""
    words, asked, values, rest = [], [], False, list(argv)
    while rest:
        word = rest.pop(0)
        if word in ("-p", "-P", "--property") and rest:
            asked += rest.pop(0).split(",")
            values |= word == "-P"
        elif word.startswith("--property="):
            asked += word.removeprefix("--property=").split(",")
        elif word == "--value":
            values = True
        elif word in (
            "--no-pager",
            "--system",
            "--user",
            "--",
            "-q",
            "--quiet",
            "--no-ask-password",
            "--full",
            "-l",
        ):
            continue
        elif word.startswith("-"):
            return f"option {word!r}"
        else:
            words.append(word)
    return (words[0], words[1:], asked, values) if words else "call without a verb"


def answer(argv: Sequence[str], manager: Manager) -> Answer:
    """`systemctl argv`."""
    if list(argv) == ["--version"]:
        return Answer("systemd 252 (252.39-1~deb12u1)\n+PAM +AUDIT +SELINUX +APPARMOR +IMA +SMACK\n")
    parsed = _parse(argv)
    if isinstance(parsed, str):
        return unknown("systemctl", parsed)
    verb, units, asked, values = parsed
    if verb == "show":
        mine = ("--user" in argv) == manager.log.by_user
        return _show(manager, units, asked, values=values, mine=mine)
    if verb not in VERBS:
        return unknown("systemctl", f"verb {verb!r}")
    if verb in ("daemon-reload", "list-units", "list-unit-files"):
        return VERBS[verb](manager.service, manager)
    if not units:
        return Answer(stderr="Too few arguments.\n", status=1)
    if verb == "stop" and manager.transients.stop(units[0]):
        return Answer()
    missing = next((unit for unit in units if unit != manager.service.name), None)
    if missing is not None:
        return _missing(verb, missing)
    return VERBS[verb](manager.service, manager)


def _missing(verb: str, unit: str) -> Answer:
    if verb == "is-active":
        return Answer("inactive\n", status=3)
    if verb == "cat":
        return Answer(stderr=f"No files found for {unit}.\n", status=1)
    return Answer(stderr=f"Failed to {verb} {unit}: Unit {unit} not found.\n", status=5)


def _show(
    manager: Manager, units: Sequence[str], asked: Sequence[str], *, values: bool, mine: bool
) -> Answer:
    """`mine`: the manager that is asked has the unit: the system's, or the user's."""
    blocks = []
    manager.transients.reap()
    for pattern in units or [""]:
        unit = manager.service.name if pattern == "*.service" else pattern
        if not unit:
            known: Mapping[str, str] = {
                "Version": "252.39-1~deb12u1",
                "UnitPath": " ".join(str(folder) for folder in manager.service.search),
                "Environment": "LANG=C.UTF-8",
                "NNames": "212",
                "SystemState": "running",
            }
        elif unit == manager.service.name and mine:
            known = properties(manager.service)
        elif unit in manager.transients.running:
            known = {"Id": unit, "Names": unit, "LoadState": "loaded", "ActiveState": "active", "SubState": "running",
                     "Result": "success", "Transient": "yes"}  # fmt: skip
        else:
            known = {**dict.fromkeys(SILENT_WHEN_EMPTY, ""), "Id": unit, "Names": unit, "Description": unit,
                     **NOTHING, "MainPID": "0", "NRestarts": "0", "NeedDaemonReload": "no"}  # fmt: skip
        # Without -p empty properties are left out, with -p they are shown.
        chosen = [(key, value) for key, value in known.items() if (key in asked if asked else value)]
        blocks.append("".join((value if values else f"{key}={value}") + "\n" for key, value in chosen))
    return Answer("\n".join(blocks))


def _cat(service: Service, _manager: Manager) -> Answer:
    if service.loaded.fragment is None:
        return _missing("cat", service.name)
    paths = [service.loaded.fragment.path, *(file.path for file in service.loaded.drop_ins)]
    warning = ""
    if service.needs_reload:
        warning = (
            f"Warning: The unit file, source configuration file or drop-ins of {service.name} changed on disk. "
            "Run 'systemctl daemon-reload' to reload units.\n"
        )
    files = [f"# {path}\n{Path(path).read_text('utf-8')}" for path in paths if Path(path).exists()]
    return Answer("\n".join(files), warning)


def _is_active(service: Service, _manager: Manager) -> Answer:
    return Answer(service.active + "\n", status=IS_ACTIVE.get(service.active, 3))


def _is_enabled(_service: Service, _manager: Manager) -> Answer:
    return Answer("enabled\n")


def _reset_failed(service: Service, _manager: Manager) -> Answer:
    service.restarts, service.result = 0, "success"
    service.starts.clear()
    if service.active == "failed":
        service.active, service.sub = "inactive", "dead"
    return Answer()


def _daemon_reload(service: Service, _manager: Manager) -> Answer:
    service.reload()
    return Answer()


def _start(service: Service, _manager: Manager) -> Answer:
    if service.process is None:
        service.restarts = 0  # a start by hand counts anew
    complaint = service.start()
    return Answer(stderr=complaint + "\n", status=1) if complaint else Answer()


def _stop(_service: Service, manager: Manager) -> Answer:
    manager.stop_and_wait()
    return Answer()


def _restart(service: Service, manager: Manager) -> Answer:
    if service.active not in ("inactive", "failed"):
        manager.stop_and_wait()
    return _start(service, manager)


def _list_units(service: Service, _manager: Manager) -> Answer:
    state = f"{service.loaded.load_state} {service.active} {service.sub}"
    return Answer(f"{service.name} {state} {service.loaded.last('Description')}\n")


VERBS: dict[str, Callable[[Service, Manager], Answer]] = {
    "cat": _cat,
    "is-active": _is_active,
    "is-enabled": _is_enabled,
    "reset-failed": _reset_failed,
    "daemon-reload": _daemon_reload,
    "start": _start,
    "stop": _stop,
    "restart": _restart,
    "list-units": _list_units,
}
