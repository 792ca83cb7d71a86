"""The miniature engine without HTTP: prompts in, sequences out."""

from __future__ import annotations

import os

# Before numpy is imported: its matrices are small, and tests run side by side.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable
from collections.abc import Sequence as Many
from typing import Any

import pytest

from pytest_dflash.rehearsal.engine import corruption, decoding, text_rule, tokens
from pytest_dflash.rehearsal.engine.sequence import Sequence, Wishes

Said = list[Sequence]
Speak = Callable[..., Said]


def speak(
    prompts: Many[str | Many[int]],
    limit: int = 48,
    shape: decoding.Shape = decoding.Shape(),  # noqa: B008 - frozen
    wrong: Many[str] = (),
    decoder: decoding.Decoder | None = None,
    **wishes: Any,
) -> Said:
    """All prompts in one batch, to their ends."""
    decoder = decoder or decoding.Decoder(shape, corruption.of(wrong))
    batch = []
    for prompt in prompts:
        ids = tuple(tokens.encode(prompt) if isinstance(prompt, str) else prompt)
        batch.append(Sequence(ids, Wishes(limit, **wishes), text_rule.follows(ids)))
    for sequence in batch:
        decoder.read_prompt(sequence, len(batch))
    while live := [sequence for sequence in batch if sequence.finish is None]:
        decoder.step(live)
    for sequence in batch:
        decoder.release(sequence)
    return batch


@pytest.fixture
def say() -> Speak:
    """`speak`, for tests that do without imports among themselves."""
    return speak
