"""What the command line can ask for without running tests: faults, checks explained, sudo rules, a triage, a profile.

Law: prints or writes, and returns an exit code; judges nothing.
"""

from __future__ import annotations

import difflib
import sys

import pytest

from pytest_dflash.rehearsal.faults import listing

SUDOERS = """\
# pytest-dflash: for /etc/sudoers.d/, mode 0440; try it with `visudo -cf FILE`. Put your login in place of `acceptance`.
#
# A run is one script, handed to a /bin/sh of `sudo -n` by standard input (option --sudo), so sudo cannot tell what a
# script does: who may read as root may also change as root. Keep the two apart by two logins, or take the first.

# read, probe, load, without root: as the user that the service runs as (here: sglang; --sudo --sudo-user=sglang). It
# sees the process's environment and sockets. Beside it: usermod -aG systemd-journal sglang
acceptance ALL=(sglang) NOPASSWD: /bin/sh

# read, probe, load, all facts (also other users' processes, dmesg, root-only files): as root (--sudo)
# restart, reconfigure: nothing less will do (systemctl restart, systemd-run, drop-ins under /run)
acceptance ALL=(root) NOPASSWD: /bin/sh
"""
"""What each level of `--dflash-allow` needs on a host whose login is not root."""


def run(config: pytest.Config) -> int:
    """Does the errand that the options ask for.

    Raises:
        pytest.UsageError: It cannot be done, with what to do instead.
    """
    option = config.option
    if "list" in option.dflash_fault:
        own = [fault for told in config.hook.pytest_dflash_faults() for fault in told]
        sys.stdout.write(listing() + listing(own))
        return 0
    if option.dflash_print_sudoers:
        sys.stdout.write(SUDOERS)
        return 0
    if option.dflash_explain:
        return explain(config)
    from pytest_dflash import recording, triage  # noqa: PLC0415 - they reach a host

    return triage.run(config) if option.dflash_triage else recording.write(config)


def explain(config: pytest.Config) -> int:
    """Prints what the named check is about; for an area, or `list`, one line for each check of it.

    Raises:
        pytest.UsageError: No such check; the message names close ones.
    """
    from pytest_dflash import catalogue, own_command  # noqa: PLC0415 - reads the suites

    known = catalogue.entries()
    name: str = config.option.dflash_explain.partition("[")[0]
    if name in known:
        told = catalogue.explained(known[name], own_command.begin(config), own_command.suites(config))
        sys.stdout.write(told + "\n")
        return 0
    chosen = [entry for entry in known.values() if name in ("list", entry.name.partition(".")[0])]
    if not chosen:
        close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        meant = f"did you mean {' or '.join(close)}? " if close else ""
        raise pytest.UsageError(
            f"--dflash-explain={name}: there is no such check; {meant}`--dflash-explain=list` prints all of them"
        )
    width = max(len(entry.name) for entry in chosen)
    for entry in chosen:
        sys.stdout.write(f"{entry.name:<{width}}  {entry.sentence}\n")
    return 0
