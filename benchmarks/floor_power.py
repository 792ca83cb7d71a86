"""How often a floor is judged rightly, and what that costs: simulated runs at several spreads between repeats.

Each run measures repeats of a load until the floor is decided or the time is up, exactly as a check does, looking
after every repeat. Three true rates are tried: 5 % below the floor, at it, and 5 % above.

    python benchmarks/floor_power.py [--quick] [--repeat-s 3] [--floors 1]

--quick: few runs at a spread of 5 % only; exits 1 where they miss the promise (at 5 %: above, at most 1 % fail; below,
at least 95 % fail; within 120 s).
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter

from pytest_dflash.load.confidence import ERROR, repeats_for
from pytest_dflash.load.limit import Limit, Standing, decide

FLOOR = Limit("decode rate", "tokens/s", 100.0)
BUDGET_S = 120.0


def run(rng: random.Random, rate: float, spread: float, most: int, error: float) -> tuple[Standing, int]:
    """One simulated measurement: how it ended, and after how many repeats."""
    values: list[float] = []
    while len(values) < most:
        values.append(rng.gauss(rate, spread * rate))
        standing = decide(values, FLOOR, error).standing
        if standing is not Standing.OPEN:
            return standing, len(values)
    return Standing.OPEN, len(values)


def table(spread: float, runs: int, most: int, error: float, seed: int) -> dict[float, Counter[Standing]]:
    """Prints a row for each true rate; what the runs came to, by that rate."""
    found: dict[float, Counter[Standing]] = {}
    for off in (-0.05, 0.0, 0.05):
        rng = random.Random(seed)
        ended = [run(rng, FLOOR.wanted * (1 + off), spread, most, error) for _ in range(runs)]
        found[off] = Counter(standing for standing, _ in ended)
        shares = [found[off][standing] / runs for standing in (Standing.MET, Standing.MISSED, Standing.OPEN)]
        repeats = sorted(count for _, count in ended)
        print(
            f"{spread:7.0%} {off:+10.0%}   {shares[0]:6.1%} {shares[1]:6.1%} {shares[2]:8.1%}"
            f"   {sum(repeats) / runs:6.1f} {repeats[int(0.95 * runs)]:6d}"
        )
    return found


def main() -> int:
    """Prints the table; the exit code says whether the promise holds."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--runs", type=int, default=2000)
    options.add_argument("--repeat-s", type=float, default=3.0, help="seconds of one repeat")
    options.add_argument("--floors", type=int, default=1, help="floors of the run, which share its error")
    options.add_argument("--seed", type=int, default=20261129)
    asked = options.parse_args()
    most, error = int(BUDGET_S / asked.repeat_s), ERROR / asked.floors
    runs = 400 if asked.quick else asked.runs
    print(
        f"{runs} runs each, at most {most} repeats of {asked.repeat_s:g} s in {BUDGET_S:g} s, error {error:g} on each side"
    )
    print(" spread  true rate      pass   fail unproven    mean repeats  95 %")
    promised = table(0.05, runs, most, error, asked.seed)
    for spread in () if asked.quick else (0.10, 0.20):
        table(spread, runs, most, error, asked.seed)
    print("\nwhat a mean 5 % away from the floor takes, once it is seen so:")
    for spread in (0.05, 0.10, 0.20):
        needed = repeats_for(0.05, spread, error) or 0
        print(f"  spread {spread:4.0%}: {needed:4d} repeats, {needed * asked.repeat_s:5.0f} s")
    held = promised[0.05][Standing.MISSED] <= 0.01 * runs and promised[-0.05][Standing.MISSED] >= 0.95 * runs
    print(f"\nthe promise at a spread of 5 % {'holds' if held else 'is BROKEN'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
