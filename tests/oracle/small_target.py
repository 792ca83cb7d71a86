"""A target of a few dozen tokens behind a client's interface, spelled as SGLang does: what the trial asks, without HTTP."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pytest_dflash.endpoint.answer import Answer
from pytest_dflash.endpoint.trouble import EndpointTrouble, Kind

VOCABULARY = 48
ORDER = 3
TOP = 5
UNSAID = 22
"""A token that is nowhere among the first 30 of the answers that tests let end early."""


@lru_cache(maxsize=200_000)
def logprobs(context: tuple[int, ...]) -> tuple[float, ...]:
    """The target: log-probabilities after the last three tokens."""
    draw = random.Random(hash(context))
    raw = [2.2 * draw.gauss(0, 1) for _ in range(VOCABULARY)]
    total = math.log(sum(map(math.exp, raw)))
    return tuple(each - total for each in raw)


def after(tokens: Sequence[int]) -> tuple[float, ...]:
    return logprobs(tuple(tokens[-ORDER:]))


@dataclass
class SmallTarget:
    """Stands for `endpoint.client.Client`.

    Attributes:
        wrong: Told prompt length and place, whether a token is taken that the target would not say.
        noise: Standard deviation of each logprob, in nats, drawn anew at each look.
        refuses: What it says to a request with logprobs; "" where it answers.
        greedy: Ignores the temperature. greedy_drafts: only behind the first token, where drafts are verified.
        sharp: By how much all its logits are multiplied: at 12 it is sure of nearly every token.
        accepts: Told the request's number and the step, how many drafts it accepts.
        heeds: It keeps what requests of an `extra_key` have read apart from all else.
        end: The token that ends an answer; None where none does. sends_end: it is among the tokens of the answer.
        cuts: Told prompt length and place, whether the answer ends there although nothing ended it; it is said that token
            `UNSAID` did.
    """

    wrong: Callable[[int, int], bool] = lambda _prompt, _index: False
    noise: float = 0.0
    refuses: str = ""
    greedy: bool = False
    greedy_drafts: bool = False
    sharp: float = 1.0
    accepts: Callable[[int, int], int] = lambda request, step: (request + 3 * step) % 5
    heeds: bool = True
    end: int | None = None
    sends_end: bool = True
    cuts: Callable[[int, int], bool] = lambda _prompt, _index: False
    asked: list[dict[str, Any]] = field(default_factory=list)
    known: set[str | None] = field(default_factory=set)
    draw: random.Random = field(default_factory=lambda: random.Random(7))

    def door(self) -> Any:
        return self

    model = "small"

    def get(self, path: str) -> Answer:
        return Answer(path, 404, "", None, {}, 0.0)

    def post(self, path: str, body: dict[str, Any], *, deadline_s: float | None = None) -> Answer:
        self.asked.append(body)
        document = self._tokenise(body) if path == "/tokenize" else self._generate(body)
        return Answer(path, 200, "", document, {}, 0.0)

    def _tokenise(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"tokens": [ord(each) % VOCABULARY for each in body["prompt"]]}

    def _noisy(self, tokens: Sequence[int]) -> list[float]:
        best = max(after(tokens))
        sharp = [self.sharp * (each - best) for each in after(tokens)]
        total = math.log(sum(map(math.exp, sharp)))
        return [each - total + (self.draw.gauss(0, self.noise) if self.noise else 0.0) for each in sharp]

    def _generate(self, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("return_logprob"):
            if self.refuses:
                raise EndpointTrouble(Kind.REJECTED, self.refuses, 400)
            return self._scored(body)
        prompt = (
            list(body["input_ids"]) if "input_ids" in body else [ord(c) % VOCABULARY for c in body["text"]]
        )
        sampling, tokens = body["sampling_params"], list(prompt)
        seeded = random.Random(sampling.get("sampling_seed", 1))
        may_end, finish = not sampling.get("ignore_eos", False), ""
        for index in range(sampling["max_new_tokens"]):
            if may_end and (self._ended(tokens, prompt) or self.cuts(len(prompt), index)):
                finish = "stop"
                break
            seen = self._noisy(tokens)
            if sampling["temperature"] and not (self.greedy or (self.greedy_drafts and index)):
                tokens.append(seeded.choices(range(VOCABULARY), [math.exp(each) for each in seen])[0])
                continue
            order = sorted(range(VOCABULARY), key=lambda each: -seen[each])
            tokens.append(order[3 if self.wrong(len(prompt), index) else 0])
        if may_end and self._ended(tokens, prompt):
            finish = "stop"
        said = tokens[len(prompt) :]
        if finish and not self.sends_end and said[-1:] == [self.end]:
            said = said[:-1]
        fresh = self.heeds and body.get("extra_key") and body["extra_key"] not in self.known
        self.known.add(body.get("extra_key"))
        return self._answer(prompt, said, finish, cached=0 if fresh or len(self.asked) <= 2 else 1)

    def _ended(self, tokens: Sequence[int], prompt: Sequence[int]) -> bool:
        return self.end is not None and len(tokens) > len(prompt) and tokens[-1] == self.end

    def _answer(
        self, prompt: Sequence[int], said: list[int], finish: str = "", *, cached: int = 0
    ) -> dict[str, Any]:
        steps, left, histogram = 0, len(said) - 1, [0] * 8
        while left > 0:
            accepted = min(self.accepts(len(self.asked), steps), left - 1, 7)
            histogram[accepted] += 1
            steps, left = steps + 1, left - accepted - 1
        meta: dict[str, Any] = {
            "prompt_tokens": len(prompt),
            "completion_tokens": len(said),
            "cached_tokens": cached,
            "finish_reason": {"type": "stop", "matched": UNSAID if self.end is None else self.end}
            if finish
            else {"type": "length", "length": len(said)},
        }
        if steps:
            meta |= {"spec_verify_ct": steps, "spec_correct_drafts_histogram": histogram}
        return {"text": "".join(chr(each + 64) for each in said), "output_ids": said, "meta_info": meta}

    def _scored(self, body: dict[str, Any]) -> dict[str, Any]:
        tokens, start = body["input_ids"], body["logprob_start_len"]
        said: list[Any] = [[None, tokens[start], None]]
        tops: list[Any] = [None]
        for at in range(start + 1, len(tokens)):
            seen = self._noisy(tokens[:at])
            order = sorted(range(VOCABULARY), key=lambda each: -seen[each])[: body["top_logprobs_num"]]
            said.append([seen[tokens[at]], tokens[at], None])
            tops.append([[seen[each], each, None] for each in order])
        return {
            "text": "",
            "output_ids": [0],
            "meta_info": {"input_token_logprobs": said, "input_top_logprobs": tops, "completion_tokens": 1},
        }
