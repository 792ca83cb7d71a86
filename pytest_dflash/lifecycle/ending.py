"""Why a unit is not running any more, in words that a person can act on.

Law: a table over systemd's Result and one look-up, pure. What the exit status of the process means is
`facts.exits`' business; here is what the manager made of it.
"""

from __future__ import annotations

RESULTS = {
    "exit-code": "",  # the exit status says it
    "signal": "",  # as above
    "core-dump": "it left a core dump: `coredumpctl info` shows where it fell",
    "oom-kill": "the kernel killed it for memory: see MemoryMax= and the kernel's log",
    "watchdog": "it fell silent for longer than WatchdogSec=, and systemd killed it",
    "timeout": "a start or a stop took longer than TimeoutStartSec= or TimeoutStopSec= allows",
    "protocol": "it ended before it said that it had started (Type=notify or Type=forking)",
    "resources": "systemd could not prepare it: an EnvironmentFile= that is missing, or no memory",
    "exec-condition": "its ExecCondition= said no",
    "start-limit-hit": "it was started too often for StartLimitBurst=: `systemctl reset-failed` lifts that",
}
"""Result= of a service to what it means, "" where the process's own ending says more. Source: systemd.service(5)."""

TOO_OFTEN = "Start request repeated too quickly"
"""Pid 1's words for the start limit. Result= keeps the first cause then (seen on systemd 252)."""


def ending(exit_meaning: str, result: str, *, start_limit: bool = False) -> str:
    """How it ended, in brackets, "" where nothing is known.

    Args:
        exit_meaning: How the main process ended, in words.
        result: Result= of systemd.
        start_limit: Whether the manager said that it was started too often.
    """
    silent = result in {"", "success"} or (exit_meaning and RESULTS.get(result) == "")
    of_result = "" if silent else RESULTS.get(result) or f"Result={result}"
    limit = RESULTS["start-limit-hit"] if start_limit else ""
    known = [each for each in (exit_meaning, of_result, limit) if each]
    return f" ({'; '.join(dict.fromkeys(known))})" if known else ""
