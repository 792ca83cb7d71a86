"""What the loads of a host are measured with.

Law: wires `load.measuring` to a host's run; decides nothing. Everything is asked anew each time, since a restart in
between makes another process.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_dflash.engines.scoring import Drafting
from pytest_dflash.errors import EndpointError
from pytest_dflash.facts.reading import Reading, Silent
from pytest_dflash.load.measuring import Loads
from pytest_dflash.load.sampling import SAMPLED

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
        identity=run.identity_now,
        run=uuid.uuid4().hex[:8],
        passing=passing(run.tell),
    )


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


def passing(tell: Callable[[str], None]) -> Callable[[str], None]:
    """How a line is shown for a moment: by those who can write over it, and else not at all."""
    shown: Callable[[str], None] = getattr(tell, "passing", lambda _line: None)
    return shown
