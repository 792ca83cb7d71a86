"""How often an innocent engine is accused: the decision rule on simulated noise, and real runs with noise at near-ties.

Law: lines of two tables, each with whether it is as it should be; `benchmarks.detection` prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.miniature import InProcess, checks
from pytest_dflash.findings import Outcome
from pytest_dflash.oracle.alarm import RUN_ALPHA, TESTS, upper_rate
from pytest_dflash.oracle.noise import CEILING, Noise
from pytest_dflash.rehearsal.faults.tree import BUDGETS, SHORT_WINDOW
from pytest_dflash.rules.tree_lossless import PER_TRIAL

INNOCENT = "near-tie-noise"
RED = {Outcome.FAIL, Outcome.UNPROVEN}
Line = tuple[str, bool]
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


def noise_table(draws: int) -> Iterator[Line]:
    """Lines of the table of the decision rule."""
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


def innocent(runs: int, first: int = 0) -> Iterator[Line]:
    """Lines of the table of real runs.

    Args:
        runs: How many.
        first: The number of the first one; each has its own seed.
    """
    accused: list[str] = []
    ties = positions = 0
    for run in range(first, first + runs):
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
