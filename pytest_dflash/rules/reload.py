"""What is on disk against what the manager holds.

Law: pure. NeedDaemonReload is heard, never believed alone: it misses new drop-in folders and files that were
put back with an old date, and it cries for a file that was only touched (systemd 252). Where only the host
knows a value (`%h`), nothing is compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pytest_dflash.facts import unit_file
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.facts.systemd import LoadedCommand, Unit, UnitFiles
from pytest_dflash.findings import Evidence, Judgement, failed, not_applicable, passed, unproven
from pytest_dflash.rules.judge import unheard
from pytest_dflash.witness.startup import BY_HOST, named

RELOAD = "decide which is right; if the disk is, `systemctl daemon-reload` and restart when drained; if not, put the file back"
WHAT = "whether the manager holds what is on disk"


def reloaded(unit: Reading[Unit], files: Reading[UnitFiles], command: Reading[LoadedCommand]) -> Judgement:
    """What is on disk is what the manager holds: drop-ins, command, environment, and the plain settings."""
    for source, reading in (("systemctl show", unit), ("unit files", files), ("busctl", command)):
        if not isinstance(reading, Value):
            return unheard(WHAT, source, reading)
    assert isinstance(unit, Value)  # the loop above has looked
    assert isinstance(files, Value)  # as above
    assert isinstance(command, Value)  # as above
    if unit.value.properties.get("Transient") == "yes":
        return not_applicable("the unit is transient: systemd wrote its files itself, nobody edits them")
    disk = unit_file.effective(files.value, unit.value.name)
    hidden = [path for path in files.value.unreadable if not named(path, disk.environment_files)]
    if hidden:
        return unheard(
            WHAT, hidden[0], Silent("it could not be read, and it may change every setting", hidden[0])
        )
    differences = [
        *drop_ins(unit.value, files.value),
        *commands(disk, command.value),
        *environment(disk, command.value),
        *plain_settings(disk, unit.value),
    ]
    said = {True: "yes", False: "no", None: "not told"}[unit.value.need_daemon_reload]
    witnesses = (Evidence(source="NeedDaemonReload", reading="value", value=said, where="systemctl show"),)
    if differences:
        more = f" (and {len(differences) - 1} more)" if differences[1:] else ""
        return failed(
            f"the manager does not hold what is on disk: {differences[0]}{more}",
            expected=[],
            observed=list(differences),
            between=("unit_file", "loaded_unit"),
            evidence=witnesses,
            cause="the files were edited, added or removed, and the manager was not told",
            remedy=RELOAD,
        )
    source = unit.value.properties.get("SourcePath", "")
    if unit.value.need_daemon_reload and source:
        return unproven(
            f"{WHAT} could not be told: the unit is generated from {source}, which was written since "
            "(NeedDaemonReload=yes); what the generator would make of it now is not known",
            evidence=witnesses,
            remedy="`systemctl daemon-reload` runs the generator; then run this again",
        )
    touched = (
        " (NeedDaemonReload=yes, yet commands, environment and plain settings agree: a file was only touched, "
        "or a setting was changed that is not compared)"
        if unit.value.need_daemon_reload
        else ""
    )
    return passed(f"the manager holds what is on disk{touched}", expected=[], observed=[], evidence=witnesses)


def drop_ins(unit: Unit, files: UnitFiles) -> list[str]:
    """Drop-ins that the disk and the manager do not both have."""
    on_disk = {home(file.path): file.path for file in files.drop_ins}
    known = {home(path): path for path in unit.drop_in_paths}
    gone = known.keys() - on_disk.keys() - set(map(home, files.masked))
    return [
        f"{on_disk[path]} is on disk and not loaded" for path in sorted(on_disk.keys() - known.keys())
    ] + [f"{known[path]} is loaded, and on disk it is gone or hidden" for path in sorted(gone)]


def home(path: str) -> str:
    """One name for /lib and /usr/lib, which are one folder on most hosts, without doubled slashes."""
    return re.sub(r"/+", "/", path).removeprefix("/usr")


def commands(disk: unit_file.EffectiveUnit, held: LoadedCommand) -> list[str]:
    """Where ExecStart differs. A command with a specifier that only the host resolves is not compared."""
    if len(disk.exec_start) != len(held.exec_start):
        return [f"ExecStart: {len(disk.exec_start)} on disk, {len(held.exec_start)} loaded"]
    return [
        f"ExecStart ({ours.where}): {difference(list(ours.argv), list(theirs))}"
        for ours, theirs in zip(disk.exec_start, held.exec_start, strict=True)
        if not ours.notes and with_plain_path(ours.argv) != with_plain_path(theirs)
    ]


def with_plain_path(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments, the program's path without doubled slashes."""
    return (re.sub(r"/+", "/", argv[0]), *argv[1:]) if argv else ()


