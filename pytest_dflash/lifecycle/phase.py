"""How a unit stands, as a table over what was observed.

Law: pure, first matching row wins. Systemd's `active` is no phase: a crash loop is active for half of the
time, and an engine logs that it is ready also when the port belongs to another process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from pytest_dflash.lifecycle.ending import ending


class Phase(StrEnum):
    """Where the unit is between "not there" and "serves"."""

    NOT_RUNNING = "not_running"
    NOT_RESTARTED = "not_restarted"
    STOPPING = "stopping"
    STARTING = "starting"
    LOADING = "loading"
    READY = "ready"
    CRASH_LOOP = "crash_loop"
    FAILED = "failed"
    ACTIVE_NOT_SERVING = "active_not_serving"
    SERVING_OLDER_PROCESS = "serving_older_process"
    UNKNOWN = "unknown"

    @property
    def transient(self) -> bool:
        """Whether waiting may change it without anybody's help."""
        return self in TRANSIENT


TRANSIENT = frozenset({Phase.STOPPING, Phase.STARTING, Phase.LOADING})
WITHOUT_PROCESS = frozenset({Phase.NOT_RUNNING, Phase.FAILED, Phase.CRASH_LOOP})
"""No process of the unit runs that could have a request or a setting in force."""

GRACE_S = 30.0
"""How long a wrapper (a shell, `uv run`, `docker run`) may take until the engine's own process is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One look at the unit. None means: not looked at, or it could not be seen.

    Attributes:
        load_state: LoadState of systemd; "" when systemd did not answer. Likewise the other states.
        result: Result of systemd: success, exit-code, signal, oom-kill, watchdog, start-limit-hit, timeout …
        exit_meaning: How the main process ended, in words, "" when it did not.
        start_limit: Whether the manager said that it was started too often. Result= need not say so.
        stopped_by_request: Whether the manager's last word in this invocation's log was that it stops the unit.
        invocation_id: The invocation looked at. n_restarts: restarts by systemd so far.
        restarts_grown: Whether either moved since the first look without our asking.
        invocation_changed: After a restart that we asked for: whether the invocation is a new one.
        serving_process: Whether a process of the unit's cgroup runs the engine.
        containers: Whether the unit starts containers, so that the engine may be a process of somebody else.
        port_open: Whether somebody listens on the engine's port. port: which one.
        owner_in_unit: Whether the listener is a process of this invocation's cgroup. owner: it, in words.
        log_heard: Whether this invocation's log could be read from its start.
        ready_line: The engine's own line that start-up is over.
        answers: Whether a passive route answered as it should.
        completes: Whether a short completion was correct.
        progress: What start-up is busy with, from the newest telling line.
        newest_us: When the newest line of this invocation was written, by the host's clock.
        age_s: Age of the main process, in seconds.
    """

    load_state: str = ""
    active_state: str = ""
    sub_state: str = ""
    result: str = ""
    exit_meaning: str = ""
    start_limit: bool = False
    stopped_by_request: bool | None = None
    invocation_id: str | None = None
    n_restarts: int | None = None
    restarts_grown: bool | None = None
    invocation_changed: bool | None = None
    serving_process: bool | None = None
    containers: bool = False
    port: int | None = None
    port_open: bool | None = None
    owner_in_unit: bool | None = None
    owner: str = ""
    log_heard: bool = True
    ready_line: str | None = None
    answers: bool | None = None
    completes: bool | None = None
    progress: str = ""
    newest_us: int | None = None
    age_s: float | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """A phase and the sentence that says why."""

    phase: Phase
    why: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    phase: Phase
    when: Callable[[Observation], bool]
    why: Callable[[Observation], str]


def _active(o: Observation) -> bool:
    return o.active_state in {"active", "reloading", "refreshing"}


def _young(o: Observation) -> bool:
    return o.age_s is not None and o.age_s < GRACE_S


def _no_engine(o: Observation) -> bool:
    """No process looks like the engine; one that owns the port is it, under whatever title."""
    return o.serving_process is False and o.owner_in_unit is not True


def _ended(o: Observation) -> str:
    return ending(o.exit_meaning, o.result, start_limit=o.start_limit)


def _told_last(o: Observation) -> str:
    """The last that its log told, where nobody stopped it: a server may end with status 0 after its engine died."""
    return f"; its log ends with: {o.progress}" if o.progress and o.stopped_by_request is not True else ""


def _port(o: Observation) -> str:
    return f"port {o.port}" if o.port else "the engine's port"


def _busy(o: Observation) -> str:
    return f": {o.progress}" if o.progress else ""


