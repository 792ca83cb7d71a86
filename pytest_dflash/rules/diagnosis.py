"""What is wrong with a host of which nothing is expected: the rules that need no profile, likeliest cause first.

Law: pure. Facts in, suspicions out; the order is that of `_asked`. What a rule leaves unproven is a suspicion only
where silence itself is the symptom.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pytest_dflash.engines.dialect import Load
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.facts.reading import Reading, Value
from pytest_dflash.findings import Judgement, Outcome, failed
from pytest_dflash.lifecycle.phase import Phase
from pytest_dflash.lifecycle.readiness import Settled
from pytest_dflash.rules import endpoint, gpu, host, lifecycle, reload, restart, systemd
from pytest_dflash.rules.readiness import serves
from pytest_dflash.witness import drift
from pytest_dflash.witness.chain import Chain

UNSEEN = "not seen"
"""The kind of what nobody could tell whether it is wrong."""
LOOK = {
    "drift": "systemctl cat {unit}; systemctl show {unit} -p ExecStart,NeedDaemonReload",
    "left behind": "systemctl cat {unit}",
    "crash": "journalctl -u {unit} -n 200 --no-pager",
    "not serving": "journalctl -u {unit} -n 100 --no-pager",
    UNSEEN: "id; command -v systemctl journalctl ss",
    "driver": "nvidia-smi; journalctl -k -b -g 'NVRM|Xid' --no-pager",
    "gpu": "nvidia-smi -q; journalctl -k -b -g 'NVRM|Xid' --no-pager",
    "disk": "df -h; df -i",
    "memory": "free -h; journalctl -k -b -g 'oom|Killed' --no-pager",
}
"""What to type on the host to see a cause with one's own eyes; likeliest first."""


def for_user(look: str, user: str | None) -> str:
    """The same for a unit of this user's own manager, typed by root."""
    if user is None:
        return look
    asked = look.replace("systemctl ", f"systemctl --user -M {shlex.quote(user)}@ ")
    return asked.replace("journalctl -u ", "journalctl _SYSTEMD_USER_UNIT=")


OF_THE_HOST = frozenset({"driver", "gpu", "disk", "memory"})
"""What is wrong with the machine, whichever of its units is asked about."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One thing that is wrong.

    Attributes:
        kind: In one or two words. look: What shows it, typed on the host.
        unit: Whose fault it is; None for that of the machine.
    """

    kind: str
    judgement: Judgement
    look: str
    unit: str | None = None


def suspicions(
    unit: str, facts: Facts, settled: Settled, chain: Chain, load: Reading[Load]
) -> list[Suspicion]:
    """What is wrong, likeliest cause first; one subject once."""
    found: dict[object, Suspicion] = {}
    for kind, judgements, silence_counts in _asked(unit, facts, settled, chain, load):
        for judgement in judgements():
            bad = judgement.outcome is Outcome.FAIL
            if bad or (silence_counts and judgement.outcome is Outcome.UNPROVEN):
                subject = (kind, judgement.remedy or judgement.summary)
                found.setdefault(subject, _suspicion(kind, judgement, unit))
    return list(found.values())


def _suspicion(kind: str, judgement: Judgement, unit: str) -> Suspicion:
    if kind == "not serving" and judgement.outcome is Outcome.UNPROVEN:
        kind = UNSEEN
    whose = None if kind in OF_THE_HOST else unit
    return Suspicion(kind, judgement, LOOK[kind].format(unit=shlex.quote(unit)), whose)


def together(each: Sequence[tuple[bool, Sequence[Suspicion]]]) -> list[Suspicion]:
    """The suspicions of several units, each with whether it serves: those that do not first, the machine's own last and once."""
    kinds = list(LOOK)
    found: dict[object, tuple[tuple[bool, bool, int], Suspicion]] = {}
    for ready, suspected in each:
        for one in suspected:
            whole = one.unit is None
            subject = (one.unit, one.kind, one.judgement.remedy or one.judgement.summary)
            found.setdefault(subject, ((whole, ready and not whole, kinds.index(one.kind)), one))
    return [one for _, one in sorted(found.values(), key=lambda pair: pair[0])]


Asked = tuple[str, Callable[[], Sequence[Judgement]], bool]


def _asked(unit: str, facts: Facts, settled: Settled, chain: Chain, load: Reading[Load]) -> Iterator[Asked]:
    """Kind, rule, and whether its silence is a symptom, in the order in which causes are likely."""
    yield "drift", lambda: [reload.reloaded(facts.unit, facts.files, facts.loaded)], False
    if settled.phase is Phase.READY:
        yield (
            "drift",
            lambda: [restart.restarted(chain), drift.no_drift(chain), drift.none_ignored(chain)],
            False,
        )
    yield "left behind", lambda: [lifecycle.nothing_left_behind(facts.files, facts.claim, unit)], False
    yield "crash", lambda: _crashed(facts), False
    yield "not serving", lambda: [serves(unit, facts, settled)], True
    yield "not serving", lambda: [endpoint.awake(load)], False
    yield "driver", lambda: gpu.ecc(facts.gpus)[:1] if not isinstance(facts.gpus, Value) else [], True
    yield "gpu", lambda: [host.xid(facts.kernel, facts.gpus, facts.unit, facts.clock)], False
    yield "gpu", lambda: [*gpu.ecc(facts.gpus), *gpu.throttling(facts.gpus)], False
    yield "disk", lambda: host.disk_space(facts.disks), False
    yield "memory", lambda: [host.memory(facts.memory, facts.kernel, facts.unit, facts.previous)], False


def _crashed(facts: Facts) -> list[Judgement]:
    """The unit is not stable, or the invocation before this one ended badly though nobody asked it to stop."""
    stable = systemd.stable(facts.unit, facts.previous, facts.starts, facts.clock)
    previous = facts.previous
    if stable.outcome is Outcome.FAIL or not isinstance(previous, Value) or not previous.value.crashed:
        return [stable]
    said = [entry.message for entry in previous.value.last_lines if entry.message.strip()]
    return [
        failed(
            f"the invocation before this one {previous.value.ending}",
            cause=f"its last line: {said[-1]}" if said else None,
            remedy="read how it ended before it happens again",
        )
    ]
