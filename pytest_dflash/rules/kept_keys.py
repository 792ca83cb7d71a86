"""Where keys can be read.

Law: pure. No secret is known here: what was one reads `****` by the time a rule sees it, and that is the
proof that it stood there.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_dflash.facts.key_files import KEYS, SETTINGS, KeyFile
from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Reading, Silent, Value, known
from pytest_dflash.facts.systemd import DiskFile, LoadedCommand, UnitFiles
from pytest_dflash.findings import Evidence, Judgement, failed, passed, unproven
from pytest_dflash.redaction import MASK, MIN_LENGTH, carries_secret
from pytest_dflash.rules.judge import HEAR, evidence
from pytest_dflash.witness import startup
from pytest_dflash.witness.chain import Chain


def key_hidden(chain: Chain, process: Reading[Process], key_files: Reading[tuple[KeyFile, ...]]) -> Judgement:
    """No key can be read in command line, files that it names, unit file, EnvironmentFile=, manager, log, or the engine's answer.

    Command line, files and log must be heard: who reads a log that is closed to this run is not known. A file
    that is closed to it is closed to others as well. The engine's answer is looked at where it speaks, as what
    it does not tell us it tells nobody; the summary names it.
    """
    files = chain.sources.unit_files
    with_keys = keyed(files)
    named = holding_keys(key_files, chain.sources.config_files)
    places = (
        Place("process_argv", "the command line", OPEN, on_command_line(process)),
        Place("unit_file", "the unit file", f"which `systemctl cat` or {SHOWN}", in_files(files)),
        Place("environment_file", "EnvironmentFile=", OPEN, in_open_files(with_keys)),
        Place("named_file", "a file that the command line names", OPEN, named_open(key_files, named, chain)),
        Place("loaded_unit", "Environment=", f"which {SHOWN}", held(chain.sources.loaded)),
        Place(
            "server_args_log", "the journal", "where the engine prints its arguments", logged(chain, process)
        ),
        Place("server_info", "the engine's answer", "GET on a passive route", said(chain, "server_info")),
    )
    shown = [
        Evidence(
            source=place.witness,
            reading="value",
            value=f"{', '.join(place.names.value)} in {place.what}, {place.who}",
            where=place.names.where or None,
        )
        for place in places
        if isinstance(place.names, Value) and place.names.value
    ]
    if shown:
        more = f" (and {len(shown) - 1} more places)" if shown[1:] else ""
        return failed(
            f"a key can be read: {shown[0].value}{more}",
            expected=[],
            observed=[each.value for each in shown],
            evidence=tuple(shown),
            **told_of(shown, with_keys, named),
        )
    unheard = [place for place in places if isinstance(place.names, Silent)]
    silent = tuple(evidence(place.witness, place.names) for place in unheard)
    for place in unheard:
        if place.witness in NEEDED and isinstance(place.names, Silent):
            return unproven(
                f"whether a key can be read could not be told: {place.what}: {place.names.why}",
                evidence=silent,
                remedy=HEAR,
            )
    read = ", ".join(place.what for place in places if place not in unheard and place.witness not in FILES)
    rest = [
        *(["not looked at: " + ", ".join(place.what for place in unheard)] if unheard else []),
        *(f"{file.path} holds one and is closed to other users ({file.access})" for file in with_keys),
        *(f"{path} is closed to this run" for path in unread(files, chain.sources.loaded)),
        *(f"{file.path} of {file.flag} {_told(file)}" for file in named),
    ]
    return passed("; ".join((f"no key stands in {read}", *rest)), expected=[], observed=[], evidence=silent)


OPEN = "which every user of the host can read"
SHOWN = "`systemctl show` tells every user"
FILES = ("environment_file", "named_file")
"""Places where a key may well stand, so long as nobody else reads it."""
NEEDED = ("process_argv", "unit_file", *FILES, "server_args_log")
"""The places without which nothing can be said."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key might stand. `who` can read it there; `names` that were found with a key."""

    witness: str
    what: str
    who: str
    names: Reading[list[str]]


def told_of(
    shown: list[Evidence], with_keys: tuple[DiskFile, ...], named: tuple[KeyFile, ...]
) -> dict[str, str]:
    """Cause and remedy: a file that is merely open is closed; from any other place the key has to go."""
    if not {each.source for each in shown} <= {*FILES}:
        return {
            "cause": "engines print their arguments unmasked, and argv and unit files are public",
            "remedy": "change the key, then pass it by a file or by an EnvironmentFile that only the service may read "
            "(mode 0600)",
        }
    ours = [file.path for file in with_keys if _open(file)]
    theirs = [file.at or file.path for file in named if _open(file)]
    close = f"change the key, then `chmod 0600 {' '.join(map(shlex.quote, [*ours, *theirs]))}`"
    if not theirs:
        return {
            "cause": "systemd itself reads an EnvironmentFile, before it starts the service: nobody else has to",
            "remedy": close,
        }
    return {
        "cause": "the engine reads the file as the service's user, and nobody else has to",
        "remedy": f"{close}; what the engine reads has to belong to the service's user",
    }


