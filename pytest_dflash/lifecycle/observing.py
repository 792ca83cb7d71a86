"""From facts to an observation: what one look at the unit shows.

Law: pure; asks nobody. What the facts do not tell stays None, so that the table of phases knows it was not seen.
"""

from __future__ import annotations

import re

from pytest_dflash.engines.dialect import Dialect
from pytest_dflash.facts.exits import exit_meaning
from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.facts.journal import Entry, Journal
from pytest_dflash.facts.procfs import age_s
from pytest_dflash.facts.reading import Absent, Reading, Value
from pytest_dflash.facts.sockets import Listener
from pytest_dflash.facts.systemd import Unit
from pytest_dflash.lifecycle.ending import TOO_OFTEN
from pytest_dflash.lifecycle.phase import Observation

OF_CONTAINERS = re.compile(r"docker|libpod|containerd")
"""Control groups of containers, and of the daemons that publish their ports."""
EXITS = {1: "exited", 2: "killed", 3: "dumped"}
"""ExecMainCode to the word of the journal. Source: waitid(2), CLD_EXITED, CLD_KILLED, CLD_DUMPED."""


def observe(facts: Facts, dialect: Dialect, answers: bool | None = None) -> Observation:  # noqa: FBT001 - three-valued
    """One look at the unit.

    Args:
        facts: Of this moment.
        dialect: The engine's.
        answers: Whether a passive route answered as it should; None where none was asked.
    """
    unit, journal, serving = facts.unit, facts.journal, facts.serving
    if not isinstance(unit, Value):
        return Observation(answers=answers)
    u = unit.value
    listening = on_port(facts.listeners, facts.port)
    log = journal.value if isinstance(journal, Value) else forgotten(facts)
    engine = isinstance(serving, Value) and dialect.runs(serving.value.argv)
    return Observation(
        load_state=u.load_state,
        active_state=u.active_state,
        sub_state=u.sub_state,
        result=u.result,
        exit_meaning=exit_meaning(EXITS.get(u.exec_main_code, ""), u.exec_main_status)
        if u.exec_main_code
        else "",
        start_limit=log is not None and too_often(log),
        stopped_by_request=stopped(facts),
        invocation_id=u.invocation_id,
        n_restarts=u.n_restarts,
        serving_process=None if not isinstance(facts.processes, (Value, Absent)) else engine,
        containers=bool(facts.containers),
        port=facts.port,
        port_open=None if listening is None else bool(listening),
        owner_in_unit=owned(listening, facts),
        owner=owner(listening, facts),
        log_heard=log is not None and log.reaches_start,
        ready_line=dialect.ready_line(log) if log else None,
        answers=answers,
        progress=dialect.progress(log) if log else "",
        newest_us=log.entries[-1].realtime_us if log and log.entries else None,
        age_s=age(facts, u),
    )


def age(facts: Facts, unit: Unit) -> float | None:
    """Seconds since the serving process was started, or the main process while no engine is there yet."""
    if not isinstance(facts.clock, Value):
        return None
    if isinstance(facts.serving, Value):
        return age_s(facts.serving.value, facts.clock.value)
    started_us = unit.exec_main_start_monotonic_us
    return facts.clock.value.uptime_s - started_us / 1e6 if started_us else None


def on_port(listeners: Reading[tuple[Listener, ...]], port: int | None) -> list[Listener] | None:
    """The sockets that listen on the port; None where that could not be seen."""
    if port is None or not isinstance(listeners, Value):
        return None
    return [each for each in listeners.value if each.port == port]


def owned(listening: list[Listener] | None, facts: Facts) -> bool | None:
    """Whether the unit's own processes own the sockets; None where owners cannot be seen, or nobody listens."""
    if (
        not listening
        or not isinstance(facts.processes, Value)
        or any(each.pids is None for each in listening)
    ):
        return None
    ours = {process.pid for process in facts.processes.value}
    if facts.containers:
        owners = facts.listener_owners.value if isinstance(facts.listener_owners, Value) else {}
        pids = {pid for each in listening for pid in each.pids or ()} - ours
        if pids and all(pid in owners and OF_CONTAINERS.search(owners[pid].cgroup) for pid in pids):
            return None
    return all(ours & set(each.pids or ()) for each in listening)


def owner(listening: list[Listener] | None, facts: Facts) -> str:
    """Who owns the sockets, in words."""
    for pid in (pid for each in listening or () for pid in each.pids or ()):
        owners = facts.listener_owners
        known = owners.value.get(pid) if isinstance(owners, Value) else None
        return f"pid {pid} ({known.cgroup})" if known else f"pid {pid}"
    return ""


def forgotten(facts: Facts) -> Journal | None:
    """The last lines of the run that ended, where the manager has forgotten it.

    A unit that ended without failing and that no other unit wants is unloaded: no invocation, no exit status.
    """
    unit, last = facts.unit, facts.previous
    known = not isinstance(unit, Value) or unit.value.invocation_id or unit.value.active_state != "inactive"
    if known or not isinstance(last, Value):
        return None
    entries = in_order(last.value.last_lines, last.value.manager_lines)
    return Journal(last.value.invocation_id, entries, reaches_start=False, whole=False)


def in_order(*parts: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Entries of several parts by their time."""
    return tuple(sorted((entry for part in parts for entry in part), key=lambda entry: entry.realtime_us))


def stopped(facts: Facts) -> bool | None:
    """Whether the manager's last word in this invocation is that somebody stops the unit."""
    if forgotten(facts) and isinstance(facts.previous, Value):
        return facts.previous.value.stop_requested
    if not isinstance(facts.journal, Value):
        return None
    said = [entry.message for entry in facts.journal.value.entries if entry.from_manager]
    return any(message.startswith("Stopping ") for message in said)


def too_often(log: Journal) -> bool:
    """Whether the manager refused a start because there had been too many."""
    return any(entry.from_manager and TOO_OFTEN in entry.message for entry in log.entries)
