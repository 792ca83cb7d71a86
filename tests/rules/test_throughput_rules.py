from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_dflash.facts.reading import Silent, Value
from pytest_dflash.findings import Outcome
from pytest_dflash.load import floors
from pytest_dflash.load.phase import Stop
from pytest_dflash.load.records import Failure
from pytest_dflash.load.sampling import Beside, Sight
from pytest_dflash.rules import speculation_pays, throughput
from tests.rules.loads import FAST, SCATTER, SLOW, WHO, load, measured, refused, request

FOREIGN = Beside(foreign=(Sight(at_s=1.0, running=4, queued=2, ours=1),))


def test_a_rate_above_its_floor_passes_with_the_bound_that_proves_it() -> None:
    found = throughput.floor(floors.DECODE, measured(load(min_decode_tokens_per_s_per_request=45)))
    assert found.outcome is Outcome.PASS
    assert found.param == "chat"
    assert found.summary == (
        "decode rate of one request: 50.02 tokens/s, at least 48.68 in 10 repeats; the floor is 45 tokens/s"
    )
    assert found.measures["decode_tokens_per_s_floor"] == 45
    assert len(found.series["values"]) == 10  # type: ignore[arg-type]  # a list


def test_a_rate_below_its_floor_fails() -> None:
    found = throughput.floor(floors.DECODE, measured(load(min_decode_tokens_per_s_per_request=55)))
    assert found.outcome is Outcome.FAIL
    assert found.summary.startswith(
        "decode rate of one request is below its floor of 55 tokens/s: 50.02 tokens/s, at most 51.35 in 10 repeats"
    )


def test_a_rate_too_near_its_floor_is_unproven_and_says_how_many_repeats_it_would_take() -> None:
    found = throughput.floor(floors.DECODE, measured(load(min_decode_tokens_per_s_per_request=49.6)))
    assert found.outcome is Outcome.UNPROVEN
    assert "does not decide the floor of 49.6 tokens/s; about" in found.summary
    assert "repeats" in found.summary
    assert "time_budget_s" in str(found.remedy)


def test_a_measure_without_a_limit_is_shown_and_not_judged() -> None:
    found = throughput.floor(floors.TTFT, measured(load()))
    assert found.outcome is Outcome.NOT_APPLICABLE
    assert found.measures["ttft_p90_ms"] == pytest.approx(204, abs=2)


def test_a_first_token_after_its_ceiling_fails() -> None:
    found = throughput.floor(floors.TTFT, measured(load(max_ttft_ms=100)))
    assert found.outcome is Outcome.FAIL
    assert found.summary.startswith("mean time to the first token is above its ceiling of 100 ms: 200 ms")


def test_a_time_per_token_above_its_ceiling_fails() -> None:
    found = throughput.floor(floors.TPOT, measured(load(max_tpot_ms=15)))
    assert found.outcome is Outcome.FAIL


def test_a_client_that_was_too_slow_proves_no_low_number_and_a_high_one_all_the_same() -> None:
    low = throughput.floor(
        floors.DECODE, measured(load(min_decode_tokens_per_s_per_request=55), instrument=SLOW)
    )
    assert low.outcome is Outcome.UNPROVEN
    assert "proves nothing: this machine was too busy to measure" in low.summary
    high = throughput.floor(
        floors.DECODE, measured(load(min_decode_tokens_per_s_per_request=45), instrument=SLOW)
    )
    assert high.outcome is Outcome.PASS


def test_a_limit_that_is_missed_by_more_than_the_client_was_late_is_missed() -> None:
    ttft = throughput.floor(floors.TTFT, measured(load(max_ttft_ms=50), ttft_s=0.9, instrument=SLOW))
    assert ttft.outcome is Outcome.FAIL
    rate = throughput.floor(
        floors.DECODE, measured(load(min_decode_tokens_per_s_per_request=99), instrument=SLOW)
    )
    assert rate.outcome is Outcome.FAIL
    starved = replace(SLOW, cpu_share=0.9)
    found = throughput.floor(floors.TTFT, measured(load(max_ttft_ms=50), ttft_s=0.9, instrument=starved))
    assert found.outcome is Outcome.UNPROVEN


def test_foreign_requests_prove_no_low_number() -> None:
    found = throughput.floor(
        floors.DECODE, measured(load(min_decode_tokens_per_s_per_request=55), beside=FOREIGN)
    )
    assert found.outcome is Outcome.UNPROVEN
    assert "foreign_traffic: requests that are not ours: 4 running and 2 queued" in found.summary


