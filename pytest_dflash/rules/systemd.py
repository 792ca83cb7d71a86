"""What is right about the unit: loaded, active, and not restarting behind everybody's back.

Law: pure. What its files say is `reload`'s, what its process runs with is `restart`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pytest_dflash.facts.exits import exit_meaning
from pytest_dflash.facts.platform import Clock
from pytest_dflash.facts.reading import Reading, Silent, Value
from pytest_dflash.facts.starts import Previous, Starts
from pytest_dflash.facts.systemd import Unit
from pytest_dflash.findings import Judgement, failed, passed
from pytest_dflash.rules.judge import Expectation, compare, evidence, unheard

LOAD_STATES = {
    "not-found": (
        "no unit of this name exists",
        "check service.unit, and for a user's unit service.user_manager: `systemctl list-units --all`",
    ),
    "masked": ("it is masked, so it can never start", "`systemctl unmask` it"),
    "bad-setting": (
        "systemd refuses its settings",
        "`systemd-analyze verify` names the line; mend it and daemon-reload",
    ),
    "error": ("systemd cannot read it", "`systemd-analyze verify` names the reason"),
}
"""LoadState to what it means and what to do."""
NO_NAME = "neither a valid invocation ID nor unit name"
"""What systemctl says of a template or of a name with a typing error."""
WHAT = "whether the unit restarts by itself"
STABLE_S = 86_400
"""How long a unit must have run, in seconds, until restarts before count no more."""


Here = Callable[[], Sequence[str]]
"""Tells the units of engines that this host has; asked only where it has none of the profile's name."""


def not_there(units: Sequence[str]) -> str:
    """What to do where no unit of the profile's name exists; `units` of an engine's that this host has instead."""
    if not units:
        return (
            f"{LOAD_STATES['not-found'][1]}; no unit was seen that runs or names an engine that is known here (root sees more: "
            "--sudo)"
        )
    return (
        f"set service.unit to the unit that is meant; those of an engine on this host: {', '.join(units)}; "
        "for a user's unit set service.user_manager"
    )


def is_missing(unit: Reading[Unit]) -> bool:
    """Whether systemd says that it has no such unit."""
    return isinstance(unit, Value) and unit.value.load_state == "not-found"


def loaded(unit: Reading[Unit], here: Here | None = None) -> Judgement:
    """The manager has loaded the unit; `here` is asked for the units of engines where it has none of this name."""
    if isinstance(unit, Silent) and NO_NAME in unit.why:
        return failed(
            f"no unit can have this name: {unit.why}",
            expected="loaded",
            evidence=(evidence("systemctl show", unit),),
            cause="a template (name@.service) is no unit: its instances are",
            remedy="name an instance in the profile, such as sglang@0.service: `systemctl list-units --all`",
        )
    state = unit.value.load_state if isinstance(unit, Value) else ""
    cause, remedy = LOAD_STATES.get(state, ("the manager has not loaded it", "`systemctl status` tells why"))
    remedy = not_there(here()) if here is not None and is_missing(unit) else remedy
    return compare(
        "systemctl show",
        unit,
        Expectation[Unit](
            "load state of the unit",
            "loaded",
            lambda found: found.load_state == "loaded",
            shown=lambda found: found.load_state,
            cause=cause,
            remedy=remedy,
        ),
    )


def active(unit: Reading[Unit], here: Here | None = None) -> Judgement:
    """The unit is active and runs; `here` as of `loaded`."""
    remedy = "`journalctl -u` the unit shows its last lines; mend, start it, and run this again"
    return compare(
        "systemctl show",
        unit,
        Expectation[Unit](
            "state of the unit",
            "active (running)",
            lambda found: found.active_state == "active" and found.sub_state == "running",
            shown=state,
            cause="what its process ended with is told beside its state",
            remedy=not_there(here()) if here is not None and is_missing(unit) else remedy,
        ),
    )


