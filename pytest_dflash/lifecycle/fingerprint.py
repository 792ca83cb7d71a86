"""What a unit is, so that afterwards it can be told whether it is the same again.

Law: pure. Differences are told in words; those that this run did not make are somebody else's, and stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_dflash.errors import Refused
from pytest_dflash.facts.probe import Probe
from pytest_dflash.facts.reading import Silent, Value
from pytest_dflash.facts.systemd import LOADED_COMMAND, UNIT_PROPERTIES, LoadedCommand, Unit, UnitFiles
from pytest_dflash.facts.transcript import Transcript
from pytest_dflash.facts.unit_lookup import UNIT_FILES
from pytest_dflash.lifecycle import dropin

PROBES: tuple[Probe[Any], ...] = (UNIT_PROPERTIES, LOADED_COMMAND, UNIT_FILES)
LIMITS = (
    "MemoryMax",
    "CPUQuotaPerSecUSec",
    "TasksMax",
    "LimitNOFILE",
    "LimitMEMLOCK",
    "User",
    "Type",
    "Restart",
)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The unit at one moment."""

    unit: Unit
    loaded: LoadedCommand
    files: UnitFiles
    boot_id: str = ""

    @property
    def texts(self) -> Mapping[str, str]:
        """Every file that speaks for the unit, by path; masked ones are empty."""
        disk = [*self.files.drop_ins, *self.files.environment_files]
        disk += [self.files.fragment] if self.files.fragment else []
        return {**dict.fromkeys(self.files.masked, ""), **{file.path: file.text for file in disk}}

    @property
    def held(self) -> Mapping[str, object]:
        """What the manager holds, by name."""
        return {
            "ExecStart": self.loaded.exec_start,
            "Environment": dict(self.loaded.environment),
            "EnvironmentFile": self.loaded.environment_files,
            "UnitFileState": self.unit.unit_file_state,
            "DropInPaths": self.unit.drop_in_paths,
            **{name: self.unit.properties.get(name, "") for name in LIMITS},
        }


def read(transcript: Transcript) -> Fingerprint:
    """The fingerprint that a transcript holds.

    Raises:
        Refused: One of its parts could not be heard.
    """
    unit, loaded, files = (
        transcript.reading(probe) for probe in (UNIT_PROPERTIES, LOADED_COMMAND, UNIT_FILES)
    )
    if not (isinstance(unit, Value) and isinstance(loaded, Value) and isinstance(files, Value)):
        silent = next((each.why for each in (unit, loaded, files) if isinstance(each, Silent)), "no answer")
        raise Refused(f"what the unit is cannot be told, so it could not be put back: {silent}")
    first = transcript.first
    boot_id = first.value.boot_id if isinstance(first, Value) else ""
    return Fingerprint(unit.value, loaded.value, files.value, boot_id)


def rebooted(before: Fingerprint, after: Fingerprint) -> str:
    """A sentence where the host was rebooted between the two, else ""."""
    if before.boot_id == after.boot_id or not (before.boot_id and after.boot_id):
        return ""
    return (
        f"the host was rebooted meanwhile (boot {before.boot_id[:8]} ended, {after.boot_id[:8]} runs), which took "
        "drop-in, lock and lease away"
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs. `ours`: what this run must answer for. `others`: edits of somebody else, which stay."""

    ours: tuple[str, ...]
    others: tuple[str, ...]


def compare(before: Fingerprint, after: Fingerprint) -> Comparison:
    """What is not as it was."""
    ours = [f"the drop-in {path} is still there" for path in dropin.left_behind(after.files)]
    ours += [
        f"the manager still holds the drop-in {path}"
        for path in after.unit.drop_in_paths
        if path.rpartition("/")[2].startswith(dropin.PREFIX)
    ]
    if before.unit.active_state != after.unit.active_state:
        ours.append(f"the unit is {after.unit.active_state}, and was {before.unit.active_state}")
    old, new = before.texts, after.texts
    others = [
        f"{path} was {'edited' if path in old and path in new else 'added' if path in new else 'removed'} meanwhile"
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path) and not path.rpartition("/")[2].startswith(dropin.PREFIX)
    ]
    moved = [
        f"the manager holds another {name} ({after.held[name]}, and held {value})"
        for name, value in before.held.items()
        if value != after.held[name]
    ]
    # With a file of somebody else's edited, the manager rightly holds something else after the reload.
    return Comparison(tuple(ours if others else ours + moved), tuple(others + moved if others else others))
