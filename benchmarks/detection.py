"""How soon each fault of the draft tree is caught, at which budget, and how often an innocent engine is accused.

    OPENBLAS_NUM_THREADS=1 .venv/bin/python -m benchmarks.detection [--quick] [--seeds N] [--budgets 1,3,…] [--faults NAME,…]

Tables in Markdown, as they stand in docs/tree.md:

* each fault of the miniature engine at each budget: how many tokens were generated until the first check turned red,
  and how many seconds that takes an engine of 100 tokens/s, the worst of all seeds. With the first seed all checks are
  asked, and exactly those that the fault names must turn red; where it says that it is hidden, none;
* the decision rule on simulated noise, and real runs of the miniature engine with noise at its near-ties.

Exits 1 when a fault is missed where it can be seen, any other check turns red, or an innocent engine is accused.
It takes an hour of a core: `--record FILE` keeps each cell as it comes, and what a file holds is not measured again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import false_alarms
from benchmarks.false_alarms import RED, Line
from benchmarks.miniature import InProcess, checks
from pytest_dflash.rehearsal.faults import FAULTS
from pytest_dflash.rehearsal.faults.fault import Fault
from pytest_dflash.rehearsal.faults.tree import BUDGETS, TREE

RATE = 100.0
"""Tokens per second of the engine that the table speaks of."""
FIRST_SEED = 1000


@dataclass(frozen=True, slots=True)
class Cell:
    """One fault at one budget with one seed.

    Attributes:
        red: The checks that turned red, in their order; the first one alone unless `whole`.
        tokens: Generated until the first one turned red; all that were generated where none did.
        whole: All checks were asked.
    """

    fault: str
    budget: int
    seed: int
    red: tuple[str, ...]
    tokens: int
    whole: bool

    @property
    def right(self) -> bool:
        """Exactly the named checks are red; the first one alone where no more was asked."""
        wanted = named(self.fault, self.budget)
        return (
            set(self.red) == wanted
            if self.whole
            else set(self.red) <= wanted and bool(self.red) == bool(wanted)
        )


def named(fault: str, budget: int) -> set[str]:
    """The checks that must notice a fault at a budget."""
    return set(FAULTS[fault].otherwise_at.get(budget, FAULTS[fault].checks))


def look(fault: Fault, budget: int, seed: int, *, whole: bool) -> Cell:
    """Asks what the suite asks, in its order: everything, or until the first check turns red."""
    window = int(fault.expects[0].partition("=")[2])
    engine = InProcess([fault.name], budget=budget, window=window)
    trial, red, tokens = engine.trial(seed), list[str](), 0
    for name, judge in checks(engine, trial).items():
        judged = judge()
        tokens = tokens if red else trial.speaker.generating.tokens
        if judged.outcome in RED:
            red.append(name)
            if not whole:
                break
    return Cell(fault.name, budget, seed, tuple(red), tokens, whole)


def known(file: Path | None) -> dict[tuple[str, int, int], Cell]:
    """The cells that a file keeps."""
    lines = file.read_text("utf-8").splitlines() if file and file.exists() else []
    cells = [Cell(**(told | {"red": tuple(told["red"])})) for told in map(json.loads, lines)]
    return {(each.fault, each.budget, each.seed): each for each in cells}


def diagonal(names: Sequence[str]) -> dict[str, Sequence[int]]:
    """One budget for each fault, every budget for some."""
    return {name: (BUDGETS[n % len(BUDGETS)],) for n, name in enumerate(names)}


def faults(asked: Mapping[str, Sequence[int]], seeds: int, record: Path | None) -> Iterator[Line]:
    """Lines of the first table.

    Args:
        asked: At which budgets each fault is staged.
        seeds: How many.
        record: Where cells are kept.
    """
    budgets = sorted({each for those in asked.values() for each in those})
    yield f"| fault | {' | '.join(f'budget {each}' for each in budgets)} | first caught by |", True
    yield "|---|" + "---|" * (len(budgets) + 1), True
    kept = known(record)
    for name, those in asked.items():
        shown, wrong, by = list[str](), list[Cell](), set[str]()
        for budget in budgets:
            if budget not in those:
                shown.append("")
                continue
            cells = []
            for seed in range(FIRST_SEED, FIRST_SEED + seeds):
                if (cell := kept.get((name, budget, seed))) is None:
                    cell = look(FAULTS[name], budget, seed, whole=seed == FIRST_SEED)
                    if record:
                        with record.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(asdict(cell)) + "\n")
                cells.append(cell)
            hidden = not named(name, budget)
            caught = [each for each in cells if each.red]
            by |= {each.red[0] for each in caught}
            wrong += [each for each in cells if not each.right]
            worst = max(each.tokens for each in cells)
            shown.append(
                "-" if hidden and not caught
                else f"{worst} ({worst / RATE:.0f} s)" if len(caught) == seeds and not hidden
                else f"**{len(caught)} of {seeds}**"
            )  # fmt: skip
        yield f"| {name} | {' | '.join(shown)} | {', '.join(sorted(by))} |", not wrong
        for each in wrong:
            yield f"not as named: {each}", False


def main() -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="each fault at one budget, one seed, few draws: for CI"
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    parser.add_argument("--faults", default=",".join(each.name for each in TREE))
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--from-run", type=int, default=0, help="the first of the innocent runs")
    parser.add_argument("--record", type=Path, help="keeps each cell of the first table in this file")
    parser.add_argument("--only", choices=("faults", "noise", "innocent"), help="one table")
    asked = parser.parse_args()
    names, budgets = asked.faults.split(","), [int(each) for each in asked.budgets.split(",")]
    where: Mapping[str, Sequence[int]] = dict.fromkeys(names, budgets)
    seeds, draws, runs = asked.seeds, asked.draws, asked.runs
    if asked.quick:
        where, seeds, draws, runs = diagonal(names), 1, 60, 2
    tables: dict[str, Callable[[], Iterator[Line]]] = {
        "innocent": lambda: false_alarms.innocent(runs, asked.from_run),
        "noise": lambda: false_alarms.noise_table(draws),
        "faults": lambda: faults(where, seeds, asked.record),
    }
    right, started = True, time.monotonic()
    for table, lines in tables.items():
        if asked.only in (None, table):
            for line, good in lines():
                print(line, flush=True)
                right = right and good
            print(flush=True)
    print(f"{'as it should be' if right else 'NOT as it should be'}, {time.monotonic() - started:.0f} s")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
