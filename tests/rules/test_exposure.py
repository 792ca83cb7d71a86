"""Who can reach the port, and where keys can be read."""

from __future__ import annotations

import pytest

from pytest_dflash.facts.reading import Value
from pytest_dflash.facts.sockets import Listener
from pytest_dflash.findings import Outcome
from pytest_dflash.rules import exposure
from tests.rules.healthy_host import NOT_HEARD, processes


def listening(*addresses: str) -> Value[tuple[Listener, ...]]:
    return Value(tuple(Listener(address, 30000, (7,)) for address in addresses), "ss -ltnpH")


@pytest.mark.parametrize(
    "found, expected, outcome",
    [
        (("127.0.0.1",), "127.0.0.1", "pass"),
        (("::ffff:127.0.0.1",), "127.0.0.1", "pass"),
        (("127.0.0.1", "::1"), "127.0.0.1", "pass"),
        (("fe80::1%eth0",), "fe80::1", "pass"),
        (("*",), "0.0.0.0", "pass"),
        (("0.0.0.0", "::"), "0.0.0.0", "pass"),
        (("10.0.0.1",), "10.0.0.1", "pass"),
        (("*",), "127.0.0.1", "fail"),
        (("::",), "127.0.0.1", "fail"),
        (("0.0.0.0",), "127.0.0.1", "fail"),
        (("127.0.0.1", "10.0.0.1"), "127.0.0.1", "fail"),
        (("127.0.0.1",), "0.0.0.0", "fail"),
        ((), "127.0.0.1", "fail"),
    ],
)
def test_the_port_is_bound_as_expected_or_not(found: tuple[str, ...], expected: str, outcome: str) -> None:
    assert exposure.bind(listening(*found), 30000, expected, processes(7)).outcome == outcome


def test_other_doors_of_the_unit_are_noted_and_not_judged() -> None:
    sockets = (
        *listening("127.0.0.1").value,
        Listener("*", 29293, (7,)),
        Listener("127.0.0.1", 29500, (7,)),
        Listener("*", 22, (1,)),
    )
    judgement = exposure.bind(Value(sockets), 30000, "127.0.0.1", processes(7))
    assert judgement.outcome is Outcome.PASS
    assert judgement.summary == (
        "address that port 30000 is bound to: 127.0.0.1; the unit also listens on *:29293, reachable from outside"
    )


def test_a_bind_that_cannot_be_seen_is_unproven_and_none_expected_is_not_applicable() -> None:
    assert exposure.bind(NOT_HEARD, 30000, "127.0.0.1", processes(7)).outcome is Outcome.UNPROVEN
    assert exposure.bind(listening("*"), None, "127.0.0.1", processes(7)).outcome is Outcome.UNPROVEN
    assert exposure.bind(listening("*"), 30000, None, processes(7)).outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(
    "status, expected, outcome",
    [
        (401, True, "pass"),
        (403, True, "pass"),
        (200, True, "fail"),
        (200, False, "pass"),
        (401, False, "fail"),
        (503, True, "unproven"),
        (404, False, "unproven"),
        (302, False, "unproven"),
    ],
)
def test_a_request_without_a_key_is_refused_or_answered(status: int, expected: bool, outcome: str) -> None:  # noqa: FBT001 - the profile's own value
    judgement = exposure.key_required(Value(status), expected)
    assert judgement.outcome == outcome, judgement.summary
    assert "answer to a request without a key" in judgement.summary


def test_the_request_without_a_key_may_be_unheard_or_unexpected() -> None:
    assert exposure.key_required(NOT_HEARD, True).outcome is Outcome.UNPROVEN  # noqa: FBT003 - the profile's own value
    assert exposure.key_required(Value(200), None).outcome is Outcome.NOT_APPLICABLE
