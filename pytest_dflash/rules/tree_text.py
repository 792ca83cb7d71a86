"""Answers as a whole: from the cache as without it, sampled as asked, grammatical, and not going round in circles.

Law: pure; answers and what the oracle thinks of them in, judgements out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_dflash.engines.scoring import Spoken
from pytest_dflash.findings import Judgement, failed, not_applicable, passed, unproven
from pytest_dflash.oracle import alarm, sampling
from pytest_dflash.oracle.answers import Grounds, Part, Said
from pytest_dflash.oracle.choice import Oracle
from pytest_dflash.oracle.loops import loop
from pytest_dflash.oracle.reference import Parting, parting
from pytest_dflash.rules.tree_lossless import lossless, tolerance
from pytest_dflash.rules.tree_situation import Situation

ENDS = ("}", '"}', "0}", ":0}", '":0}', '"":0}', "{}", '\\"}')
"""What may be missing of an object that was cut."""
BLANKS = 24
"""More needless blanks than this in an answer are its length."""
FROM_CACHE = Situation(
    "tokens said with a cold and a warm prefix cache",
    "what the cache gives back is not what was computed: pages that speculation wrote, or of another request",
)


def cache_consistent(part: Part, grounds: Grounds) -> Judgement:
    """A prompt is answered alike when its prefix is computed, cached, and cached with another one in between."""
    by_target = lossless([part], grounds, FROM_CACHE)
    if by_target.outcome != "pass":
        return by_target
    first, *rest = [each for each in part.said if each.label.startswith("A")]
    told = [each.spoken.cached_tokens for each in rest]
    scored = next((line.scored for line in part.lines if line.label == first.label), ())
    within = tolerance(grounds) if grounds.choice.oracle is Oracle.RESCORING else math.inf
    for again in rest:
        apart = parting(again.label, _tokens(first), _tokens(again), scored)
        if (apart and within == math.inf) or (not _tokens(first) and again.spoken.text != first.spoken.text):
            where = f": {parted(apart)}" if apart else ""
            return unproven(
                f"'{again.label}' is answered otherwise than '{first.label}'{where}, and nobody tells how near the tokens "
                f"were; {grounds.choice}",
                remedy="run again without prefix cache: where the answers are the same then, the cache is wrong",
                measures=by_target.measures,
            )
        if apart and (apart.apart is None or apart.apart > within):
            return failed(
                f"'{again.label}' is answered otherwise than '{first.label}': {parted(apart)}",
                expected=apart.left,
                observed=apart.right,
                cause=FROM_CACHE.cause,
                remedy="run without prefix cache (--disable-radix-cache) until the engine is mended",
                measures=by_target.measures,
            )
    if all(each == 0 for each in told):
        return not_applicable(
            "nothing came from a prefix cache, by the engine's own count, so there is none that could change an answer"
        )
    hit = (
        "the engine does not tell what came from its cache"
        if all(each is None for each in told)
        else f"of {first.spoken.prompt_tokens} prompt tokens {max(each or 0 for each in told)} came from the cache"
    )
    return passed(f"{by_target.summary}; {hit}", expected=0, observed=0, measures=by_target.measures)


def same_tokens(parts: Sequence[Part], others: Sequence[Part], than: str, grounds: Grounds) -> Judgement:
    """Two processes answer the same prompts alike, but where the target was undecided.

    Args:
        parts: Of the process that is judged.
        others: The same of the one that it is compared with.
        than: How that one runs: "without speculation".
        grounds: Of the other one.
    """
    within = tolerance(grounds)
    mine, theirs = ([each for part in each_ for each in part.said] for each_ in (parts, others))
    scores = {line.label: line.scored for part in others for line in part.lines}
    ties: list[Parting] = []
    unknown: list[Parting] = []
    compared = 0
    for one, other in zip(mine, theirs, strict=True):
        # An end is a token like any other, where it is told.
        left, right = other.spoken.whole, one.spoken.whole
        apart = parting(one.label, left, right, scores.get(other.label, ()))
        if apart is None:
            compared += min(len(left), len(right))
            if not left and one.spoken.text != other.spoken.text:
                unknown.append(Parting(one.label, 0, None, None, None))
            continue
        compared += apart.index + 1
        if apart.apart is None:
            unknown.append(apart)
        elif apart.apart <= within:
            ties.append(apart)
        else:
            return failed(
                f"'{one.label}' is answered otherwise than {than}: {parted(apart)}; noise explains {within:.3g}",
                expected=apart.left,
                observed=apart.right,
                cause="verification does not see what the target would, at this budget or at the other one",
                remedy="read tree.lossless: it tells which of the two is wrong",
                measures={"tokens": float(compared), "tolerance_nats": within},
            )
    measures = {"answers": float(len(mine)), "tokens": float(compared), "ties": float(len(ties))}
    if not unknown and not any(each.spoken.tokens or each.spoken.text for each in mine):
        return unproven(
            f"neither it nor the one {than} said anything, so nothing was compared", measures=measures
        )
    if unknown:
        first = f", first '{unknown[0].label}'"
        first += f" ({parted(unknown[0])})" if unknown[0].left != unknown[0].right else ""
        return unproven(
            f"{len(unknown)} of {len(mine)} answers are other ones than {than}{first}, and nobody tells how near the "
            f"tokens were; {grounds.choice}",
            measures=measures,
        )
    return passed(
        f"{len(mine)} answers are the same as {than}: {compared} tokens"
        + (f", {len(ties)} of them parting at a tie" if ties else ""),
        expected=0,
        observed=0,
        measures=measures,
    )


def parted(apart: Parting) -> str:
    """Where two answers part, in a sentence."""
    if apart.right is None or apart.left is None:
        return f"it {'ends' if apart.right is None else 'goes on'} after {apart.index} tokens, where the other does not"
    margin = "" if apart.apart is None else f", {apart.apart:.2f} nats apart for the target"
    return f"at token {apart.index + 1} it says {apart.right} instead of {apart.left}{margin}"


NOR_A_PREFILL = ", or nothing here samples, a prefill neither"


def sampled(part: Part, first: tuple[Sequence[int], Mapping[int, float]], grounds: Grounds) -> Judgement:
    """Temperature 1 samples, and from the target's own distribution.

    Args:
        part: Answers to one prompt or more, each with its own seed.
        first: First tokens of more of them, and logprobs of the target's likeliest ones there; where these are told.
        grounds: The oracle.
    """
    texts = {(each.prompt, each.spoken.tokens or each.spoken.text) for each in part.said}
    asked, different, many = len({each.prompt for each in part.said}), len(texts), len(part.said)
    alpha, rescored = alarm.share(grounds.cells), grounds.choice.oracle is Oracle.RESCORING
    lines = [line.scored for line in part.lines]
    bold = sampling.boldness(lines) if rescored else sampling.compared((), part.samples)
    measures = {"answers": float(many), "different_answers": float(different)}
    prompts = "one prompt" if asked == 1 else f"{asked} prompts"
    if different == asked < many and (bold is None or bold.tells):
        return failed(
            f"{many} answers at temperature 1 to {prompts} are all the same: it does not sample",
            expected="different answers",
            observed=different,
            cause="the speculative path is greedy whatever the request says, or one seed serves all",
            remedy='look for "falling back to greedy" in the log, and for the sampling that the tree supports',
            measures=measures,
        )
    if bold is None:
        return unproven(
            f"{different} of {many} answers at temperature 1 are different; whether they are distributed as the "
            f"target says could not be told {grounds.choice}",
            expected="the target's distribution",
            observed=different,
            remedy="judge sampling elsewhere, and leave this check out by name (-k 'not tree.sampling'): the run is partial then",
            measures=measures,
        )
    drawn = sampling.first_token(first[0], {token: math.exp(lp) for token, lp in first[1].items()})
    measures |= {
        "alpha": alpha, "positions": float(bold.samples), "first_choice_expected": round(bold.expected, 2),
        "first_choice_said": bold.observed, "first_choice_p": bold.probability, "doubt": round(bold.doubt, 1),
        "first_tokens": float(drawn.samples), "first_token_p": drawn.probability,
    }  # fmt: skip
    told = (
        f"the target's first choice was said {bold.observed:.0f} times in {bold.samples} positions, where "
        f"{bold.expected:.1f} are expected (p = {bold.probability:.2g}); first tokens of {drawn.samples} answers: "
        f"p = {drawn.probability:.2g}; alpha {alpha:.1g}"
        if rescored
        else f"the likeliest token was said {bold.observed:.0f} times at {bold.samples} places, where a prefill drew it "
        f"{bold.expected:.0f} times (p = {bold.probability:.2g}; alpha {alpha:.1g}); {grounds.choice}"
    )
    if min(bold.probability, drawn.probability) < alpha:
        return failed(
            f"answers at temperature 1 are not distributed as the target says: {told}",
            expected=f"p >= {alpha:.1g}",
            observed=min(bold.probability, drawn.probability),
            cause="drafts are accepted too easily (an acceptance threshold below 1), the temperature is not applied "
            "where the tree is verified (SGLang without its verification kernel says so in its log, and takes the likeliest "
            "token), or the server adds sampling settings of its own",
            remedy='look first for "falling back to greedy" in the journal since these requests: such a build or card does '
            "not sample while it speculates; else compare --speculative-accept-threshold-* and the server's default "
            "sampling settings",
            measures=measures,
        )
    if not bold.tells:
        return unproven(
            f"{many} answers at temperature 1 to {prompts} do not tell whether it samples: the target is too sure of their "
            f"tokens (a doubt of {bold.doubt:.1f} in {bold.samples} positions, of {sampling.ENOUGH_DOUBT:.0f} that it takes)"
            + ("" if rescored else f"{NOR_A_PREFILL if not bold.doubt else ''}; {grounds.choice}"),
            expected=sampling.ENOUGH_DOUBT,
            observed=round(bold.doubt, 1),
            remedy="judge sampling by prompts of your own, to which the model has several answers, and leave this check out by "
            "name (-k 'not tree.sampling'): the run is partial then",
            measures=measures,
        )
    return passed(f"{different} of {many} sampled answers differ; {told}", measures=measures)


def grammatical(alone: Sequence[Spoken], together: Sequence[Spoken], schema: Any) -> Judgement:
    """Answers under a JSON schema are JSON that fulfils it, alone and several at once."""
    measures = {"answers": float(len(alone) + len(together))}
    for how, answers in (("alone", alone), (f"{len(together)} at once", together)):
        wrong = [(each, why) for each in answers if (why := broken(each.text, schema))]
        if wrong:
            answer, why = wrong[0]
            told = f"{len(wrong)} of {len(answers)} answers under a JSON schema, asked {how}, do not fulfil it: {why}"
            shown = " ".join(answer.text.split())[:120]
            if all(each.finish == "length" and begun(each.text) for each, _ in wrong):
                return unproven(
                    f"{told}; they were cut at {answer.completion_tokens} tokens, and are right as far as they go",
                    expected="JSON with name and count",
                    observed=shown,
                    cause=unclosed(answer.text, schema),
                    remedy="ask by hand with the same schema and a larger max_tokens: an answer that ends is the model's own "
                    "length, and nothing is held against this host; one that never ends is the grammar's fault. No option "
                    "raises the limit of this check, which is three times a whole answer",
                    measures=measures,
                )
            return failed(
                told,
                expected="JSON with name and count",
                observed=shown,
                cause="drafts are verified without the grammar's mask, or its state is not rolled back with refused drafts",
                remedy="send grammar requests to a server without speculation until the engine is mended",
                measures=measures,
            )
    return passed(
        f"all {len(alone) + len(together)} answers under a JSON schema fulfil it, alone and {len(together)} at once",
        measures=measures,
    )


def unclosed(text: str, schema: Any) -> str:
    """Who most likely kept an answer from ending: the model, or the engine's grammar."""
    if len(text) > len(" ".join(text.split())) + BLANKS:
        return "the engine's grammar lets blanks stand between words without end, and the model writes them"
    longest = max((each.get("maxLength", 0) for each in schema["properties"].values()), default=0)
    strings = re.findall(r'"((?:[^"\\]|\\.)*)(?:"|$)', text)
    if longest and any(len(each) > longest + len(max(schema["properties"], key=len)) for each in strings):
        return f"the engine's grammar does not hold the schema's maxLength of {longest}: a string goes on, and the model fills it"
    return "the model had not ended its answer: a small or untrained one seldom does, and speculation has no part in that"


