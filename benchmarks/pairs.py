"""Every budget with every top-k: does the miniature engine say what its target says alone, and how much is accepted?

    python -m benchmarks.pairs                  # 512 pairs, three minutes of one core
    python -m benchmarks.pairs --budgets 7 8 --top-ks 1 4 --tokens 200

Each pair answers three prompts in one batch, cold and then warm from the prefix cache. A pair that differs anywhere is
printed with the first token that does, and ends the run with status 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence as Many

# Before numpy is imported: the engine's matrices are small.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pytest_dflash.rehearsal.engine import tokens
from pytest_dflash.rehearsal.engine.decoding import Decoder, Shape
from pytest_dflash.rehearsal.engine.sequence import Sequence, Wishes

PROMPTS = ("The window ", "explain how a cache of the machine is read " * 2, "Zürich 窓 {}")


def answers(decoder: Decoder, limit: int) -> list[Sequence]:
    """All prompts in one batch, to their ends."""
    batch = [Sequence(tuple(tokens.encode(prompt)), Wishes(limit)) for prompt in PROMPTS]
    for sequence in batch:
        decoder.read_prompt(sequence)
    while live := [sequence for sequence in batch if sequence.finish is None]:
        decoder.step(live)
    for sequence in batch:
        decoder.release(sequence)
    return batch


def compare(shape: Shape, truth: Many[list[int]], limit: int) -> tuple[list[str], float]:
    """Complaints about one pair, and its accept length."""
    decoder, complaints = Decoder(shape), []
    length = 0.0
    for state in ("cold", "warm"):
        batch = answers(decoder, limit)
        length = 1 + sum(each.accepted for each in batch) / sum(each.verified for each in batch)
        for index, (each, true) in enumerate(zip(batch, truth, strict=True)):
            differ = [at for at, (one, two) in enumerate(zip(each.told, true, strict=True)) if one != two]
            if differ:
                complaints.append(f"{shape}, {state}, prompt {index}: differs from token {differ[0]} on")
    return complaints, length


def main(argv: Many[str] | None = None) -> int:
    """Prints a table of accept lengths.

    Returns:
        1 where any pair differs.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budgets", type=int, nargs="+", default=list(range(1, 65)))
    parser.add_argument("--top-ks", type=int, nargs="+", default=list(range(1, 9)))
    parser.add_argument("--tokens", type=int, default=100, help="of each answer")
    asked = parser.parse_args(argv)
    began = time.monotonic()
    truth = [each.told for each in answers(Decoder(), asked.tokens)]
    complaints: list[str] = []
    print("accept length  " + "".join(f"  top-k {top_k}" for top_k in asked.top_ks))
    for budget in asked.budgets:
        row = []
        for top_k in asked.top_ks:
            found, length = compare(Shape(budget, top_k), truth, asked.tokens)
            complaints += found
            if found:
                print(*found, sep="\n", flush=True)
            row.append(length)
        print(f"budget {budget:3d}     " + "".join(f"{length:9.2f}" for length in row), flush=True)
    pairs = len(asked.budgets) * len(asked.top_ks)
    compared = pairs * 2 * len(PROMPTS) * asked.tokens
    print(
        f"{pairs} pairs, {compared} tokens compared, {len(complaints)} differences, {time.monotonic() - began:.0f} s"
    )
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
