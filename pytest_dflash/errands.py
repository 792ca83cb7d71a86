"""What the command line can ask for without running tests: faults, a triage, a profile.

Law: prints or writes, and returns an exit code; judges nothing.
"""

from __future__ import annotations

import sys

import pytest

from pytest_dflash.rehearsal.faults import FAULTS


def run(config: pytest.Config) -> int:
    """Does the errand that the options ask for.

    Raises:
        pytest.UsageError: It cannot be done, with what to do instead.
    """
    if "list" in config.option.dflash_fault:
        return list_faults()
    from pytest_dflash import recording, triage  # noqa: PLC0415 - they reach a host

    return triage.run(config) if config.option.dflash_triage else recording.write(config)


def list_faults() -> int:
    """Prints all faults, one a line: name, level, checks that must notice, title."""
    for fault in FAULTS.values():
        sys.stdout.write("\t".join((fault.name, fault.level, ",".join(fault.checks), fault.title)) + "\n")
    return 0
