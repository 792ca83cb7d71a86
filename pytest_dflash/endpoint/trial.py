"""Everything that is asked of one process to see whether its speculation is lossless.

Law: an agent by its speaker only: which requests, in which order, how many at once. What the answers prove is judged
by `rules.tree_*`. Each part is asked once, when it is first wanted; a process that was restarted gets a new trial.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pytest_dflash.endpoint.opinion import Opinion
from pytest_dflash.endpoint.speaking import Speaker
from pytest_dflash.engines.scoring import Bounds, Order, Spoken
from pytest_dflash.facts.reading import Reading, Value
from pytest_dflash.findings import Json
from pytest_dflash.oracle import prompts
from pytest_dflash.oracle.acceptance import Drafted
from pytest_dflash.oracle.answers import Grounds, Part, Said, counted, each_of, joined
from pytest_dflash.oracle.choice import Choice, Oracle
from pytest_dflash.oracle.loops import loop
from pytest_dflash.oracle.noise import Noise
from pytest_dflash.oracle.sampling import compared

ALONE = ((37, 112), (61, 112), (90, 112), (150, 112))
"""Tokens of the prompt, and new ones: one request at a time."""
TOGETHER = ((17, 72), (40, 88), (71, 56), (110, 80), (160, 64), (230, 96), (52, 48), (96, 64))
"""The same with `AT_ONCE` at a time: of unequal length, so that some join while others run."""
AT_ONCE = 4
EDGE_TOKENS = 24
CACHED = (120, 48)
LONG = (48, 384)
SAMPLED = (61, 90, 150, 37)
"""Tokens of the prompts that are answered at temperature 1: the next one where the target was too sure after those before."""
SEEDS, SAMPLED_TOKENS, FIRST_TOKENS = 16, 40, 160
GRAMMAR_TOKENS = 96
SCHEMA: Json = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "count": {"type": "integer", "minimum": 0, "maximum": 999},
    },
    "required": ["name", "count"],
    "additionalProperties": False,
}
TOKENS = {
    "alone": sum(new for _, new in ALONE),
    "together": sum(new for _, new in TOGETHER),
    "edges": EDGE_TOKENS * 17,
    "long": LONG[1],
    "cached": 4 * CACHED[1],
    "sampled": len(SAMPLED) * SEEDS * SAMPLED_TOKENS + FIRST_TOKENS,
    "grammar": (1 + AT_ONCE) * GRAMMAR_TOKENS,
}
"""New tokens of each part, at most."""


@dataclass
class Trial:
    """One process.

    Attributes:
        seed: Of the prompts; the same for all processes of a run, so that their answers can be compared.
        bounds: The engine's own edges. window: the draft window, tokens.
        withheld: Why logprobs must not even be asked for; "" where they may be.
        cells: How many budgets the run visits beside the running one.
    """

    speaker: Speaker
    seed: int
    bounds: Bounds = field(default_factory=Bounds)
    window: int | None = None
    withheld: str = ""
    cells: int = 0
    _parts: dict[str, Part] = field(default_factory=dict)

    @cached_property
    def ids(self) -> Reading[tuple[int, ...]]:
        """Token ids of a text that is longer than the longest prompt."""
        longest = max(prompts.edges(self.bounds, self.window))
        return self.speaker.ids(prompts.prose(self.seed, longest + 512))

    @cached_property
    def opinion(self) -> Opinion:
        """What the target thinks of the answers."""
        return Opinion(self.speaker, self.ids, self.withheld)

    @property
    def choice(self) -> Choice:
        """The strongest oracle that this engine and version admits."""
        return self.opinion.choice

    @cached_property
    def grounds(self) -> Grounds:
        """Measured once: by rescoring what the scorings differ by, else how often a prefill disagrees with itself."""
        if self.choice.oracle is Oracle.RESCORING:
            return Grounds(self.choice, self.opinion.noise(self.alone.lines), 0, 0, self.cells, self.seed)
        return Grounds(self.choice, Noise(()), *self.opinion.disagreement(self.alone), self.cells, self.seed)

    @property
    def alone(self) -> Part:
        """One request at a time; it may end where the model ends it."""
        return self._part("alone", lambda: self._greedy("alone", ALONE, 1, to_the_limit=False))

    @property
    def together(self) -> Part:
        """Several requests of unequal length at once."""
        return self._part("together", lambda: self._greedy("together", TOGETHER, AT_ONCE))

    @property
    def at_edges(self) -> Part:
        """Prompts whose length is at an edge of kernels, pages, prefill chunks or the draft window; one at a time."""
        return self._part("edges", lambda: self._greedy("edge", [(n, EDGE_TOKENS) for n in self._edges], 1))

    @property
    def long(self) -> Part:
        """One long answer."""
        return self._part("long", lambda: self._greedy("long", [LONG], 1))

    @property
    def cached(self) -> Part:
        """A, again A, another B, again A: one at a time, and scored from no cache."""
        first, other = self._prompts["A", CACHED[0]], self._prompts["B", CACHED[0]]
        asked = [("A, cold", first), ("A, warm", first), ("B", other), ("A, after B", first)]
        return self._part(
            "cached", lambda: self.opinion.of(self._ask(asked, [CACHED[1]] * 4, 1), afresh=True)
        )

    @property
    def sampled(self) -> Part:
        """Answers at temperature 1, each with its own seed; to as many prompts as it takes; one at a time."""
        return self._part("sampled", self._sample)

    def _sample(self) -> Part:
        parts: list[Part] = []
        for length in SAMPLED:
            parts.append(self._sampled(length))
            lines = [line.scored for part in parts for line in part.lines]
            samples = [each for part in parts for each in part.samples]
            found = compared(lines, samples)
            if parts[-1].differ if found is None else found.tells:
                break
        return joined(parts)

    def _sampled(self, length: int) -> Part:
        prompt = self._prompts["alone", length]
        # Other seeds for each prompt: answers of one seed draw alike, and would not count as so many.
        seeds = [self.seed % 10**6 + 1000 * length + n for n in range(SEEDS)]
        orders = [
            Order(prompt=prompt, max_tokens=SAMPLED_TOKENS, temperature=1.0, seed=seed) for seed in seeds
        ]
        spoken = self.speaker.say_all(orders, 1)
        said = [Said(f"seed {n}, prompt of {length} tokens", prompt, each) for n, each in enumerate(spoken)]
        return self.opinion.of(said, greedy=False)

    @cached_property
    def first_tokens(self) -> tuple[tuple[int, ...], Mapping[int, float]]:
        """First tokens of many answers to the first of these prompts, and the logprobs of the target's likeliest ones there."""
        line = next(iter(self.sampled.lines), None)
        if line is None:
            return (), {}
        orders = [
            Order(prompt=line.prompt, max_tokens=1, temperature=1.0, seed=self.seed % 10**6 + 1000 + n)
            for n in range(FIRST_TOKENS)
        ]
        spoken = self.speaker.say_all(orders, AT_ONCE)
        tokens = [each.tokens[0] for each in spoken if each.tokens]
        tokens += [each.said[0] for each in self.sampled.lines if each.said and each.prompt == line.prompt]
        return tuple(tokens), dict(line.scored[0].best)

    @property
    def drafted(self) -> tuple[Drafted, ...]:
        """Verify steps of the greedy answers: of one request at a time, several at once, and long prompts."""
        return (*self.alone.drafted, *self.together.drafted, *self.at_edges.drafted)

    @property
    def drafted_far(self) -> tuple[Drafted, ...]:
        """The same, with a long answer that does not go round in circles: circles are easily drafted."""
        (said,) = self.long.said
        return self.drafted if loop(said.spoken.tokens or ()) else (*self.drafted, *self.long.drafted)

    def ask_all(self) -> None:
        """Asks everything that is compared between processes."""
        for _ in (self.alone, self.together, self.at_edges, self.grounds):
            pass

    def constrained(self, at_once: int) -> list[Spoken]:
        """Answers that must fulfil a JSON schema.

        Raises:
            EndpointError: The engine refuses.
        """
        text = "Describe one basket of plums as a JSON object with its name and its count.\n"
        order = Order(prompt=text, max_tokens=GRAMMAR_TOKENS, to_the_limit=False, schema=SCHEMA)
        orders = [replace(order, prompt=f"{text}Basket number {n + 1}:\n") for n in range(at_once)]
        return self.speaker.say_all(orders, at_once)

    # ---- how a part is asked

    def _part(self, name: str, ask: Callable[[], Part]) -> Part:
        if name not in self._parts:
            self._parts[name] = ask()
        return self._parts[name]

    @property
    def _edges(self) -> tuple[int, ...]:
        longest = len(self.ids.value) if isinstance(self.ids, Value) else prompts.FARTHEST
        return prompts.spread(prompts.edges(self.bounds, self.window), longest)

    @cached_property
    def _prompts(self) -> Mapping[tuple[str, int], tuple[int, ...] | str]:
        """By what it is for, and its length: the same in every trial of a run."""
        greedy = [
            ("alone", ALONE),
            ("together", TOGETHER),
            ("edge", [(n, 0) for n in self._edges]),
            ("long", [LONG]),
        ]
        keys = [(what, length) for what, sizes in greedy for length, _ in sizes]
        keys += [("A", CACHED[0]), ("B", CACHED[0])]
        if not isinstance(self.ids, Value):
            return {key: prompts.prose(self.seed + n, key[1])[: key[1] * 4] for n, key in enumerate(keys)}
        return dict(
            zip(keys, prompts.cuts(self.ids.value, [length for _, length in keys], self.seed), strict=True)
        )

    def _greedy(
        self, what: str, sizes: Sequence[tuple[int, int]], at_once: int, *, to_the_limit: bool = True
    ) -> Part:
        asked = [(f"{what}, prompt of {length} tokens", self._prompts[what, length]) for length, _ in sizes]
        before = self.speaker.counters()
        said = self._ask(asked, [new for _, new in sizes], at_once, to_the_limit=to_the_limit)
        after = self.speaker.counters()
        drafted = each_of(said) or counted(said, before, after)
        return replace(self.opinion.of(said), drafted=drafted, counters=(before, after))

    def _ask(
        self,
        asked: Sequence[tuple[str, tuple[int, ...] | str]],
        new: Sequence[int],
        at_once: int,
        *,
        to_the_limit: bool = True,
    ) -> list[Said]:
        orders = [
            Order(prompt=prompt, max_tokens=tokens, to_the_limit=to_the_limit)
            for (_, prompt), tokens in zip(asked, new, strict=True)
        ]
        spoken = self.speaker.say_all(orders, at_once)
        return [Said(label, prompt, each) for (label, prompt), each in zip(asked, spoken, strict=True)]
