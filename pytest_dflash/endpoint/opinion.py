"""What the target thinks of answers: the strongest oracle that the engine admits, asked about each of them.

Law: an agent by its speaker only: how answers are handed back, and what is asked again so that no cache accuses them.
Which answers there are is `endpoint.trial`'s, what an opinion proves is judged by `rules.tree_lossless`.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pytest_dflash.endpoint.speaking import Speaker
from pytest_dflash.engines.scoring import Order, Scored, Spoken
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.oracle import ending, noise
from pytest_dflash.oracle.answers import Part, Said
from pytest_dflash.oracle.choice import Choice, Oracle
from pytest_dflash.oracle.ending import Ending, Kind
from pytest_dflash.oracle.noise import Noise
from pytest_dflash.oracle.prefill import Sample
from pytest_dflash.oracle.rescoring import Line

AT_ONCE = 4
"""So many answers are scored at a time."""
DRAWS = 2 * 10**6
"""Seeds of draws begin here, one for each: other ones than those of the answers."""
CONFIRMED = 512
"""Prompts up to this many tokens are scored from their first token on, where an answer looks wrong."""
SAMPLED_AT = (1, 2, 4, 7, 12, 19, 28, 37)
"""The same of a sampled answer, where a prefill is asked twice: what is likeliest, and what it draws."""
PREFILLS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 19, 23, 28, 34, 41, 47, 55, 66, 89)
"""Positions of an answer at which a one-token prefill is asked for, where nothing better is to be had."""


@dataclass(frozen=True, slots=True)
class Prefilled:
    """What prefills of one token said.

    Attributes:
        samples: By place. empty: places where they said nothing.
        shared: Answers for which they took from a cache what others had put there.
    """

    samples: tuple[Sample, ...]
    empty: tuple[str, ...]
    shared: tuple[str, ...]


@dataclass
class Opinion:
    """The target of one process, as who judges its answers.

    Attributes:
        ids: Token ids of a text, or why there are none.
        withheld: Why logprobs must not even be asked for; "" where they may be.
    """

    speaker: Speaker
    ids: Reading[tuple[int, ...]]
    withheld: str = ""
    _seeds: Iterator[int] = field(default_factory=itertools.count)
    _space: str = field(default_factory=lambda: secrets.token_hex(8))

    @cached_property
    def choice(self) -> Choice:
        """The strongest oracle that this engine and version admits."""
        if not isinstance(self.ids, Value):
            why = self.ids.why if isinstance(self.ids, Silent) else "it has none"
            return Choice(Oracle.TEXT, f"no token ids: {why}")
        if self.withheld:
            return Choice(Oracle.PREFILL, self.withheld)
        tried = self.speaker.score_all([(self.ids.value[:24], 8)], 1)[0]
        if isinstance(tried, Value):
            return Choice(Oracle.RESCORING)
        return Choice(
            Oracle.PREFILL, f"no logprobs: {tried.why if isinstance(tried, Silent) else 'none told'}"
        )

    def of(self, said: Sequence[Said], *, afresh: bool = False, greedy: bool = True) -> Part:
        """Asks the oracle about these answers, and about their ends.

        `greedy`: asked again, the engine says the same. Of sampled answers no last token is asked for again.
        """
        generating, before = self.speaker.generating.last_s, self.speaker.seconds
        ends = [self._ending(each, greedy=greedy) for each in said]
        if self.choice.oracle is not Oracle.RESCORING:
            found = self._prefills(said, 1) if greedy else self._draws(said)
            places = [_place(*each) for each in zip(said, ends, strict=True)]
            part = Part(
                tuple(said),
                samples=_beside(found.samples, places),
                silent=found.empty,
                shared=found.shared,
                generating_s=generating,
                judging_s=self.speaker.seconds - before,
            )
            return _with_ends(part, ends)
        silent: list[str] = []
        whole: list[tuple[Said, tuple[int, ...], tuple[int, ...], Ending | None]] = []
        for each, end in zip(said, ends, strict=True):
            beyond = () if end is None or end.beyond is None else (end.beyond,)
            tokens = (*(each.spoken.tokens or ()), *beyond)
            if isinstance(each.prompt, str) or not tokens:
                silent.append(f"{each.label}: the answer has no token ids")
            else:
                whole.append((each, each.prompt, tokens, end))
        many = [((*prompt, *tokens), len(prompt)) for _, prompt, tokens, _ in whole]
        lines = []
        scored: list[Reading[tuple[Scored, ...]]] = self.speaker.score_all(many, AT_ONCE, afresh=afresh)
        for (each, prompt, tokens, end), reading in zip(whole, scored, strict=True):
            told = reading.value if isinstance(reading, Value) else ()
            line = Line(each.label, prompt, tokens, told, end)
            if line.matches:
                lines.append(line)
            else:
                why = reading.why if isinstance(reading, Silent) else "it scored other tokens than were sent"
                silent.append(f"{each.label}: {why}")
        lines = lines if afresh else self._confirmed(lines)
        took = self.speaker.seconds - before
        part = Part(tuple(said), tuple(lines), silent=tuple(silent), generating_s=generating, judging_s=took)
        return _with_ends(part, ends)

    def _ending(self, said: Said, *, greedy: bool) -> Ending | None:
        """The end of an answer; where it does not tell enough, its last token is asked for again, and may end it again."""
        found = ending.by_its_account(said.spoken)
        if found is None:
            return None
        if isinstance(said.prompt, str):
            return Ending(Kind.OPEN, why="a text alone was compared")
        if not greedy or not ending.to_ask_again(said.spoken, found):
            return found
        before = (*said.prompt, *(said.spoken.tokens or ())[:-1])
        again = self.speaker.say(Order(prompt=before, max_tokens=ending.AGAIN, to_the_limit=False))
        return ending.asked_again(said.spoken, again)

    def _confirmed(self, lines: Sequence[Line]) -> list[Line]:
        """Answers that look wrong are scored once more, so that no cache speaks against them; short ones, as it costs."""
        doubted = [
            line
            for line in lines
            if len(line.prompt) <= CONFIRMED
            and any(line.gap(index) > noise.FLOOR for index in range(len(line.scored)))
        ]
        many = [((*line.prompt, *line.said), len(line.prompt)) for line in doubted]
        again = self.speaker.score_all(many, 1, afresh=True) if many else []
        better = {
            line.label: replace(line, scored=reading.value)
            for line, reading in zip(doubted, again, strict=True)
            if isinstance(reading, Value)
        }
        return [better.get(line.label, line) for line in lines]

    def noise(self, lines: Sequence[Line]) -> Noise:
        """What scorings of the same answers differ by: one by one, several at once, and from the cache.

        A cache that gives back something else than was computed is no noise: its differences are left out.
        """
        many = [((*line.prompt, *line.said), len(line.prompt)) for line in lines]
        fresh = self.speaker.score_all(many, 1, afresh=True)
        alone = [
            replace(line, scored=reading.value)
            for line, reading in zip(lines, fresh, strict=True)
            if isinstance(reading, Value)
        ]
        batched = _differences(alone, self.speaker.score_all(many, AT_ONCE, afresh=True))
        cold = _differences(alone, self.speaker.score_all(many, 1))
        if max(cold, default=0.0) > noise.CEILING:
            return Noise(tuple(batched), "the same answers scored one by one and several at once")
        return Noise(
            (*batched, *cold),
            "the same answers scored one by one, several at once, and without the prefix cache",
        )

    def disagreement(self, part: Part) -> tuple[int, int]:
        """How often a prefill disagrees with itself when it is asked again, several at once; of how many."""
        again = {(each.label, each.index): each.told for each in self._prefills(part.said, AT_ONCE).samples}
        pairs = [
            (each.told, again[each.label, each.index])
            for each in part.samples
            if (each.label, each.index) in again
        ]
        return sum(one != other for one, other in pairs), len(pairs)

    def _draws(self, said: Sequence[Said]) -> Prefilled:
        """What a prefill says behind the first tokens of each sampled answer, and what it draws there at temperature 1."""
        found = self._prefills(said, AT_ONCE, SAMPLED_AT)
        if self.choice.oracle is not Oracle.PREFILL:
            return found  # a text that continues is no draw of one token
        answers = {each.label: each for each in said}
        orders = [
            Order(
                prompt=(
                    *answers[each.label].prompt,
                    *(answers[each.label].spoken.tokens or ())[: each.index],
                ),
                max_tokens=1,
                temperature=1.0,
                seed=DRAWS + next(self._seeds),
                apart=self._apart(each.label),
            )
            for each in found.samples
        ]
        drawn = [each.tokens[0] if each.tokens else None for each in self.speaker.say_all(orders, AT_ONCE)]
        pairs = zip(found.samples, drawn, strict=True)
        return replace(found, samples=tuple(replace(each, drawn=one) for each, one in pairs))

    def _apart(self, label: str) -> str:
        """The name under which prefills of one answer share what they have read, and with nobody else."""
        return f"{self._space} {label}"

    def _prefills(self, said: Sequence[Said], at_once: int, at: Sequence[int] = PREFILLS) -> Prefilled:
        """What a prefill says behind the first tokens of each answer."""
        places: list[tuple[Said, int, int | str]] = []
        orders: list[Order] = []
        for each in said:
            if each.spoken.tokens is not None and not isinstance(each.prompt, str):
                tokens, end = each.spoken.whole, _end(each)
                for index in sorted({*(i for i in at if i < len(tokens)), *end}):
                    places.append((each, index, tokens[index]))
                    prompt = (*each.prompt, *tokens[:index])
                    orders.append(Order(prompt=prompt, max_tokens=1, apart=self._apart(each.label)))
            elif isinstance(each.prompt, str):
                text = each.spoken.text
                for index in (i for i in _cuts(text) if i < len(text)):
                    places.append((each, index, text[index:]))
                    cut = each.prompt + text[:index]
                    orders.append(Order(prompt=cut, max_tokens=1, apart=self._apart(each.label)))
        told = self.speaker.say_all(orders, at_once)
        samples: list[Sample] = []
        empty: list[str] = []
        first: dict[str, Spoken] = {}
        for (each, index, here), answer in zip(places, told, strict=True):
            first.setdefault(each.label, answer)
            if answer.tokens or answer.text:
                then = answer.tokens[0] if answer.tokens else answer.text
                samples.append(Sample(each.label, index, here, then, ended=index in _end(each)))
            else:
                empty.append(f"place {index + 1} of {each.label}")
        # One at a time, the first of a name can find nothing in the cache, unless the name was not heeded.
        shared = tuple(label for label, answer in first.items() if at_once == 1 and answer.cached_tokens)
        return Prefilled(tuple(samples), tuple(empty), shared)


def _end(said: Said) -> tuple[int, ...]:
    """The place of the token that ended an answer, where the engine tells which one it was."""
    by = said.spoken.ended_by
    told = said.spoken.finish == ending.STOP and isinstance(by, int) and by in said.spoken.whole
    return (said.spoken.whole.index(by),) if told and isinstance(by, int) else ()


def _place(said: Said, end: Ending | None) -> Sample | None:
    """The end as a place, where nobody named its token and the engine was asked again; None where there is nothing to add."""
    tokens = said.spoken.tokens
    if not tokens or end is None or said.spoken.ended_by is not None or end.kind is Kind.OPEN:
        return None
    if end.beyond is None:
        return Sample(said.label, len(tokens) - 1, tokens[-1], tokens[-1], ended=True)
    here = end.beyond if end.kind is Kind.TOLD else ending.UNNAMED
    return Sample(said.label, len(tokens), here, end.beyond, ended=True)


def _beside(samples: Sequence[Sample], places: Sequence[Sample | None]) -> tuple[Sample, ...]:
    """The samples and the ends, each place once."""
    more = [each for each in places if each is not None]
    taken = {(each.label, each.index) for each in more}
    return (*(each for each in samples if (each.label, each.index) not in taken), *more)


def _with_ends(part: Part, ends: Sequence[Ending | None]) -> Part:
    """How many of the ends are judged with the tokens, and why others are not."""
    found = [(each.label, end) for each, end in zip(part.said, ends, strict=True) if end is not None]
    open_ = tuple(f"{label}: {end.why}" for label, end in found if end.kind is Kind.OPEN)
    return replace(part, ends=len(found) - len(open_), open_ends=open_)


def _cuts(text: str) -> list[int]:
    """Places of a text before a blank: a token often begins there, so it is cut as it was said."""
    return [index for index, character in enumerate(text) if index and character == " "][::4]


def _differences(lines: Sequence[Line], again: Sequence[Reading[tuple[Scored, ...]]]) -> list[float]:
    found: list[float] = []
    for line, scored in zip(lines, again, strict=True):
        if isinstance(scored, Value):
            found.extend(noise.differences(line.scored, scored.value))
    return found
