"""What a reader of a report wants to know a host by: since when it runs, on what, and how the run before it ended.

Law: facts in, plain values out; what was not heard is left out, never guessed. Judges nothing.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from pytest_dflash.facts.host_facts import Facts
from pytest_dflash.facts.reading import known

STACK = ("torch", "sglang", "vllm", "flashinfer-python", "triton", "transformers")
"""Packages that a report names beside the host; findings.json of `stack` checks has what was expected."""
LAST_LINES = 12


def portrait(facts: Facts) -> dict[str, Any]:
    """The keys that a host's entry in findings.json has beside its identity."""
    return {
        "started": _started(facts),
        "gpus": _gpus(facts),
        "stack": _stack(facts),
        "previous": _previous(facts),
    }


def _moment(epoch_s: float) -> str:
    return f"{datetime.fromtimestamp(epoch_s, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _started(facts: Facts) -> str | None:
    """When the main process was started, by the host's own clock."""
    unit, clock = known(facts.unit), known(facts.clock)
    if unit is None or clock is None or not unit.main_pid or not unit.exec_main_start_monotonic_us:
        return None
    return _moment(clock.epoch_s - clock.uptime_s + unit.exec_main_start_monotonic_us / 1e6)


def _gpus(facts: Facts) -> str | None:
    """How many of which model, as one would say it."""
    names = Counter(known(gpu.name) or "of unknown model" for gpu in known(facts.gpus) or ())
    return ", ".join(f"{count} \u00d7 {name}" for name, count in names.items()) or None


def _stack(facts: Facts) -> dict[str, str]:
    """Versions by name: driver, CUDA toolkit, and the packages that decide most."""
    driver, toolkit, packages = known(facts.driver), known(facts.toolkit), known(facts.packages)
    versions = packages.versions if packages else {}
    found = {
        "driver": driver.version if driver else None,
        "CUDA": known(toolkit.version) if toolkit else None,
    }
    found |= {name: versions.get(name) for name in STACK}
    return {name: version for name, version in found.items() if version}


def _previous(facts: Facts) -> dict[str, Any] | None:
    """How the invocation before this one ended, with what it said last."""
    previous = known(facts.previous)
    if previous is None:
        return None
    ended = previous.ended_realtime_us
    return {
        "invocation_id": previous.invocation_id,
        "ending": previous.ending,
        "crashed": previous.crashed,
        "ended": _moment(ended / 1e6) if ended else None,
        "last_lines": [entry.message for entry in previous.last_lines[-LAST_LINES:]],
    }
