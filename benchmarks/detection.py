"""How soon each fault of the draft tree is caught, at which budget, and how often an innocent engine is accused.

    OPENBLAS_NUM_THREADS=1 .venv/bin/python -m benchmarks.detection [--quick] [--seeds N] [--budgets 1,3,…] [--faults NAME,…]

Three tables, in Markdown, as they stand in docs/tree.md:

* each fault of the miniature engine at each budget: how many tokens were generated until the first check turned red,
  and how many seconds that takes an engine of 100 tokens/s, the worst of all seeds;
* the decision rule on simulated noise: draws of a run's positions with normal, exponential and mixed noise;
* real runs of the miniature engine with noise at its near-ties.

Exits 1 when a fault is missed where it can be seen, or an innocent engine is accused.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.miniature import BLOCK, InProcess, checks
from pytest_dflash.findings import Outcome
from pytest_dflash.oracle.alarm import RUN_ALPHA, TESTS, upper_rate
from pytest_dflash.oracle.noise import CEILING, Noise
from pytest_dflash.rehearsal.engine.corruption import CORRUPTIONS
from pytest_dflash.rules.tree_lossless import PER_TRIAL

INNOCENT = "near-tie-noise"
RATE = 100.0
"""Tokens per second of the engine that the table speaks of."""
BUDGETS = (1, 3, 7, 8, 15, 31)
QUICK_FAULTS = (
    "mask-stride-from-block",
    "corrupt-in-batch",
    "lossy-acceptance",
    "sampling-ignored",
    "acceptance-collapsed",
)
RED = {Outcome.FAIL, Outcome.UNPROVEN}
SHORT_WINDOW = 256
UNSEEN: dict[str, Callable[[int], bool]] = {
    # Where the engine with the fault does what a healthy one does.
    "mask-stride-from-block": lambda budget: budget + 1 == BLOCK,
    "siblings-visible": lambda budget: budget < 2,
    "batch-neighbours-mask": lambda budget: budget < 2,
    "kv-committed-in-wrong-order": lambda budget: budget < 15,
    "positions-by-index": lambda budget: budget < 2,
    "acceptance-at-first-only": lambda budget: budget < 2,
}


@dataclass(frozen=True, slots=True)
class Caught:
    """A fault that was caught: by which check, after how many generated tokens and real seconds."""

    check: str
    tokens: int
    seconds: float


def catch(engine: InProcess, seed: int) -> Caught | None:
    """Asks what the suite asks, in its order, until the first check turns red."""
    trial, started = engine.trial(seed), time.monotonic()
    for name, judge in checks(engine, trial).items():
        if judge().outcome in RED:
            return Caught(name, trial.speaker.generating.tokens, time.monotonic() - started)
    return None


def faults(names: Sequence[str], budgets: Sequence[int], seeds: int) -> Iterator[tuple[str, bool]]:
    """Lines of the first table, and whether each is as it should be."""
    yield f"| fault | {' | '.join(f'budget {each}' for each in budgets)} | caught by |", True
    yield "|---|" + "---|" * (len(budgets) + 1), True
    for name in names:
        cells, by, right = [], set[str](), True
        for budget in budgets:
            window = 2048 if name == "corrupt-past-window" else SHORT_WINDOW
            engine = InProcess([name], budget=budget, window=window)
            found = [catch(engine, 1000 + seed) for seed in range(seeds)]
            hits = [each for each in found if each]
            by |= {each.check for each in hits}
            worst = max((each.tokens for each in hits), default=0)
            unseen = name in UNSEEN and UNSEEN[name](budget)
            if unseen and not hits:
                cells.append("-")
            elif len(hits) == seeds or unseen:
                cells.append(f"{worst} ({worst / RATE:.0f} s)")
            else:
                cells.append(f"**{len(hits)} of {seeds}**")
                right = False
        yield f"| {name} | {' | '.join(cells)} | {', '.join(sorted(by))} |", right


Looks = Callable[[np.random.Generator, float, int], "np.ndarray[Any, np.dtype[np.float64]]"]
NOISES: dict[str, Looks] = {
    "normal": lambda draw, scale, many: draw.normal(scale=scale, size=many),
    "exponential tails": lambda draw, scale, many: draw.laplace(scale=scale, size=many),
    "one position in ten five times as noisy": lambda draw, scale, many: (
        draw.normal(scale=scale, size=many) * np.where(draw.random(many) < 0.1, 5.0, 1.0)
    ),
}


def simulated(draws: int, positions: int, scale: float, looks: Looks, measured: int = 600) -> tuple[int, int]:
    """How many innocent runs of so many positions are accused, and in how many the tolerance is too wide to tell.

    At each position the two likeliest tokens are `lead` apart, exponentially with a mean of 2.5 nats as in real text.
    What is said follows one noisy look, what is scored another one; the tolerance comes from `measured` pairs of looks.
    """
    accused = wide = 0
    for seed in range(draws):
        draw = np.random.default_rng(seed)
        noise = Noise(tuple(np.abs(looks(draw, scale, measured) - looks(draw, scale, measured)).tolist()))
        within = noise.tolerance(PER_TRIAL, RUN_ALPHA / TESTS)
        lead = draw.exponential(2.5, positions)
        said_other = lead + looks(draw, scale, positions) < 0
        seen = lead + looks(draw, scale, positions)
        accused += bool((np.where(said_other, seen, -seen) > within).any())
        wide += within > CEILING
    return accused, wide


def noise_table(draws: int) -> Iterator[tuple[str, bool]]:
    """Lines of the second table."""
    yield (
        "| noise of each look | draws | accused | at most, with 95 % confidence | tolerance too wide to tell |",
        True,
    )
    yield "|---|---|---|---|---|", True
    for kind, looks in NOISES.items():
        for scale in (1e-5, 0.01, 0.03):
            accused, wide = simulated(draws, 3000, scale, looks)
            yield (
                f"| {kind}, {scale:g} nats | {draws} | {accused} | {upper_rate(accused, draws):.2%} | {wide / draws:.0%} |",
                accused == 0,
            )


def innocent(runs: int) -> Iterator[tuple[str, bool]]:
    """Lines of the third table: real runs with noise at near-ties."""
    accused: list[str] = []
    ties = positions = 0
    for run in range(runs):
        engine = InProcess([INNOCENT], budget=BUDGETS[run % len(BUDGETS)], window=SHORT_WINDOW)
        trial = engine.trial(5000 + run)
        for name, judge in checks(engine, trial).items():
            found = judge()
            positions += int(found.measures.get("positions", 0))
            ties += int(found.measures.get("near_ties", 0))
            if found.outcome in RED:
                accused.append(f"{name} in run {run}: {found.summary}")
    yield (
        "| real runs with noise at near-ties | positions | ties that turned | accused | at most, with 95 % confidence |",
        True,
    )
    yield "|---|---|---|---|---|", True
    yield (
        f"| {runs} | {positions} | {ties} | {len(accused)} | {upper_rate(len(accused), runs):.1%} of runs |",
        not accused,
    )
    for each in accused:
        yield f"accused: {each}", False


def main() -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="five faults, two budgets, one seed, few draws: for CI"
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    parser.add_argument("--faults", default=",".join(each for each in CORRUPTIONS if each != INNOCENT))
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--only", choices=("faults", "noise", "innocent"), help="one table")
    asked = parser.parse_args()
    names, budgets = asked.faults.split(","), [int(each) for each in asked.budgets.split(",")]
    seeds, draws, runs = asked.seeds, asked.draws, asked.runs
    if asked.quick:
        names, budgets, seeds, draws, runs = list(QUICK_FAULTS), [3, 15], 1, 60, 2
    tables: dict[str, Callable[[], Iterator[tuple[str, bool]]]] = {
        "innocent": lambda: innocent(runs),
        "noise": lambda: noise_table(draws),
        "faults": lambda: faults(names, budgets, seeds),
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