def begun(text: str) -> bool:
    """Whether more text could make it an object: it is cut, but not broken."""
    return any(_object(text + end) for end in ENDS)


def _object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def broken(text: str, schema: Any) -> str:
    """What is wrong with an answer; "" for nothing. Knows strings and integers, which is what is asked for."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"it is no JSON ({error})"[:100]
    kinds = {"string": str, "integer": int}
    wanted = {name: kinds[each["type"]] for name, each in schema["properties"].items()}
    if not isinstance(document, dict) or set(document) != set(wanted):
        return f"it has other keys than {', '.join(wanted)}"
    bad = [name for name, kind in wanted.items() if type(document[name]) is not kind]
    return f"{bad[0]} is no {schema['properties'][bad[0]]['type']}" if bad else ""


def no_grammar(why: str) -> Judgement:
    """The engine does not accept a schema together with speculation: a limit, not a fault."""
    return not_applicable(f"this engine does not accept a JSON schema here: {why}")


def no_degeneration(part: Part, grounds: Grounds) -> Judgement:
    """A long answer does not go round in circles, unless the target itself would."""
    (said,) = part.said
    tokens = _tokens(said)
    found = loop(tokens) if tokens else None
    measures = {"generated_tokens": float(part.tokens)}
    if not tokens:
        return not_applicable("the engine tells no token ids, and a text alone may repeat for many reasons")
    if found is None:
        return passed(f"{len(tokens)} tokens in a row without going round in circles", measures=measures)
    told = f"from token {found.start + 1} on the answer repeats {len(found.unit)} tokens: {list(found.unit)[:12]}"
    verdict = lossless([part], grounds, Situation("tokens of a long answer"))
    rest = {"observed": found.start, "measures": measures | {"repeated_tokens": float(found.tokens)}}
    if verdict.outcome == "fail":
        return failed(
            f"{told}, which the target alone would not ({verdict.summary})",
            cause="state that is lost or kept when drafts are refused: a loop is easy to draft, so it looks fast",
            remedy=verdict.remedy,
            **rest,
        )
    if verdict.outcome == "pass" and grounds.choice.oracle is Oracle.RESCORING:
        return passed(f"{told}; the target alone says the same, so speculation is not to blame", **rest)
    return unproven(f"{told}, and whether the target alone would was not told: {verdict.summary}", **rest)


def _tokens(said: Said) -> tuple[int, ...]:
    return said.spoken.tokens or ()
