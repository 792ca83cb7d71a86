"""What came back for a prompt: the raw facts of one generation, streamed or whole.

Law: reads the OpenAI protocol as the engines speak it, judges nothing. Total: any events in, a generation
out. Text of the model is data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pytest_dflash.endpoint.events import Event, EventParser
from pytest_dflash.engines.shapes import count, listed, table, text

DONE = "[DONE]"
CLIP = 200
DEEPEST = 64
"""Levels of a JSON document. Engines answer with five or so; what goes deeper is there to exhaust a reader's stack."""


class Ending(StrEnum):
    """How an answer ended."""

    WHOLE = "whole"  # one JSON document
    DONE = "done"  # a stream, up to `data: [DONE]`
    EARLY = "early"  # a stream without it
    NO_STREAM = "no_stream"  # a stream was asked for, and no event came


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the engine gives them. None: it gave none, or no whole number.

    `cached_tokens` of the prompt came from the prefix cache: SGLang tells with --enable-cache-report, vLLM with
    --enable-prompt-tokens-details, llama.cpp always.
    """

    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One answer, as it came.

    Attributes:
        text: The answer. reasoning: what the engine set apart as `reasoning_content` or `reasoning`.
        token_ids: Of the answer, where the engine tells them.
        error: What the engine said instead of an answer, or in the middle of one.
        malformed: Events that are no JSON object.
        first_text_s: From the request to the first text. duration_s: to the end of the answer.
        arrivals_s: When each chunk with text came. Several tokens may share one: count by usage.
        chunk_chars: How many characters each of these brought.
    """

    ending: Ending
    text: str = ""
    reasoning: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    token_ids: tuple[int, ...] | None = None
    model: str | None = None
    error: str | None = None
    malformed: int = 0
    first_text_s: float | None = None
    duration_s: float = 0.0
    arrivals_s: tuple[float, ...] = ()
    chunk_chars: tuple[int, ...] = ()


@dataclass(slots=True)
class Reception:
    """Puts the chunks of one answer together."""

    _text: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)
    _token_ids: list[int] | None = None
    _finish_reason: str | None = None
    _usage: Usage | None = None
    _model: str | None = None
    _error: str | None = None
    _malformed: int = 0
    _events: int = 0
    _done: bool = False
    _arrivals: list[float] = field(default_factory=list)
    _chars: list[int] = field(default_factory=list)

    def event(self, event: Event, at_s: float) -> None:
        """Takes one event of a stream. What comes after [DONE] is not part of the answer."""
        if self._done:
            return
        self._events += 1
        if event.data.strip() == DONE:
            self._done = True
            return
        document = parsed(event.data)
        if not isinstance(document, dict):
            self._malformed += 1
        else:
            self.document(document, at_s, is_error=event.kind == "error")

    def document(self, document: Mapping[str, Any], at_s: float, *, is_error: bool = False) -> None:
        """Takes one chunk, or a whole answer."""
        error = complaint_of(document) or ("an error event without a message" if is_error else None)
        self._error = self._error or error
        self._model = text(document.get("model")) or self._model
        self._usage = _usage(document.get("usage")) or self._usage
        for choice in listed(document.get("choices")):
            if isinstance(choice, dict) and choice.get("index", 0) in (0, None):
                self._choice(choice, at_s)

    def _choice(self, choice: Mapping[str, Any], at_s: float) -> None:
        said = table(choice.get("delta")) or table(choice.get("message"))
        answer = text(said.get("content")) or text(choice.get("text")) or ""
        reasoning = text(said.get("reasoning_content")) or text(said.get("reasoning")) or ""
        self._text.append(answer)
        self._reasoning.append(reasoning)
        if answer or reasoning:
            self._arrivals.append(at_s)
            self._chars.append(len(answer) + len(reasoning))
        ids = choice.get("token_ids")
        if isinstance(ids, list):
            self._token_ids = [*(self._token_ids or []), *(i for i in ids if count(i) is not None)]
        self._finish_reason = text(choice.get("finish_reason")) or self._finish_reason

    def ended(self, at_s: float, *, streamed: bool) -> Generation:
        """The answer, now that nothing more comes."""
        ending = Ending.WHOLE
        if streamed:
            ending = Ending.DONE if self._done else Ending.EARLY if self._events else Ending.NO_STREAM
        return Generation(
            ending=ending,
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            finish_reason=self._finish_reason,
            usage=self._usage,
            token_ids=None if self._token_ids is None else tuple(self._token_ids),
            model=self._model,
            error=self._error,
            malformed=self._malformed,
            first_text_s=self._arrivals[0] if self._arrivals else None,
            duration_s=at_s,
            arrivals_s=tuple(self._arrivals),
            chunk_chars=tuple(self._chars),
        )


def read_stream(pieces: Iterable[tuple[float, bytes]]) -> Generation:
    """A streamed answer, from pieces with their seconds since the request."""
    parser, reception, last = EventParser(), Reception(), 0.0
    for at_s, piece in pieces:
        last = at_s
        for event in parser.feed(piece):
            reception.event(event, at_s)
    for event in parser.close():
        reception.event(event, last)
    return reception.ended(last, streamed=True)


def read_whole(document: Mapping[str, Any], at_s: float) -> Generation:
    """An answer that came as one document, after so many seconds."""
    reception = Reception()
    reception.document(document, at_s)
    return reception.ended(at_s, streamed=False)


def complaint_of(document: Any) -> str | None:
    """What an engine complains about in its answer; None where it does not.

    SGLang: `{"object": "error", "message": …}`; vLLM and llama.cpp: `{"error": {"message": …}}`; the web
    frameworks below them: `{"detail": …}`.
    """
    told = table(document)
    error = told.get("error")
    if error:
        message = text(table(error).get("message")) or text(error) or json.dumps(error)[:CLIP]
    elif told.get("object") == "error" or (told.get("message") and "choices" not in told):
        message = text(told.get("message")) or "an error without a message"
    elif told.get("detail"):
        message = text(told["detail"]) or json.dumps(told["detail"])
    else:
        return None
    return " ".join("".join(c if c.isprintable() else " " for c in message).split())[:CLIP]


def parsed(body: str) -> Any:
    """The JSON of a body or an event; None where it is none, or none that was meant to be read."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    shallow = body.count("[") + body.count("{") <= DEEPEST
    return document if shallow or not _deep(document) else None


def _deep(document: Any) -> bool:
    level = [document] if isinstance(document, (dict, list)) else []
    for _ in range(DEEPEST):
        level = [part for each in level for part in _parts(each)]
        if not level:
            return False
    return True


def _parts(value: Any) -> Iterable[Any]:
    """The lists and tables in a list or a table."""
    inside = value.values() if isinstance(value, dict) else value
    return (part for part in inside if isinstance(part, (dict, list)))


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    details = table(value.get("prompt_tokens_details"))
    return Usage(
        count(value.get("prompt_tokens")),
        count(value.get("completion_tokens")),
        count(details.get("cached_tokens")),
    )
