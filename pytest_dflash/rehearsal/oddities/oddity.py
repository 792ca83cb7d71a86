"""What an oddity is: a host that looks unusual and is healthy, so that every run must accept it.

Law: values only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field

from pytest_dflash.rehearsal.faults.fault import SERVING, nothing
from pytest_dflash.rehearsal.faults.stages import Stage


@dataclass(frozen=True, slots=True)
class Oddity:
    """One oddity.

    Attributes:
        name: Kebab-case, stable; staged by `--dflash-fault` as faults are.
        title: What is unusual, in one line.
        before: Done to the host before the unit is started (a daemon-reload follows).
        after: Done once the unit has settled.
        settled_by: The line of the log by which it has.
        expects: What the profile expects differently of this host, as `KEY=VALUE`.
        environ: Variables of whoever runs the tests, where the oddity is on this side.
        unit: The unit's name, where the oddity is in it.
        by_user: The unit is one of a user's own manager.
        unseen: What nobody can see on such a host: the checks that are unproven, each with words that say why.
        places: What it needs for itself: two oddities of one place are never staged together.
        alone: It is never staged together with any other.
        load: The area whose checks, under load, must accept it too; "" where it shows without any.
    """

    name: str
    title: str
    _: KW_ONLY
    before: Stage = nothing
    after: Stage = nothing
    settled_by: str = SERVING
    expects: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""
    by_user: bool = False
    unseen: Mapping[str, str] = field(default_factory=dict)
    places: tuple[str, ...] = ()
    alone: bool = False
    load: str = ""
