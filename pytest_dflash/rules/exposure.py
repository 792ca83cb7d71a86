"""Who can reach the port, and where keys can be read.

Law: pure. No secret is known here: what was one reads `****` by the time a rule sees it, and that is the
proof that it stood there.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.sockets import Listener
from pytest_dflash.findings import Evidence, Judgement, failed, not_applicable, passed, unproven
from pytest_dflash.redaction import MASK, carries_secret
from pytest_dflash.rules.judge import HEAR, Expectation, compare, evidence
from pytest_dflash.witness.chain import Chain

EVERYWHERE = frozenset({"0.0.0.0", "::", "*"})  # noqa: S104 - what is looked for, not what is bound
PLACES = {
    "process_argv": ("the command line, which every user of the host can read", "/proc/PID/cmdline"),
    "unit_file": ("the unit file, which every user of the host can read", "systemctl cat"),
    "server_args_log": ("the journal", "journalctl -u"),
    "server_info": ("the engine's own answer over HTTP", "GET /server_info"),
}
"""Witness to where a key of it can be read."""


def bind(listeners: Reading[tuple[Listener, ...]], port: int | None, expected: str | None) -> Judgement:
    """The port is bound to the expected address and to no other."""
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
    return compare(
        "ss -ltnp",
        reading,
        Expectation[list[str]](
            f"address that port {port} is bound to",
            expected,
            lambda found: all(same_address(each, expected) for each in found),
            shown=lambda found: list(found),
            cause="the engine was started with another --host, or a proxy publishes the port",
            remedy=f"start the engine with --host {expected}, or put a proxy with keys before it",
        ),
    )


def same_address(found: str, expected: str) -> bool:
    """Whether two spellings name one address; `*` is every address."""
    if found in EVERYWHERE or expected in EVERYWHERE:
        return found in EVERYWHERE and expected in EVERYWHERE
    try:
        return ipaddress.ip_address(found.partition("%")[0]) == ipaddress.ip_address(expected)
    except ValueError:
        return found == expected


def key_required(status: Reading[int], expected: bool | None) -> Judgement:  # noqa: FBT001 - the profile's own value
    """Without a key the service refuses, or answers, as expected. `status` is that of a passive route."""
    if expected is None:
        return not_applicable("no exposure.key_required is expected")
    return compare(
        "GET /v1/models without a key",
        status,
        Expectation[int](
            "a request without a key",
            "refused (401 or 403)" if expected else "answered",
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
    """No key can be read in the command line, the unit file, the log, or the engine's answer."""
    shown: list[Evidence] = []
    silent: list[Evidence] = []
    for witness, (place, where) in PLACES.items():
        reading = chain.heard[witness]
        if not isinstance(reading, Value):
            silent.append(evidence(witness, reading))
            continue
        names = sorted(
            name for name, value in reading.value.values.items() if value == MASK and carries_secret(name)
        )
        if names:
            text = f"{', '.join(names)} in {place}"
            shown.append(Evidence(source=witness, reading="value", value=text, where=where))
    if shown:
        return failed(
            f"a key can be read: {shown[0].value}",
            expected=[],
            observed=[each.value for each in shown],
            evidence=tuple(shown),
            cause="engines print their arguments unmasked, and argv is public",
            remedy="change the key, then pass it by a file or by an EnvironmentFile that only the service may read (mode 0600)",
        )
    unheard = [each for each in silent if each.source in needed(process)]
    if unheard:
        return unproven(
            f"whether a key can be read could not be told: {unheard[0].source}: {unheard[0].why or 'it is not there'}",
            evidence=tuple(silent),
            remedy=HEAR,
        )
    return passed(
        "no key stands in command line, unit file, log or info",
        expected=[],
        observed=[],
        evidence=tuple(silent),
    )


def needed(process: Reading[Process]) -> Sequence[str]:
    """The witnesses without which nothing can be said: the command line, where a process runs at all."""
    return ("process_argv",) if isinstance(process, (Value, Silent)) else ("unit_file",)