def difference(disk: list[str], held: list[str]) -> str:
    """What two argument lists differ by, in words."""
    only_disk = [word for word in disk if word not in held]
    only_held = [word for word in held if word not in disk]
    parts = [f"only on disk: {' '.join(only_disk)}"] * bool(only_disk) + [
        f"only loaded: {' '.join(only_held)}"
    ] * bool(only_held)
    return "; ".join(parts) or "the same words in another order or number"


def environment(disk: unit_file.EffectiveUnit, held: LoadedCommand) -> list[str]:
    """Where Environment= and EnvironmentFile= differ."""
    lines = [f"Environment {name}: {words}" for name, words in variables(disk, held).items()]
    on_disk = [re.sub(r"/+", "/", path) for path in disk.environment_files if path.startswith("/")]
    loaded = [re.sub(r"/+", "/", path.removeprefix("-")) for path in held.environment_files]
    if on_disk != loaded and not any("%" in path for path in on_disk):
        lines.append(f"EnvironmentFile: on disk {on_disk}, loaded {loaded}")
    return lines


def variables(disk: unit_file.EffectiveUnit, held: LoadedCommand) -> dict[str, str]:
    """Variables of Environment= that differ, each with both values. systemd ignores names that none can have."""
    open_ = {note.split(" in ")[-1].split()[0] for note in disk.notes if note.endswith(BY_HOST)}
    wanted = {
        name: each.value for name, each in disk.environment.items() if re.fullmatch(r"[A-Za-z_]\w*", name)
    }
    names = sorted((wanted.keys() | held.environment.keys()) - open_)
    return {
        name: f"on disk {shown(wanted, name)}, loaded {shown(held.environment, name)}"
        for name in names
        if wanted.get(name) != held.environment.get(name)
    }


def shown(values: Mapping[str, object], name: str) -> str:
    """A variable's value, or that there is none."""
    return repr(values[name]) if name in values else "nothing"


def word(*allowed: str) -> Callable[[str], str | None]:
    """A setting that is one of these words; systemd ignores any other."""
    return lambda text: text if text in allowed else None


def user(text: str) -> str | None:
    """A user or group by name or number."""
    return text if re.fullmatch(r"[A-Za-z0-9_][\w.-]{0,30}", text) else None


def path(text: str) -> str | None:
    """An absolute path without specifiers."""
    return text.rstrip("/") if re.fullmatch(r"/[^%]+", text) and "//" not in text else None


def size(text: str) -> str | None:
    """A number as `systemctl show` prints it: the hard one of `soft:hard`, suffixes by 1024."""
    found = re.fullmatch(r"(?:[^:]+:)?(?:(infinity)|(\d{1,15})([KMGT]?))", text)
    if found is None:
        return None
    return found[1] or str(int(found[2]) * 1024 ** " KMGT".index(found[3] or " "))


PLAIN: Mapping[str, Callable[[str], str | None]] = {
    "User": user,
    "Group": user,
    "WorkingDirectory": path,
    "RootDirectory": path,
    "Restart": word("no", "always", "on-success", "on-failure", "on-abnormal", "on-abort", "on-watchdog"),
    "KillMode": word("control-group", "process", "mixed", "none"),
    **dict.fromkeys(("LimitNOFILE", "LimitMEMLOCK", "LimitNPROC", "LimitCORE", "LimitSTACK"), size),
    **dict.fromkeys(("MemoryMax", "MemoryHigh", "MemorySwapMax"), size),
}
"""Settings of [Service] that `systemctl show` tells as the file has them, and how each is read; None: not compared."""


def plain_settings(disk: unit_file.EffectiveUnit, unit: Unit) -> list[str]:
    """Where a plain setting that stands on disk is held otherwise. One that was taken out is not noticed here."""
    lines: list[str] = []
    for key, read in PLAIN.items():
        stated = disk.settings.get(("Service", key), ())
        value = read(stated[-1].value) if stated else None
        held = unit.properties.get(key)
        if value is not None and held not in (None, value):
            lines.append(f"{key} ({stated[-1].where}): on disk {value}, loaded {held or 'nothing'}")
    return lines