def state(unit: Unit) -> str:
    """The unit's state in words, with the end of its process where it ended."""
    words = f"{unit.active_state} ({unit.sub_state})"
    if unit.exec_main_code:
        code = {1: "exited", 2: "killed", 3: "dumped"}.get(unit.exec_main_code, "")
        return f"{words}, {exit_meaning(code, unit.exec_main_status)}, result {unit.result}"
    return words if unit.result in {"", "success"} else f"{words}, result {unit.result}"


def stable(
    unit: Reading[Unit], previous: Reading[Previous], starts: Reading[Starts], clock: Reading[Clock]
) -> Judgement:
    """The manager did not have to start the unit anew by itself: `Restart=` hides crashes, NRestarts counts them.

    A restart counts against the unit for a day: who was restarted and has run for longer is stable, and it is
    said. A start by hand sets NRestarts to 0, so whoever mended the unit is not accused of what was before.
    """
    if not isinstance(unit, Value):
        return unheard(WHAT, "systemctl show", unit)
    number = unit.value.n_restarts
    if number is None:
        return unheard(WHAT, "NRestarts", Silent("the manager does not count restarts"))
    if unit.value.load_state == "not-found":
        return unheard(WHAT, "systemctl show", Silent("no unit of this name exists"))
    up_s = up(unit.value, clock)
    words = [
        *([f"up for {spell(up_s)}"] if up_s is not None else []),
        *([told(starts.value)] if isinstance(starts, Value) else []),
        *([f"the run before {previous.value.ending}"] if isinstance(previous, Value) else []),
    ]
    day = "; ".join(["", *words])
    measures: dict[str, float] = {"restarts_by_manager": number}
    measures |= {"up_s": up_s} if up_s is not None else {}
    measures |= {"starts_24h": starts.value.count} if isinstance(starts, Value) else {}
    rest: dict[str, Any] = {
        "expected": f"no restart by the manager in {spell(STABLE_S)}",
        "observed": number,
        "measures": measures,
        "evidence": (
            evidence("systemctl show", unit, number),
            evidence("starts in 24 hours", starts, starts.value.count if isinstance(starts, Value) else None),
            evidence("previous invocation", previous, last_words(previous)),
        ),
    }
    waits = unit.value.sub_state.startswith("auto-restart")
    if number and not waits and up_s is not None and up_s >= STABLE_S:
        return passed(
            f"no restart by the manager for {spell(up_s)}, {times(number)} before that{day}", **rest
        )
    if number or waits:
        crashed = isinstance(previous, Value) and previous.value.crashed
        happened = f"the manager restarted the unit by itself, {times(number)}{day}"
        return failed(
            f"the unit ended, and the manager is about to start it anew{day}" if waits else happened,
            cause="the process crashes and Restart= hides it"
            if crashed
            else "the process ends, and Restart= starts it anew",
            remedy="read the end of the run before: `journalctl -u` the unit; `systemctl reset-failed` it once mended",
            **rest,
        )
    return passed(f"no restart by the manager{day}", **rest)


def up(unit: Unit, clock: Reading[Clock]) -> float | None:
    """Seconds since the main process was started; None while none runs, or where the clock was not heard."""
    started_us = unit.exec_main_start_monotonic_us
    if unit.active_state != "active" or not started_us or not isinstance(clock, Value):
        return None
    return max(0.0, clock.value.uptime_s - started_us / 1e6)


def told(starts: Starts) -> str:
    """The starts of the last day, and whether there may have been more."""
    number = f"{starts.count} start{'s' * (starts.count != 1)} in the last 24 hours"
    return number if starts.whole else f"at least {number}: the journal does not reach back so far"


def times(number: int) -> str:
    """How often."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def spell(seconds: float) -> str:
    """A span in the unit that a person would take."""
    for unit, length in (("days", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length or (length < 86_400 and seconds >= length):
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def last_words(previous: Reading[Previous]) -> str | None:
    """The last line of the run before, with how it ended."""
    if not isinstance(previous, Value):
        return None
    lines = previous.value.last_lines
    return f"{previous.value.ending}: {lines[-1].message}" if lines else previous.value.ending
