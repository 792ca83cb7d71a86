"""llama.cpp's log: how far a start is, what the drafter was built with, how fast answers came.

Law: journal in, readings out. A line may begin with seconds, a letter and the function that says it; settings are
logged of the drafter alone. Lines seen on builds of October 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_dflash.engines import lines
from pytest_dflash.engines.dialect import Decode, Settings
from pytest_dflash.engines.lines import Phases, Said, newest_phase
from pytest_dflash.engines.literals import plain
from pytest_dflash.engines.words import typed
from pytest_dflash.facts.journal import Journal
from pytest_dflash.facts.reading import Absent, Reading, Silent, Value
from pytest_dflash.findings import Json

LONGEST = 2000
READY = "listening on http"
UNHEARD = "llama.cpp logs no settings but the drafter's"
_ADDED = re.compile(r"adding speculative implementation '(?P<kind>[\w-]{1,64})'")
_BUILT = re.compile(r"common_speculative_impl_\w+: - (?P<pairs>\w+=[^\s,]+(?:, \w+=[^\s,]+)*)")
_SLOTS = re.compile(r"load_model: initializing.*?\bn_slots = (?P<slots>\d{1,9})\b")
_TASK = r"print_timing: id +(?P<task>\d{1,9} \| task -?\d{1,18}) \|"
_SPEED = re.compile(_TASK + r" +eval time =.*, +(?P<rate>\d{1,12}(?:\.\d{1,9})?) tokens per second\)")
_ACCEPTED = re.compile(
    _TASK + r" draft acceptance = (?P<share>\d{1,9}\.\d{1,9}) .*mean len = +(?P<length>\d{1,9}\.\d{1,9})$"
)
NAMES = {"n_max": "spec-draft-n-max", "n_min": "spec-draft-n-min", "p_min": "spec-draft-p-min"}
"""The drafter's words for settings. p_min is printed with two digits."""
PHASES: Phases = (
    (re.compile(READY), "start-up is over"),
    (re.compile(r"failed to load model|error loading model|exiting due to"), "loading the model failed"),
    (re.compile(r"model loaded"), "opening the port"),
    (re.compile(r"adding speculative implementation"), "drafter built"),
    (re.compile(r"loading draft model"), "loading the drafter"),
    (re.compile(r"warming up"), "warming up"),
    (re.compile(r"loading model"), "loading the model"),
)


def _spoken(journal: Journal) -> Iterator[Said]:
    return lines.spoken(journal, lambda entry: Said(entry.message[:LONGEST], "", entry))


def ready_line(journal: Journal) -> str | None:
    """`listening on http://…`, which is said after the model was loaded."""
    return next((line.text for line in reversed(list(_spoken(journal))) if READY in line.text), None)


def progress(journal: Journal) -> str:
    """What the start is busy with, by the newest telling line; "" when none tells."""
    return newest_phase(list(_spoken(journal)), PHASES)


def draft_runner(journal: Journal) -> Reading[Settings]:
    """The kinds of speculation and their limits, as the drafter was built; Absent where a whole start built none."""
    values: dict[str, Json] = {}
    for line in _spoken(journal):
        if added := _ADDED.search(line.text):
            known = str(values.get("spec-type", "")).split(",")
            values["spec-type"] = ",".join(dict.fromkeys([*filter(None, known), added["kind"]]))
        if built := _BUILT.search(line.text):
            pairs = (pair.split("=", 1) for pair in built["pairs"].split(", "))
            values |= {NAMES[name]: plain(typed(word)) for name, word in pairs if name in NAMES}
    where = "log of the drafter"
    if values:
        return Value(Settings(values, where, {}, complete=False), where)
    if ready_line(journal) and journal.reaches_start and journal.whole:
        return Absent(where)
    return Silent("the log has no line of a drafter, and not all of the start is there")


def effective(journal: Journal) -> Reading[Settings]:
    """How many slots it made."""
    for line in _spoken(journal):
        if slots := _SLOTS.search(line.text):
            return Value(Settings({"parallel": int(slots["slots"])}, "log", {}, complete=False), "log")
    return Silent(UNHEARD)


def decode_lines(journal: Journal) -> Sequence[Decode]:
    """One for each answer: it logs none for steps, nor whether they ran as graphs."""
    told = list(_spoken(journal))
    accepted = {found["task"]: found for line in told if (found := _ACCEPTED.search(line.text))}
    answers = []
    for line in told:
        if said := _SPEED.search(line.text):
            drafted = accepted.get(said["task"])
            length, share = (float(drafted["length"]), float(drafted["share"])) if drafted else (None, None)
            answers.append(
                Decode(line.entry.realtime_us, "", 1, None, length, share, None, float(said["rate"]))
            )
    return answers
