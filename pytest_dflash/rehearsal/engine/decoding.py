"""Drafting, verifying and committing: what happens to a batch of requests in one step.

Law: values in, tokens out; no threads, no clocks, no HTTP. What can go wrong here is
overridden in `healthy`, whose own form changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass, field

import numpy as np

from . import draft_tree, drafter, grammar, masking, tokens
from .draft_tree import DraftTree
from .healthy import Healthy, Moment
from .prefix_cache import PrefixCache
from .sequence import Score, Sequence
from .target import Outcome, Rows, causal, forward
from .weights import NEVER, Floats

CHUNK = 128
"""Tokens of a prompt that are read at once."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How this engine drafts.

    Attributes:
        budget: Draft nodes of a tree, the root excluded; 0 decodes plainly.
        top_k: Tokens considered for each place; 1 gives a chain.
        block: Tokens of the draft's block, the root included: a guess reaches block - 1 deep.
        window: How far the draft looks back; None for everything.
    """

    budget: int = 0
    top_k: int = 8
    block: int = drafter.BLOCK
    window: int | None = None


@dataclass(slots=True)
class Decoder:
    """The target and its draft."""

    shape: Shape = Shape()
    wrong: Healthy = field(default_factory=Healthy)
    prefixes: PrefixCache = field(default_factory=PrefixCache)

    def read_prompt(self, sequence: Sequence, running: int = 1) -> list[int]:
        """Reads the prompt, scores it where that is wanted, and says the first token.

        Args:
            sequence: A fresh one.
            running: How many requests run, this one included.

        Returns:
            The first token, or nothing where the limit is 0.
        """
        wishes, prompt = sequence.wishes, sequence.prompt
        scored_from = len(prompt) if wishes.scored_from is None else min(wishes.scored_from, len(prompt))
        # What is scored must be computed; so must the last token, from which the first is said.
        known = self.prefixes.of(wishes.space).longest(prompt, min(scored_from, len(prompt) - 1))
        sequence.reused = len(known)
        sequence.commit(self.wrong.loaded(known))
        if wishes.scored_from is not None and wishes.scored_from < len(prompt):
            sequence.prompt_scores.append(Score(prompt[wishes.scored_from], None))
        row: Floats = np.zeros(tokens.SIZE)
        for begin in range(sequence.cached, len(prompt), CHUNK):
            ids = np.array(prompt[begin : begin + CHUNK])
            places = np.arange(begin, begin + len(ids))
            (done,) = forward([Rows(ids, places, sequence.cache, causal(len(ids), begin))])
            sequence.commit(done.entries)
            logits = self.wrong.logits(done.logits)
            for at in range(max(scored_from - begin, 0), len(ids)):
                if wishes.scored_from is not None and begin + at + 1 < len(prompt):
                    ruled = _ruled(logits[at], sequence.rule.get(begin + at + 1))
                    sequence.prompt_scores.append(_score(ruled, prompt[begin + at + 1], sequence))
            row = logits[-1]
        if not wishes.limit:
            sequence.finish = "length"
            return []
        moment = Moment(sequence, 0, running, self.shape.block, self.shape.window)
        row = self._obeying(moment, row, len(prompt), sequence.grammar_at)
        return self._say(moment, [self._draw(moment, row, len(prompt))], [row])

    def step(self, batch: Many[Sequence]) -> list[list[int]]:
        """One verification for each request of the batch.

        Returns:
            What each said.
        """
        moments = [
            Moment(sequence, index, len(batch), self.shape.block, self.shape.window)
            for index, sequence in enumerate(batch)
        ]
        trees = [self._tree(moment) for moment in moments]
        outcomes = self._verify(moments, trees)
        return [self._accept(*each) for each in zip(moments, trees, outcomes, strict=True)]

    def release(self, sequence: Sequence) -> None:
        """Takes a finished request off the batch; what was read of it is kept."""
        self.prefixes.of(sequence.wishes.space).put(sequence.text, sequence.cache)

    def _tree(self, moment: Moment) -> DraftTree:
        sequence, shape = moment.sequence, self.shape
        root = sequence.text[-1]
        if not shape.budget:
            return DraftTree(np.array([root]), np.array([-1]), np.array([0]))
        guesses = drafter.marginals(sequence.text, sequence.heard, shape.block - 1, shape.window)
        place = len(sequence.text)
        for depth, row in enumerate(guesses):
            if (ruled := sequence.rule.get(place + depth)) is not None:
                row[:] = NEVER
                row[ruled] = 0.0
        guesses = self.wrong.guesses(guesses, moment)
        return draft_tree.build(root, guesses, shape.budget, shape.top_k)

    def _verify(self, moments: Many[Moment], trees: Many[DraftTree]) -> list[Outcome]:
        """One pass of the target over all nodes of all trees."""
        wrong, pasts = self.wrong, [moment.sequence.cached for moment in moments]
        masks = masking.read(
            masking.flat([wrong.ancestry(tree) for tree in trees], pasts),
            [len(tree.tokens) for tree in trees],
            pasts,
            [wrong.believed(tree, moment) for tree, moment in zip(trees, moments, strict=True)],
        )
        masks = [
            wrong.visible(mask, moment)
            for mask, moment in zip(wrong.assigned(masks, pasts), moments, strict=True)
        ]
        return forward([
            Rows(tree.tokens, past + wrong.offsets(tree), moment.sequence.cache, mask)
            for tree, past, moment, mask in zip(trees, pasts, moments, masks, strict=True)
        ])  # fmt: skip

    def _accept(self, moment: Moment, tree: DraftTree, outcome: Outcome) -> list[int]:
        """Walks from the root along what the target would say; commits what was walked."""
        sequence, logits = moment.sequence, self.wrong.logits(outcome.logits)
        place, grammar_at = len(sequence.text), sequence.grammar_at
        path, said, rows = [0], list[int](), list[Floats]()
        while len(said) < len(path):
            row = self._obeying(moment, logits[path[-1]], place + len(said), grammar_at)
            token = self._draw(moment, row, place + len(said))
            then = self.wrong.accepts(tree.children(path[-1]), row, token, len(said), moment)
            if then is not None:
                token = int(tree.tokens[then])
                path.append(then)
            rows.append(row)
            said.append(token)
            grammar_at = grammar_at and grammar_at.after(token)
            if token == tokens.EOS and not sequence.wishes.ignore_eos:
                break
        if self.shape.budget:
            length = len(path) - 1
            sequence.histogram[length] = sequence.histogram.get(length, 0) + 1
        sequence.keep(self.wrong.kept(np.array(path)), outcome.entries)
        self.wrong.committed(sequence, rejected=len(path) <= tree.depths.max())
        told = self._say(moment, said, rows)
        if sequence.finish is None and not sequence.wishes.ignore_eos and self.wrong.ends(tree, path, moment):
            sequence.finish = "stop"
        return told

    def _obeying(self, moment: Moment, row: Floats, place: int, grammar_at: grammar.State | None) -> Floats:
        """What the target says for a place, as far as rule and grammar let it."""
        if (ruled := moment.sequence.rule.get(place)) is not None:
            return _ruled(row, ruled)
        if grammar_at is not None and self.wrong.obeys(moment):
            return np.where(grammar_at.allowed, row, -np.inf)
        return row

    def _draw(self, moment: Moment, row: Floats, place: int) -> int:
        """The token for a place: the likeliest, or one by chance."""
        temperature = self.wrong.temperature(moment.sequence.wishes.temperature)
        if temperature <= 0:
            return self.wrong.choice(int(row.argmax()), place, moment)
        shares = np.exp((row - row.max()) / temperature).cumsum()
        drawn = int(np.searchsorted(shares, moment.sequence.chance(place) * shares[-1], side="right"))
        return self.wrong.choice(drawn, place, moment)

    def _say(self, moment: Moment, said: list[int], rows: Many[Floats]) -> list[int]:
        """Adds to the text; what of it reaches the client is returned."""
        sequence = moment.sequence
        for token in said:
            sequence.grammar_at = sequence.grammar_at and sequence.grammar_at.after(token)
        told = sequence.say(said, self.wrong.told(said, moment))
        if sequence.wishes.scores:
            sequence.said_scores += [
                _score(row, token, sequence) for row, token in zip(rows, told, strict=False)
            ]
        return told


def _ruled(row: Floats, token: int | None) -> Floats:
    """A row in which nothing but `token` may come, where there is one."""
    if token is None:
        return row
    only: Floats = np.full_like(row, NEVER)
    only[token] = 0.0
    return only


def _score(row: Floats, token: int, sequence: Sequence) -> Score:
    """How likely a row holds a token, with what the client wants beside it."""
    # What a grammar forbids is told as very unlikely: JSON has no minus infinity.
    highest = row.max()
    logs = np.maximum(row - highest - np.log(np.exp(row - highest).sum()), -1e4)
    wishes = sequence.wishes
    best = np.argsort(-logs, kind="stable")[: wishes.top] if wishes.top else ()
    return Score(
        token,
        float(logs[token]),
        tuple((int(each), float(logs[each])) for each in best),
        tuple((each, float(logs[each])) for each in wishes.also if 0 <= each < len(logs)),
    )
