"""What a restart must show: a new invocation, in time, with every flag, and staying up.

Law: pure; restarts and readings in, judgements out.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from pytest_dflash.engines.dialect import Dialect
from pytest_dflash.facts.claim import DRAINED, FOLDER, Claim
from pytest_dflash.facts.identity import Identity, movement
from pytest_dflash.facts.journal import Journal
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.facts.systemd import UnitFiles
from pytest_dflash.findings import Evidence, Judgement, Outcome, failed, passed, unproven
from pytest_dflash.lifecycle import dropin
from pytest_dflash.lifecycle.changing import Changed
from pytest_dflash.lifecycle.phase import Phase
from pytest_dflash.lifecycle.restart import Restart
from pytest_dflash.rules import tree_budget


def nothing_left_behind(files: Reading[UnitFiles], claim: Reading[Claim], unit: str) -> Judgement:
    """No run that died left its drop-in, its lock, or the host out of its load balancer; and none is at work."""
    if not isinstance(files, Value):
        why = files.why if isinstance(files, Silent) else "the unit has no files"
        return unproven(f"whether an earlier run left a drop-in was not told: {why}")
    if isinstance(claim, Silent):
        return unproven(f"whether a run of ours holds the unit was not told: {claim.why}")
    left = list(dropin.left_behind(files.value))
    held = claim.value if isinstance(claim, Value) else Claim(held=False)
    if held.at_work:
        return unproven(
            f"another run works on {unit}: {held.holder}; its time ends in {held.left_s} s",
            expected=[],
            observed=[*left, held.who],
            cause="it is at work, or it was killed and the host's own lease is about to put the unit back",
            remedy="run again when it is done, or when its time is over",
        )
    told = [f"{path}: the unit does not run as its own files say" for path in left]
    files_left = " ".join(map(shlex.quote, left))
    by_hand = (
        [f"rm {files_left}; systemctl daemon-reload; systemctl restart {shlex.quote(unit)}"] if left else []
    )
    if held.held:
        told.append(f"its lock ({held.holder})")
        by_hand.append(f"rm -r {shlex.quote(f'{FOLDER}/{unit}')}")
    if held.drained:
        told.append("the host out of its load balancer")
        by_hand.append(
            f"{held.undrain} (on the side of that run); rm {shlex.quote(f'{FOLDER}/{unit}{DRAINED}')}"
            if held.undrain
            else f"[traffic] undrain of that run's profile; root reads it in {FOLDER}/{unit}{DRAINED}"
        )
    if not told:
        return passed("no earlier run left a drop-in, a lock or a drain behind", expected=[], observed=[])
    heals = "run with --dflash-allow=reconfigure, which puts it back" + (
        ", and a profile whose [traffic] undrain brings the host back" if held.drained else ""
    )
    return failed(
        f"an earlier run left {'; '.join(told)}",
        expected=[],
        observed=[
            *left,
            *([held.who] if held.held else []),
            *([held.undrain or DRAINED] if held.drained else []),
        ],
        cause="the run was killed" + (", and the host's own lease has not run yet" if left else ""),
        remedy=f"{heals}; or by hand: {'; '.join(by_hand)}",
    )


def restarts(restart: Restart) -> Judgement:
    """The restart made a new invocation, and that one serves."""
    rest = {"expected": "a new invocation that serves", "observed": restart.after or None}
    if not restart.before or not restart.after:
        return unproven("systemd did not say which invocation runs", **rest)
    if restart.before == restart.after:
        return failed(
            f"systemd was asked for a restart, and the invocation is still {restart.after}",
            remedy="`systemctl restart` by hand tells why; is the unit's start refused?",
            **rest,
        )
    if not restart.ready:
        judge = unproven if restart.settled.phase is Phase.UNKNOWN else failed
        return judge(
            f"restarted (invocation {restart.after}), and it does not serve: {restart.settled.why}",
            remedy="`journalctl -u` the unit tells more; mend, start it, and run this again",
            **rest,
        )
    return passed(f"a new invocation serves: {restart.before} ended, {restart.after} was started", **rest)


def ready_in_time(
    restart: Restart, journal: Reading[Journal], dialect: Dialect, within_s: float | None
) -> Judgement:
    """From asking for the restart to ready, the end of the old process included."""
    measures = measured(restart, engine_time_s(restart, journal, dialect))
    rest = {"expected": within_s, "observed": round(restart.took_s, 2), "measures": measures}
    if not restart.ready:
        return failed(f"it did not get ready: {restart.settled.why}", **rest)
    told = f"ready {restart.took_s:.1f} s after the restart was asked for" + (
        f" (the engine took {measures['engine_s']:g} s, it was noticed {measures['noticed_after_s']:g} s later and "
        f"confirmed in {measures['confirmed_after_s']:g} s)"
        if "engine_s" in measures
        else ""
    )
    if within_s is None:
        return Judgement(
            outcome=Outcome.NOT_APPLICABLE, summary=f"{told}; the profile expects no time ([lifecycle] ready_within_s)",
            measures=measures,
        )  # fmt: skip
    if restart.took_s > within_s:
        return failed(
            f"{told}, expected within {within_s:g} s",
            cause="cold caches of weights or kernels, a slower disk, or more to load than before",
            remedy="see the start-up lines in the journal for what took so long; else raise lifecycle.ready_within_s",
            **rest,
        )
    return passed(f"{told}, within {within_s:g} s", **rest)


def measured(restart: Restart, engine_s: float | None) -> dict[str, float]:
    """The parts of a restart, in seconds: all, the engine's own, ours until it was noticed, and the confirmation."""
    measures = {"ready_s": round(restart.took_s, 2)}
    if engine_s is None:
        return measures
    noticed_s = restart.took_s if restart.noticed_s is None else restart.noticed_s
    return measures | {
        "engine_s": round(engine_s, 2),
        "noticed_after_s": round(noticed_s - engine_s, 2),
        "confirmed_after_s": round(restart.took_s - noticed_s, 2),
    }


