"""What `--dflash-fault` can name: a fault, which must be noticed, or an oddity, which must not.

Law: looks names up.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from pytest_dflash.errors import UsageError
from pytest_dflash.rehearsal.faults import FAULTS, Fault
from pytest_dflash.rehearsal.oddities import ODDITIES, Oddity

Staged = Fault | Oddity
STAGED: Mapping[str, Staged] = {**ODDITIES, **FAULTS}
"""All that can be staged, by name."""


OWN: dict[str, Fault] = {}
"""Faults that a project brings by the hook `pytest_dflash_faults`."""


def add(faults: Iterable[Fault]) -> None:
    """Makes a project's own faults known.

    Raises:
        UsageError: One has a name that is taken.
    """
    for fault in faults:
        if fault.name in STAGED or OWN.get(fault.name, fault) != fault:
            raise UsageError(f"pytest_dflash_faults: the name {fault.name!r} is taken; choose another")
        OWN[fault.name] = fault


class UnknownFault(UsageError):  # noqa: N818 - named for what was asked for
    """A name that is no fault's."""


def named(name: str) -> Staged:
    """The fault, or the healthy oddity, called `name`.

    Raises:
        UnknownFault: With the names that come close, and where all stand.
    """
    known: Mapping[str, Staged] = {**STAGED, **OWN}
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, 3, 0.7)
    hint = f" did you mean {' or '.join(close)}?" if close else ""
    raise UnknownFault(
        f"--dflash-fault={name}: there is no such fault;{hint} `--dflash-fault=list` prints all of them"
    )
