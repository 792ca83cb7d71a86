"""Prompts of four kinds, any length, each a fresh one.

Law: pure: the same plan and number give the same prompt, in any process. All text is our own, in `material`. Nothing
random but by the seed. Each prompt opens with a line that no other has, so that a prefix cache finds nothing.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pytest_dflash.load import material
from pytest_dflash.load.plan import Plan

CHARS_PER_TOKEN = {"code": 3.4, "mathematics": 3.6, "prose": 4.6, "long_context": 3.6}
"""To begin with, for tokenizers of 100,000 tokens and more; usage of the first request replaces it."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. `expected`: a regular expression that a right answer matches; None where no answer is wrong."""

    text: str
    expected: str | None = None


def prompt_of(plan: Plan, index: int, chars_per_token: float) -> Prompt:
    """The prompt of a request.

    Args:
        plan: Kind, length, seed, run, and whether each is fresh.
        index: Its number; without `fresh` all are number 0.
        chars_per_token: What one token of such a prompt has in characters.
    """
    number = index if plan.fresh else 0
    rng = random.Random(f"{plan.seed}/{plan.text_class}/{number}")  # noqa: S311 - repeatable is what is wanted
    mark = hashlib.sha256(f"{plan.run}/{plan.seed}/{plan.text_class}/{number}".encode()).hexdigest()[:16]
    task, expected, planted = TASKS[plan.text_class](rng)
    first = f"{mark} is the number of this request.\n\n"
    room = int(plan.prompt_tokens * chars_per_token) - len(first) - len(task)
    filling = _filled(MATERIAL[plan.text_class](rng), room - len(planted))
    if planted:
        at = filling.rfind("\n", 0, 1 + int(len(filling) * rng.uniform(0.1, 0.9))) + 1
        filling = filling[:at] + planted + filling[at:]
    return Prompt(f"{first}{filling}{task}", expected)


def _filled(pieces: Iterator[str], room: int) -> str:
    """Whole pieces as far as there is room, and the beginning of one more, cut at a blank."""
    filled: list[str] = []
    for piece in pieces:
        if len(piece) > room:
            head, blank, _ = piece[: max(room, 0)].rpartition(" ")
            filled.append(f"{head}\n" if blank else "")
            break
        filled.append(piece)
        room -= len(piece)
    return "".join(filled)


Task = Callable[[random.Random], tuple[str, str | None, str]]
"""What is asked; what a right answer matches; what has to stand somewhere in the filling."""

TASKS: dict[str, Task] = {
    "code": material.code_task,
    "mathematics": material.mathematics_task,
    "prose": material.prose_task,
    "long_context": material.long_context_task,
}
MATERIAL: dict[str, Callable[[random.Random], Iterator[str]]] = {
    "code": material.code,
    "mathematics": material.mathematics,
    "prose": material.prose,
    "long_context": material.incidents,
}
