"""What is right about long prompts: the drafter still sees, a step takes no longer, a prompt is not read twice.

Law: pure. Lengths are compared with the first one of the same run, never with another run or another text.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_dflash.findings import Evidence, Json, Judgement, failed, not_applicable, passed, unproven
from pytest_dflash.load.long_prompts import STILL, Point, Reuse
from pytest_dflash.profile.schema import Context
from pytest_dflash.rules.judge import COUNT

REUSED = 0.5
"""Of a repeated prompt: less than half of it from the cache, and the cache does not do its work."""
SOONER = 0.7
"""Of a fresh prompt's time to the first token: a repeated one must be below, where the engine tells no cached tokens."""
LONG_ENOUGH_S = 0.05
"""A fresh prompt that is read faster than this leaves nothing to be saved."""


def context(points: Sequence[Point], expected: Context, window: int | None) -> Judgement:
    """Acceptance and step time at every length, against those at the first one."""
    if len(points) < 2:
        return not_applicable(
            "no two prompt lengths are to be compared: name them in [context] lengths, below, at and far beyond the window"
        )
    measures, series = _measures(points), _series(points, window)
    complaints = [f"{each.asked_tokens}: {each.failed[0]}" for each in points if each.failed]
    if complaints:
        return failed(
            f"prompts of some lengths are not answered ({'; '.join(complaints)})",
            remedy="compare with the engine's context length; read its log at that time",
            measures=measures,
            series=series,
        )
    first, others = points[0], points[1:]
    if first.accept_length is None:
        silent = Evidence(source="engine counters", reading="silent", why=first.why)
        return unproven(
            f"the accept length at {first.asked_tokens} tokens could not be told: {first.why}",
            evidence=(silent,),
            remedy=COUNT,
            measures=measures,
            series=series,
        )
    wrong = [
        *_blind(first.accept_length, first, others, expected),
        *_slow(first, others, expected),
    ]
    if wrong:
        return failed(
            "; ".join(wrong),
            cause="beyond its window the drafter sees too little or the wrong tokens, or its cache is not compact",
            remedy="follow the window with `-k window`; compare the draft model's trained window with it",
            measures=measures,
            series=series,
        )
    if unheard := _unheard(points, expected):
        return unproven(
            unheard,
            remedy="run again; where it stays so, read the engine's metrics by hand around one request of this length",
            measures=measures,
            series=series,
        )
    told = ", ".join(f"{each.accept_length or 0:.2f} at {each.context_tokens:.0f}" for each in points)
    return passed(f"accept length by prompt tokens: {told}", measures=measures, series=series)


def _blind(accept_length: float, first: Point, others: Sequence[Point], expected: Context) -> list[str]:
    least = expected.min_accept_length_share * accept_length
    still = [
        f"with {each.context_tokens:.0f} tokens of prompt nothing is verified ({STILL}), with "
        f"{first.context_tokens:.0f} the accept length is {accept_length:.2f}"
        for each in others
        if each.accept_length is None and each.why == STILL
    ]
    return still + [
        f"with {each.context_tokens:.0f} tokens of prompt the accept length falls to {each.accept_length:.2f}, from "
        f"{accept_length:.2f} with {first.context_tokens:.0f} (at least {least:.2f} is expected)"
        for each in others
        if each.accept_length is not None and each.accept_length < least
    ]


def _unheard(points: Sequence[Point], expected: Context) -> str:
    """Which length has no accept length, or no step time where one is asked for; "" where all have."""
    for each in points:
        if each.accept_length is None:
            why = each.why or "the counters did not tell"
            return f"the accept length at {each.asked_tokens} tokens could not be told: {why}"
        if expected.max_step_time_share is not None and each.step_s is None:
            return f"the time of a step at {each.asked_tokens} tokens could not be told: no answer had two tokens with times"
    return ""


def _slow(first: Point, others: Sequence[Point], expected: Context) -> list[str]:
    share, step_s = expected.max_step_time_share, first.step_s
    if share is None or step_s is None:
        return []
    return [
        f"with {each.context_tokens:.0f} tokens of prompt a step takes {1000 * each.step_s:.1f} ms, "
        f"{each.step_s / step_s:.2f} times that of {first.context_tokens:.0f} (at most {share:g} is expected)"
        for each in others
        if each.step_s is not None and each.step_s > share * step_s
    ]


def prefix_cache(found: Reuse, *, on: bool | None) -> Judgement:
    """A prompt that was read before is not read again."""
    measures = {
        name: value
        for name, value in (
            ("fresh_ttft_ms", found.fresh_ttft_s and 1000 * found.fresh_ttft_s),
            ("again_ttft_ms", found.again_ttft_s and 1000 * found.again_ttft_s),
            ("cached_percent", None if found.cached_share is None else 100 * found.cached_share),
            ("prompt_tokens", found.prompt_tokens),
        )
        if value is not None
    }
    if found.failed:
        return failed(f"the same prompt again is not answered: {found.failed[0]}", measures=measures)
    if found.fresh_ttft_s is None or found.again_ttft_s is None:
        return unproven("no first token came, fresh or again", measures=measures)
    times = f"first token after {1000 * found.again_ttft_s:.0f} ms, fresh after {1000 * found.fresh_ttft_s:.0f} ms"
    if found.cached_share is not None:
        told = f"{found.cached_share:.0%} of a repeated prompt of {found.prompt_tokens:.0f} tokens came from the cache"
        reused = found.cached_share >= REUSED
    else:
        told, reused = "the engine tells no cached tokens", found.again_ttft_s <= SOONER * found.fresh_ttft_s
        if not reused and found.fresh_ttft_s < LONG_ENOUGH_S:
            return unproven(f"{told}, and {times}: too little to tell", measures=measures, remedy=_TELL)
    if on is False:
        return (
            passed(f"the prefix cache is off as expected; {times}", measures=measures)
            if not reused
            else failed(f"the prefix cache should be off: {told}; {times}", measures=measures)
        )
    if reused:
        return passed(f"{told}; {times}", measures=measures)
    return failed(
        f"the prefix cache does not do its work: {told}; {times}",
        cause="the cache is too small, is flushed or evicted at once, or prompts differ at their beginning",
        remedy="look at `#cached-token` in the engine's log, and at the KV pool's size",
        measures=measures,
    )


_TELL = "let the engine tell: SGLang --enable-cache-report, vLLM --enable-prompt-tokens-details"


def _measures(points: Sequence[Point]) -> dict[str, float]:
    told: dict[str, float] = {}
    for each in points:
        if each.accept_length is not None:
            told[f"accept_length_{each.asked_tokens}"] = each.accept_length
        if each.step_s is not None:
            told[f"step_ms_{each.asked_tokens}"] = 1000 * each.step_s
    return told


def _series(points: Sequence[Point], window: int | None) -> dict[str, Json]:
    rows: list[Json] = [
        {
            "context_tokens": round(each.context_tokens),
            "accept_length": each.accept_length,
            "step_ms": None if each.step_s is None else 1000 * each.step_s,
            "decode_tokens_per_s": 1 / each.tpot_s if each.tpot_s else None,
        }
        for each in points
    ]
    return {"points": rows, "window_tokens": window}
