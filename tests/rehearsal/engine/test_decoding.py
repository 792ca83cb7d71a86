from __future__ import annotations

import math
import os
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from pytest_dflash.rehearsal.engine import tokens
from pytest_dflash.rehearsal.engine.decoding import Decoder, Shape
from pytest_dflash.rehearsal.engine.sequence import Sequence

Speak = Callable[..., list[Sequence]]
PROMPTS = ("The window ", "explain how a cache of the machine is read " * 2, "Zürich 窓 {}")
BUDGETS = (1, 3, 7, 8, 15, 16, 31, 64)
TOP_KS = (1, 2, 8)
LIMIT = 40
PLAIN: dict[Any, list[int]] = {}


def plain(say: Speak, prompt: str, limit: int = LIMIT) -> list[int]:
    """What the target says alone."""
    if (prompt, limit) not in PLAIN:
        PLAIN[prompt, limit] = say([prompt], limit)[0].told
    return PLAIN[prompt, limit]


def cell(say: Speak, budget: int, top_k: int, batch: int, *, warm: bool, limit: int = LIMIT) -> None:
    decoder = Decoder(Shape(budget, top_k))
    if warm:
        say(PROMPTS, 8, decoder=decoder)
    for first in range(0, len(PROMPTS), batch):
        prompts = PROMPTS[first : first + batch]
        for prompt, said in zip(prompts, say(prompts, limit, decoder=decoder), strict=True):
            assert said.told == plain(say, prompt, limit), (budget, top_k, batch, warm, prompt)
            assert said.reused == (len(said.prompt) - 1 if warm else 0)
            assert said.cached >= len(said.prompt) + limit - 1
            assert max(said.histogram) <= min(budget, decoder.shape.block - 1)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("top_k", TOP_KS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_every_tree_says_what_the_target_says_alone(
    say: Speak, budget: int, top_k: int, batch: int, *, warm: bool
) -> None:  # fmt: skip
    cell(say, budget, top_k, batch, warm=warm)


@pytest.mark.parametrize("budget, top_k, batch, warm", [(7, 4, 3, True), (8, 8, 1, False), (16, 2, 3, False)])
def test_a_few_trees_say_what_the_target_says_alone(
    say: Speak, budget: int, top_k: int, batch: int, *, warm: bool
) -> None:  # fmt: skip
    cell(say, budget, top_k, batch, warm=warm, limit=24)


def test_a_tree_drawn_at_random_says_what_the_target_says_alone(say: Speak) -> None:
    seed = int(os.environ.get("DFLASH_CELL", random.randrange(1 << 32)))
    drawn = random.Random(seed)
    where = (drawn.randint(1, 64), drawn.randint(1, 8), drawn.choice([1, 2, 3]))
    print(f"DFLASH_CELL={seed} draws budget, top-k, batch {where} again")  # noqa: T201 - shown when it fails
    cell(say, *where, warm=drawn.random() < 0.5)


def test_another_block_is_as_lossless(say: Speak) -> None:
    for shape in (Shape(15, 4, block=16), Shape(7, 2, block=4), Shape(3, 1, block=2)):
        assert say(PROMPTS[:1], shape=shape)[0].told[:LIMIT] == plain(say, PROMPTS[0])


def test_the_window_changes_guesses_and_no_answer(say: Speak) -> None:
    wide, narrow = (say(PROMPTS, 120, Shape(7, 4, window=window)) for window in (None, 1))

    assert [said.told for said in wide] == [said.told for said in narrow]
    assert [said.histogram for said in wide] != [said.histogram for said in narrow]


def test_accept_length_is_three_to_five_and_grows_with_the_tree(say: Speak) -> None:
    lengths = []
    for shape in (Shape(7, 1), Shape(7, 8), Shape(31, 8)):
        batch = say(PROMPTS, 200, shape)
        lengths.append(sum(1 + s.accepted / s.verified for s in batch) / len(batch))

    chain, tree, large = lengths
    assert 3 < chain <= tree < large < 5, lengths


def test_text_is_varied_and_runs_in_no_circle(say: Speak) -> None:
    said = tokens.decode(say(["The tree "], 1000, Shape(15, 8))[0].told)
    words = said.split()

    assert len(set(words)) > 40
    assert Counter(zip(words, words[1:], words[2:], strict=False)).most_common(1)[0][1] < len(words) / 10
    assert said[-200:] not in said[:-200]


def test_most_margins_are_comfortable_and_a_few_are_not(say: Speak) -> None:
    margins = [
        each.top[0][1] - each.top[1][1]
        for sequence in say(PROMPTS, 200, Shape(7, 8), scores=True, top=2)
        for each in sequence.said_scores
    ]
    near = sum(margin < 0.1 for margin in margins) / len(margins)

    assert 0 < near < 0.03
    assert sum(margin > 2 for margin in margins) / len(margins) > 0.7


def test_scores_of_what_is_said_are_those_of_reading_it_again(say: Speak) -> None:
    (said,) = say(PROMPTS[:1], 60, Shape(7, 8), scores=True, top=3, also=(0, 5))
    whole = [*said.prompt, *said.told]
    (read,) = say([whole], 0, scores=True, scored_from=len(said.prompt) - 1, top=3, also=(0, 5))

    assert read.prompt_scores[0].logprob is None
    assert len(read.prompt_scores) == 61
    for told, again in zip(said.said_scores, read.prompt_scores[1:], strict=True):
        assert (told.token, [each for each, _ in told.top]) == (again.token, [each for each, _ in again.top])
        assert told.logprob is not None
        assert again.logprob is not None
        assert math.isclose(told.logprob, again.logprob, abs_tol=1e-9)
        assert told.logprob == told.top[0][1]


def test_what_is_scored_is_computed_although_it_is_cached(say: Speak) -> None:
    decoder = Decoder()
    say(["the cache of the machine"], 4, decoder=decoder)
    (read,) = say(["the cache of the machine"], 0, decoder=decoder, scores=True, scored_from=5)

    assert (read.reused, len(read.prompt_scores), read.finish, read.told) == (5, 24 - 5, "length", [])


def test_a_seed_gives_the_same_draws_whatever_is_drafted(say: Speak) -> None:
    shapes = (Shape(), Shape(7, 4), Shape(31, 8))
    said = [tuple(say(PROMPTS[:1], 60, shape, temperature=1.0, seed=11)[0].told) for shape in shapes]
    others = {tuple(say(PROMPTS[:1], 60, shapes[1], temperature=1.0, seed=s)[0].told) for s in range(8)}

    assert len(set(said)) == 1
    assert len(others) == 8


@pytest.mark.slow
def test_a_tree_draws_from_the_targets_distribution(say: Speak) -> None:
    decoder = Decoder(Shape(7, 8))
    (told,) = say(["The tree tree monitor memory "], 1, decoder=decoder, scores=True, top=20)
    chances = {token: math.exp(value) for token, value in told.said_scores[0].top}
    # The second token of each answer, so that it comes from a tree and not from reading the prompt.
    pairs = [
        say(["The tree tree monitor memory"], 2, decoder=decoder, temperature=1.0, seed=seed)[0].told
        for seed in range(1000)
    ]
    drawn = Counter(second for first, second in pairs if first == told.prompt[-1])
    draws = drawn.total()

    assert draws > 600
    assert max(chances.values()) < 0.8, "a test of draws needs something to draw"
    for token, chance in chances.items():
        assert abs(drawn[token] / draws - chance) < 5 * math.sqrt(chance * (1 - chance) / draws) + 1e-3


def test_the_word_that_is_asked_for_is_said_from_a_tree(say: Speak) -> None:
    asked = "Reply with the word ready."
    (said,) = say([asked], 20, Shape(7, 4))
    (chat,) = say([f"<|user|>{asked} Thanks!\n<|assistant|>"], 20, Shape(7, 4), temperature=1.0)

    assert (tokens.decode(said.told), said.told[-1], said.finish) == ("ready", tokens.EOS, "stop")
    assert said.verified == 1
    assert tokens.decode(chat.told) == "ready"


def test_ignoring_the_end_goes_on_behind_it(say: Speak) -> None:
    (said,) = say(["Reply with the word ready."], 20, Shape(7, 4), ignore_eos=True)

    assert (len(said.told), said.finish) == (20, "length")
    assert tokens.EOS in said.told


def test_a_prompt_of_one_token_and_one_of_several_chunks_are_read(say: Speak) -> None:
    for prompt in ("a", "word " * 60):
        assert say([prompt], 20, Shape(8, 2))[0].told == plain(say, prompt, 20)
