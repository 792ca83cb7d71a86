"""Accept lengths: within their bounds, within what the tree allows, and like those of a real drafter.

Law: pure; what an engine tells of single requests, or its counters around ours, in, judgements out. Each says the
definition beside the number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_dflash.findings import Judgement, failed, not_applicable, passed, unproven
from pytest_dflash.oracle import acceptance
from pytest_dflash.oracle.acceptance import BRIEF, DEFINITION, LASTING, LONG, NOTHING, SHORT, STEPS, Drafted
from pytest_dflash.profile.schema import Range

QUIET = "the engine tells no verify steps: it does not speculate, or its counters are off (--enable-metrics, --metrics)"


def within_bounds(drafted: Sequence[Drafted], expected: Range | None, depth: int | None) -> Judgement:
    """The accept length is at least that of no draft, at most what the tree can hold, and as the profile expects.

    Args:
        drafted: Answers with their verify steps.
        expected: The profile's bounds.
        depth: The longest path of the tree without its root; None where it is not known.
    """
    whole = acceptance.together(drafted)
    if whole is None:
        nothing = {"expected": _range(expected)} if expected else {}
        return (unproven if expected else not_applicable)(f"no accept length: {QUIET}", **nothing)
    length, rest = whole.length, _rest(whole)
    said = f"accept length {length:.2f} ({DEFINITION}; {whole.tokens} tokens in {whole.steps} steps)"
    if whole.per_step < NOTHING and whole.steps >= STEPS:
        return failed(
            f"{said}: no draft is accepted",
            expected=f"> {NOTHING}",
            cause="the drafter does not fit the target (other weights, layers or vocabulary), its weights were not "
            "loaded, or it gets the wrong hidden states",
            remedy="compare the drafter's config with the target's, and its load format",
            **rest,
        )
    if depth is not None and (far := _beyond(whole, depth)):
        return failed(
            f"{said}: {far}, and a tree of depth {depth} gives at most {depth + 1}",
            expected=f"<= {depth + 1}",
            cause="tokens are counted that were not verified, or the tree is not the one that was asked for",
            remedy="do not believe rates of this process; compare tokens with usage, and the budget with the log",
            **rest,
        )
    if expected and expected.min is not None and length < expected.min:
        return failed(
            f"{said}: expected at least {expected.min:g}",
            expected=_range(expected),
            cause="another drafter, quantisation or window than it was trained with, or text that it does not know",
            remedy="compare window, drafter and prompt class with those of the measurement that gave the bound",
            **rest,
        )
    if expected and expected.max is not None and length > expected.max:
        return failed(
            f"{said}: expected at most {expected.max:g}",
            expected=_range(expected),
            cause="repetitive text, lossy acceptance, or simulated acceptance (SGLANG_SIMULATE_ACC_LEN)",
            remedy="too good is a fault too: read tree.lossless and the environment of the process",
            **rest,
        )
    bounds = (
        f", expected {_range(expected)}"
        if expected
        else "; the profile expects no bounds ([tree] accept_length)"
    )
    return passed(f"{said}{bounds}", expected=_range(expected) if expected else None, **rest)


def varies(drafted: Sequence[Drafted]) -> Judgement:
    """Accept lengths differ from step to step, as those of any text do."""
    whole = acceptance.together(drafted)
    if whole is None:
        return not_applicable(f"no accept length: {QUIET}")
    rest = _rest(whole)
    if whole.steps < STEPS:
        return unproven(f"only {whole.steps} verify steps, too few to tell whether they vary", **rest)
    constant = acceptance.constant(drafted)
    if constant is not None:
        return failed(
            f"all {whole.steps} verify steps give the same: {constant:.2f} tokens each, whatever the text",
            cause="simulated acceptance (SGLANG_SIMULATE_ACC_LEN), or counters that are made up",
            remedy="look for SGLANG_SIMULATE_ in /proc/PID/environ of the process",
            **rest,
        )
    return passed(f"accept lengths vary over {whole.steps} verify steps", **rest)


def reaches_depth(drafted: Sequence[Drafted], depth: int | None) -> Judgement:
    """Drafts behind the first one are accepted as well."""
    whole = acceptance.together(drafted)
    if whole is None:
        return not_applicable(f"no accept length: {QUIET}")
    rest = _rest(whole)
    if depth is not None and depth < 2:
        return not_applicable("a budget of one draft has no second one", **rest)
    if not whole.histogram:
        return not_applicable("the engine does not tell at which depth drafts are accepted", **rest)
    if acceptance.only_first(drafted, depth or 2):
        some = sum(times for accepted, times in whole.histogram.items() if accepted)
        return failed(
            f"the first draft was accepted {some} times, and one behind it {some - whole.histogram.get(1, 0)} times",
            cause="the tree is verified as if it had one level, or the drafter's later positions see the wrong state",
            remedy="a budget of 1 gives the same speed: compare, and look at positions and state of the drafter",
            **rest,
        )
    deepest = max((accepted for accepted, times in whole.histogram.items() if times), default=0)
    if sum(whole.histogram.values()) < STEPS:
        return unproven(
            f"only {whole.steps} verify steps, too few to tell how deep drafts are accepted", **rest
        )
    return passed(
        f"up to {deepest} drafts were accepted in one step", observed=deepest, measures=rest["measures"]
    )


def holds_over_context(drafted: Sequence[Drafted]) -> Judgement:
    """Behind a long prompt, and far into a long answer, the drafter is still worth its time."""
    places = {
        f"behind prompts of at most {SHORT} tokens and of {LONG} or more": acceptance.decay_by_prompt(
            drafted
        ),
        f"in answers of at most {BRIEF} tokens and of {LASTING} or more": acceptance.decay_by_answer(drafted),
    }
    found = {where: decay for where, decay in places.items() if decay}
    if not found:
        return not_applicable(f"not told: it takes verify steps {' or '.join(places)}")
    told = [f"{decay.near:.2f} and {decay.far:.2f} {where}" for where, decay in found.items()]
    worst = min(found.values(), key=lambda each: (not each.lost, each.far / each.near))
    rest = {
        "expected": round(worst.near, 2),
        "observed": round(worst.far, 2),
        "measures": {"near": round(worst.near, 3), "far": round(worst.far, 3)},
    }
    both = f"tokens per verify step, the first of each answer left out: {'; '.join(told)}"
    if worst.lost:
        return failed(
            both,
            cause="the drafter was trained with a window that it does not get here, its positions are wrong far out, or "
            "drafter and target come apart with each token (penalties that only one of them applies)",
            remedy="read window.reaches_draft_runner; give the drafter the window it was trained with",
            **rest,
        )
    return passed(both, **rest)


def grows(cell: str, visited: Mapping[str, tuple[int, Drafted]]) -> Judgement | None:
    """A larger tree accepts no less than a smaller one with the same top-k; None where it does.

    Args:
        cell: The cell that is judged.
        visited: Budget and answers of each cell that was visited, with this one.
    """
    budget, mine = visited[cell]
    topk = cell.partition("-")[2]
    for other, (smaller, theirs) in visited.items():
        if smaller < budget and other.partition("-")[2] == topk and acceptance.falls(theirs, mine):
            return failed(
                f"budget {cell} accepts {mine.per_step:.2f} tokens a step and the smaller budget {other} "
                f"{theirs.per_step:.2f}: a tree accepts at least what a smaller one or a chain does",
                expected=f">= {theirs.per_step:.2f}",
                observed=round(mine.per_step, 3),
                cause="branches push the best path out of the tree, or what they leave behind spoils the next step",
                remedy="do not serve with this budget; read tree.lossless_per_budget of it",
                measures={"accept_length": round(mine.length, 3), "smaller_budget": round(theirs.length, 3)},
            )
    return None


def _beyond(whole: Drafted, depth: int) -> str:
    """What is more than the tree can hold; "" where nothing is."""
    deepest = max((accepted for accepted, times in whole.histogram.items() if times), default=0)
    if deepest > depth:
        return f"{deepest} drafts were accepted in one step"
    return f"{whole.per_step:.2f} tokens a step" if whole.per_step > depth + 1 else ""


def _rest(whole: Drafted) -> dict[str, object]:
    measures = {
        "accept_length": round(whole.length, 4),
        "tokens_per_step": round(whole.per_step, 4),
        "verify_steps": float(whole.steps),
    }
    return {"observed": round(whole.length, 3), "measures": measures}


def _range(expected: Range | None) -> str:
    if expected is None:
        return ""
    low = f"at least {expected.min:g}" if expected.min is not None else ""
    high = f"at most {expected.max:g}" if expected.max is not None else ""
    return " and ".join(each for each in (low, high) if each)