def test_an_aborted_load_proves_nothing() -> None:
    wanted = load(min_decode_tokens_per_s_per_request=45)
    found = throughput.floor(floors.DECODE, measured(wanted, stop=Stop.ABORTED, why="somebody came"))
    assert found.outcome is Outcome.UNPROVEN
    assert "the load was ended: somebody came" in found.summary


def test_another_process_at_the_end_proves_nothing() -> None:
    after = Value(replace(WHO, main_pid=99))
    found = throughput.floor(
        floors.DECODE, measured(load(min_decode_tokens_per_s_per_request=45), after=after)
    )
    assert found.outcome is Outcome.UNPROVEN
    assert "another process served at the end" in found.summary


def test_prompts_from_the_prefix_cache_prove_no_short_first_token() -> None:
    answers = [[request(at, cached_tokens=480, ttft_s=0.2 * each)] for at, each in enumerate(SCATTER)]
    found = throughput.floor(floors.TTFT, measured(load(max_ttft_ms=900), answers))
    assert found.outcome is Outcome.UNPROVEN
    assert "94% of the prompt tokens came from the prefix cache" in found.summary


def test_a_cached_chat_template_is_no_cached_prompt() -> None:
    answers = [[request(at, cached_tokens=40, ttft_s=0.2 * each)] for at, each in enumerate(SCATTER)]
    assert throughput.floor(floors.TTFT, measured(load(max_ttft_ms=900), answers)).outcome is Outcome.PASS


def test_several_tokens_a_chunk_are_no_burst() -> None:
    found = throughput.streaming(measured(load()))
    assert found.outcome is Outcome.PASS
    assert found.summary == "chunks come one by one (1.0 within a millisecond)"


