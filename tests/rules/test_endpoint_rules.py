"""The endpoint, apart from the text of its answers."""

from __future__ import annotations

from dataclasses import replace

from pytest_dflash.engines.dialect import Load
from pytest_dflash.facts.identity import Identity
from pytest_dflash.facts.reading import Absent, Silent, Value
from pytest_dflash.findings import Outcome
from pytest_dflash.lifecycle.phase import Observation
from pytest_dflash.rules import endpoint
from tests.rules.healthy_host import NOT_HEARD

SEEN = Observation(port=30000, owner_in_unit=True)
WHO = Identity("boot", "a" * 32, 4121, 0, 100)


def test_the_expected_model_is_served_or_not() -> None:
    offered = Value(("Kimi-K2.6", "adapter"), "GET /v1/models")
    assert endpoint.served_model(offered, "Kimi-K2.6").summary == "served model: Kimi-K2.6, adapter"
    judgement = endpoint.served_model(offered, "Other")
    assert judgement.outcome is Outcome.FAIL
    assert judgement.summary == "served model: expected Other, found Kimi-K2.6, adapter"


def test_without_an_expectation_any_model_will_do_and_none_will_not() -> None:
    assert endpoint.served_model(Value(("m",)), None).outcome is Outcome.PASS
    assert endpoint.served_model(Value(()), None).summary == "served model: expected any, found none"
    assert endpoint.served_model(NOT_HEARD, None).outcome is Outcome.UNPROVEN


def test_one_process_from_start_to_end_passes() -> None:
    judgement = endpoint.same_process(Value(WHO), Value(WHO), SEEN)
    assert judgement.summary == "one process (pid 4121) answered from the first fact to the last request"


def test_a_port_whose_owner_is_hidden_may_be_another_process_s() -> None:
    """Two on one port, or none of ours: only its owner tells, and only root sees him."""
    judgement = endpoint.same_process(Value(WHO), Value(WHO), replace(SEEN, owner_in_unit=None))
    assert judgement.outcome is Outcome.UNPROVEN
    assert judgement.summary == (
        "one process (pid 4121) ran from the first fact to the last request; whether it is the one that answers on port "
        "30000 could not be seen"
    )
    hidden = replace(SEEN, owner_in_unit=None, containers=True)
    assert endpoint.same_process(Value(WHO), Value(WHO), hidden).outcome is Outcome.UNPROVEN
    behind_a_proxy = replace(hidden, owner="pid 900 (/system.slice/docker.service)")
    assert endpoint.same_process(Value(WHO), Value(WHO), behind_a_proxy).outcome is Outcome.PASS


def test_a_process_that_moved_is_told_with_what_moved() -> None:
    judgement = endpoint.same_process(Value(WHO), Value(replace(WHO, main_pid=5000, start_ticks=900)), SEEN)
    assert judgement.outcome is Outcome.FAIL
    assert "the main process changed (main_pid 4121 -> 5000)" in judgement.summary


def test_who_answered_is_unproven_where_it_was_not_told() -> None:
    for first, last in ((NOT_HEARD, Value(WHO)), (Value(WHO), Silent("gone")), (Value(WHO), Absent())):
        assert endpoint.same_process(first, last, SEEN).outcome is Outcome.UNPROVEN


def test_an_engine_that_was_put_to_sleep_fails_and_one_that_does_not_tell_is_not_judged() -> None:
    asleep = endpoint.awake(Value(Load(0, 0, asleep=True), "/metrics"))
    assert asleep.outcome is Outcome.FAIL
    assert asleep.summary == ("the engine sleeps: it lists its models, and answers nothing until it is woken")
    assert endpoint.awake(Value(Load(1, 0, asleep=False))).outcome is Outcome.PASS
    assert endpoint.awake(Value(Load(0, 0))).outcome is Outcome.NOT_APPLICABLE
    silent = endpoint.awake(Silent("GET /metrics is not there (404)"))
    assert silent.outcome is Outcome.NOT_APPLICABLE
    assert silent.summary == "the engine does not tell whether it sleeps: GET /metrics is not there (404)"