TABLE: tuple[Row, ...] = (
    Row(
        Phase.UNKNOWN,
        lambda o: not o.active_state,
        lambda _: "systemd did not say how the unit stands",
    ),
    Row(
        Phase.NOT_RUNNING,
        lambda o: o.load_state in {"not-found", "masked"} and not _active(o),
        lambda o: f"the unit is {o.load_state}, so it cannot be started",
    ),
    Row(
        Phase.NOT_RUNNING,
        lambda o: o.active_state == "failed" and o.stopped_by_request is True,
        lambda o: f"it was stopped; systemd calls it failed because of how the engine ended{_ended(o)}",
    ),
    Row(
        Phase.FAILED,
        lambda o: o.active_state == "failed",
        lambda o: f"it failed{_ended(o)}, and systemd does not start it again",
    ),
    Row(
        Phase.CRASH_LOOP,
        lambda o: o.sub_state.startswith("auto-restart"),
        lambda o: f"its process ended{_ended(o)} and systemd is about to start it again",
    ),
    Row(
        Phase.CRASH_LOOP,
        lambda o: o.restarts_grown is True,
        lambda o: (
            f"it was started again while we looked, {o.n_restarts or 0} times by systemd so far{_ended(o)}"
        ),
    ),
    Row(
        Phase.STOPPING,
        lambda o: o.active_state == "deactivating",
        lambda _: "it is being stopped",
    ),
    Row(
        Phase.NOT_RUNNING,
        lambda o: o.active_state in {"inactive", "maintenance"},
        lambda o: f"it is {o.active_state}{_ended(o)}{_told_last(o)}",
    ),
    Row(
        Phase.STARTING,
        lambda o: o.active_state == "activating" and o.ready_line is not None,
        lambda _: "the engine logged that it is ready, and systemd still waits for its word (Type=notify)",
    ),
    Row(
        Phase.LOADING,
        lambda o: o.active_state == "activating" and bool(o.progress),
        lambda o: f"systemd is starting it, and the engine is loading{_busy(o)}",
    ),
    Row(
        Phase.STARTING,
        lambda o: o.active_state == "activating",
        lambda o: f"systemd is starting it ({o.sub_state or 'activating'})",
    ),
    Row(
        Phase.UNKNOWN,
        lambda o: not _active(o),
        lambda o: f"systemd says {o.active_state!r}, which is no state that is known here",
    ),
    Row(
        Phase.NOT_RESTARTED,
        lambda o: o.invocation_changed is False,
        lambda _: "it is still the invocation from before the restart",
    ),
    Row(
        Phase.SERVING_OLDER_PROCESS,
        lambda o: o.port_open is True and o.owner_in_unit is False,
        lambda o: (
            f"{_port(o)} belongs to {o.owner or 'a process'} outside of this invocation: requests reach that one"
        ),
    ),
    Row(
        Phase.ACTIVE_NOT_SERVING,
        lambda o: o.sub_state == "exited",
        lambda _: "the unit is active, and its process is over",
    ),
    Row(
        Phase.UNKNOWN,
        lambda o: _no_engine(o) and o.containers,
        lambda _: (
            "the unit starts containers by no name of theirs, so that their processes are not known: use `run --name`"
        ),
    ),
    Row(
        Phase.STARTING,
        lambda o: _no_engine(o) and _young(o),
        lambda _: "the unit is active, and the engine's own process is not there yet",
    ),
    Row(
        Phase.ACTIVE_NOT_SERVING,
        _no_engine,
        lambda _: "the unit is active, and no process of it runs the engine",
    ),
    Row(
        Phase.ACTIVE_NOT_SERVING,
        lambda o: o.ready_line is not None and o.port_open is False,
        lambda o: f"it logged that it is ready, and nobody listens on {_port(o)}",
    ),
    Row(
        Phase.ACTIVE_NOT_SERVING,
        lambda o: o.ready_line is not None and o.answers is False,
        lambda o: f"it logged that it is ready, and {_port(o)} does not answer",
    ),
    Row(
        Phase.ACTIVE_NOT_SERVING,
        lambda o: o.completes is False and (o.ready_line is not None or o.answers is True),
        lambda o: (
            f"it {'logged that it is ready' if o.ready_line else 'answers'}, "
            f"and a short completion on {_port(o)} came out wrong"
        ),
    ),
    Row(
        Phase.READY,
        lambda o: (
            o.port_open is not False
            and o.owner_in_unit is not False
            and o.answers is True
            and (o.ready_line is not None or not o.log_heard)
        ),
        lambda o: f"{_port(o)} answers{_identity(o)}",
    ),
    Row(
        Phase.READY,
        lambda o: o.port_open is True and o.owner_in_unit is True and o.ready_line is not None,
        lambda o: f"it logged that it is ready, and {_port(o)} belongs to its process",
    ),
    Row(
        Phase.UNKNOWN,
        lambda o: o.ready_line is not None,
        lambda o: f"it logged that it is ready, and whether {_port(o)} belongs to it could not be seen",
    ),
    Row(
        Phase.LOADING,
        lambda o: o.port_open is True,
        lambda o: f"{_port(o)} is open, and the engine is not ready yet{_busy(o)}",
    ),
    Row(
        Phase.LOADING,
        lambda o: bool(o.progress),
        lambda o: f"the engine is loading{_busy(o)}",
    ),
    Row(
        Phase.STARTING,
        lambda o: o.log_heard,
        lambda _: "the process is there and has logged nothing that tells yet",
    ),
    Row(
        Phase.LOADING,
        lambda _: True,
        lambda o: f"{_port(o)} is not open yet, and the log cannot be read",
    ),
)
"""First matching row wins; the last one always matches."""


def _identity(o: Observation) -> str:
    """What is not proven beside the answer."""
    return "" if o.owner_in_unit else "; whose process answers could not be seen"


def standing(observation: Observation) -> Standing:
    """How the unit stands, by the table."""
    row = next(row for row in TABLE if row.when(observation))
    return Standing(row.phase, row.why(observation))