def engine_time_s(restart: Restart, journal: Reading[Journal], dialect: Dialect) -> float | None:
    """From asking for the restart to the engine's own ready line, by the host's clock."""
    ready_line = dialect.ready_line(journal.value) if isinstance(journal, Value) else None
    if not isinstance(journal, Value) or not ready_line:
        return None
    at = [e.monotonic_us for e in journal.value.entries if ready_line in e.message and e.monotonic_us]
    return at[-1] / 1e6 - restart.at_s if at and restart.at_s else None


def stays_up(before: Reading[Identity], after: Reading[Identity], seconds: float, prompt: str) -> Judgement:
    """It is still the same process a while after it got ready, and after the longest prompt."""
    if not isinstance(before, Value) or not isinstance(after, Value):
        silent = next((each.why for each in (before, after) if isinstance(each, Silent)), "no answer")
        return unproven(f"whether it stayed up was not told: {silent}")
    rest = {"expected": before.value.invocation_id, "observed": after.value.invocation_id}
    moved = movement(before.value, after.value)
    if moved:
        return failed(
            f"it did not stay up for {seconds:g} s after it was ready: {moved}",
            cause="it crashed shortly after its start: memory that the first requests need, a kernel that fails "
            "at a first shape, a watchdog",
            remedy="`journalctl -u` the unit tells how the process ended",
            **rest,
        )
    return passed(f"the same process {seconds:g} s after it was ready, and after {prompt}", **rest)


def budget_in_force(cell: str | None, changed: Changed | None) -> Judgement:
    """The cell's flags reach the engine, in the process that was started for it."""
    if cell is None or changed is None:
        return tree_budget.nothing()
    if unstarted := tree_budget.never_ready(cell, changed):
        return unstarted
    worst = _worst(changed.proofs)
    took = {"ready_s": round(changed.restart.took_s, 2)}
    if worst is None:
        return unproven(f"no witness carries the flags of budget {cell}")
    if worst.outcome is Outcome.PASS:
        return passed(
            f"budget {cell} is in force: {'; '.join(each.summary for each in changed.proofs)}",
            expected=worst.expected, observed=worst.observed, evidence=evidence(changed.proofs), measures=took,
        )  # fmt: skip
    return Judgement(
        outcome=worst.outcome, summary=f"budget {cell} is not proven to be in force: {worst.summary}",
        expected=worst.expected, observed=worst.observed, between=worst.between, cause=worst.cause,
        remedy=worst.remedy, evidence=worst.evidence, measures=took,
    )  # fmt: skip


def evidence(proofs: Sequence[Judgement]) -> tuple[Evidence, ...]:
    """All that was seen."""
    return tuple(each for proof in proofs for each in proof.evidence)


def _worst(proofs: Sequence[Judgement]) -> Judgement | None:
    order = (Outcome.FAIL, Outcome.UNPROVEN, Outcome.NOT_APPLICABLE, Outcome.PASS)
    return min(proofs, key=lambda each: order.index(each.outcome), default=None)
