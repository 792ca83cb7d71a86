"""Whether an answer is correct.

Law: pure. An answer that contradicts itself or the profile fails; an answer that leaves out what would
prove it is unproven. Nothing is made up: a count that the engine did not give is never the limit we asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from pytest_dflash.endpoint.protocol import Ending, Generation
from pytest_dflash.findings import Judgement, Outcome, failed, passed, unproven

PROPER = ("stop", "length")
"""Reasons for which an answer may end that only has to be text."""

MANY = 8
"""So often something is said again before it counts as nothing but that."""

LONGEST_UNIT = 16
CLIP = 60


def judge(generation: Generation, *, expect: str | None = None, max_tokens: int | None = None) -> Judgement:
    """Whether the answer ends properly, counts right, is no babble, and says what is expected.

    Args:
        generation: The answer.
        expect: The profile's regular expression. None: the wording is not checked, and the summary says so.
        max_tokens: What the request allowed.
    """
    for rule in RULES:
        if judgement := rule(generation, max_tokens):
            return judgement
    return _wording(generation, expect)


def asked(
    ask: Callable[..., Generation], *, expect: str | None = None, max_tokens: int | None = None
) -> Judgement:
    """The judgement of an answer; of a model whose thoughts used up the limit, of one without thoughts.

    Args:
        ask: Asks for an answer, with `thinking=False` for one without thoughts.
        expect: As `judge`.
        max_tokens: As `judge`.
    """
    first = ask()
    found = judge(first, expect=expect, max_tokens=max_tokens)
    if found.outcome is not Outcome.UNPROVEN or not first.reasoning or first.text:
        return found
    again = judge(ask(thinking=False), expect=expect, max_tokens=max_tokens)
    if again.outcome is not Outcome.PASS:
        return found
    return replace(
        again,
        summary=f"{again.summary}; asked not to think, as its thoughts alone used up {max_tokens} tokens",
    )


def _no_error(generation: Generation, _: int | None) -> Judgement | None:
    if generation.error is None:
        return None
    return failed(
        f"the engine answered with an error: {generation.error}",
        remedy="read the engine's log at the time of the request",
    )


def _ended(generation: Generation, _: int | None) -> Judgement | None:
    if generation.ending is Ending.NO_STREAM:
        return failed(
            "a stream was asked for, and no event came",
            remedy="look for a proxy in between that does not pass event streams on",
        )
    if generation.ending is Ending.EARLY:
        reason = (
            f"finish_reason {generation.finish_reason!r}" if generation.finish_reason else "no finish_reason"
        )
        return failed(
            f"the stream ended without [DONE], after {len(generation.arrivals_s)} chunks with text and {reason}",
            cause="the engine gave up the request, or something in between closed the connection",
            remedy="read the engine's log at the time of the request",
        )
    if generation.malformed:
        return failed(
            f"{generation.malformed} events of the stream are no JSON object: it was cut or mixed up",
            remedy="ask the port itself instead of a proxy; read the engine's log",
        )
    if generation.finish_reason not in PROPER:
        return failed(
            f"the answer ended with finish_reason {generation.finish_reason!r}",
            expected=list(PROPER),
            observed=generation.finish_reason,
            remedy="read the engine's log at the time of the request",
        )
    return None


def _said_something(generation: Generation, _: int | None) -> Judgement | None:
    if generation.text or generation.reasoning:
        return None
    return failed(
        "the answer is empty: neither content nor reasoning",
        remedy="check the chat template, and whether the first token ends the answer",
    )


def _no_babble(generation: Generation, _: int | None) -> Judgement | None:
    unit = repeated(generation.token_ids or ()) or repeated_text(generation.text or generation.reasoning)
    if unit is None:
        return None
    return failed(
        f"the answer is nothing but {unit} again and again",
        cause="broken numerics: wrong quantisation scales, a damaged checkpoint, a kernel for another GPU",
        remedy="ask the target without speculation; if it babbles too, check the weights and the attention backend",
    )


def _counted(generation: Generation, max_tokens: int | None) -> Judgement | None:
    count = generation.usage.completion_tokens if generation.usage else None
    if count is None:
        return unproven(
            "the engine gave no usage: the number of tokens cannot be established",
            remedy="ask for it with stream_options.include_usage; check for a proxy that drops it",
        )
    if count <= 0:
        return failed(f"usage counts {count} tokens for an answer that has text", observed=count)
    if max_tokens is not None and count > max_tokens:
        return failed(
            f"usage counts {count} tokens, more than the {max_tokens} that the request allowed",
            expected=max_tokens,
            observed=count,
        )
    received = generation.token_ids
    if received is not None and abs(count - len(received)) > _slack(generation):
        return failed(
            f"usage counts {count} tokens, {len(received)} were received",
            expected=len(received),
            observed=count,
            cause="tokens were lost on the way, or the engine counts rejected drafts",
        )
    return None


def _slack(generation: Generation) -> int:
    """An end-of-sequence token is counted, but need not be shown."""
    return 1 if generation.finish_reason == "stop" else 0


RULES: tuple[Callable[[Generation, int | None], Judgement | None], ...] = (
    _no_error,
    _ended,
    _said_something,
    _no_babble,
    _counted,
)
"""In this order; the first that says something decides."""


def _wording(generation: Generation, expect: str | None) -> Judgement:
    measures = _measures(generation)
    shown = _clip(generation.text or generation.reasoning)
    if expect is None:
        return passed(
            "the answer ends properly and counts right; its wording was not checked, the profile has no "
            "endpoint.expect",
            observed=shown,
            measures=measures,
        )
    if re.search(expect, generation.text):
        return passed(f"the answer matches {expect!r}", expected=expect, observed=shown, measures=measures)
    if generation.reasoning and not generation.text:
        return _only_reasoning(generation, expect, shown, measures)
    return failed(
        f"the answer {shown!r} does not match {expect!r}",
        expected=expect,
        observed=shown,
        measures=measures,
        remedy="ask the same prompt by hand; if the answer is good, mend endpoint.expect in the profile",
    )


def _only_reasoning(generation: Generation, expect: str, shown: str, measures: dict[str, float]) -> Judgement:
    """Content is empty: the limit may have been used up by thinking, or the reasoning parser took it all."""
    if generation.finish_reason == "length":
        return unproven(
            "the limit was used up while the model was still reasoning: there is no answer to compare",
            expected=expect,
            observed=shown,
            measures=measures,
            remedy="choose a prompt that needs no reasoning, or switch it off in the chat template",
        )
    where = "reasoning_content, content is empty"
    if re.search(expect, generation.reasoning):
        return passed(
            f"the answer matches {expect!r}, but stands in {where}",
            expected=expect,
            observed=shown,
            measures=measures,
        )
    return failed(
        f"the answer {shown!r} does not match {expect!r} and stands in {where}",
        expected=expect,
        observed=shown,
        measures=measures,
        cause="the reasoning parser does not fit the model",
    )


def repeated(tokens: Sequence[int]) -> str | None:
    """What all of these tokens are, where there are many and all are the same."""
    same = len(tokens) >= MANY and len(set(tokens)) == 1
    return f"token {tokens[0]}" if same else None


def repeated_text(text: str) -> str | None:
    """The short unit that this text repeats many times and consists of, quoted; None where there is none."""
    bare = text.strip() or text
    for size in range(1, min(LONGEST_UNIT, len(bare) // MANY) + 1):
        if bare.startswith(bare[size:]):
            return repr(bare[:size])
    return None


def _measures(generation: Generation) -> dict[str, float]:
    measures = {"duration_s": generation.duration_s}
    if generation.usage and generation.usage.completion_tokens is not None:
        measures["completion_tokens"] = float(generation.usage.completion_tokens)
    if generation.ending is not Ending.WHOLE and generation.first_text_s is not None:
        measures["ttft_ms"] = 1000 * generation.first_text_s
    return measures


def _clip(text: str) -> str:
    bare = " ".join(text.split())
    return bare if len(bare) <= CLIP else bare[:CLIP] + "…"
