"""Faults of the draft tree: wrong text, wrong sampling, or acceptance that is not what it seems.

Law: a table; each is a switch of the engine (`engine.corruption`) and the budget at which it shows. All but one run
with a short window, so that its edges are cheap to ask; the profile expects it so.
"""

from __future__ import annotations

from collections.abc import Mapping

from pytest_dflash.rehearsal.faults.fault import Fault, Severity
from pytest_dflash.rehearsal.faults.stages import Stage, both, replace, switch, window

BUDGETS = (1, 3, 7, 8, 15, 31)
"""At each of these every fault turns exactly its named checks red, but where it says otherwise: `benchmarks.detection`."""
SHORT_WINDOW = 256
RUNNING = "--speculative-num-draft-tokens 8"
WRONG = "are not what the target would have said"
NOWHERE: Mapping[int, tuple[str, ...]] = {}
CHAIN_OF_ONE: Mapping[int, tuple[str, ...]] = {1: ()}
"""Hidden where the tree has neither branches nor depth."""
LOSSLESS = ("tree.lossless", "tree.lossless_batched", "tree.lossless_at_edges")


def _with(corruption: str, budget: int, tokens: int) -> Stage:
    budgeted = replace(RUNNING, f"--speculative-num-draft-tokens {budget + 1}")
    return both(window(tokens), budgeted, switch(corruptions=[corruption]))


def _fault(  # noqa: PLR0913 - one row of the table
    name: str,
    title: str,
    checks: tuple[str, ...],
    says: str = WRONG,
    *,
    budget: int = 15,
    severity: Severity = "silent-wrong",
    tokens: int = SHORT_WINDOW,
    otherwise_at: Mapping[int, tuple[str, ...]] = NOWHERE,
) -> Fault:
    return Fault(
        name,
        "load",
        checks,
        title,
        layer="speculation",
        severity=severity,
        says=says,
        before=_with(name, budget, tokens),
        expects=(f"window.tokens={tokens}",),
        otherwise_at=otherwise_at,
    )


TREE = (
    _fault(
        "mask-stride-from-block",
        "the tree mask's rows are as wide as the drafter's block: right for one budget, wrong text for all others",
        LOSSLESS,
        otherwise_at={7: ()},
    ),
    _fault(
        "mask-row-zero-only",
        "only the root of the tree sees the text before it",
        LOSSLESS,
    ),
    _fault(
        "siblings-visible",
        "branches of the tree see each other",
        LOSSLESS,
        otherwise_at=CHAIN_OF_ONE,
    ),
    _fault(
        "positions-by-index",
        "nodes of the tree stand at their index instead of at their depth",
        LOSSLESS,
        otherwise_at=CHAIN_OF_ONE,
    ),
    _fault(
        "kv-committed-in-wrong-order",
        "accepted nodes are moved in the cache over those that are still to be read",
        LOSSLESS,
        budget=31,
        otherwise_at={1: (), 3: ()},
    ),
    _fault(
        "state-lost-on-rejection",
        "when a draft is refused the newest accepted token is forgotten with it",
        LOSSLESS,
    ),
    _fault(
        "batch-neighbours-mask",
        "each request of a batch is verified under its neighbour's mask",
        ("tree.lossless_batched",),
        otherwise_at=CHAIN_OF_ONE,
    ),
    _fault(
        "corrupt-in-batch",
        "with two requests or more the newest tokens before the tree are not seen",
        ("tree.lossless_batched",),
    ),
    _fault(
        "corrupt-on-cache-hit",
        "the newest entries taken from the prefix cache are one off",
        ("tree.cache_consistent",),
        "cold and a warm prefix cache",
    ),
    _fault(
        "corrupt-past-window",
        "text that is longer than the window is verified with a hole",
        ("tree.lossless_at_edges",),
        tokens=2048,
    ),
    _fault(
        "corrupt-from-prompt-65",
        "prompts of more than one tile of 64 tokens are verified with a hole",
        LOSSLESS,
    ),
    _fault(
        "bonus-dropped",
        "the target's own token behind an accepted path is not sent",
        (*LOSSLESS, "tree.grammar"),
    ),
    _fault(
        "token-zero-as-padding",
        "a token whose id is 0 counts as no node of the tree",
        LOSSLESS,
        # One node that is not counted: only the masks of those behind it in the batch are read from a wrong place.
        otherwise_at={1: ("tree.lossless_batched",)},
    ),
    _fault("lossy-acceptance", "drafts are accepted that the target holds for likely enough", LOSSLESS),
    _fault(
        "sampling-ignored",
        "the speculative path is greedy whatever temperature is asked for",
        ("tree.sampling",),
        "it does not sample",
    ),
    _fault(
        "repeating-loop",
        "long answers go round in circles, which are easily drafted",
        ("tree.no_degeneration",),
        "which the target alone would not",
    ),
    _fault(
        "constant-acceptance",
        "so many drafts are accepted in each step, right or wrong",
        (*LOSSLESS, "tree.acceptance_varies", "tree.grammar"),
        "whatever the text",
    ),
    _fault(
        "acceptance-collapsed",
        "the drafter's guesses have nothing to do with the text",
        ("tree.acceptance",),
        "no draft is accepted",
        severity="silent-slow",
    ),
    _fault(
        "acceptance-at-first-only",
        "only the first draft of a block makes sense",
        ("tree.acceptance_by_depth",),
        "and one behind it",
        severity="silent-slow",
        otherwise_at=CHAIN_OF_ONE,
    ),
    _fault(
        "acceptance-decays-with-context",
        "the longer the answer, the blinder the drafter",
        ("tree.acceptance_over_context",),
        "in answers of at most",
        severity="silent-slow",
        # With one draft a step there is less to lose than texts differ by.
        otherwise_at=CHAIN_OF_ONE,
    ),
    _fault(
        "end-among-refused-drafts",
        "a refused draft is taken for the end of the answer: tokens are right, and those behind them are missing",
        ("tree.lossless",),
        "it ended by token 2 behind",
    ),
    _fault(
        "grammar-broken-at-concurrency",
        "with several requests drafts are verified without the grammar's mask",
        ("tree.grammar",),
        "under a JSON schema, asked 4 at once",
    ),
)
