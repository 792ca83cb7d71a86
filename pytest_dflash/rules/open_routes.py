"""Which routes answer without a key, where one is required.

Law: pure. A status speaks for itself: 401 and 403 refuse, 404 means that there is no such route, a redirect leads
to somebody who decides; everything else below 500 comes from behind the guard, also "wrong method" (405).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_dflash.engines.dialect import Route
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Evidence, Judgement, failed, not_applicable, passed, unproven
from pytest_dflash.rules.judge import evidence

REFUSES = frozenset({401, 403, 407})
ABSENT = frozenset({404, 410, 501})


def routes_guarded(
    routes: Sequence[Route],
    statuses: Mapping[str, Reading[int]],
    required: bool | None,  # noqa: FBT001 - the profile's own value
) -> Judgement:
    """No route that serves the model or moves the engine answers without a key.

    Args:
        routes: Those of the engine.
        statuses: What a GET without a key was answered, by path.
        required: Whether the profile says that the service needs a key.
    """
    if not required:
        return not_applicable("exposure.key_required is not true: no key is expected to guard a route")
    heard = {route: statuses.get(route.path, Silent("it was not asked")) for route in routes}
    opened = [route for route, status in heard.items() if _open(status)]
    serving = [route for route in opened if route.serves]
    if serving:
        return failed(
            f"{_count(serving)} without the key: "
            + ", ".join(f"{route.path} ({route.gives})" for route in serving),
            expected=[],
            observed=[route.path for route in serving],
            evidence=_told(heard, opened),
            cause="the engine's key guards some paths only, or no key is set",
            remedy="put a proxy before the port that asks for the key on every path, and bind the engine to loopback",
        )
    unheard = [(route, status) for route, status in heard.items() if route.serves and _unheard(status)]
    if unheard:
        route, status = unheard[0]
        why = status.why if isinstance(status, Silent) else f"HTTP {getattr(status, 'value', '?')}"
        more = f" ({len(unheard)} routes in all)" if unheard[1:] else ""
        return unproven(
            f"whether {route.path} is guarded could not be told: {why}{more}",
            expected=[],
            evidence=tuple(evidence(f"GET {each.path} without a key", said) for each, said in unheard),
            remedy="ask again when the service answers; read the engine's log at the time of the request",
        )
    refused = sum(isinstance(each, Value) and each.value in REFUSES for each in heard.values())
    if not refused:
        return unproven(
            "no route refuses without the key: each answers that it is elsewhere or is not there, so no guard was seen",
            expected=[],
            observed=[],
            remedy="ask past the proxy: set endpoint.url to the address of the engine or of the guard itself",
        )
    notes = (
        f"; without it answer {', '.join(f'{each.path} ({each.gives})' for each in opened)}" if opened else ""
    )
    return passed(
        f"{refused} routes refuse without the key, none that serves answers{notes}",
        expected=[],
        observed=[],
        evidence=_told(heard, opened),
    )


def _count(routes: Sequence[Route]) -> str:
    return "1 route answers" if len(routes) == 1 else f"{len(routes)} routes answer"


def _open(status: Reading[int]) -> bool:
    return (
        isinstance(status, Value)
        and status.value not in REFUSES | ABSENT
        and not 300 <= status.value < 400
        and (status.value < 500)
    )


def _unheard(status: Reading[int]) -> bool:
    return not isinstance(status, Value) or (status.value >= 500 and status.value not in ABSENT)


def _told(heard: Mapping[Route, Reading[int]], opened: Sequence[Route]) -> tuple[Evidence, ...]:
    return tuple(
        evidence(
            f"GET {route.path} without a key", heard[route], f"HTTP {getattr(heard[route], 'value', '')}"
        )
        for route in opened
    )