def on_command_line(process: Reading[Process]) -> Reading[list[str]]:
    """The arguments that carry a key; a process that is not there shows none."""
    if not isinstance(process, Value):
        return process
    argv, names = process.value.argv, []
    for at, word in enumerate(argv):
        if MASK in word:
            before = argv[at - 1] if at and word.startswith(MASK) else word.partition(MASK)[0]
            names.append(before.strip(" =:\"'").rpartition(" ")[2] or "an argument")
        elif at and _short_key(argv[at - 1], word):
            names.append(argv[at - 1])
        elif _short_key(*word.partition("=")[::2]):
            names.append(word.partition("=")[0])
    return Value(names, f"/proc/{process.value.pid}/cmdline")


def _short_key(flag: str, value: str) -> bool:
    """A key too short to be hidden wherever it recurs is one all the same."""
    given = 0 < len(value) < MIN_LENGTH and not value.startswith(("-", "/", "$"))
    return given and flag.startswith("--") and flag.endswith("api-key") and value.lower() != "none"


def in_files(files: Reading[UnitFiles]) -> Reading[list[str]]:
    """The lines of unit file and drop-ins that carry a key: by their places, without the text.

    Of a file that only some may read the manager tells its settings to all, and its comments to nobody.
    """
    if not isinstance(files, Value):
        return files if isinstance(files, Silent) else Value([], files.where)
    found = [*([files.value.fragment] if files.value.fragment else []), *files.value.drop_ins]
    return Value(
        [
            f"{file.path}:{number}"
            for file in found
            for number, line in enumerate(file.text.splitlines(), 1)
            if MASK in line and not (_closed(file) and line.lstrip().startswith(("#", ";")))
        ],
        files.where,
    )


def keyed(files: Reading[UnitFiles]) -> tuple[DiskFile, ...]:
    """The environment files that hold a key."""
    found = files.value.environment_files if isinstance(files, Value) else ()
    return tuple(file for file in found if MASK in file.text)


def in_open_files(with_keys: tuple[DiskFile, ...]) -> Reading[list[str]]:
    """Of environment files with a key those that every user can read, with owner and mode."""
    open_ = [f"{file.path} ({file.access})" for file in with_keys if _open(file)]
    unseen = [file.path for file in with_keys if file.access is None]
    if unseen and not open_:
        return Silent(f"owner and mode of {unseen[0]}, which holds one, were not told", unseen[0])
    return Value(open_, "stat")


def holding_keys(key_files: Reading[tuple[KeyFile, ...]], texts: Mapping[str, str]) -> tuple[KeyFile, ...]:
    """The files of the command line that are keys, or hold one by their text."""
    found = key_files.value if isinstance(key_files, Value) else ()
    return tuple(file for file in found if file.flag in KEYS or MASK in texts.get(file.path, ""))


def named_open(
    key_files: Reading[tuple[KeyFile, ...]], named: tuple[KeyFile, ...], chain: Chain
) -> Reading[list[str]]:
    """Of those that every user can read, with owner and mode. Each that the command line names must have been looked for."""
    if isinstance(key_files, Silent):
        return key_files
    open_ = [f"{file.path} ({file.access}) of {file.flag}" for file in named if _open(file)]
    told, texts = chain.heard["process_argv"], chain.sources.config_files
    settings = told.value.values if isinstance(told, Value) else {}
    looked = {file.path for file in named if not file.unresolved}
    missed = [
        f"who reads {path} of {flag} was not seen"
        for flag in KEYS
        if isinstance(path := settings.get(flag[2:]), str) and path not in looked
    ] + [
        f"{file.path} of {file.flag} was not read, and every user can read it"
        for file in known(key_files) or ()
        if file.flag in SETTINGS and _open(file) and file.path not in texts
    ]
    if missed and not open_:
        return Silent(missed[0])
    return Value(open_, "stat")


def _told(file: KeyFile) -> str:
    if file.elsewhere:
        return "is below mounts of the service's own, as in a container; who reads it there was not looked at"
    return f"is closed to other users ({file.access})" if file.access else "is closed to this run"


def unread(files: Reading[UnitFiles], loaded: Reading[LoadedCommand]) -> list[str]:
    """The environment files that are closed to this run."""
    return list(startup.unread(files, loaded.value.environment_files)) if isinstance(loaded, Value) else []


def _open(file: DiskFile | KeyFile) -> bool:
    return file.access is not None and file.access.for_all


def _closed(file: DiskFile) -> bool:
    return file.access is not None and not file.access.for_all


def held(loaded: Reading[LoadedCommand]) -> Reading[list[str]]:
    """The variables of the manager's Environment= that carry a key."""
    if not isinstance(loaded, Value):
        return loaded
    return Value([name for name, value in loaded.value.environment.items() if MASK in value], loaded.where)


def logged(chain: Chain, process: Reading[Process]) -> Reading[list[str]]:
    """The settings that carry a key in the log; one that was heard and tells no settings shows none.

    Nor does that of a process that is not there.
    """
    if isinstance(chain.sources.journal, Silent):
        return chain.sources.journal if isinstance(process, Value) else Value([], chain.sources.journal.where)
    told = said(chain, "server_args_log")
    return told if isinstance(told, Value) else Value([], "journal")


def said(chain: Chain, witness: str) -> Reading[list[str]]:
    """The settings that carry a key, as the engine tells them."""
    reading = chain.heard[witness]
    if not isinstance(reading, Value):
        return reading
    return Value(
        sorted(
            name
            for name, value in reading.value.values.items()
            if MASK in str(value) and (carries_secret(name) or not isinstance(value, str))
        ),
        reading.where,
    )
