"""Who can reach the port, and where keys can be read.

Law: pure. No secret is known here: what was one reads `****` by the time a rule sees it, and that is the
proof that it stood there.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, replace

from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.sockets import Listener
from pytest_dflash.facts.systemd import LoadedCommand, UnitFiles
from pytest_dflash.findings import Evidence, Judgement, failed, not_applicable, passed, unproven
from pytest_dflash.redaction import MASK, MIN_LENGTH, carries_secret
from pytest_dflash.rules.judge import HEAR, Expectation, compare, evidence
from pytest_dflash.witness.chain import Chain

EVERYWHERE = frozenset({"0.0.0.0", "::", "*"})  # noqa: S104 - what is looked for, not what is bound


def bind(
    listeners: Reading[tuple[Listener, ...]],
    port: int | None,
    expected: str | None,
    processes: Reading[tuple[Process, ...]],
) -> Judgement:
    """The port is bound to the expected address and to no other. What else the unit opens is told beside it."""
    if expected is None:
        return not_applicable("no exposure.bind is expected")
    if port is None:
        return unproven("which port the service listens on is not known", expected=expected, remedy=HEAR)
    reading: Reading[list[str]]
    if isinstance(listeners, Value):
        addresses = sorted({each.address for each in listeners.value if each.port == port})
        reading = (
            Value(addresses, listeners.where) if addresses else Absent(f"ss: nobody listens on port {port}")
        )
    else:
        reading = listeners
    judgement = compare(
        "ss -ltnp",
        reading,
        Expectation[list[str]](
            f"address that port {port} is bound to",
            expected,
            lambda found: all(same_address(each, expected) for each in found),
            shown=list,
            cause="the engine was started with another --host, or a proxy publishes the port",
            remedy=f"start the engine with --host {expected}, or put a proxy with keys before it",
        ),
    )
    others = doors(listeners, port, processes)
    if not others:
        return judgement
    note = f"; the unit also listens on {', '.join(others)}, reachable from outside"
    return replace(
        judgement,
        summary=judgement.summary + note,
        evidence=(
            *judgement.evidence,
            Evidence(
                source="other sockets of the unit", reading="value", value=list(others), where="ss -ltnp"
            ),
        ),
    )


def doors(
    listeners: Reading[tuple[Listener, ...]], port: int, processes: Reading[tuple[Process, ...]]
) -> list[str]:
    """Other sockets of the unit that are not bound to loopback (torch.distributed opens one on every address)."""
    if not isinstance(listeners, Value) or not isinstance(processes, Value):
        return []
    ours = {process.pid for process in processes.value}
    return sorted(
        {
            f"{each.address}:{each.port}"
            for each in listeners.value
            if each.port != port and ours & set(each.pids or ()) and not loopback(each.address)
        }
    )


def plain(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address without its scope, IPv4 out of its IPv6 form; None for anything else."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def loopback(address: str) -> bool:
    """Whether only the host itself reaches this address."""
    found = plain(address)
    return found is not None and found.is_loopback


def same_address(found: str, expected: str) -> bool:
    """Whether two spellings name one address; `*` is every address, and one loopback is as closed as the other."""
    if found in EVERYWHERE or expected in EVERYWHERE:
        return found in EVERYWHERE and expected in EVERYWHERE
    if loopback(found) and loopback(expected):
        return True
    return found == expected or (plain(found) is not None and plain(found) == plain(expected))


def key_required(status: Reading[int], expected: bool | None) -> Judgement:  # noqa: FBT001 - the profile's own value
    """Without a key the service refuses, or answers, as expected. `status` is that of a passive route."""
    if expected is None:
        return not_applicable("no exposure.key_required is expected")
    if isinstance(status, Value) and status.value not in {401, 403} and not 200 <= status.value < 300:
        status = Silent(f"HTTP {status.value} neither answers nor refuses", status.where)
    return compare(
        "GET /v1/models without a key",
        status,
        Expectation[int](
            "answer to a request without a key",
            "a refusal (HTTP 401 or 403)" if expected else "an answer (HTTP 200)",
            lambda found: (found in {401, 403}) is expected,
            shown=lambda found: f"HTTP {found}",
            cause="no key is set, so whoever reaches the port may use the model"
            if expected
            else "a key is set",
            remedy="start the engine with a key, given by a file or by the environment, not on the command line"
            if expected
            else "set exposure.key_required = true and endpoint.api_key_env in the profile",
        ),
    )


def key_hidden(chain: Chain, process: Reading[Process]) -> Judgement:
    """No key can be read in command line, unit file, manager, log, or the engine's answer.

    Command line, unit file and log must be heard: who reads a log that is closed to this run is not known. The
    engine's answer is looked at where it speaks, as what it does not tell us it tells nobody; the summary names it.
    """
    places = (
        Place(
            "process_argv",
            "the command line",
            "which every user of the host can read",
            on_command_line(process),
        ),
        Place(
            "unit_file",
            "the unit file",
            "which every user of the host can read",
            in_files(chain.sources.unit_files),
        ),
        Place(
            "loaded_unit",
            "Environment=",
            "which `systemctl show` tells every user",
            held(chain.sources.loaded),
        ),
        Place(
            "server_args_log",
            "the journal",
            "where the engine prints its arguments",
            logged(chain, process),
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
            cause="engines print their arguments unmasked, and argv and unit files are public",
            remedy="change the key, then pass it by a file or by an EnvironmentFile that only the service may read "
            "(mode 0600)",
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
    read = ", ".join(place.what for place in places if place not in unheard)
    rest = f"; not looked at: {', '.join(place.what for place in unheard)}" if unheard else ""
    named = chain.sources.unit_files
    by_file = isinstance(named, Value) and any(MASK in each.text for each in named.value.environment_files)
    rest += "; who may read the key's EnvironmentFile= was not looked at" if by_file else ""
    return passed(f"no key stands in {read}{rest}", expected=[], observed=[], evidence=silent)


NEEDED = ("process_argv", "unit_file", "server_args_log")
"""The places without which nothing can be said."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key might stand. `who` can read it there; `names` that were found with a key."""

    witness: str
    what: str
    who: str
    names: Reading[list[str]]


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
    """The lines of unit file and drop-ins that carry a key, comments too: by their places, without the text."""
    if not isinstance(files, Value):
        return files if isinstance(files, Silent) else Value([], files.where)
    found = [*([files.value.fragment] if files.value.fragment else []), *files.value.drop_ins]
    return Value(
        [
            f"{file.path}:{number}"
            for file in found
            for number, line in enumerate(file.text.splitlines(), 1)
            if MASK in line
        ],
        files.where,
    )


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
