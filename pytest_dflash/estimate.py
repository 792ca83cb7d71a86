"""What a run would cost a host: restarts, requests, files, minutes.

Law: pure; checks and a profile in, numbers and lines out. The numbers are upper bounds as far as a profile
tells them, and say "about" where it does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_dflash.checks import Check
from pytest_dflash.levels import Allowed
from pytest_dflash.lifecycle.allowance import Allowance, counted
from pytest_dflash.lifecycle.changing import cells
from pytest_dflash.lifecycle.traffic import filled
from pytest_dflash.profile.schema import Profile

PASSIVE_S = 5
"""Rough seconds for reading a host and asking its passive routes."""
PER_REQUEST_S = 3
"""Rough seconds for one short completion."""
TOKENS_PER_S = 50
"""Rough rate of many requests, some of them at once."""
PLAIN = frozenset({"tree.reference", "throughput.beats_plain"})
"""Checks that ask the unit without speculation; one restart does for all of them."""
BEATS, STARTS = "throughput.beats_plain", "throughput.starts"
PREFILLS = 1500
"""So many of one token, at most, does one process take whose tree is judged without logprobs: docs/tree.md."""
CONFIRMED_BY = 64
"""At most so many tokens tell that a fresh process completes."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost of the chosen checks on one host.

    Attributes:
        checks: How many run. held: how many are not run, by the level that they need.
        requests: Completions. tokens: at most so many new ones. prefills: of one token, where no logprobs are told.
        restarts: All restarts, and those of them that reconfigure, the one that puts back included.
        seconds: How long it takes, starts included.
        loads: Whether the loads of the profile are measured.
        reference: Restarts after which the unit is asked without speculation.
        afresh: Which of `STARTS` and `BEATS` measure the loads again, in other processes.
    """

    checks: int
    held: Counter[str]
    requests: int
    tokens: int
    restarts: int
    reconfigured: int
    seconds: float
    loads: bool = False
    reference: int = 0
    afresh: frozenset[str] = frozenset()
    prefills: int = 0


def asking_s(check: Check) -> float:
    """How long the requests of a check take: short ones each their time, many small ones by their tokens."""
    return min(check.requests * PER_REQUEST_S, PER_REQUEST_S + check.tokens / TOKENS_PER_S)


def start_s(profile: Profile, ready_timeout_s: float) -> float:
    """How long one start is expected to take: what the profile promises, else what it may take."""
    return profile.lifecycle.ready_within_s or ready_timeout_s


def estimate(chosen: Iterable[Check], allowed: Allowed, profile: Profile, ready_timeout_s: float) -> Estimate:
    """The cost of the checks; a restart is shared by all checks that need one."""
    chosen = list(chosen)
    running = [each for each in chosen if allowed.permits(each.level)]
    restarts = max((each.restarts for each in running if each.level != "reconfigure"), default=0)
    visits = any(each.level == "reconfigure" for each in running)
    names = {each.name for each in running} if allowed.permits("load") else set()
    reference = int(bool(PLAIN & names) and ("tree.reference" in names or bool(profile.throughput)))
    restarts += max((load.starts - 1 for load in profile.throughput if STARTS in names), default=0)
    visited = len(cells(profile.tree)) if visits and profile.tree.budgets else 0
    # Loads that nothing measures before the tree's reference are measured by going back for them.
    before = any(each.level == "load" and each.per == "load" for each in running)
    reference += int(names >= PLAIN and bool(profile.throughput) and not before)
    reconfigured = visited + reference + max(reference, 1) if visited or reference else 0
    # A fresh process is asked for one completion, where any may be asked for.
    confirmed = restarts + reconfigured if allowed.permits("probe") else 0
    requests = sum(each.requests for each in running) + confirmed
    waits = {"lifecycle.stays_up": profile.lifecycle.stays_up_s}
    loading = sum(
        load.time_budget_s * ((load.starts if STARTS in names else 1) + (BEATS in names))
        for load in profile.throughput
    )
    loads = any(each.per == "load" for each in running)
    return Estimate(
        checks=len(running),
        held=Counter(each.level for each in chosen if not allowed.permits(each.level)),
        requests=requests,
        tokens=sum(each.tokens for each in running) + confirmed * CONFIRMED_BY,
        restarts=restarts + reconfigured,
        reconfigured=reconfigured,
        seconds=PASSIVE_S
        + sum(asking_s(each) for each in running)
        + confirmed * PER_REQUEST_S
        + (loading if loads else 0)
        + sum(waits.get(each.name, each.seconds) for each in running)
        + (restarts + reconfigured) * start_s(profile, ready_timeout_s),
        loads=loads,
        reference=reference,
        afresh=frozenset({STARTS, BEATS} & names),
        prefills=PREFILLS * (1 + visited)
        if any(each.area == "tree" and each.tokens for each in running)
        else 0,
    )


def lines(  # noqa: PLR0913 - one plan, all that it depends on
    host: str,
    cost: Estimate,
    *,
    allowed: Allowed,
    profile: Profile,
    ready_timeout_s: float,
    allowance: Allowance,
    reports: str = "",
) -> Sequence[str]:
    """The plan for one host, a line for each kind of cost."""
    not_run = ", ".join(f"{number} need {level}" for level, number in cost.held.items())
    start = start_s(profile, ready_timeout_s)
    told = [
        f"plan for {host} (allowed: {', '.join(allowed.words)})",
        f"  checks    {cost.checks} run" + (f", {not_run} and are not run" if not_run else ""),
        "  reads     1 connection, at most 3 commands",
        f"  requests  {cost.requests}, at most {cost.tokens} new tokens"
        + (
            f"; up to {cost.prefills} more of one token where the engine tells no logprobs"
            if cost.prefills
            else ""
        ),
        *(f"  loads     {each}" for each in load_lines(cost, profile)),
        f"  restarts  {cost.restarts}{_of_what(cost, profile)}",
        *(f"  runs      {command} here" for command in commands(cost, profile, host)),
        *(f"  writes    {file}" for file in files(cost, profile, reports)),
        f"  time      about {max(1, round(cost.seconds / 60))} min{_per_start(cost, profile, start)}",
    ]
    if not cost.restarts:
        told[-1] += f", and up to {ready_timeout_s:.0f} s more if the unit is still starting"
    return [*told, *(f"  limit     {line}" for line in limits(cost, allowance))]


def load_lines(cost: Estimate, profile: Profile) -> Sequence[str]:
    """Each load that is measured, and what it asks of the host at most."""
    return [
        f"{load.name}: {load.concurrency} at once for at most {load.time_budget_s:g} s, each with about "
        f"{load.prompt_tokens} tokens of prompt and at most {load.output_tokens} new ones"
        + (f"; in {load.starts} processes" if load.starts > 1 and STARTS in cost.afresh else "")
        + ("; again without speculation" if BEATS in cost.afresh else "")
        for load in (profile.throughput if cost.loads else ())
    ]


def _of_what(cost: Estimate, profile: Profile) -> str:
    """Why there are so many restarts."""
    if not cost.reconfigured:
        return ""
    tree = profile.tree
    topks = f" at {counted(len(tree.topks), 'top-k')}" if tree.topks else ""
    plain = cost.restarts - cost.reconfigured
    back = max(cost.reference, 1)
    visits = cost.reconfigured - back - cost.reference
    parts = (
        (plain, f"{plain} as it is"),
        (cost.reference, f"{cost.reference} without speculation"),
        (visits, f"{visits} for {counted(len(tree.budgets), 'budget')}{topks}"),
        (back, f"{back} to put it back"),
    )
    return ": " + ", ".join(told for many, told in parts if many)


def _per_start(cost: Estimate, profile: Profile, start: float) -> str:
    if not cost.restarts:
        return ""
    source = "lifecycle.ready_within_s" if profile.lifecycle.ready_within_s else "the ready timeout"
    return f", each start {start:.0f} s ({source})"


def files(cost: Estimate, profile: Profile, reports: str) -> Sequence[str]:
    """Every file that would be written, there and here."""
    unit = profile.service.unit
    there = []
    if cost.restarts:
        there.append(f"/run/pytest-dflash/{unit}/ there (lock and lease), taken away again")
    if cost.reconfigured:
        there.append(f"/run/systemd/system/{unit}.d/zzz-dflash-RUN.conf there, taken away again")
    samples = ", samples/" if cost.loads and profile.throughput else ""
    here = [f"report.html, junit.xml, findings.json{samples} here, in {reports}"] if reports else []
    return [*(there or ["nothing there"]), *here]


def commands(cost: Estimate, profile: Profile, host: str) -> Sequence[str]:
    """The commands of [traffic], around all that changes the host."""
    both = (profile.traffic.drain, profile.traffic.undrain) if cost.restarts else ()
    return [f"`{' '.join(filled(command, host.partition('/')[0]))}`" for command in both if command]


def limits(cost: Estimate, allowance: Allowance) -> Sequence[str]:
    """Where the plan does not fit into the limits of the command line."""
    told = []
    if allowance.max_restarts is not None and cost.restarts > allowance.max_restarts:
        told.append(
            f"{cost.restarts} restarts are more than --dflash-max-restarts={allowance.max_restarts}: "
            "what does not fit is refused and unproven"
        )
    if allowance.deadline_s is not None and cost.restarts and cost.seconds > allowance.deadline_s:
        told.append(
            f"{cost.seconds:.0f} s are more than --dflash-deadline={allowance.deadline_s:g}: "
            "what does not fit is refused and unproven"
        )
    return told
