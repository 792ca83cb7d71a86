"""What became of one request under load.

Law: values and their arithmetic. Tokens are those that the engine counted in usage, never chunks and never what
was asked for; what cannot be told is None. Points in time are seconds of one monotonic clock (`_at_s`), spans
are seconds (`_s`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise


class Failure(StrEnum):
    """Why a request does not count as answered."""

    UNREACHABLE = "unreachable"  # no connection
    TLS = "tls"  # a connection, and no trust
    STATUS = "status"  # not 200
    NO_STREAM = "no_stream"  # 200, and no event came
    ERROR_EVENT = "error_event"  # the engine said an error in the middle
    CUT_OFF = "cut_off"  # the connection ended before [DONE]
    MALFORMED = "malformed"  # an event that is no JSON object
    EMPTY = "empty"  # neither content nor reasoning
    NO_USAGE = "no_usage"  # the engine did not count, or counted nothing
    TIMEOUT = "timeout"  # longer than one answer may take
    STOPPED = "stopped"  # ended by this side: nobody's failure


AT_ONCE_S = 0.0005
"""An answer whose chunks came within this was made by one step, or held back: it tells no time per token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """One request and its answer.

    Attributes:
        index: Its number in the phase, warm-up included; names its prompt.
        stream: Which of the concurrent streams sent it.
        sent_at_s: The write of the request. send_lag_s: from the moment it could have been written until then.
        connect_s: What connecting took before; 0 where the connection was there. Not part of the TTFT.
        ended_at_s: When the answer was over, or given up.
        status: Of HTTP; None when none came.
        arrived_at_s: When each chunk with content or reasoning was there (the empty role chunk is none).
        chunk_chars: How many characters each of those brought.
        prompt_tokens: By usage, as output_tokens and cached_tokens.
        text: What was said, content and reasoning, clipped.
        complaint: What failed, in a sentence; "" when nothing did.
    """

    index: int
    stream: int
    sent_at_s: float
    ended_at_s: float
    send_lag_s: float = 0.0
    connect_s: float = 0.0
    status: int | None = None
    arrived_at_s: tuple[float, ...] = ()
    chunk_chars: tuple[int, ...] = ()
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    finish_reason: str | None = None
    text: str = ""
    failure: Failure | None = None
    complaint: str = ""

    @property
    def ok(self) -> bool:
        """Whether it was answered, whole and counted."""
        return self.failure is None

    @property
    def latency_s(self) -> float:
        """From the write to the end of the answer."""
        return self.ended_at_s - self.sent_at_s

    @property
    def ttft_s(self) -> float | None:
        """From the write to the first chunk that says something."""
        return self.arrived_at_s[0] - self.sent_at_s if self.arrived_at_s else None

    @property
    def tpot_s(self) -> float | None:
        """Time per output token after the first: (last chunk - first chunk) / (tokens - 1). None where all came at once."""
        if not self.ok or self.output_tokens is None or self.output_tokens < 2 or len(self.arrived_at_s) < 2:
            return None
        took = self.arrived_at_s[-1] - self.arrived_at_s[0]
        return took / (self.output_tokens - 1) if took > AT_ONCE_S else None

    @property
    def decode_tokens_per_s(self) -> float | None:
        """1 / TPOT."""
        return 1 / self.tpot_s if self.tpot_s else None

    @property
    def gaps_s(self) -> tuple[float, ...]:
        """Between chunks. With speculation one brings several tokens: not a time per token."""
        return tuple(later - earlier for earlier, later in pairwise(self.arrived_at_s))

    def tokens_until(self, at_s: float) -> float:
        """Its tokens that were there at this moment: the engine's count, spread over chunks by characters."""
        whole = sum(self.chunk_chars)
        if not self.ok or self.output_tokens is None or not whole:
            return 0.0
        there = sum(
            chars for at, chars in zip(self.arrived_at_s, self.chunk_chars, strict=True) if at <= at_s
        )
        return self.output_tokens * there / whole
