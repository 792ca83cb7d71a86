"""What prompts are made of: tasks and filling of four kinds, without end.

Law: own text only, plain sentences rather than random tokens: acceptance of a drafter depends on what is said. All
choices are made by the generator that is handed in.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

FUNCTIONS = (
    "merges overlapping intervals of a list of (start, end) pairs",
    "parses a duration such as 1h30m or 45s into seconds and refuses anything else",
    "finds the longest run of equal bytes in a buffer and returns its offset and length",
    "walks a directory tree and yields files that changed in the last N days",
    "keeps the K most recently used entries of a cache and tells which one was dropped",
    "reads comma separated values with quoted fields from a text stream, without a library",
    "schedules jobs with deadlines on one machine and returns those that are late",
    "computes the checksum of a file in blocks and reports progress through a callback",
    "turns a nested dictionary into dotted keys and back again",
    "retries a callable with growing pauses and raises the last error when it gives up",
    "splits a text into lines of at most N columns without breaking words",
    "compares two version numbers with pre-releases as package managers do",
)
EDITS = (
    "so that it also accepts an iterator, and add type annotations",
    "so that it raises a ValueError with a helpful message on empty input",
    "into two functions, one pure and one that reads the clock",
    "so that it needs constant memory",
    "so that the loop becomes a comprehension where that is clearer, and explain where it is not",
    "with a docstring, and with three tests that cover its edges",
)
NOUNS = ("sensor", "order", "parcel", "ticket", "sample", "reading", "account", "route", "frame", "batch")
VERBS = ("merge", "filter", "count", "rank", "scale", "group", "trim", "shift", "check", "index")

ESSAYS = (
    "Describe a harbour town on the morning after a storm, for a travel magazine.",
    "Write a letter from a lighthouse keeper to the person who takes over from him.",
    "Explain to a child of ten why bridges have gaps, and what happens without them.",
    "Tell the story of a clock that nobody in the village dared to stop.",
    "Argue for and against opening a library on Sundays, then decide.",
    "Write the opening of a novel that begins in a railway station at four in the morning.",
    "Give advice to somebody who has to speak at a wedding and hates speaking.",
    "Describe how bread is made, in the order in which one smells it.",
    "Write a portrait of a gardener who talks to her tools.",
    "Explain how rumours travel in a small company, without blaming anybody.",
    "Tell what a river sees on its way from the spring to the sea.",
    "Write a conversation between two neighbours about a tree that shades both gardens.",
)
PEOPLE = ("Mira", "Jonas", "Adele", "Tomasz", "Ines", "Karim", "Greta", "Oluf", "Sanna", "Piet")
PLACES = ("the mill", "the market", "the north pier", "the old school", "the ferry", "the upper meadow")
DOINGS = (
    "counted the baskets twice and wrote the number on the door",
    "came late because the road was under water",
    "promised to bring the lamp back before winter",
    "said that the wind would turn by evening, and was right",
    "found a letter that had been lying there since spring",
    "asked for salt, rope and a little patience",
    "showed the visitors which stones are dry at low tide",
    "mended the fence with wire that was meant for the bell",
)

PARTS = ("pump", "valve", "relay", "fan", "sluice", "conveyor", "boiler", "crane", "filter", "gauge")
STATES = (
    "ran hot",
    "lost pressure",
    "stopped by itself",
    "was greased",
    "was replaced",
    "shook",
    "was inspected",
)
CAUSES = (
    "a worn bearing",
    "dust in the inlet",
    "a loose terminal",
    "cold oil",
    "a cracked seal",
    "no known cause",
)


def code_task(rng: Random) -> tuple[str, str | None, str]:
    """Write a function, or edit one of those above."""
    if rng.random() < 2 / 3:
        return f"\nWrite a Python function that {rng.choice(FUNCTIONS)}. Give the code first.\n", None, ""
    return f"\nRewrite the last function above {rng.choice(EDITS)}. Give the code first.\n", None, ""


def code(rng: Random) -> Iterator[str]:
    """Small functions of one style."""
    while True:
        verb, noun, other = rng.choice(VERBS), rng.choice(NOUNS), rng.choice(NOUNS)
        limit, step = rng.randint(2, 900), rng.randint(2, 9)
        yield (
            f"def {verb}_{noun}s_{rng.randint(10, 99)}({noun}s, limit={limit}):\n"
            f'    """{verb.capitalize()} {noun}s until the {other} has {limit} of them."""\n'
            f"    kept = []\n"
            f"    for position, {noun} in enumerate({noun}s):\n"
            f"        if position % {step} == 0 and {noun}.size < limit:\n"
            f"            kept.append({noun}.{other})\n"
            f"    return kept\n\n\n"
        )


def mathematics_task(rng: Random) -> tuple[str, str | None, str]:
    """A word problem with one whole number as its answer."""
    problem, answer = _problem(rng)
    return (
        f"\n{problem} Work it out step by step and end with the number alone.\n",
        rf"(?<!\d){answer}(?!\d)",
        "",
    )


def mathematics(rng: Random) -> Iterator[str]:
    """Problems with their right answers."""
    while True:
        problem, answer = _problem(rng)
        yield f"Problem: {problem}\nAnswer: {answer}\n\n"


def _problem(rng: Random) -> tuple[str, int]:
    a, b, c, who = rng.randint(3, 40), rng.randint(3, 25), rng.randint(2, 12), rng.choice(PEOPLE)
    problems = (
        (f"{who} packs {a} boxes with {b} jars each and {c} jars are left over. How many jars are there?", a * b + c),
        (f"A train has {a} cars with {b} seats; {c} seats are broken. How many can be used?", a * b - c),
        (f"{who} walks {a} km every day for {b} days, then {c} km. How many km is that?", a * b + c),
        (f"A tank holds {a * b} litres and loses {a} litres an hour. After how many hours is it empty?", b),
        (f"{who} reads {a} pages on the first day and {c} more on each following day. How many on day {b}?", a + c * (b - 1)),
        (f"{a * c} chairs stand in rows of {c}. {who} adds {b} rows. How many rows are there?", a + b),
        (f"A rectangle is {a} m long and {b} m wide. How many metres of fence go round it twice?", 4 * (a + b)),
        (f"{who} buys {a} stamps at {b} cents and pays with {a * b + c} cents. How many cents come back?", c),
        (f"{a} teams play each other once. How many matches are there?", a * (a - 1) // 2),
        (f"A recipe for {c} people needs {b * c} g of flour. How many grams do {a} people need?", a * b),
        (f"{who} saves {a} coins a week and spends {b} once. How many are there after {c + b} weeks?", a * (c + b) - b),
        (f"A lift carries {c} people at a time. How many trips do {a * c} people need?", a),
    )  # fmt: skip
    return rng.choice(problems)


def prose_task(rng: Random) -> tuple[str, str | None, str]:
    """Something to write."""
    return f"\n{rng.choice(ESSAYS)} Do not use lists.\n", None, ""


def prose(rng: Random) -> Iterator[str]:
    """Notes from a village."""
    while True:
        told = [
            f"{rng.choice(PEOPLE)} went to {rng.choice(PLACES)} and {rng.choice(DOINGS)}."
            for _ in range(rng.randint(2, 5))
        ]
        yield f"On the {_ordinal(rng.randint(1, 30))} day, {' '.join(told)}\n\n"


def long_context_task(rng: Random) -> tuple[str, str | None, str]:
    """A question about one line of a long log, and that line."""
    code_word, room = f"{rng.choice(NOUNS)}-{rng.randint(1000, 9999)}", rng.randint(100, 999)
    planted = f"Note of the shift leader: the key of room {room} is kept under the name {code_word}.\n"
    asked = (
        f"\nUnder which name is the key of room {room} kept? Quote the note, then say in two sentences what else the "
        "log is about.\n"
    )
    return asked, code_word, planted


def incidents(rng: Random) -> Iterator[str]:
    """A log of a plant that does not exist."""
    minute = rng.randint(0, 500)
    while True:
        minute += rng.randint(1, 55)
        day, clock = minute // 1440 + 1, f"{minute // 60 % 24:02}:{minute % 60:02}"
        yield (
            f"Day {day}, {clock}: the {rng.choice(PARTS)} {rng.randint(1, 48)} of hall {rng.randint(1, 9)} "
            f"{rng.choice(STATES)}; {rng.choice(PEOPLE)} noted {rng.choice(CAUSES)}.\n"
        )


def _ordinal(number: int) -> str:
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number not in (11, 12, 13) else 0, "th")
    return f"{number}{suffix}"
