from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_dflash.load.instrument import Instrument, instrument, quantile
from pytest_dflash.load.phase import PhaseResult, Repeat, Stop
from pytest_dflash.load.plan import Plan
from pytest_dflash.load.records import Failure, RequestRecord

QUIET = Instrument(cpu_share=0.1, lag_mean_s=0.0, lag_p99_s=0.001, lag_max_s=0.002, send_lag_p99_s=0.0)
PLAN = Plan(text_class="prose", concurrency=2, prompt_tokens=10, output_tokens=5)


def answered(index: int = 0, stream: int = 0, sent: float = 10.0, step: float = 0.1) -> RequestRecord:
    """Five tokens in three chunks, the first after half a second."""
    arrivals = (sent + 0.5, sent + 0.5 + 2 * step, sent + 0.5 + 4 * step)
    return RequestRecord(
        index=index,
        stream=stream,
        sent_at_s=sent,
        ended_at_s=arrivals[-1],
        status=200,
        arrived_at_s=arrivals,
        chunk_chars=(5, 10, 10),
        prompt_tokens=10,
        output_tokens=5,
        cached_tokens=2,
        finish_reason="length",
    )


def repeat(*requests: RequestRecord) -> Repeat:
    return Repeat(
        number=0,
        began_at_s=min(each.sent_at_s for each in requests),
        ended_at_s=max(each.ended_at_s for each in requests),
        requests=requests,
        instrument=QUIET,
    )


def phase(*repeats: Repeat) -> PhaseResult:
    return PhaseResult(
        plan=PLAN,
        model="m",
        chars_per_token=4.0,
        warm_up=(),
        repeats=repeats,
        stop=Stop.ENOUGH,
        why="",
        took_s=9.0,
    )


def test_times_are_taken_from_the_write() -> None:
    one = answered()
    assert one.ttft_s == pytest.approx(0.5)
    assert one.latency_s == pytest.approx(0.9)
    assert one.gaps_s == pytest.approx((0.2, 0.2))


def test_the_time_per_token_counts_tokens_and_not_chunks() -> None:
    one = answered()
    assert one.tpot_s == pytest.approx(0.1)
    assert one.decode_tokens_per_s == pytest.approx(10.0)


def test_an_answer_whose_tokens_came_at_once_tells_no_time_per_token() -> None:
    """Three tokens that one step accepted, sent one by one."""
    at_once = replace(answered(), arrived_at_s=(10.5, 10.50002, 10.50004), output_tokens=3)
    assert at_once.tpot_s is None
    assert repeat(at_once).decode_tokens_per_s is None
    assert repeat(answered(), at_once).decode_tokens_per_s == pytest.approx(10.0)


def test_a_rate_counts_each_token_alike_so_that_a_short_answer_says_little() -> None:
    short = replace(answered(), arrived_at_s=(10.5, 10.501), output_tokens=2)
    long = replace(answered(), arrived_at_s=(10.5, 20.5), output_tokens=101)
    assert repeat(short, long).decode_tokens_per_s == pytest.approx(101 / 10.001)


def test_without_a_count_there_is_no_rate() -> None:
    uncounted = replace(answered(), output_tokens=None, failure=Failure.NO_USAGE)
    assert uncounted.tpot_s is None
    assert uncounted.decode_tokens_per_s is None
    assert uncounted.tokens_until(99.0) == 0.0


def test_a_single_token_has_no_time_per_token() -> None:
    assert replace(answered(), output_tokens=1).tpot_s is None
    assert replace(answered(), arrived_at_s=(10.5,), chunk_chars=(5,)).tpot_s is None


def test_tokens_are_spread_over_chunks_by_characters() -> None:
    one = answered()
    assert [one.tokens_until(at) for at in (10.0, 10.5, 10.7, 11.0)] == pytest.approx([0, 1, 3, 5])


def test_the_steady_window_ends_where_the_first_stream_has_nothing_more_to_ask() -> None:
    one = repeat(answered(0, 0, 10.0), answered(1, 1, 10.0), answered(2, 0, 11.0))
    assert one.steady_window == pytest.approx((10.0, 10.9))
    assert one.steady_tokens_per_s == pytest.approx(10 / 0.9)
    assert one.output_tokens_per_s == pytest.approx(15 / 1.9)
    assert one.decode_tokens_per_s == pytest.approx(10.0)


def test_a_stream_that_was_refused_at_once_does_not_end_the_steady_window() -> None:
    refused = replace(answered(1, 1, 10.0), failure=Failure.STATUS, ended_at_s=10.001, arrived_at_s=())
    one = repeat(answered(0, 0, 10.0), refused)
    assert one.steady_window == pytest.approx((10.0, 10.9))
    assert one.steady_tokens_per_s == pytest.approx(5 / 0.9)
    # What a stream got before it was refused, or behind that, keeps it busy until its end.
    assert repeat(refused, answered(0, 1, 10.1)).steady_window == pytest.approx((10.0, 11.0))
    assert repeat(refused).steady_tokens_per_s is None


def test_what_failed_counts_for_nothing_but_a_failure() -> None:
    lost = replace(answered(1, 1), failure=Failure.CUT_OFF, complaint="no [DONE]")
    stopped = replace(answered(2, 1), failure=Failure.STOPPED)
    one = repeat(answered(), lost, stopped)
    assert one.answered == (answered(),)
    assert one.failed == (lost,)
    assert one.output_tokens == 5
    assert phase(one, one).failed == (lost, lost)


def test_a_repeat_without_answers_has_no_rate() -> None:
    one = repeat(replace(answered(), failure=Failure.TIMEOUT))
    assert one.output_tokens_per_s is None
    assert one.steady_tokens_per_s is None
    assert one.decode_tokens_per_s is None
    assert one.ttft_s == ()


def test_the_cached_share_is_none_where_the_engine_does_not_tell() -> None:
    assert phase(repeat(answered())).cached_share == pytest.approx(0.2)
    assert phase(repeat(replace(answered(), cached_tokens=None))).cached_share is None


def test_a_quiet_client_is_no_bottleneck() -> None:
    assert QUIET.bottleneck() is None
    assert phase(repeat(answered())).bottleneck is None


def test_a_busy_client_says_what_it_was_busy_with() -> None:
    busy = replace(QUIET, cpu_share=0.93, lag_p99_s=0.08)
    assert busy.bottleneck() == (
        "this machine was too busy to measure: it used of one core 93 % (at most 70 %); "
        "once in 100 times its loop was late by 80.0 ms (at most 20 ms)"
    )
    assert phase(repeat(answered()), replace(repeat(answered()), instrument=busy)).bottleneck


def test_a_loop_that_never_came_round_was_late_all_the_time() -> None:
    found = instrument(cpu_s=1.0, wall_s=2.0, lags_s=[], send_lags_s=[])
    assert found.lag_max_s == 2.0
    assert found.cpu_share == 0.5
    assert found.bottleneck() is not None


@pytest.mark.parametrize("share, found", [(0.0, 1.0), (0.5, 2.0), (0.75, 3.0), (0.99, 4.0), (1.0, 4.0)])
def test_a_quantile_is_one_of_the_values(share: float, found: float) -> None:
    assert quantile([4.0, 2.0, 1.0, 3.0], share) == found


@pytest.mark.parametrize("wrong", [{"concurrency": 0}, {"time_budget_s": 0.0}, {"per_stream": -1}])
def test_a_load_of_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="positive counts and times only"):
        replace(PLAN, **wrong)
