"""A load beside itself without speculation: what was measured has to lie apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_dflash.facts.reading import Value
from pytest_dflash.findings import Outcome, unproven
from pytest_dflash.load.measurement import Measurement
from pytest_dflash.load.phase import Stop
from pytest_dflash.load.sampling import Beside, Sight
from pytest_dflash.rules import speculation_pays
from tests.rules.loads import SLOW, load, measured, refused, request
from tests.rules.test_under_load import IDLE, XID, look, working

FOREIGN = Beside(foreign=(Sight(at_s=1.0, running=4, queued=2, ours=1),))


def plain(tpot_s: float, **more: object) -> Measurement:
    found = measured(load(), tpot_s=tpot_s, accept_length=None, **more)  # type: ignore[arg-type]  # a test's own
    return replace(found, label="without speculation")


def test_a_load_that_is_faster_than_plain_decoding_pays_and_says_by_how_much() -> None:
    found = speculation_pays.measured(measured(load()), plain(0.05), 1)
    assert found.outcome is Outcome.PASS
    assert found.summary.startswith("speculation pays: 2.36 times plain decoding (45.9")
    assert found.param == "chat"
    assert found.measures["speculation_gain"] == pytest.approx(2.36, abs=0.01)


def test_a_load_that_is_slower_than_plain_decoding_fails() -> None:
    found = speculation_pays.measured(measured(load()), plain(0.01), 1)
    assert found.outcome is Outcome.FAIL
    assert found.summary.startswith("speculation costs more than it saves: 0.55 times")


def test_rates_whose_bounds_overlap_prove_nothing() -> None:
    found = speculation_pays.measured(measured(load()), plain(0.0202), 1)
    assert found.outcome is Outcome.UNPROVEN
    assert found.summary.startswith("whether speculation pays is not decided: 1.01 times plain decoding")


def test_an_engine_that_may_draft_all_the_same_is_nothing_to_compare_with() -> None:
    drafting = unproven("without its flags of speculation the engine still tells verify steps")
    found = speculation_pays.measured(measured(load()), plain(0.05), 1, drafting=drafting)
    assert found.outcome is Outcome.UNPROVEN
    assert found.summary == drafting.summary
    assert found.param == "chat"


@pytest.mark.parametrize(
    "other, words",
    [
        (plain(0.05, beside=FOREIGN), "without speculation: foreign_traffic"),
        (
            plain(0.05, stop=Stop.ABORTED, why="a new Xid"),
            "without speculation: the load was ended: a new Xid",
        ),
        (plain(0.0225, instrument=SLOW), "without speculation: this machine was too busy to measure"),
    ],
)
def test_what_slowed_plain_decoding_down_proves_no_gain(other: Measurement, words: str) -> None:
    found = speculation_pays.measured(measured(load()), other, 1)
    assert found.outcome is Outcome.UNPROVEN
    assert words in found.summary


def test_what_slowed_speculation_down_proves_no_loss_and_no_doubt_of_a_gain() -> None:
    lost = speculation_pays.measured(measured(load(), beside=FOREIGN), plain(0.01), 1)
    assert lost.outcome is Outcome.UNPROVEN
    won = speculation_pays.measured(measured(load(), beside=FOREIGN), plain(0.05), 1)
    assert won.outcome is Outcome.PASS


def test_a_load_without_an_answer_has_no_rate_to_compare() -> None:
    found = speculation_pays.measured(
        measured(load()), replace(plain(0.05), result=measured(load(), []).result), 1
    )
    assert found.outcome is Outcome.UNPROVEN
    assert found.summary == "no repeat of 'chat' without speculation has a total rate"


def test_the_plain_load_is_over_as_soon_as_both_lie_apart() -> None:
    enough = speculation_pays.apart(measured(load()), 1)
    slow = plain(0.05).result.repeats
    assert not enough(slow[:3])
    assert enough(slow)
    assert not enough(plain(0.0202).result.repeats)
    assert not speculation_pays.apart(measured(load(), [[request(0, chunks=2, output_tokens=None)]]), 1)(())


def test_a_plain_run_with_requests_that_failed_proves_no_gain() -> None:
    bad = refused()
    some = measured(load(), [[request(at, tpot_s=0.05), bad] for at in range(8)], accept_length=None)
    found = speculation_pays.measured(measured(load()), replace(some, label="without speculation"), 1)
    assert found.outcome is Outcome.UNPROVEN
    assert found.summary.endswith("without speculation: 8 of 16 requests were not answered")


def test_a_host_that_is_not_sound_without_speculation_proves_no_gain() -> None:
    xid = Beside(samples=(IDLE, look(Value(working()), 4, XID)))
    found = speculation_pays.measured(measured(load()), plain(0.05, beside=xid), 1)
    assert found.outcome is Outcome.UNPROVEN
    assert "without speculation: under load the driver reported Xid 79" in found.summary
