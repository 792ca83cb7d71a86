"""Each staged fault spoils what it says, where it says, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pytest_dflash.rehearsal.engine import corruption, grammar, healthy, tokens, wrong_acceptance
from pytest_dflash.rehearsal.engine.decoding import Decoder, Shape
from pytest_dflash.rehearsal.engine.sequence import Sequence

Speak = Callable[..., list[Sequence]]
LONG = "explain how a cache of the machine is read " * 2
PROMPTS = ("The window ", "the draft of a tree", LONG[:40], LONG)
LIMIT = 96
CHAIN, TREE = Shape(7, 1, window=64), Shape(7, 8, window=64)
OTHER = Shape(15, 4, window=64)
TRUTH: dict[int, list[list[int]]] = {}
ALWAYS = (CHAIN, TREE, OTHER)
# Where a fault is heard, and where the engine must still be right.
HEARD: dict[str, tuple[tuple[Shape, ...], tuple[Shape, ...]]] = {
    "mask-stride-from-block": (
        (OTHER, Shape(1), Shape(6, 8), Shape(8, 8), Shape(7, 8, block=4)),
        (CHAIN, TREE),
    ),
    "mask-row-zero-only": (ALWAYS, ()),
    "siblings-visible": ((TREE, OTHER), (CHAIN,)),
    "positions-by-index": ((TREE, OTHER), (CHAIN,)),
    "kv-committed-in-wrong-order": ((TREE, OTHER), (CHAIN,)),
    "state-lost-on-rejection": (ALWAYS, ()),
    "batch-neighbours-mask": ((TREE, OTHER), (CHAIN,)),
    "corrupt-in-batch": (ALWAYS, ()),
    "corrupt-past-window": (ALWAYS, (Shape(7, 8),)),
    "corrupt-from-prompt-65": (ALWAYS, ()),
    "bonus-dropped": (ALWAYS, ()),
    "token-zero-as-padding": ((TREE, OTHER), ()),
    "lossy-acceptance": (ALWAYS, ()),
    "constant-acceptance": (ALWAYS, ()),
}
LOSSLESS = ("acceptance-collapsed", "acceptance-at-first-only", "acceptance-decays-with-context", "sampling-ignored",
            "blind-past-window", "repeating-loop", "grammar-broken-at-concurrency", "corrupt-on-cache-hit")  # fmt: skip
ENDING = ("end-among-refused-drafts",)


def truth(say: Speak) -> list[list[int]]:
    """What the target says alone."""
    if not TRUTH:
        TRUTH[0] = [sequence.told for sequence in say(PROMPTS, LIMIT)]
    return TRUTH[0]


def right(say: Speak, shape: Shape, *wrong: str, **more: Any) -> list[bool]:
    """Which prompts are answered as the target alone would."""
    said = say(PROMPTS, LIMIT, shape, wrong, **more)
    return [sequence.told == true for sequence, true in zip(said, truth(say), strict=True)]


@pytest.mark.parametrize(
    "name, shape", [(name, shape) for name, (heard, _) in HEARD.items() for shape in heard]
)
def test_a_fault_is_heard(say: Speak, name: str, shape: Shape) -> None:
    assert not all(right(say, shape, name))


@pytest.mark.parametrize(
    "name, shape", [(name, shape) for name, (_, silent) in HEARD.items() for shape in silent]
)
def test_a_fault_is_not_heard_elsewhere(say: Speak, name: str, shape: Shape) -> None:
    assert all(right(say, shape, name))


@pytest.mark.parametrize("name", LOSSLESS)
def test_what_is_no_fault_of_greedy_text_leaves_it_alone(say: Speak, name: str) -> None:
    assert all(right(say, TREE, name))


def test_every_fault_is_tested() -> None:
    assert {*HEARD, *LOSSLESS, *ENDING, "near-tie-noise"} == set(corruption.CORRUPTIONS)


def test_a_prompt_of_64_tokens_is_answered_well_and_one_of_65_is_not(say: Speak) -> None:
    for length, well in ((64, True), (65, False), (128, False), (129, False)):
        prompt = (LONG * 2)[:length]
        (said,), (true,) = say([prompt], 60, TREE, ["corrupt-from-prompt-65"]), say([prompt], 60)
        assert (said.told == true.told) is well, length


@pytest.mark.parametrize("name", ["corrupt-in-batch", "batch-neighbours-mask"])
def test_a_fault_of_batches_spares_one_request_alone(say: Speak, name: str) -> None:
    for prompt, true in zip(PROMPTS, truth(say), strict=True):
        assert say([prompt], LIMIT, TREE, [name])[0].told == true


def test_a_fault_of_the_batch_spares_its_first_request(say: Speak) -> None:
    assert right(say, TREE, "corrupt-in-batch")[0]


def test_what_comes_from_the_cache_is_corrupt_the_second_time(say: Speak) -> None:
    decoder = Decoder(TREE, corruption.of(["corrupt-on-cache-hit"]))
    cold, warm = (say([LONG], 40, decoder=decoder)[0] for _ in range(2))

    assert cold.told == truth(say)[3][:40]
    assert (cold.reused, warm.reused) == (0, len(LONG) - 1)
    assert warm.told != cold.told


def test_a_beginning_of_less_than_a_page_is_taken_from_the_cache_as_it_is(say: Speak) -> None:
    decoder = Decoder(TREE, corruption.of(["corrupt-on-cache-hit"]))
    say([LONG[:15]], 4, decoder=decoder)
    short = say([LONG], 40, decoder=decoder)[0]
    assert short.reused == 15
    assert short.told == truth(say)[3][:40]


def test_sampling_ignored_gives_one_text_for_all_seeds(say: Speak) -> None:
    def texts(*wrong: str) -> int:
        return len({
            tuple(say(PROMPTS[:1], 30, TREE, wrong, temperature=1.0, seed=seed)[0].told) for seed in range(5)
        })  # fmt: skip

    assert (texts(), texts("sampling-ignored")) == (5, 1)


def test_sampling_ignored_is_told_once_and_only_where_somebody_samples(
    say: Speak, capsys: pytest.CaptureFixture[str]
) -> None:
    decoder = Decoder(TREE, corruption.of(["sampling-ignored"]))
    say(PROMPTS[:1], 5, decoder=decoder)
    assert capsys.readouterr().err == ""
    for _ in range(2):
        say(PROMPTS[:1], 5, decoder=decoder, temperature=1.0)
    assert capsys.readouterr().err.count("falling back to greedy argmax verification") == 1


def accept_length(sequence: Sequence) -> float:
    return 1 + sequence.accepted / sequence.verified


def test_acceptance_collapses_to_one_token_a_step(say: Speak) -> None:
    assert all(accept_length(each) < 1.1 for each in say(PROMPTS, LIMIT, TREE, ["acceptance-collapsed"]))


def test_only_the_first_guess_is_ever_accepted(say: Speak) -> None:
    batch = say(PROMPTS, LIMIT, TREE, ["acceptance-at-first-only"])
    histogram = [sum(each.histogram.get(k, 0) for each in batch) for k in range(8)]

    assert histogram[1] > 0.5 * sum(histogram)
    assert sum(histogram[2:]) < 0.1 * sum(histogram)


@pytest.mark.slow
def test_acceptance_decays_along_an_answer(say: Speak) -> None:
    decoder = Decoder(TREE, corruption.of(["acceptance-decays-with-context"]))
    short, long = (say(PROMPTS, limit, decoder=decoder, ignore_eos=True) for limit in (30, 400))

    assert np.mean([*map(accept_length, short)]) > 1.5 * np.mean([*map(accept_length, long)])


def test_a_draft_goes_blind_only_past_its_window(say: Speak) -> None:
    blind = corruption.of(["blind-past-window"])
    wide, narrow = (
        say(PROMPTS, LIMIT, decoder=Decoder(replace(TREE, window=window), blind)) for window in (4000, 8)
    )
    assert min(map(accept_length, wide)) > 2 * max(map(accept_length, narrow))


def test_constant_acceptance_has_one_length(say: Speak) -> None:
    for each in say(PROMPTS, LIMIT, TREE, ["constant-acceptance"]):
        assert set(each.histogram) == {wrong_acceptance.SIMULATED}


def test_a_refused_draft_ends_an_answer_of_which_all_tokens_are_right(say: Speak) -> None:
    for sequence, true in zip(
        say(PROMPTS, LIMIT, TREE, ["end-among-refused-drafts"]), truth(say), strict=True
    ):
        assert (sequence.finish, sequence.told) == ("stop", true[: len(sequence.told)])
        assert wrong_acceptance.END_AFTER <= len(sequence.told) < LIMIT
    assert all(right(say, TREE, "end-among-refused-drafts", ignore_eos=True))


def test_a_loop_is_accepted_better_than_text(say: Speak) -> None:
    for each in say(PROMPTS, 400, TREE, ["repeating-loop"]):
        assert each.told[-12:] == each.told[-24:-12]
        assert accept_length(each) > 5


@pytest.mark.slow
def test_near_ties_fall_either_way_and_nothing_else_does(say: Speak) -> None:
    differ = 0
    for _ in range(6):
        batch = say(PROMPTS, 300, TREE, ["near-tie-noise"], scores=True, top=2)
        for sequence in batch:
            whole = [*sequence.prompt, *sequence.told]
            (read,) = say([whole], 0, scores=True, scored_from=len(sequence.prompt) - 1, top=2)
            lost = [score for score in read.prompt_scores[1:] if score.token != score.top[0][0]]
            differ += len(lost)
            assert all((score.top[0][1] - (score.logprob or 0)) < 2 * healthy.NOISE_NATS for score in lost)
    assert differ > 0


SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "integer"}}}


def test_a_grammar_is_obeyed_alone_and_broken_in_company(say: Speak) -> None:
    def obeyed(prompts: tuple[str, ...], *wrong: str) -> list[bool]:
        said = say(prompts, 80, TREE, wrong, schema=grammar.machine(SCHEMA))
        return [_is_json(tokens.decode(each.told)) for each in said]

    assert obeyed(PROMPTS) == [True] * 4
    assert obeyed(PROMPTS[:1], "grammar-broken-at-concurrency") == [True]
    assert obeyed(PROMPTS, "grammar-broken-at-concurrency")[0] is False


def _is_json(text: str) -> bool:
    try:
        value = json.loads(text)
    except ValueError:
        return False
    return isinstance(value["name"], str) and isinstance(value["size"], int)


def test_several_faults_together_are_all_there(say: Speak) -> None:
    (said,) = say(PROMPTS[:1], 60, TREE, ["acceptance-collapsed", "sampling-ignored"], temperature=1.0)

    assert accept_length(said) < 1.2
    assert said.told == truth(say)[0][:60]


def test_without_speculation_its_faults_are_gone(say: Speak) -> None:
    names = [name for name in corruption.CORRUPTIONS if name != "near-tie-noise"]
    decoder = Decoder(Shape(), corruption.of(names, speculating=False))

    assert [each.told for each in say(PROMPTS, LIMIT, decoder=decoder)] == truth(say)
    assert isinstance(corruption.of(["near-tie-noise"], speculating=False), wrong_acceptance.NearTieNoise)


def test_an_unknown_fault_is_refused() -> None:
    with pytest.raises(
        ValueError, match="unknown corruptions mask-stride; known are mask-stride-from-block, "
    ):
        corruption.of(["mask-stride"])
