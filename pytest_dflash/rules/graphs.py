"""Whether decode steps ran as captured CUDA graphs, at each batch size that the loads brought about.

Law: pure; the engine's own decode lines in, a judgement out. What an engine does not tell is not held against it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_dflash.engines.dialect import Decode
from pytest_dflash.facts.reading import Reading, Value
from pytest_dflash.findings import Judgement, failed, not_applicable, passed, unproven
from pytest_dflash.rules.judge import unheard

MOST = 0.5
"""Of the lines of a batch size: a single step without a graph may be the first one after a prompt."""
OFF = ("disable-cuda-graph", "enforce-eager")
"""Flags by which graphs are switched off on purpose."""


def cuda_graphs(lines: Reading[Sequence[Decode]], expected_off: bool) -> Judgement:  # noqa: FBT001 - one fact of the profile
    """Every batch size that the loads brought about ran as a graph.

    Args:
        lines: The decode lines that were written while the loads ran.
        expected_off: The profile expects the engine to run without graphs.
    """
    if expected_off:
        return not_applicable("the profile expects an engine without CUDA graphs")
    if not isinstance(lines, Value):
        return unheard("whether CUDA graphs are used", "decode lines", lines)
    told = [(line.running, line.graph) for line in lines.value if line.graph is not None]
    if not told and lines.value:
        return not_applicable("this engine's log does not tell whether its steps ran as graphs")
    if not told:
        return unproven(
            "no decode line was logged while the loads ran, so that nothing tells of CUDA graphs",
            remedy="let the loads run longer than the engine's log interval (SGLang: --decode-log-interval)",
        )
    every, without = Counter(size for size, _ in told), Counter(size for size, graph in told if not graph)
    eager = sorted(size for size, many in without.items() if many > MOST * every[size])
    measures = {"decode_lines": float(len(told)), "without_graph": float(sum(without.values()))}
    if not eager:
        return passed(
            f"decode ran as CUDA graphs with {spans(sorted(every))} requests ({len(told)} lines)",
            measures=measures,
        )
    graphs = [size for size in sorted(every) if size not in eager]
    return failed(
        f"decode ran without CUDA graph with {spans(eager)} requests"
        + (f", and as one with {spans(graphs)}" if graphs else ""),
        expected=True,
        observed=False,
        cause="no graph was captured for batches of this size: capture was switched off, cut short for memory, or limited",
        remedy="look for --cuda-graph-max-bs, --cuda-graph-bs and --disable-cuda-graph; start-up lists what it captured",
        measures=measures,
    )


def spans(sizes: Sequence[int]) -> str:
    """Numbers as a person reads them: "1, 3 to 5"; ascending ones."""
    runs: list[list[int]] = []
    for size in sizes:
        if runs and size == runs[-1][-1] + 1:
            runs[-1].append(size)
        else:
            runs.append([size])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