def test_tokens_of_one_step_that_are_sent_one_by_one_are_no_burst() -> None:
    """As llama.cpp does: a chunk for each token, and all that a step accepted at once."""
    steps = [
        [request(at, arrived_at_s=tuple(10.5 + 0.1 * (n // 5) for n in range(100)), chunk_chars=(1,) * 100)]
        for at in range(10)
    ]
    wanted = load(min_decode_tokens_per_s_per_request=45)
    told = throughput.streaming(measured(wanted, steps, accept_length=5.05))
    assert told.outcome is Outcome.PASS
    assert told.summary == "chunks come as steps make them, 5.0 at once (5.0 within a millisecond)"
    rate = throughput.floor(floors.DECODE, measured(wanted, steps, accept_length=5.05))
    assert rate.outcome is Outcome.PASS
    silent = throughput.streaming(measured(wanted, steps, accept_length=None))
    assert silent.outcome is Outcome.UNPROVEN
    assert silent.summary == (
        "chunks of one token come 5 at once: a proxy may hold them back, or a step that accepted so many sends them, and "
        "the engine tells no accept length (the counters did not move: nothing was verified)"
    )


def test_chunks_that_a_proxy_held_back_are_told_and_their_times_are_not_believed() -> None:
    bursts = [
        [request(at, arrived_at_s=tuple(10.5 + 0.5 * (n // 10) for n in range(20)), chunk_chars=(1,) * 20)]
        for at in range(10)
    ]
    wanted = load(min_decode_tokens_per_s_per_request=45)
    told = throughput.streaming(measured(wanted, bursts))
    assert told.outcome is Outcome.FAIL
    assert told.summary.startswith("chunks come in bursts of 10")
    rate = throughput.floor(floors.DECODE, measured(wanted, bursts))
    assert rate.outcome is Outcome.UNPROVEN
    assert "chunks come in bursts" in rate.summary


@pytest.mark.parametrize(
    "arrived, outcome, words",
    [
        ((10.2, 11.0, 12.2), Outcome.PASS, "chunks come one by one (1.0 within a millisecond)"),
        ((12.2, 12.2, 12.2), Outcome.FAIL, "chunks come in bursts of 3"),
        ((12.2,), Outcome.UNPROVEN, "no answer of 'chat' came in more than one chunk"),
    ],
)
def test_answers_of_few_chunks_tell_too(arrived: tuple[float, ...], outcome: Outcome, words: str) -> None:
    few = [[request(at, arrived_at_s=arrived, chunk_chars=(1,) * len(arrived))] for at in range(10)]
    found = throughput.streaming(measured(load(), few))
    assert found.outcome is outcome
    assert found.summary.startswith(words)


def test_every_failed_request_is_counted_and_the_first_one_quoted() -> None:
    broken = request(3, failure=Failure.CUT_OFF, complaint="the connection ended before [DONE]")
    found = throughput.errors(measured(load(), [[request(1)], [broken]]))
    assert found.outcome is Outcome.FAIL
    assert found.summary == (
        "1 of 2 requests were not answered properly (1 cut_off); the first: the connection ended before [DONE]"
    )


def test_an_answer_that_was_cut_to_length_too_early_is_a_failed_one() -> None:
    short = request(1, output_tokens=50)
    found = throughput.errors(measured(load(), [[short]]))
    assert found.outcome is Outcome.FAIL
    assert "finish_reason length after 50 of 101 tokens" in found.summary


def test_an_answer_that_ends_by_itself_may_be_short() -> None:
    short = request(1, output_tokens=50, finish_reason="stop")
    assert throughput.errors(measured(load(), [[short]])).outcome is Outcome.PASS


def test_what_this_side_stopped_is_nobodys_failure() -> None:
    stopped = request(1, failure=Failure.STOPPED, complaint="abort")
    assert throughput.errors(measured(load(), [[stopped]])).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "bounds, outcome",
    [
        ({"min": 3.0, "max": 7.9}, Outcome.PASS),
        ({"min": 5.0}, Outcome.FAIL),
        ({"max": 3.0}, Outcome.FAIL),
        ({"min": 4.02}, Outcome.UNPROVEN),
    ],
)
def test_acceptance_lies_between_its_bounds(bounds: dict[str, float], outcome: Outcome) -> None:
    assert throughput.acceptance(measured(load(accept_length=bounds))).outcome is outcome


def test_acceptance_without_counters_is_unproven_where_it_is_expected() -> None:
    silent = replace(
        measured(load(accept_length={"min": 3.0})), counters=(Silent("GET /metrics answered 404"),)
    )
    found = throughput.acceptance(silent)
    assert found.outcome is Outcome.UNPROVEN
    assert "GET /metrics answered 404" in found.summary
    assert "--enable-metrics" in str(found.remedy)


@pytest.mark.parametrize("plain, outcome", [(30.0, Outcome.PASS), (60.0, Outcome.FAIL)])
def test_speculation_has_to_be_faster_than_no_speculation(plain: float, outcome: Outcome) -> None:
    found = speculation_pays.recorded(measured(load(plain_output_tokens_per_s_total=plain)))
    assert found.outcome is outcome
    assert found.measures["plain_output_tokens_per_s"] == plain


def test_nobody_is_judged_by_a_plain_rate_that_nobody_measured() -> None:
    assert speculation_pays.recorded(measured(load())).outcome is Outcome.NOT_APPLICABLE


def test_the_price_of_a_load_goes_along() -> None:
    found = throughput.errors(measured(load(), instrument=FAST))
    assert found.measures["client_cpu_percent"] == 2.0
    assert found.measures["took_s"] == 30.0


@pytest.mark.parametrize("least", [3, 4.5])
def test_foreign_requests_leave_the_accept_length_unproven_on_either_side(least: float) -> None:
    found = throughput.acceptance(measured(load(accept_length={"min": least}), beside=FOREIGN))
    assert found.outcome is Outcome.UNPROVEN
    assert (
        "proves nothing: foreign_traffic: requests that are not ours: 4 running and 2 queued" in found.summary
    )


@pytest.mark.parametrize(
    "some_refused, floor, outcome",
    [
        (True, 60, Outcome.BLOCKED),
        (False, 60, Outcome.FAIL),
        (True, 1000, Outcome.FAIL),  # so many failures are not, that they would explain it
        (True, 20, Outcome.PASS),
    ],
)
def test_a_total_rate_that_refusals_made_low_is_told_by_the_errors_alone(
    some_refused: bool,  # noqa: FBT001 - a column of the table above
    floor: int,
    outcome: Outcome,
) -> None:
    more = [replace(refused(), stream=1)] if some_refused else []
    found = measured(
        load(min_output_tokens_per_s_total=floor), [[request(at), *more] for at in range(len(SCATTER))]
    )
    judgement = throughput.floor(floors.TOTAL, found)
    assert judgement.outcome is outcome
    said = "10 of 20 requests failed (throughput.errors)" in judgement.summary
    assert said is (outcome is Outcome.BLOCKED)
    assert throughput.floor(floors.DECODE, found).outcome is not Outcome.BLOCKED
