"""What is right about the endpoint, apart from the text of an answer.

Law: pure. That something answers on the port proves nothing: it must be the unit's own process, of the
invocation that was read, and the model that was meant.
"""

from __future__ import annotations

from pytest_dflash.engines.dialect import Load
from pytest_dflash.facts.identity import Identity, movement
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Judgement, failed, not_applicable, passed, unproven
from pytest_dflash.lifecycle.phase import Observation
from pytest_dflash.rules.judge import HEAR, Expectation, compare, evidence


def served_model(models: Reading[tuple[str, ...]], expected: str | None) -> Judgement:
    """The endpoint offers the expected model. Without an expectation: it offers one at all."""
    return compare(
        "GET /v1/models",
        models,
        Expectation[tuple[str, ...]](
            "served model",
            expected or "any",
            lambda found: expected in found if expected else bool(found),
            shown=list,
            cause="another service answers on this port, or --served-model-name was changed",
            remedy="compare service.served_model in the profile with --served-model-name of the unit",
        ),
    )


ASLEEP = "the engine sleeps: it lists its models, and answers nothing until it is woken"
WAKE = "wake it by its route, or restart the unit; then keep that route from others"


def awake(load: Reading[Load]) -> Judgement:
    """The engine was not put to sleep: it would list its models, and answer nothing."""
    told = load.value.asleep if isinstance(load, Value) else None
    if told is None:
        why = load.why if isinstance(load, Silent) else "it has no such counter"
        return not_applicable(f"the engine does not tell whether it sleeps: {why}")
    rest = {"expected": "awake", "observed": "asleep" if told else "awake"}
    shown = (evidence("engine", load, rest["observed"]),)
    if told:
        return failed(
            ASLEEP,
            cause="somebody called the route that puts it to sleep, as a training loop does between its rounds",
            remedy=WAKE,
            evidence=shown,
            **rest,
        )
    return passed("the engine is awake", evidence=shown, **rest)


def same_process(first: Reading[Identity], last: Reading[Identity], seen: Observation) -> Judgement:
    """Who was read at the start still runs at the end, and it is he who answers: all that was found is about one process.

    A container's port is owned by a proxy, which says nothing of who is behind it; but it must have been seen.
    """
    for when, reading in (("at the start", first), ("at the end", last)):
        if not isinstance(reading, Value):
            why = reading.why if isinstance(reading, Silent) else "the unit has no process"
            return unproven(
                f"which process runs was not told {when}: {why}",
                evidence=(evidence("systemctl show", reading),),
                remedy=HEAR,
            )
    assert isinstance(first, Value)  # the loop above has looked
    assert isinstance(last, Value)  # as above
    moved = movement(first.value, last.value)
    if moved:
        return failed(
            f"the answers of this run are not of one process: {moved}",
            expected=first.value.invocation_id,
            observed=last.value.invocation_id,
            cause="the unit crashed or was restarted while it was tested",
            remedy="`journalctl -u` the unit tells how the first one ended; run again when it stays up",
        )
    if seen.owner_in_unit is None and not (seen.containers and seen.owner):
        return unproven(
            f"one process (pid {first.value.main_pid}) ran from the first fact to the last request; whether it is the one "
            f"that answers{'' if seen.port is None else f' on port {seen.port}'} could not be seen",
            expected="a process of the unit",
            observed="who owns the port is hidden",
            remedy=HEAR,
        )
    return passed(
        f"one process (pid {first.value.main_pid}) answered from the first fact to the last request",
        expected=first.value.invocation_id,
        observed=last.value.invocation_id,
    )
