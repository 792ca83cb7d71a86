"""What the loads of a host are measured with.

Law: wires `load.measuring` to a host's run; decides nothing. Everything is asked anew each time, since a restart in
between makes another process.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_dflash.engines.dialect import Decode
from pytest_dflash.engines.scoring import Drafting
from pytest_dflash.errors import EndpointError
from pytest_dflash.facts.journal import JOURNAL
from pytest_dflash.facts.kernel import RECENT_KERNEL
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.findings import Json, Judgement
from pytest_dflash.load.long_prompts import LongPrompts
from pytest_dflash.load.measurement import Measurement
from pytest_dflash.load.measuring import Loads
from pytest_dflash.load.sampling import SAMPLED
from pytest_dflash.portrait import portrait
from pytest_dflash.report import samples
from pytest_dflash.rules import comparison

if TYPE_CHECKING:
    from pytest_dflash.host_run import HostRun

OK = 200


def loads_of(run: HostRun) -> Loads:
    """The loads of this host's profile; none of them is measured yet."""
    return Loads(
        profile=run.profile,
        door=lambda: run.service.client.door(),  # noqa: PLW0108 - a restart makes another service
        look=run.load_now,
        counters=lambda: counters(run),
        sample=lambda: run.collector.collect(SAMPLED, passive=False),
        pulse=lambda: run.collector.collect((RECENT_KERNEL,), passive=False),
        identity=run.identity_now,
        run=uuid.uuid4().hex[:8],
        compared=run.allowed.permits("load") and run.allowed.permits("reconfigure"),
        passing=passing(run.tell),
        kept=lambda found: keep(run, found),
    )


def keep(run: HostRun, found: Measurement) -> None:
    """Writes what was measured, where this run writes anything."""
    if run.samples is not None:
        samples.write(run.samples, run.name, found, run.redact)


def compared(run: HostRun, found: Measurement) -> Judgement:
    """The load against the earlier run that `--dflash-compare` names."""
    then = comparison.earlier(run.compare[0], run.name, run.compare[1]) if run.compare else None
    gpus = portrait(run.facts)["gpus"]
    now = comparison.Identity(run.profile.service.engine, run.version, gpus)
    return comparison.compared(found, then, now)


def counters(run: HostRun) -> Reading[Drafting]:
    """The engine's counters of speculation at this moment, by a passive route."""
    scoring = run.dialect.scoring()
    path: str = scoring.counters_path()
    if not path:
        return Silent("this engine has no route with counters")
    try:
        answer = run.service.client.get(path)
    except EndpointError as error:
        return Silent(str(error), f"GET {path}")
    if answer.status != OK:
        return Silent(f"GET {path} answered {answer.status}", f"GET {path}")
    found: Reading[Drafting] = scoring.counters(answer.text)
    return found


def long_prompts_of(run: HostRun) -> LongPrompts:
    """Long prompts for this host; none is sent yet."""
    return LongPrompts(
        door=lambda: run.service.client.door(),  # noqa: PLW0108 - a restart makes another service
        counters=lambda: counters(run),
        run=uuid.uuid4().hex[:8],
        limit=context_limit(run),
        tell=passing(run.tell),
    )


def told_settings(run: HostRun) -> Mapping[str, Json]:
    """What the engine tells of its settings over HTTP; nothing where it does not."""
    found = run.dialect.from_info(run.info.value) if isinstance(run.info, Value) else run.info
    settings: Mapping[str, Json] = found.value.values if isinstance(found, Value) else {}
    return settings


def context_limit(run: HostRun) -> int | None:
    """The longest context that the engine takes, by its own account."""
    limit: int | None = run.dialect.scoring().bounds(told_settings(run)).context
    return limit


def decode_lines(run: HostRun) -> Reading[Sequence[Decode]]:
    """The engine's decode lines since the host was read: those of the loads."""
    known = run.facts.journal
    before = known.value.entries[-1].realtime_us if isinstance(known, Value) and known.value.entries else 0
    journal = run.collector.collect((JOURNAL,), passive=False).reading(JOURNAL)
    if not isinstance(journal, Value):
        return journal
    lines = run.dialect.decode_lines(journal.value)
    return Value(tuple(line for line in lines if line.at_us > before), journal.where)


def passing(tell: Callable[[str], None]) -> Callable[[str], None]:
    """How a line is shown for a moment: by those who can write over it, and else not at all."""
    shown: Callable[[str], None] = getattr(tell, "passing", lambda _line: None)
    return shown
