"""Who can reach the port, and whether a key is asked for.

Law: pure. Where keys can be read is told by `kept_keys`.
"""

from __future__ import annotations

import ipaddress
from dataclasses import replace

from pytest_dflash.facts.procfs import Process
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.facts.sockets import Listener
from pytest_dflash.findings import Evidence, Judgement, not_applicable, unproven
from pytest_dflash.rules.judge import HEAR, Expectation, compare

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
