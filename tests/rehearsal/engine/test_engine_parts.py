"""Tokens, lexicon, weights, prefix cache, grammar and the rule of the word."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_dflash.rehearsal.engine import grammar, lexicon, text_rule, tokens, weights
from pytest_dflash.rehearsal.engine.prefix_cache import PrefixCache
from pytest_dflash.rehearsal.engine.sequence import Sequence, Wishes
from pytest_dflash.rehearsal.engine.target import ENTRY


@given(st.text())
def test_text_comes_back_from_its_tokens(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return  # half a surrogate pair is no text
    ids = tokens.encode(text)

    assert tokens.decode(ids) == text
    assert len(ids) == len(text.encode())
    assert all(0 <= each < tokens.SIZE for each in ids)


@given(st.lists(st.integers(-5, 70_000)))
def test_any_ids_have_a_text(ids: list[int]) -> None:
    assert isinstance(tokens.decode(ids), str)


def test_the_space_is_token_zero_and_no_other_byte_is_special() -> None:
    assert tokens.encode(" ") == [0]
    assert len({tokens.of_byte(byte) for byte in range(256)}) == 256
    assert not {tokens.of_byte(byte) for byte in range(256)} & {tokens.BEGIN, tokens.EOS}


def test_every_state_of_the_lexicon_is_known_by_the_end_of_its_text() -> None:
    states = lexicon.states()

    assert len({state.said for state in states}) == len(states)
    assert all(len(state.said) <= lexicon.REACH for state in states)
    for word in lexicon.WORDS:
        at = 0
        for letter in word:
            at = dict(states[at].follow)[letter]
        assert dict(states[at].follow)[" "] == 0


def test_symbols_have_codes_that_cannot_be_taken_for_each_other() -> None:
    codes = weights.drawn().embedding[:, : weights.CODE]
    symbols = [tokens.of_byte(ord(symbol)) for symbol in weights.SYMBOLS]
    alike = codes[symbols] @ codes[symbols].T / weights.CODE

    assert (np.diag(alike) == 1).all()
    assert (alike - np.eye(len(symbols)) <= 0).all()
    assert np.abs(codes[symbols] @ np.delete(codes, symbols, axis=0).T / weights.CODE).max() < 0.5


def test_weights_are_the_same_for_the_same_seed() -> None:
    one, two = weights.drawn.__wrapped__(1), weights.drawn.__wrapped__(1)

    assert (one.layers[1].up == two.layers[1].up).all()
    assert not (one.layers[1].up == weights.drawn.__wrapped__(2).layers[1].up).all()


def entries(count: int, of: float = 1.0) -> Any:
    return np.arange(count)[:, None] * of + np.zeros(ENTRY)


def test_the_longest_beginning_is_found_and_cut_where_it_must_end() -> None:
    cache = PrefixCache()
    cache.put([1, 2, 3, 4], entries(4))
    cache.put([1, 2, 9], entries(3, 10.0))

    assert cache.longest([1, 2, 3, 7], 9)[:, 0].tolist() == [0, 1, 2]
    assert cache.longest([1, 2, 9, 9], 9)[:, 0].tolist() == [0, 10, 20]
    assert len(cache.longest([1, 2, 3, 4], 2)) == 2
    assert len(cache.longest([5], 9)) == len(cache.longest([], 0)) == 0


def test_a_longer_text_takes_the_place_of_its_beginning() -> None:
    cache = PrefixCache()
    cache.put([1, 2], entries(2))
    cache.put([1, 2, 3], entries(3))
    cache.put([1], entries(1))

    assert len(cache) == 3


def test_what_was_not_used_for_longest_goes_first() -> None:
    cache = PrefixCache(capacity=6)
    for first in (1, 2, 3):
        cache.put([first, 0, 0], entries(3))
        cache.longest([1], 1)

    assert [len(cache.longest([first, 0, 0], 3)) for first in (1, 2, 3)] == [3, 0, 3]
    cache.flush()
    assert len(cache) == 0


SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}},
    {"type": "object", "properties": {"a": {"type": "object", "properties": {'é"': {"type": "null"}}}}},
    {"type": "array", "items": {"enum": ["tree", "trunk", 7, True]}},
    {"type": "object"},
    {"const": {"x": 1}},
    {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
    {"type": "boolean"},
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_whatever_is_drawn_under_a_grammar_is_json_of_that_kind(schema: dict[str, Any]) -> None:
    for seed in range(30):
        at, said, drawn = grammar.machine(schema), b"", random.Random(seed)
        while at.follow:
            allowed = np.flatnonzero(at.allowed)
            token = int(drawn.choice(allowed))
            said, at = said + tokens.to_byte(token), at.after(token)
        value = json.loads(said)
        kinds = {"object": dict, "array": list, "boolean": bool}
        assert isinstance(value, kinds[schema.get("type", "object")])
        assert np.flatnonzero(at.allowed).tolist() == [tokens.EOS]


def test_a_schema_beyond_the_subset_is_refused() -> None:
    with pytest.raises(grammar.UnknownSchema, match="type 'date' is not among object, array, string"):
        grammar.machine({"type": "object", "properties": {"when": {"type": "date"}}})


@pytest.mark.parametrize(
    "prompt, word",
    [
        ("Reply with the word ready.", "ready"),
        ("Please reply with only the word: 'go'! ", "go"),
        ("Reply with the word red. No: reply with the word blue", "blue"),
        ("Tell a story.", ""),
        ("", ""),
    ],
)
def test_a_word_that_is_asked_for_must_follow(prompt: str, word: str) -> None:
    follows = text_rule.follows(tokens.encode(prompt))

    assert tokens.decode(list(follows.values())) == word
    assert not follows or list(follows.values())[-1] == tokens.EOS


def test_the_word_stands_behind_the_assistants_turn() -> None:
    prompt = "<|user|>Reply with the word ready. Thanks\n<|assistant|>"

    assert min(text_rule.follows(tokens.encode(prompt))) == len(prompt)


def test_draws_differ_by_seed_and_place_and_are_spread_evenly() -> None:
    draws = [Sequence((1,), Wishes(1, seed=seed)).chance(place) for seed in range(50) for place in range(50)]

    assert len(set(draws)) == 2500
    assert all(0 <= each < 1 for each in draws)
    counts, _ = np.histogram(draws, bins=10, range=(0, 1))
    assert counts.min() > 180
