"""What the target thinks of answers: the strongest oracle that the engine admits, asked about each of them.

Law: an agent by its speaker only: how answers are handed back, and what is asked again so that no cache accuses them.
Which answers there are is `endpoint.trial`'s, what an opinion proves is judged by `rules.tree_lossless`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pytest_dflash.endpoint.speaking import Speaker
from pytest_dflash.engines.scoring import Order, Scored
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.oracle import noise
from pytest_dflash.oracle.answers import Part, Said
from pytest_dflash.oracle.choice import Choice, Oracle
from pytest_dflash.oracle.noise import Noise
from pytest_dflash.oracle.prefill import Sample
from pytest_dflash.oracle.rescoring import Line

AT_ONCE = 4
"""So many answers are scored at a time."""
CONFIRMED = 512
"""Prompts up to this many tokens are scored from their first token on, where an answer looks wrong."""
PREFILLS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 19, 23, 28, 34, 41, 47, 55, 66, 89)
"""Positions of an answer at which a one-token prefill is asked for, where nothing better is to be had."""


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

    def of(self, said: Sequence[Said], *, afresh: bool = False) -> Part:
        """Asks the oracle about these answers."""
        generating, before = self.speaker.generating.last_s, self.speaker.seconds
        if self.choice.oracle is not Oracle.RESCORING:
            samples, empty = self._prefills(said, 1)
            took = self.speaker.seconds - before
            return Part(tuple(said), samples=samples, silent=empty, generating_s=generating, judging_s=took)
        silent: list[str] = []
        whole: list[tuple[Said, tuple[int, ...], tuple[int, ...]]] = []
        for each in said:
            if isinstance(each.prompt, str) or not each.spoken.tokens:
                silent.append(f"{each.label}: the answer has no token ids")
            else:
                whole.append((each, each.prompt, each.spoken.tokens))
        many = [((*prompt, *tokens), len(prompt)) for _, prompt, tokens in whole]
        lines = []
        scored: list[Reading[tuple[Scored, ...]]] = self.speaker.score_all(many, AT_ONCE, afresh=afresh)
        for (each, prompt, tokens), reading in zip(whole, scored, strict=True):
            line = Line(each.label, prompt, tokens, reading.value if isinstance(reading, Value) else ())
            if line.matches:
                lines.append(line)
            else:
                why = reading.why if isinstance(reading, Silent) else "it scored other tokens than were sent"
                silent.append(f"{each.label}: {why}")
        lines = lines if afresh else self._confirmed(lines)
        took = self.speaker.seconds - before
        return Part(tuple(said), tuple(lines), silent=tuple(silent), generating_s=generating, judging_s=took)

    def _confirmed(self, lines: Sequence[Line]) -> list[Line]:
        """Answers that look wrong are scored once more, so that no cache speaks against them; short ones, as it costs."""
        doubted = [
            line
            for line in lines
            if len(line.prompt) <= CONFIRMED and any(each.gap > noise.FLOOR for each in line.scored)
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
        again = {(each.label, each.index): each.told for each in self._prefills(part.said, AT_ONCE)[0]}
        pairs = [
            (each.told, again[each.label, each.index])
            for each in part.samples
            if (each.label, each.index) in again
        ]
        return sum(one != other for one, other in pairs), len(pairs)

    def _prefills(self, said: Sequence[Said], at_once: int) -> tuple[tuple[Sample, ...], tuple[str, ...]]:
        """What a prefill says behind the first tokens of each answer, and the places where it says nothing."""
        places: list[tuple[Said, int, int | str]] = []
        orders: list[Order] = []
        for each in said:
            tokens = each.spoken.tokens
            if tokens is not None and not isinstance(each.prompt, str):
                for index in (i for i in PREFILLS if i < len(tokens)):
                    places.append((each, index, tokens[index]))
                    orders.append(Order(prompt=(*each.prompt, *tokens[:index]), max_tokens=1))
            elif isinstance(each.prompt, str):
                text = each.spoken.text
                for index in (i for i in _cuts(text) if i < len(text)):
                    places.append((each, index, text[index:]))
                    orders.append(Order(prompt=each.prompt + text[:index], max_tokens=1))
        told = self.speaker.say_all(orders, at_once)
        samples: list[Sample] = []
        empty: list[str] = []
        for (each, index, here), answer in zip(places, told, strict=True):
            if answer.tokens or answer.text:
                samples.append(
                    Sample(each.label, index, here, answer.tokens[0] if answer.tokens else answer.text)
                )
            else:
                empty.append(f"place {index + 1} of {each.label}")
        return tuple(samples), tuple(empty)


def _cuts(text: str) -> list[int]:
    """Places of a text before a blank: a token often begins there, so it is cut as it was said."""
    return [index for index, character in enumerate(text) if index and character == " "][::4]


def _differences(lines: Sequence[Line], again: Sequence[Reading[tuple[Scored, ...]]]) -> list[float]:
    found: list[float] = []
    for line, scored in zip(lines, again, strict=True):
        if isinstance(scored, Value):
            found.extend(noise.differences(line.scored, scored.value))
    return found
